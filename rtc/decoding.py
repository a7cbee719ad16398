"""Whole frames on their way through the decoder: which one is next, and what the decoder's answer means.

A decoder that does not keep up first loses frames that no other needs; then the source is asked for a frame to go on
from, and what waits before that one is left out. So what is shown stays young, and the picture hardly stands.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..codecs.types import Picture
from .adaptation.av1_probe import Av1Probe
from .adaptation.decode_monitor import DecodeMonitor
from .adaptation.decode_report import DecodeReport
from .messages import ReceivedFrame
from .playout.dependencies import DecodeOrder
from .playout.packet_buffer import PacketBuffer
from .receiver_feedback import ReceiverFeedback
from .stats import InboundCounters

# ours: a frame and a half at 30 fps; a decoder with time to spare lets a frame wait for the one before it.
SKIP_WAIT_US = 50_000
# ours: a shorter stall of the decoder is over before an answer is here, which takes a round trip and two frames.
CATCH_UP_WAIT_US = 300_000
# ours: the answer is here by then on paths of up to 100 ms; older pictures are of less use than none.
LONGEST_WAIT_US = 500_000
# ours: what takes less to decode is caught up with sooner than any answer comes.
CATCH_UP_US = 100_000


class Decoding:
    """The frames of one source at a time. What monitor and probe know is of the device, and outlives it."""

    def __init__(self, *, counters: InboundCounters, feedback: ReceiverFeedback) -> None:
        self.monitor = DecodeMonitor()
        self.probe = Av1Probe()
        self._counters = counters
        self._feedback = feedback
        self._given: ReceivedFrame | None = None

    def begin(self, buffer: PacketBuffer) -> None:
        """Start on a new source, whose packets are in buffer; the feedback has begun on it."""
        self._order = DecodeOrder()
        self._buffer = buffer
        self._busy_since_us: int | None = None
        # The decoder's answer to a frame of another source is awaited, and ignored.
        self._is_abandoned = self._given is not None

    def keep(self, frame: ReceivedFrame) -> None:
        """Take a frame that became whole."""
        requests = self._feedback.key_requests
        if not self._order.insert(frame):
            self._counters.framesDropped += 1
        elif self._order.is_decodable(frame, self._buffer.previous_of):
            # Nothing before it is waited for any more.
            self._feedback.nacks.discard_through(frame.first_sequence - 1)
            if _is_beginning(frame):
                requests.behind(None)
        if self._order.overflowing:
            self._counters.framesDropped += self._order.clear_waiting()
            requests.require()

    def next_frame(self, *, now_us: int) -> ReceivedFrame | None:
        """The next frame for the decoder; None while it has one."""
        if self._given is not None:
            return None
        frames = self._order.decodable(self._buffer.previous_of)
        oldest = next(frames, None)
        if oldest is None:
            self._busy_since_us = None
            return None
        if self._busy_since_us is None:
            self._busy_since_us = now_us
        wait_us = self._wait_us(oldest, now_us)
        frame: ReceivedFrame | None = oldest
        if wait_us > SKIP_WAIT_US:
            frame = self._younger(oldest, frames, wait_us=wait_us, now_us=now_us)
        else:
            self._feedback.key_requests.behind(None)
        if frame is not None:
            self._give(frame, oldest, now_us=now_us)
        return frame

    def answered(
        self, picture: Picture | None, *, failed: bool, decode_us: int, now_us: int
    ) -> ReceivedFrame | None:
        """Take the decoder's answer; the frame that it decoded, None where it did not."""
        frame, self._given = self._given, None
        self.monitor.ended()
        if frame is None or self._is_abandoned:
            self._is_abandoned = False
            return None
        self._counters.totalDecodeTimeUs += decode_us
        if failed:
            self._counters.undecodableFrames += 1
            self._order.failed()
            self._feedback.undecodable()
            return None
        self.monitor.decoded(frame, picture, decode_us=decode_us, now_us=now_us)
        self._order.decoded(frame)
        self._feedback.decoded(frame, now_us=now_us)
        if picture is not None:
            pixels = picture.width * picture.height
            self.probe.decoded(frame, decode_us=decode_us, pixels=pixels, now_us=now_us)
        return frame

    @property
    def is_starved(self) -> bool:
        """Whether the decoder has nothing, and nothing may be given to it."""
        return self._given is None and self._order.next_frame(self._buffer.previous_of) is None

    @property
    def waiting(self) -> int:
        """How many whole frames wait, for the decoder or for what they need."""
        return len(self._order)

    def poll_report(self, *, now_us: int) -> DecodeReport | None:
        """What the source is to be told of the decoder now."""
        due_us = self.monitor.poll_timeout()
        if due_us is None or now_us < due_us:
            return None
        ready = self._order.ready(self._buffer.previous_of, given=self._given)
        width, height = self.monitor.size
        return self.monitor.poll(
            waiting_frames=len(ready),
            av1_decode_us=self.probe.decode_us(pixels=width * height),
            now_us=now_us,
        )

    def poll_probe(self, *, now_us: int) -> ReceivedFrame | None:
        """An AV1 key frame to decode once more, beside what is being received; a busy device is spared."""
        return None if self.monitor.is_behind else self.probe.poll(now_us=now_us)

    def poll_timeout(self) -> int | None:
        """When poll_report() or poll_probe() has something if nothing else happens."""
        times = (
            self.monitor.poll_timeout(),
            None if self.monitor.is_behind else self.probe.poll_timeout(),
        )
        return min((t for t in times if t is not None), default=None)

    def _wait_us(self, frame: ReceivedFrame, now_us: int) -> int:
        """How long a frame has waited for the decoder alone, and not for what was missing before it."""
        assert self._busy_since_us is not None
        return now_us - max(frame.complete_us, self._busy_since_us)

    def _younger(
        self,
        oldest: ReceivedFrame,
        others: Iterator[ReceivedFrame],
        *,
        wait_us: int,
        now_us: int,
    ) -> ReceivedFrame | None:
        """What to decode in place of the oldest frame, which has waited for long; None for nothing of what waits.

        others are those that may be decoded and came after it.
        """
        if wait_us > CATCH_UP_WAIT_US:
            ready = self._order.ready(self._buffer.previous_of)
            if len(ready) * self.monitor.usual_us > CATCH_UP_US:
                beginning = max(filter(_is_beginning, others), key=_sequence, default=None)
                if beginning is not None:
                    self._counters.catchUps += 1
                    return beginning
                self._feedback.key_requests.behind(now_us)
                if wait_us > LONGEST_WAIT_US:
                    self._drop(ready, now_us=now_us)
                    return None
        if oldest.temporal_id > 0:
            return next((frame for frame in others if frame.temporal_id == 0), oldest)
        return oldest

    def _give(self, frame: ReceivedFrame, oldest: ReceivedFrame, *, now_us: int) -> None:
        passed = self._order.taken(frame)
        self._counters.framesDropped += passed
        if frame is not oldest:
            self._left_out(passed)
        self._pass(frame)
        self._feedback.key_requests.progressed(
            key=_is_beginning(frame), last_sequence=frame.last_sequence
        )
        self._given = frame
        self.monitor.given(frame, wait_us=self._wait_us(frame, now_us), now_us=now_us)

    def _drop(self, frames: list[ReceivedFrame], *, now_us: int) -> None:
        """Leave out all that waits: the answer to what is asked for now is the next picture."""
        self._order.drop(frames)
        self._counters.framesDropped += len(frames)
        self._left_out(len(frames))
        self._pass(frames[-1])
        self._feedback.key_requests.gave_up(frames[-1].last_sequence)
        self._feedback.key_requests.blocked(now_us=now_us, missing=True)

    def _left_out(self, count: int) -> None:
        self._counters.framesDroppedBehind += count
        self.monitor.dropped(count)

    def _pass(self, frame: ReceivedFrame) -> None:
        """Nothing up to this frame is waited for any more."""
        self._buffer.discard_through(frame.last_sequence)
        self._feedback.nacks.discard_through(frame.last_sequence)


def _is_beginning(frame: ReceivedFrame) -> bool:
    """Whether a frame needs nothing of those just before it."""
    return frame.key or (frame.ltr is not None and frame.ltr.is_recovery)


def _sequence(frame: ReceivedFrame) -> int:
    return frame.first_sequence
