"""Packets sent in one burst, as one sample of the path's delay.

Source: draft-ietf-rmcat-gcc-02 section 5.2; the rules are those of libwebrtc, InterArrivalDelta.
Ours: a group that arrived before the last, or whose time is not believed, only gives no delta;
libwebrtc begins anew, after three packets in the first case.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """When packets belong together, and when the receiver's clock is not believed."""

    # libwebrtc kSendTimeGroupLength: packets sent within it form a group.
    length_us: int = 5_000
    # libwebrtc kBurstDeltaThreshold, kMaxBurstDuration: what arrives faster than it was sent, in
    # such short steps, came out of one buffer together; for no longer than the second.
    burst_gap_us: int = 5_000
    burst_us: int = 100_000
    # libwebrtc kArrivalTimeOffsetThreshold: arrival times that run ahead of our clock by this much.
    clock_jump_us: int = 3_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDelta:
    """How much later a group left and arrived than the one before; arrival_us is its arrival."""

    send_delta_us: int
    arrival_delta_us: int
    arrival_us: int

    @property
    def delay_delta_us(self) -> int:
        """How much longer the group was under way than the one before."""
        return self.arrival_delta_us - self.send_delta_us


@dataclass(slots=True, kw_only=True)
class _Group:
    first_sent_us: int
    last_sent_us: int
    first_arrival_us: int
    last_arrival_us: int
    reported_us: int


class ArrivalGroups:
    """Takes packets in order of arrival and compares each group with the one before."""

    def __init__(self, settings: GroupSettings | None = None) -> None:
        self._settings = settings or GroupSettings()
        self.reset()

    def reset(self) -> None:
        """Forget everything: the next packet is the first."""
        self._previous: _Group | None = None
        self._current: _Group | None = None

    def handle_arrival(self, *, sent_us: int, arrival_us: int, now_us: int) -> GroupDelta | None:
        """Take a packet; returns a delta when it completes the group before it."""
        group = self._current
        if group is None:
            self._start(sent_us=sent_us, arrival_us=arrival_us, now_us=now_us)
            return None
        if sent_us < group.first_sent_us:
            return None
        if self._joins(group, sent_us=sent_us, arrival_us=arrival_us):
            group.last_sent_us = max(group.last_sent_us, sent_us)
            group.last_arrival_us = arrival_us
            group.reported_us = now_us
            return None
        previous, self._previous = self._previous, group
        delta = None if previous is None else self._compare(previous, group)
        self._start(sent_us=sent_us, arrival_us=arrival_us, now_us=now_us)
        return delta

    def _start(self, *, sent_us: int, arrival_us: int, now_us: int) -> None:
        self._current = _Group(
            first_sent_us=sent_us,
            last_sent_us=sent_us,
            first_arrival_us=arrival_us,
            last_arrival_us=arrival_us,
            reported_us=now_us,
        )

    def _joins(self, group: _Group, *, sent_us: int, arrival_us: int) -> bool:
        send_gap_us = sent_us - group.last_sent_us
        arrival_gap_us = arrival_us - group.last_arrival_us
        if send_gap_us <= 0 or sent_us - group.first_sent_us <= self._settings.length_us:
            return True
        return (
            arrival_gap_us < send_gap_us
            and arrival_gap_us <= self._settings.burst_gap_us
            and arrival_us - group.first_arrival_us < self._settings.burst_us
        )

    def _compare(self, previous: _Group, group: _Group) -> GroupDelta | None:
        arrival_delta_us = group.last_arrival_us - previous.last_arrival_us
        ahead_us = arrival_delta_us - (group.reported_us - previous.reported_us)
        if arrival_delta_us < 0 or ahead_us >= self._settings.clock_jump_us:
            return None
        return GroupDelta(
            send_delta_us=group.last_sent_us - previous.last_sent_us,
            arrival_delta_us=arrival_delta_us,
            arrival_us=group.last_arrival_us,
        )
