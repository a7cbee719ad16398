"""How much may be sent again: a peer that asks for everything at every round trip gets a bounded answer."""

from __future__ import annotations

# libwebrtc's RtpTransportControllerSend holds retransmissions to the target rate too (retransmission_rate_limiter,
# over kRetransmitWindowSizeMs = 500); ours: over so long that an outage of three seconds, repaired in one round,
# freezes the picture once and not twice.
WINDOW_US = 4_000_000

_US_PER_S = 1_000_000


class RetransmissionBudget:
    """Fills at the target rate, up to one window of it; full at first."""

    def __init__(self) -> None:
        # In millionths of a bit: steps of a microsecond lose nothing to rounding.
        self._filled: int | None = None
        self._filled_us = 0

    def available_bytes(self, *, target_bps: int, now_us: int) -> int:
        """What may be sent again now."""
        most = target_bps * WINDOW_US
        if self._filled is None:
            self._filled = most
        self._filled = min(most, self._filled + target_bps * (now_us - self._filled_us))
        self._filled_us = now_us
        return max(0, self._filled) // (8 * _US_PER_S)

    def spend(self, size_bytes: int) -> None:
        """Note what was sent again."""
        if self._filled is not None:
            self._filled -= 8 * _US_PER_S * size_bytes
