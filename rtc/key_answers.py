"""Which requests for a key frame are answered by a new one."""

from __future__ import annotations

from .resilience.nack import DEFAULT_RTT_US
from .rtp.rtcp import FullIntraRequest

# libwebrtc kMinKeyFrameRequestIntervalMs (VideoStreamEncoder): a flood of requests makes no flood of key frames.
MIN_KEY_INTERVAL_US = 300_000


class KeyAnswers:
    """The sending side of PLI and FIR for one stream, which begins with a key frame."""

    def __init__(self) -> None:
        self.wanted = True
        """Whether the next picture is to be a key frame."""
        self._sent_us: int | None = None
        self._last_fir: int | None = None

    def asked(self, *, rtt_us: int | None, now_us: int) -> None:
        """A receiver asks. What crossed a key frame on its way is answered by that one."""
        answered_us = max(DEFAULT_RTT_US if rtt_us is None else rtt_us, MIN_KEY_INTERVAL_US)
        if self._sent_us is None or now_us - self._sent_us >= answered_us:
            self.wanted = True

    def fir(self, message: FullIntraRequest, *, ssrc: int) -> int:
        """Read a FIR; how many new requests it holds for the stream."""
        new = 0
        # RFC 5104 4.3.1.1: a repeated sequence number is the same request.
        for media_ssrc, number in message.requests:
            if media_ssrc == ssrc and number != self._last_fir:
                self._last_fir = number
                new += 1
        return new

    def sent(self, *, now_us: int) -> None:
        """A key frame was made."""
        self.wanted, self._sent_us = False, now_us
