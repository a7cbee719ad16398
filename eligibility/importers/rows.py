"""What was summed over one interval, written as a row of telemetry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..plain_text import plain_text
from ..schema import COLUMNS, INTERVAL_US, Value
from .reports import LIMITS, Stream

# Ours: a call with 300 people seen at once, with three layers each.
MAX_STREAMS = 1_000


@dataclass(slots=True, kw_only=True)
class Sums:
    """One stream over one interval."""

    sends: bool
    counters: dict[str, float] = field(default_factory=dict)
    weighted: dict[str, float] = field(default_factory=dict)
    weights_us: dict[str, float] = field(default_factory=dict)
    last: dict[str, float] = field(default_factory=dict)
    codec: str | None = None
    implementation: str | None = None

    def mean(self, name: str) -> float | None:
        """Mean of a gauge over the time in which it was known."""
        weight = self.weights_us.get(name)
        return self.weighted[name] / weight if weight else None

    def frames(self) -> float:
        """Pictures coded or decoded; by what is known."""
        return self.counters.get("frames_encoded" if self.sends else "frames_decoded", 0.0)


@dataclass(slots=True, kw_only=True)
class Bin:
    """One interval of a connection while it is summed up."""

    index: int
    start_us: int
    covered_us: int = 0
    streams: dict[str, Sums] = field(default_factory=dict)
    pictures: dict[str, float] = field(default_factory=dict)
    offsets_us: list[float] = field(default_factory=list)

    def add(self, stream: Stream, growth: dict[str, float], *, part_us: int, step_us: int) -> None:
        """Add the share part_us / step_us of a step's growth, and the gauges for part_us."""
        if stream.name not in self.streams and len(self.streams) >= MAX_STREAMS:
            return
        sums = self.streams.setdefault(stream.name, Sums(sends=stream.sends))
        for name, value in growth.items():
            sums.counters[name] = sums.counters.get(name, 0.0) + value * part_us / step_us
        for name, value in stream.gauges.items():
            sums.weighted[name] = sums.weighted.get(name, 0.0) + value * part_us
            sums.weights_us[name] = sums.weights_us.get(name, 0.0) + part_us
            sums.last[name] = value
        sums.codec = stream.codec or sums.codec
        sums.implementation = stream.implementation or sums.implementation

    def add_pictures(self, pictures: dict[str, float], *, part_us: int, step_us: int) -> None:
        """Add the share part_us / step_us of what sent_pictures found in a step."""
        for name, value in pictures.items():
            self.pictures[name] = self.pictures.get(name, 0.0) + value * part_us / step_us

    def add_offset(self, offset_us: float | None) -> None:
        """Take one reading of sound against picture."""
        if offset_us is not None:
            self.offsets_us.append(offset_us)


def sent_pictures(
    streams: Iterable[Stream], growths: Mapping[str, dict[str, float]], *, step_us: int
) -> dict[str, float]:
    """Pictures encoded and captured within a step; empty where nothing is sent.

    The layers of simulcast are one picture, so the one with most of them counts; step by step, so
    that a stream that takes over from another is counted too.
    """
    sent = [(s, growths[s.name]) for s in streams if s.sends]
    sent = [(stream, growth) for stream, growth in sent if "frames_encoded" in growth]
    if not sent:
        return {}
    encoded = max(growth["frames_encoded"] for _, growth in sent)
    captured = [_captured(stream, growth, step_us=step_us) for stream, growth in sent]
    known = [value for value in captured if value is not None]
    if not known:
        return {"encoded": encoded}
    return {"encoded": encoded, "captured": max(known), "encoded_of_captured": encoded}


def _captured(stream: Stream, growth: dict[str, float], *, step_us: int) -> float | None:
    """Pictures captured, from what the reports have: counters before rates."""
    if "frames_captured" in growth:
        return growth["frames_captured"]
    if "frames_dropped" in growth:
        return growth["frames_encoded"] + growth["frames_dropped"]
    rate = stream.gauges.get("captured_fps")
    return None if rate is None else rate * step_us / 1e6


def fill_row(row: dict[str, Value], done: Bin) -> bool:
    """Write the interval into the row; False where no video was sent or received in it."""
    sent = [s for s in done.streams.values() if s.sends and s.frames() > 0]
    received = [s for s in done.streams.values() if not s.sends and s.frames() > 0]
    if not sent and not received:
        return False
    # Of several, the one with most pictures stands for all.
    main = max(sent or received, key=lambda s: (s.frames(), s.last.get("width", 0.0)))
    pictures = done.pictures.get("encoded", 0.0) if sent else main.frames()
    row.update(
        codec=plain_text(main.codec or ""),
        encoder=plain_text(main.implementation or "") if sent else None,
        width=_whole("width", main.last.get("width")),
        height=_whole("height", main.last.get("height")),
        fps=min(pictures * 1e6 / done.covered_us, 1000.0),
    )
    if sent:
        _fill_sent(row, sent, main, done)
    if received:
        _fill_received(row, received)
    row["av_offset_p95_us"] = _whole("av_offset_p95_us", _p95(done.offsets_us))
    return True


def _fill_sent(row: dict[str, Value], sent: list[Sums], main: Sums, done: Bin) -> None:
    encoded = done.pictures["encoded"]
    encode_us = _total(sent, "encode_us")
    mean_us = main.mean("mean_encode_us") if encode_us is None else encode_us / encoded
    captured, dropped = _captured_and_dropped(done.pictures)
    row.update(
        encode_p50_us=_whole("encode_p50_us", mean_us or None),
        frames_encoded=_whole("frames_encoded", encoded),
        frames_captured=_whole("frames_captured", captured),
        frames_dropped=_whole("frames_dropped", dropped),
    )
    for limit in LIMITS:
        limited_us = [value for s in sent if (value := _limited_us(s, limit)) is not None]
        most_us = min(max(limited_us), INTERVAL_US) if limited_us else None
        row[f"limited_{limit}_us"] = _whole(f"limited_{limit}_us", most_us)


def _captured_and_dropped(pictures: dict[str, float]) -> tuple[float | None, float | None]:
    """Drops are what was captured and not encoded, over the steps that know both."""
    if "captured" not in pictures:
        return None, None
    dropped = max(0.0, pictures["captured"] - pictures["encoded_of_captured"])
    return pictures["encoded"] + dropped, dropped


def _limited_us(sums: Sums, limit: str) -> float | None:
    counted = sums.counters.get(f"limited_{limit}_us")
    return sums.weighted.get(f"is_limited_{limit}") if counted is None else counted


def _fill_received(row: dict[str, Value], received: list[Sums]) -> None:
    decode_us = _total(received, "decode_us")
    if decode_us is not None:
        frames = sum(s.frames() for s in received if "decode_us" in s.counters)
        mean_us: float | None = decode_us / frames
    else:
        means = [mean for s in received if (mean := s.mean("mean_decode_us")) is not None]
        mean_us = max(means, default=None)
    row["decode_p50_us"] = _whole("decode_p50_us", mean_us or None)
    for name in ("frames_shown_late", "freeze_count", "freeze_us"):
        row[name] = _whole(name, _total(received, name))


def _total(streams: list[Sums], name: str) -> float | None:
    known = [s.counters[name] for s in streams if name in s.counters]
    return sum(known) if known else None


def _p95(values: list[float]) -> float | None:
    """The value that 95 of 100 do not exceed (nearest rank)."""
    return sorted(values)[-(-len(values) * 95 // 100) - 1] if values else None


def _whole(name: str, value: float | None) -> int | None:
    """Rounded into the column's range; None for what is out of it."""
    if value is None:
        return None
    column = COLUMNS[name]
    # Ours: 2^53, above which a float counts no longer.
    return round(value) if column.least <= value <= min(column.most, 2.0**53) else None
