"""How a receiver's decoder keeps up, told to the sender once a second. Pure.

The decoder is behind while frames wait for it or are left out; then reports come twice as often, so that the sender
knows within a second.
"""

from __future__ import annotations

from collections import deque

from ...codecs.types import Codec, Picture
from ..messages import ReceivedFrame
from ..percentile import percentile
from .decode_report import MAX_FRAMES, DecodeReport

# ours: a report has 108 bytes on the wire, 0.9 kbps at one a second.
REPORT_INTERVAL_US = 1_000_000
BEHIND_INTERVAL_US = 500_000
# ours: three frames at 30 fps; a decoder with time to spare never lets one wait for more than the frame before.
BEHIND_WAIT_US = 100_000
# ours: half a second at 30 fps, so that one odd frame says nothing.
LATEST_FRAMES = 15


class DecodeMonitor:
    """Follows one decoder, which has one frame at a time, from report to report."""

    def __init__(self) -> None:
        self._codec: Codec | None = None
        self.size = 0, 0
        """Width and height of the newest picture."""
        self._lag_us = 0
        self._latest: deque[int] = deque(maxlen=LATEST_FRAMES)
        self._since_us: int | None = None
        self._given: tuple[ReceivedFrame, int] | None = None
        self._decode_us: deque[int] = deque(maxlen=MAX_FRAMES)
        self._dropped = 0
        self._longest_wait_us = 0

    @property
    def is_behind(self) -> bool:
        """Whether frames waited too long, or were left out, since the last report."""
        return self._dropped > 0 or self._longest_wait_us > BEHIND_WAIT_US

    @property
    def usual_us(self) -> int:
        """What a frame takes at present; 0 while nothing is known."""
        return percentile(self._latest, 50) or 0

    def given(self, frame: ReceivedFrame, *, wait_us: int, now_us: int) -> None:
        """The decoder has a frame, which waited so long for it."""
        if self._since_us is None:
            self._since_us = now_us
        self._given = frame, now_us
        self._longest_wait_us = max(self._longest_wait_us, wait_us)

    def dropped(self, count: int) -> None:
        """Frames were left out because the decoder is behind."""
        self._dropped += count

    def ended(self) -> None:
        """The decoder is through with what it had, whatever came of it."""
        self._given = None

    def decoded(
        self, frame: ReceivedFrame, picture: Picture | None, *, decode_us: int, now_us: int
    ) -> None:
        """A frame was decoded; picture is None where it shows none."""
        if self._codec not in (None, frame.codec):
            self._since_us = now_us - decode_us
            self._latest.clear()
            self._begin()
        self._codec = frame.codec
        self._decode_us.append(decode_us)
        self._latest.append(decode_us)
        self._lag_us = now_us - frame.complete_us
        if picture is not None:
            self.size = picture.width, picture.height

    def poll(
        self, *, waiting_frames: int, av1_decode_us: int | None, now_us: int
    ) -> DecodeReport | None:
        """The report that is due; none is where no frame was decoded and none is under way."""
        due_us = self.poll_timeout()
        if due_us is None or now_us < due_us or self._since_us is None:
            return None
        report = self._report(waiting_frames, av1_decode_us, now_us - self._since_us, now_us)
        # With nothing to decode the next interval begins with the next frame.
        self._since_us = None if report is None else now_us
        self._begin()
        return report

    def poll_timeout(self) -> int | None:
        """When poll() has a report if nothing else happens."""
        if self._since_us is None:
            return None
        return self._since_us + (BEHIND_INTERVAL_US if self.is_behind else REPORT_INTERVAL_US)

    def _begin(self) -> None:
        self._decode_us.clear()
        self._dropped = 0
        self._longest_wait_us = 0

    def _report(
        self, waiting_frames: int, av1_decode_us: int | None, interval_us: int, now_us: int
    ) -> DecodeReport | None:
        times_us = list(self._decode_us)
        codec = self._codec
        if self._given is not None:
            frame, given_us = self._given
            codec = codec or frame.codec
            elapsed_us = now_us - given_us
            if elapsed_us > self.usual_us:
                times_us.append(elapsed_us)
        median_us, p95_us = percentile(times_us, 50), percentile(times_us, 95)
        if codec is None or median_us is None or p95_us is None:
            return None
        return DecodeReport.clamped(
            codec=codec,
            interval_us=interval_us,
            decode_p50_us=median_us,
            decode_p95_us=p95_us,
            frames_decoded=len(self._decode_us),
            frames_dropped=self._dropped,
            waiting_frames=waiting_frames,
            playout_lag_us=self._lag_us,
            width=self.size[0],
            height=self.size[1],
            av1_decode_us=av1_decode_us,
        )
