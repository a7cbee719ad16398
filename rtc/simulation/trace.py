"""Recorded links in Mahimahi's format (mahimahi(1), ravinet/mahimahi src/packet/packetqueue).

One line is one chance to deliver up to 1500 bytes at that millisecond. Bytes that a packet leaves
over serve the next one, if it waits already; a chance that finds the queue empty is lost. After the
last line the trace begins again, its time 0 being the time of that line.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from ...codecs.errors import LocalError

# Mahimahi's PACKET_SIZE: one opportunity carries an Ethernet payload.
OPPORTUNITY_BYTES = 1500
# ours: a day, as for steps; what waits longer is counted in 64 bits of us all the same.
MAX_TRACE_MS = 86_400_000


class TraceRate:
    """A rate by a trace. One unit of work is a byte; work jumps by 1500 at each opportunity."""

    units_per_byte = 1

    def __init__(self, opportunities_ms: Sequence[int]) -> None:
        """Raises LocalError for a trace that is empty, unsorted, negative, or of no duration."""
        if not opportunities_ms:
            raise LocalError("the trace is empty; it needs at least one opportunity")
        if opportunities_ms[0] < 0:
            raise LocalError(f"the trace begins at {opportunities_ms[0]} ms; times are 0 or more")
        for line, (before, after) in enumerate(pairwise(opportunities_ms), start=2):
            if after < before:
                raise LocalError(
                    f"the trace is not sorted: {after} ms in line {line} follows {before} ms"
                )
        if opportunities_ms[-1] > MAX_TRACE_MS:
            raise LocalError(
                f"the trace ends at {opportunities_ms[-1]:.6g} ms; times are 0 to {MAX_TRACE_MS}"
            )
        if not opportunities_ms[-1]:
            raise LocalError("the trace ends at 0 ms; its last line is its length, above 0")
        self._at_ms = list(opportunities_ms)
        self._period_ms = self._at_ms[-1]

    @property
    def period_us(self) -> int:
        """After this time the trace repeats."""
        return self._period_ms * 1000

    def offered(self, now_us: int) -> int:
        """See rate.Rate. A chance at now_us itself has passed."""
        if now_us < 0:
            return 0
        passes, rest_ms = divmod(now_us // 1000, self._period_ms)
        count = passes * len(self._at_ms) + bisect_right(self._at_ms, rest_ms)
        return count * OPPORTUNITY_BYTES

    def begins_us(self, work: int) -> int:
        """See rate.Rate."""
        return self._time_us(work // OPPORTUNITY_BYTES)

    def ends_us(self, work: int) -> int:
        """See rate.Rate."""
        return self._time_us((work - 1) // OPPORTUNITY_BYTES)

    def _time_us(self, opportunity: int) -> int:
        passes, index = divmod(opportunity, len(self._at_ms))
        return (passes * self._period_ms + self._at_ms[index]) * 1000


def parse_trace(text: str) -> TraceRate:
    """A trace from its file's text: one whole number of ms a line. Raises LocalError."""
    opportunities_ms = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            opportunities_ms.append(int(line))
        except ValueError:
            raise LocalError(
                f"line {number} of the trace is {line.strip()[:40]!r}, not a whole number of ms"
            ) from None
    return TraceRate(opportunities_ms)
