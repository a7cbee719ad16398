"""How many bits the next frame may take: the bucket, the time to the next picture, unused rate."""

from __future__ import annotations

from .capture_clock import CaptureClock
from .messages import FrameKind
from .settings import ControllerSettings
from .vbv import MICRO, VbvBuffer

# Ours: unused rate that steering may still spend later, as delay, and how soon it is forgotten.
CREDIT_US = 60_000
CREDIT_DECAY_US = 4_000_000
# Ours: while a large frame is worked off, every frame may still take this part of an even share.
SHARE_MIN = 0.4
# Ours: plans aim at this part of what is sent as it comes, for the model's error.
AIM = 0.88
# Ours: how far over the soft bound that it was planned for a frame is still sent as it comes.
SPARE_US = 10_000
# Ours: a key frame above this is tried again: then four frames later the delay is below 100 ms.
KEY_CAP_US = 175_000


class Budget:
    """Counts what is sent and says what is left. All times are those of the pictures."""

    def __init__(self, target_bps: int, settings: ControllerSettings) -> None:
        self._settings = settings
        self._vbv = VbvBuffer(target_bps)
        self._clock = CaptureClock()
        self._credit_bits = 0
        self._unused_bits = 0

    @property
    def target_bps(self) -> int:
        """The rate in force."""
        return self._vbv.target_bps

    @property
    def gap_us(self) -> int:
        """The time to expect until the next picture."""
        return self._clock.gap_us

    def set_target(self, target_bps: int, *, now_us: int) -> None:
        """Use this rate from now_us on. Raises LocalError below 1 bit/s."""
        self._vbv.set_target(target_bps, now_us=now_us)

    def picture(self, now_us: int) -> None:
        """A picture was captured. Rate that went unused before it may be spent, up to CREDIT_US."""
        self._clock.picture(now_us)
        self._vbv.backlog_bits(now_us)
        unused = self._vbv.unused_bits - self._unused_bits
        self._unused_bits += unused
        kept = self._credit_bits * CREDIT_DECAY_US // (CREDIT_DECAY_US + self.gap_us)
        self._credit_bits = min(kept + unused, self.target_bps * CREDIT_US // MICRO)

    def sent(self, bits: int, *, now_us: int) -> None:
        """A frame of this size was sent."""
        self._vbv.add(bits, now_us=now_us)

    def delay_us(self, now_us: int) -> int:
        """How long the bits sent so far take to drain."""
        return self._vbv.delay_us(now_us)

    def level_bits(self, now_us: int) -> int:
        """The backlog less what may be spent of rate unused before; may be below zero."""
        return self._vbv.backlog_bits(now_us) - self._credit_bits

    def hard_bits(self, now_us: int) -> int:
        """The largest frame that keeps the bound."""
        return self._vbv.room_bits(self._settings.bound_us, now_us=now_us)

    def cap_bits(self, kind: FrameKind, now_us: int) -> int:
        """The largest first try that is sent as it comes."""
        if kind is FrameKind.KEY:
            delay_us = min(KEY_CAP_US, self._settings.bound_us)
            return self._vbv.room_bits(delay_us, now_us=now_us)
        return min(self._soft_bits(now_us, SPARE_US), self.hard_bits(now_us))

    def planned_bits(self, kind: FrameKind, now_us: int) -> int:
        """The largest size that a frame of this kind is planned for."""
        if kind is FrameKind.KEY:
            return self._vbv.room_bits(self._settings.key_delay_us, now_us=now_us)
        return round(AIM * self._soft_bits(now_us, 0))

    def _soft_bits(self, now_us: int, spare_us: int) -> int:
        """Room under the soft bound; while a key frame is worked off, some at least."""
        # At few pictures a second an even share alone exceeds the soft bound. Plans take AIM of it.
        share_us = round(self.gap_us / AIM) + self._settings.residual_us
        bound_us = max(self._settings.soft_bound_us, share_us) + spare_us
        soft = self._vbv.room_bits(min(bound_us, self._settings.bound_us), now_us=now_us)
        return max(soft, round(SHARE_MIN * self.target_bps * self.gap_us / MICRO))
