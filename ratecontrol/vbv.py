"""The bucket that every sent frame is counted in."""

from __future__ import annotations

from ..codecs.errors import LocalError

MICRO = 1_000_000


class VbvBuffer:
    """A leaky bucket: filled by sent frames, drained at the current target rate.

    The level is kept in millionths of a bit, in which a rate in bit/s times a time in us is a
    whole number: no rounding, so a recount from the bitstream gives the same level on every frame.
    Debt is never forgiven: a new target changes how fast the bits drain, not how many there are.
    Time that runs backwards drains nothing.
    """

    def __init__(self, target_bps: int) -> None:
        self._target_bps = _checked_target(target_bps)
        self._level = 0
        self._unused = 0
        self._now_us: int | None = None

    @property
    def target_bps(self) -> int:
        """The rate at which the bucket drains."""
        return self._target_bps

    @property
    def unused_bits(self) -> int:
        """Bits that could have been sent while the bucket was empty, since the beginning."""
        return self._unused // MICRO

    def set_target(self, target_bps: int, *, now_us: int) -> None:
        """Drain at the old rate up to now_us, at target_bps from then on."""
        _checked_target(target_bps)
        self._drain(now_us)
        self._target_bps = target_bps

    def backlog_bits(self, now_us: int) -> int:
        """Bits that still wait at now_us, rounded up."""
        self._drain(now_us)
        return -(-self._level // MICRO)

    def delay_us(self, now_us: int) -> int:
        """How long the bits that wait at now_us take to drain, rounded up."""
        self._drain(now_us)
        return -(-self._level // self._target_bps)

    def room_bits(self, delay_us: int, *, now_us: int) -> int:
        """The largest frame after which the delay is at most delay_us; 0 when there is none."""
        self._drain(now_us)
        return max(0, (delay_us * self._target_bps - self._level) // MICRO)

    def add(self, bits: int, *, now_us: int) -> None:
        """Count a frame of this many bits, sent at now_us."""
        if bits < 0:
            raise LocalError(f"a frame has 0 bits or more, got {bits}")
        self._drain(now_us)
        self._level += bits * MICRO

    def _drain(self, now_us: int) -> None:
        if self._now_us is not None and now_us > self._now_us:
            level = self._level - (now_us - self._now_us) * self._target_bps
            self._level = max(0, level)
            self._unused += max(0, -level)
        if self._now_us is None or now_us > self._now_us:
            self._now_us = now_us


def _checked_target(target_bps: int) -> int:
    if target_bps <= 0:
        raise LocalError(f"target_bps must be 1 or more, got {target_bps}")
    return target_bps
