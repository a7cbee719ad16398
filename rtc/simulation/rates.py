"""A direction over time: rates, target, estimate and queue of each tenth of a second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .aimd_flow import PACKET_BYTES
from .call import SAMPLE_INTERVAL_US, Direction
from .link import LossReason
from .records import PacketRecord
from .run import Run


@dataclass(slots=True, kw_only=True)
class RateRow:
    """One interval, from time_us on; kbps are on the wire.

    capacity is the link's; sent, arrived and queue_lost (packets) are the direction's own by the
    time of sending or arrival; cross is what others sent and the link took. What the encoder was
    asked for, what the path was thought to carry and what a packet would wait are those at time_us.
    """

    direction: str
    time_us: int
    capacity_kbps: float
    sent_kbps: float
    arrived_kbps: float
    cross_kbps: float
    target_kbps: float
    estimate_kbps: float | None
    queue_ms: float
    queue_lost: int


def rate_rows(run: Run, direction: Direction) -> list[RateRow]:
    """A row a sample; bytes go to whole intervals, the last one's beyond the end included."""
    start_us, link = direction.start_us, direction.link
    cross = run.cross[_link_name(direction)]
    rows = [
        RateRow(
            direction=direction.name,
            time_us=sample.time_us,
            capacity_kbps=_kbps(
                link.capacity_bytes(sample.time_us, sample.time_us + SAMPLE_INTERVAL_US)
            ),
            sent_kbps=0.0,
            arrived_kbps=0.0,
            cross_kbps=0.0,
            target_kbps=sample.target_bps / 1000,
            estimate_kbps=None if sample.estimate_bps is None else sample.estimate_bps / 1000,
            queue_ms=sample.queue_us / 1000,
            queue_lost=0,
        )
        for sample in direction.samples
    ]
    for sent_us in cross.served_us:
        if (row := _row(rows, time_us=sent_us, start_us=start_us)) is not None:
            row.cross_kbps += _kbps(PACKET_BYTES)
    for packet in direction.recorder.packets:
        _count(rows, packet, start_us=start_us)
    return rows


def _count(rows: Sequence[RateRow], packet: PacketRecord, *, start_us: int) -> None:
    if (row := _row(rows, time_us=packet.sent_us, start_us=start_us)) is not None:
        row.sent_kbps += _kbps(packet.size_bytes)
        row.queue_lost += packet.fate == LossReason.QUEUE
    if packet.arrival_us is not None:
        row = _row(rows, time_us=packet.arrival_us, start_us=start_us)
        if row is not None:
            row.arrived_kbps += _kbps(packet.size_bytes)


def _row(rows: Sequence[RateRow], *, time_us: int, start_us: int) -> RateRow | None:
    index = (time_us - start_us) // SAMPLE_INTERVAL_US
    return rows[index] if 0 <= index < len(rows) else None


def _link_name(direction: Direction) -> str:
    return direction.name[0] + direction.name.partition("->")[2][0]


def _kbps(size_bytes: int) -> float:
    return size_bytes * 8000 / SAMPLE_INTERVAL_US
