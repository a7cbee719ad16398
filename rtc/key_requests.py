"""What a receiver that cannot go on asks its source for: a frame from a reference it holds, in the end a key frame.

RPSI (RFC 4585 6.3.3) names a long-term reference, PLI (6.3.1) is the last resort; neither comes in floods.
"""

from __future__ import annotations

from enum import Enum

# ours: three rounds of retransmission at a usual round-trip time have failed by then.
MIN_STALL_US = 250_000
# libwebrtc VideoReceiveStream2: kMaxWaitForKeyFrame is 200 ms between requests.
MIN_INTERVAL_US = 200_000
# ours: a packet asked for again is back within a round trip and this, pacing and reordering included.
REPAIR_MARGIN_US = 30_000
# ours: two round trips for two requests, and the time to encode, pace and decode the answer.
REFERENCE_MARGIN_US = 100_000
# ours: a frame interval of 30 fps; on shorter paths a second request would find the answer being encoded.
MIN_REFERENCE_INTERVAL_US = 33_000


class Request(Enum):
    """What is asked for."""

    REFERENCE = "RPSI"
    KEY = "PLI"


class KeyRequests:
    """Decides when a request goes out: at once when decoding is impossible, later while repairs may still heal.

    rtt_us in each call is how long a repair takes. has_reference tells that a long-term reference was
    decoded, which the sender can go on from; without one nothing but a key frame is ever asked for.
    """

    def __init__(self) -> None:
        self._needed = False
        self._key_asked_us: int | None = None
        self._reference_asked_us: int | None = None
        self._given_up: int | None = None
        self._blocked_since_us: int | None = None
        self._missing_since_us: int | None = None
        self._first_reference_us: int | None = None
        self._behind_since_us: int | None = None
        self._behind_asked_us: int | None = None

    def require(self) -> None:
        """Nothing but a key frame helps: the stream began, a frame failed to decode or lists overflowed."""
        self._needed = True

    def blocked(self, *, now_us: int, missing: bool = False, wait_us: int = 0) -> None:
        """Frames wait; missing tells that they do for something lost, not for what is still arriving.

        wait_us is how long FEC may take to give that back before it is asked for.
        """
        if self._blocked_since_us is None:
            self._blocked_since_us = now_us
        if missing and self._missing_since_us is None:
            self._missing_since_us = now_us + wait_us

    def behind(self, now_us: int | None) -> None:
        """The decoder is so far behind that it should go on from a newer frame; None says that it is not."""
        if now_us is None:
            self._behind_since_us = self._behind_asked_us = None
        elif self._behind_since_us is None:
            self._behind_since_us = now_us

    def gave_up(self, sequence: int) -> None:
        """A packet, by its unwrapped sequence number, that others need will not be repaired."""
        self._given_up = sequence if self._given_up is None else max(sequence, self._given_up)

    def progressed(self, *, key: bool, last_sequence: int) -> None:
        """A frame went to the decoder, with that last packet.

        key tells that it needs nothing of what was lost before it.
        """
        self._blocked_since_us = self._missing_since_us = self._first_reference_us = None
        if key:
            self._needed = False
            self.behind(None)
        if self._given_up is not None and last_sequence > self._given_up:
            self._given_up = None

    def poll(self, *, now_us: int, rtt_us: int, has_reference: bool = False) -> Request | None:
        """What to ask for now."""
        key_us = self._key_due_us(rtt_us, has_reference=has_reference)
        if key_us is not None and now_us >= key_us:
            self._key_asked_us = now_us
            return Request.KEY
        reference_us = self._reference_due_us(rtt_us, has_reference=has_reference)
        if reference_us is not None and now_us >= reference_us:
            self._reference_asked_us = self._behind_asked_us = now_us
            if self._first_reference_us is None and self._missing_since_us is not None:
                self._first_reference_us = now_us
            return Request.REFERENCE
        return None

    def poll_timeout(self, *, rtt_us: int, has_reference: bool = False) -> int | None:
        """When poll() next asks for something, if nothing else happens."""
        times = (
            self._key_due_us(rtt_us, has_reference=has_reference),
            self._reference_due_us(rtt_us, has_reference=has_reference),
        )
        return min((t for t in times if t is not None), default=None)

    def _key_due_us(self, rtt_us: int, *, has_reference: bool) -> int | None:
        interval_us = max(MIN_INTERVAL_US, 2 * rtt_us)
        if self._needed:
            due_us = 0
        elif has_reference and self._missing_since_us is not None:
            if self._first_reference_us is None:
                return None
            due_us = self._first_reference_us + 2 * rtt_us + REFERENCE_MARGIN_US
        elif self._blocked_since_us is not None:
            due_us = self._blocked_since_us
            if self._given_up is None:
                due_us += max(MIN_STALL_US, 3 * rtt_us)
        elif self._behind_since_us is not None and not has_reference:
            due_us = self._behind_since_us
            interval_us = 2 * rtt_us + REFERENCE_MARGIN_US
        else:
            return None
        if self._key_asked_us is not None:
            due_us = max(due_us, self._key_asked_us + interval_us)
        return due_us

    def _reference_due_us(self, rtt_us: int, *, has_reference: bool) -> int | None:
        if self._needed or not has_reference:
            return None
        if self._missing_since_us is None:
            return self._behind_due_us(rtt_us)
        due_us = self._missing_since_us
        if self._given_up is None:
            due_us += rtt_us + REPAIR_MARGIN_US
        if self._reference_asked_us is not None:
            interval_us = max(MIN_REFERENCE_INTERVAL_US, rtt_us)
            due_us = max(due_us, self._reference_asked_us + interval_us)
        return due_us

    def _behind_due_us(self, rtt_us: int) -> int | None:
        """Nothing was lost: the decoder goes on while the answer is on its way."""
        if self._behind_since_us is None or self._behind_asked_us is None:
            return self._behind_since_us
        return self._behind_asked_us + 2 * rtt_us + REFERENCE_MARGIN_US
