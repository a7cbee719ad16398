"""What FEC gives back: a bounded store of media and FEC packets of one stream, which fills gaps as soon as it can."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass

from ...codecs.errors import RemoteError
from ..rtp.fec import FecPacket, fec_bits, recover
from ..stats import InboundCounters

# ours: four of FlexFEC's longest spans, 109 packets, and a second of 5 Mbps.
MAX_MEDIA = 512
MAX_MEDIA_BYTES = MAX_MEDIA * 1500
# libwebrtc ForwardErrorCorrection: kUlpfecMaxMediaPackets, the most FEC packets it keeps.
MAX_FEC = 48
# ours: FEC packets of this many groups tell how long after a packet its FEC may come, and for how long they tell.
TIMED_GROUPS = 8
TIMED_US = 1_000_000
# ours: a frame interval. Where groups take longer, waiting for them cost more in freezes than it saved in requests
# (5 % loss, 100 ms: 9.6 s frozen of 60 with waits up to 100 ms, 6.7 s without); the sender may hold its answer.
MAX_WAIT_US = 33_000
# ours: half of the packets of two layers are in the base layer; where FEC covers few of those, most waits are vain.
MIN_COVERED_PERCENT = 25


@dataclass(frozen=True, slots=True)
class _Media:
    data: bytes
    arrival_us: int


@dataclass(frozen=True, slots=True)
class _Group:
    """An FEC packet that came: how long after the first packet it protects, and over how many.

    stored is how many media packets had been stored before.
    """

    delay_us: int
    protected: int
    stored: int


@dataclass(slots=True, eq=False)
class _Waiting:
    """An FEC packet that still misses more than one packet."""

    fec: FecPacket
    missing: set[int]
    stored: int
    """How many media packets had been stored when it came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """What an FEC packet gave: whole RTP packets, and the sequence numbers that it cannot give alone."""

    recovered: tuple[bytes, ...] = ()
    unrecovered: tuple[int, ...] = ()


NOTHING = Recovery()


class FecRecovery:
    """Recovers packets of one stream; numbers are 16-bit, as FEC names them.

    A recovered packet counts as received for other FEC packets. Each FEC packet recovers one packet at
    most, so work and output are bounded by what arrives.
    """

    def __init__(self, *, stamp_ids: Collection[int], counters: InboundCounters) -> None:
        """stamp_ids are ExtensionMap.stamp_ids."""
        self._stamp_ids = stamp_ids
        self._counters = counters
        self._media: dict[int, _Media] = {}
        self._bytes = 0
        self._stored = 0
        self._waiting: deque[_Waiting] = deque()
        self._groups: deque[_Group] = deque(maxlen=TIMED_GROUPS)
        self._last_us: int | None = None

    def __len__(self) -> int:
        """Packets held, media and FEC."""
        return len(self._media) + len(self._waiting)

    def media(self, number: int, data: bytes, *, now_us: int) -> Recovery:
        """Take a media packet as it arrived."""
        self._store(number, data, now_us=now_us)
        recovered = self._recover_all(number, now_us=now_us)
        return Recovery(recovered=tuple(recovered)) if recovered else NOTHING

    def parity(self, fec: FecPacket, *, now_us: int) -> Recovery:
        """Take an FEC packet."""
        self._time(fec, now_us=now_us)
        missing = {number for number in fec.sequence_numbers if number not in self._media}
        if not missing:
            self._counters.fecPacketsDiscarded += 1
            return NOTHING
        if len(missing) > 1:
            self._waiting.append(_Waiting(fec, missing, self._stored))
            if len(self._waiting) > MAX_FEC:
                self._discard(self._waiting[0])
            return Recovery(unrecovered=tuple(missing))
        recovered = self._recover(fec, missing.pop(), now_us=now_us)
        if recovered is None:
            return NOTHING
        number, data = recovered
        return Recovery(recovered=(data, *self._recover_all(number, now_us=now_us)))

    def wait_us(self, now_us: int) -> int:
        """How long the FEC of a packet that is missing now may still take to come.

        0 where that is too long to wait for, or unlikely.
        """
        if self._last_us is None or now_us - self._last_us > TIMED_US:
            return 0
        delay_us = max(group.delay_us for group in self._groups)
        # What the first of the groups protects was stored before it is counted from.
        protected = sum(group.protected for group in self._groups) - self._groups[0].protected
        stored = self._stored - self._groups[0].stored
        if delay_us > MAX_WAIT_US or 100 * protected < MIN_COVERED_PERCENT * stored:
            return 0
        return delay_us

    def _recover_all(self, number: int, *, now_us: int) -> list[bytes]:
        """What follows from a packet that is there now, and from what that gives in turn."""
        arrived, recovered = [number], []
        while arrived:
            number = arrived.pop()
            for waiting in [w for w in self._waiting if number in w.missing]:
                found = self._fill(waiting, number, now_us=now_us)
                if found is not None:
                    arrived.append(found[0])
                    recovered.append(found[1])
        return recovered

    def _fill(self, waiting: _Waiting, number: int, *, now_us: int) -> tuple[int, bytes] | None:
        """Take one of the packets that an FEC packet misses; what it recovers when only one is left."""
        if self._stored - waiting.stored > MAX_MEDIA:
            # What it protects has left the store; its numbers may come again for other packets.
            self._discard(waiting)
            return None
        waiting.missing.discard(number)
        if len(waiting.missing) > 1:
            return None
        self._waiting.remove(waiting)
        return self._recover(waiting.fec, waiting.missing.pop(), now_us=now_us)

    def _recover(self, fec: FecPacket, missing: int, *, now_us: int) -> tuple[int, bytes] | None:
        """The missing packet's number and bytes; None when packets and parity do not go together."""
        held = [number for number in fec.sequence_numbers if number in self._media]
        # Another FEC packet may have given the packet, and the store lost others since.
        if missing in self._media or len(held) + 1 < len(fec.sequence_numbers):
            self._counters.fecPacketsDiscarded += 1
            return None
        try:
            present = {n: fec_bits(self._media[n].data, stamp_ids=self._stamp_ids) for n in held}
            data = recover(fec, present)
        except RemoteError:
            self._counters.malformedRtp += 1
            self._counters.fecPacketsDiscarded += 1
            return None
        self._counters.fecPacketsRecovered += 1
        self._store(missing, data, now_us=now_us)
        return missing, data

    def _store(self, number: int, data: bytes, *, now_us: int) -> None:
        replaced = self._media.pop(number, None)
        self._bytes += len(data) - (len(replaced.data) if replaced else 0)
        self._media[number] = _Media(data, now_us)
        self._stored += 1
        while len(self._media) > MAX_MEDIA or self._bytes > MAX_MEDIA_BYTES:
            self._bytes -= len(self._media.pop(next(iter(self._media))).data)

    def _time(self, fec: FecPacket, *, now_us: int) -> None:
        arrivals = [self._media[n].arrival_us for n in fec.sequence_numbers if n in self._media]
        if arrivals:
            protected = len(fec.sequence_numbers)
            self._groups.append(_Group(now_us - min(arrivals), protected, self._stored))
            self._last_us = now_us

    def _discard(self, waiting: _Waiting) -> None:
        self._waiting.remove(waiting)
        self._counters.fecPacketsDiscarded += 1
