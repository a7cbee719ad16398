"""What the report draws of one direction: columns over time, thinned to what a chart can show."""

from __future__ import annotations

from typing import Any

from ...rtc.simulation.call import Direction
from ...rtc.simulation.records import FrameRecord, PacketKind
from ...rtc.simulation.run import Run

US_PER_S = 1_000_000
# Ours: the interval that rates are counted over, and how many of them a chart can show.
RATE_INTERVAL_US = 250_000
MAX_INTERVALS = 1200
MAX_POINTS = 4000

Columns = dict[str, list[Any]]


def direction_series(run: Run, direction: Direction) -> dict[str, Any]:
    """Charts' data: rates, frames, queue and freezes; times in seconds, the rest in ms, kbps and dB."""
    return {
        "rates": _rates(run, direction),
        "queue": _queue(direction),
        "frames": _frames(direction),
        "freezes": _freezes(run, direction),
        "losses": _losses(direction),
    }


def _rates(run: Run, direction: Direction) -> Columns:
    """kbps in each interval: capacity, what was offered, what arrived; the target, the estimate."""
    end_us = run.scenario.duration_us
    step_us = max(RATE_INTERVAL_US, end_us // MAX_INTERVALS)
    count = -(-end_us // step_us)
    kbps = 8000 / step_us
    sent, arrived = [0] * (count + 1), [0] * (count + 1)
    targets: list[float | None] = [None] * (count + 1)
    estimates: list[float | None] = [None] * count
    for packet in direction.recorder.packets:
        sent[packet.sent_us // step_us] += packet.size_bytes
        if packet.arrival_us is not None and packet.arrival_us < end_us:
            arrived[packet.arrival_us // step_us] += packet.size_bytes
    for frame in direction.recorder.frames:
        if frame.encode_us is not None and frame.target_bps is not None:
            targets[frame.encode_us // step_us] = frame.target_bps / 1000
    for sample in direction.samples:
        if sample.estimate_bps is not None:
            estimates[sample.time_us // step_us] = round(sample.estimate_bps / 1000, 1)
    capacity = [
        direction.link.capacity_bytes(i * step_us, (i + 1) * step_us) * kbps for i in range(count)
    ]
    return {
        "t": [i * step_us / US_PER_S for i in range(count)],
        "capacity": [round(value, 1) for value in capacity],
        "sent": [round(value * kbps, 1) for value in sent[:count]],
        "arrived": [round(value * kbps, 1) for value in arrived[:count]],
        "target": targets[:count],
        "estimate": estimates,
    }


def _queue(direction: Direction) -> Columns:
    """Each served packet's wait."""
    served = [p for p in direction.recorder.packets if p.queue_us is not None]
    rows = [(p.sent_us / US_PER_S, round((p.queue_us or 0) / 1000, 1)) for p in served]
    thinned = _highest(rows)
    return {"t": [t for t, _ in thinned], "ms": [ms for _, ms in thinned]}


def _frames(direction: Direction) -> Columns:
    frames = direction.recorder.frames
    frames = frames[:: max(1, -(-len(frames) // MAX_POINTS))]
    return {
        "t": [f.capture_us / US_PER_S for f in frames],
        "vbv": [_ms(f.vbv_delay_us) for f in frames],
        "quantizer": [f.quantizer if f.codec else None for f in frames],
        "encode": [_encode_ms(f) for f in frames],
        "interval": [_ms(f.every * direction.interval_us) for f in frames],
        "latency": [None if f.shown_us is None else _ms(f.shown_us - f.capture_us) for f in frames],
        "psnr": [None if f.psnr_y is None else round(f.psnr_y, 2) for f in frames],
        "age": [None if f.on_screen is None else f.index - f.on_screen for f in frames],
        "key": [1 if f.key else None for f in frames],
    }


def _encode_ms(frame: FrameRecord) -> float | None:
    """From capture to the end of encoding: what is longer than the interval is late."""
    return None if frame.encoded_us is None else _ms(frame.encoded_us - frame.capture_us)


def _freezes(run: Run, direction: Direction) -> list[list[float]]:
    """[from, to] of each, the one that stands at the end included."""
    spans = [
        [(e["time_us"] - e["duration_us"]) / US_PER_S, e["time_us"] / US_PER_S]
        for e in run.events.events
        if e["event"] == "freeze" and e["peer"] == direction.name
    ]
    end_us = run.scenario.duration_us
    standing_us = direction.recorder.screen.freezes.standing_us(end_us)
    if standing_us:
        spans.append([(end_us - standing_us) / US_PER_S, end_us / US_PER_S])
    return spans


def _losses(direction: Direction) -> list[float]:
    """When media packets were lost or dropped."""
    lost = [p for p in direction.recorder.packets if p.fate and p.kind is PacketKind.MEDIA]
    return [p.sent_us / US_PER_S for p in lost[:MAX_POINTS]]


def _highest(rows: list[tuple[float, float]]) -> list[tuple[float, float]]:
    size = max(1, -(-len(rows) // MAX_POINTS))
    groups = (rows[i : i + size] for i in range(0, len(rows), size))
    return [max(group, key=lambda row: row[1]) for group in groups]


def _ms(value_us: int | None) -> float | None:
    return None if value_us is None else round(value_us / 1000, 1)
