"""How much of a link a direction used, lost and left to others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .aimd_flow import PACKET_BYTES
from .call import Direction
from .link import LossReason
from .records import PacketKind, PacketRecord
from .run import Run

US_PER_S = 1_000_000
# ours: a second holds some thirty frames, so that their sizes even out.
NEED_WINDOW_US = US_PER_S
# ours: two calls have found their shares by then.
SETTLED_US = 15 * US_PER_S
# ours: at 30 fps webrtc-stats calls a gap between pictures a freeze from 183 ms on.
OUTAGE_US = 200_000
# What no viewer or listener has anything of.
OVERHEAD_KINDS = (PacketKind.PADDING, PacketKind.RTCP)


def queue_loss_ratio(packets: Sequence[PacketRecord]) -> float | None:
    """The share of the packets offered that found the queue full."""
    dropped = sum(p.fate == LossReason.QUEUE for p in packets)
    return round(dropped / len(packets), 5) if packets else None


def utilisation(direction: Direction, *, duration_us: int) -> float | None:
    """Everything of a direction that was served, against all that its link could have carried."""
    link = direction.link
    capacity_bytes = link.capacity_bytes(0, duration_us)
    if not capacity_bytes:
        return None
    begun = sum(p.size_bytes for p in _begun(direction.recorder.packets, duration_us))
    # The last packet is in service at the end; alone on a link, its rest is known.
    return round(min(begun, link.served_bytes(duration_us)) / capacity_bytes, 4)


def utilisation_of_need(direction: Direction, *, duration_us: int) -> float | None:
    """What was served of sound, frames and their repair, against what was there and of use.

    That is, in each second, the lesser of what the link could carry and of the need: the target
    rate with the overhead that frames really had on the wire, and the sound. Who sends more than
    that gains nothing by it: it is 1 at most.
    """
    recorder, start_us = direction.recorder, direction.start_us
    media = _size(p for p in recorder.packets if p.kind is PacketKind.MEDIA)
    coded = sum(frame.bytes or 0 for frame in recorder.frames)
    if not coded:
        return None
    sound = _size(p for p in recorder.packets if p.kind is PacketKind.AUDIO)
    need_bytes_s = direction.target_bps * media / coded / 8
    need_bytes_s += sound * US_PER_S / (duration_us - start_us)
    useful = 0.0
    for from_us in range(start_us, duration_us, NEED_WINDOW_US):
        to_us = min(from_us + NEED_WINDOW_US, duration_us)
        need = need_bytes_s * (to_us - from_us) / US_PER_S
        useful += min(need, direction.link.capacity_bytes(from_us, to_us))
    served = _size(p for p in _begun(recorder.packets, duration_us) if p.kind not in OVERHEAD_KINDS)
    return round(min(1.0, served / useful), 4) if useful else None


def link_figures(run: Run, name: str) -> dict[str, Any]:
    """What a link carried, and who of those on it had which share.

    outage_s is the time in which it carried nothing, for OUTAGE_US at least: pictures freeze then.
    cross_share is the others' part of what was served while there were any; fairness is Jain's
    index over what each call received from 15 s after the last one began.
    """
    directions = [d for d in run.directions.values() if d.name[0] == name[0]]
    link, duration_us = directions[0].link, run.scenario.duration_us
    capacity_bytes = link.capacity_bytes(0, duration_us)
    spans = run.cross[name].spans_us(duration_us)
    cross = PACKET_BYTES * len(run.cross[name].served_us)
    calls = sum(
        p.size_bytes
        for direction in directions
        for p in direction.recorder.packets
        if p.queue_us is not None and any(start <= p.sent_us < end for start, end in spans)
    )
    cross_us = sum(end - start for start, end in spans)
    return {
        "utilisation": round(link.served_bytes(duration_us) / capacity_bytes, 4)
        if capacity_bytes
        else None,
        "outage_s": round(link.outage_us(0, duration_us, least_us=OUTAGE_US) / 1e6, 3),
        "cross_kbps": round(cross * 8e3 / cross_us, 1) if cross_us else None,
        "cross_share": round(cross / (cross + calls), 4) if cross else None,
        "fairness": _fairness(directions, duration_us),
    }


def _fairness(directions: Sequence[Direction], duration_us: int) -> float | None:
    """Jain, Chiu, Hawe: "A quantitative measure of fairness" (1984); None for one call."""
    settled_us = max(d.start_us for d in directions) + SETTLED_US
    if len(directions) < 2 or settled_us >= duration_us:
        return None
    received = [
        _size(
            p
            for p in direction.recorder.packets
            if p.arrival_us is not None and settled_us <= p.arrival_us < duration_us
        )
        for direction in directions
    ]
    squares = sum(size * size for size in received)
    return round(sum(received) ** 2 / (len(received) * squares), 4) if squares else None


def _begun(packets: Iterable[PacketRecord], end_us: int) -> Iterable[PacketRecord]:
    """Packets whose service began before a time."""
    return (p for p in packets if p.queue_us is not None and p.sent_us + p.queue_us < end_us)


def _size(packets: Iterable[PacketRecord]) -> int:
    return sum(p.size_bytes for p in packets)
