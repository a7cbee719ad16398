"""When a receiver asks for a key frame (RFC 4585 6.3.1): as the last resort, and never in floods."""

from __future__ import annotations

# ours: three rounds of retransmission at a usual round-trip time have failed by then.
MIN_STALL_US = 250_000
# libwebrtc VideoReceiveStream2: kMaxWaitForKeyFrame is 200 ms between requests.
MIN_INTERVAL_US = 200_000


class KeyRequests:
    """Decides when a PLI goes out: at once when decoding is impossible, later while NACK may still heal."""

    def __init__(self) -> None:
        self._needed = False
        self._blocked_since_us: int | None = None
        self._last_us: int | None = None

    def require(self) -> None:
        """Nothing but a key frame helps: the stream began, a frame failed to decode or lists overflowed."""
        self._needed = True

    def blocked(self, *, now_us: int) -> None:
        """Frames wait for something that is missing."""
        if self._blocked_since_us is None:
            self._blocked_since_us = now_us

    def progressed(self, *, key: bool) -> None:
        """A frame went to the decoder."""
        self._blocked_since_us = None
        if key:
            self._needed = False

    def poll(self, *, now_us: int, rtt_us: int) -> bool:
        """Whether to send a PLI now."""
        due_us = self.poll_timeout(rtt_us=rtt_us)
        if due_us is None or now_us < due_us:
            return False
        self._last_us = now_us
        return True

    def poll_timeout(self, *, rtt_us: int) -> int | None:
        """When poll() next says yes, if nothing else happens."""
        if self._needed:
            earliest_us = 0
        elif self._blocked_since_us is not None:
            earliest_us = self._blocked_since_us + max(MIN_STALL_US, 3 * rtt_us)
        else:
            return None
        if self._last_us is not None:
            earliest_us = max(earliest_us, self._last_us + max(MIN_INTERVAL_US, 2 * rtt_us))
        return earliest_us
