from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from codecpilot.codecs.errors import LocalError
from codecpilot.codecs.slot_book import SlotBook
from codecpilot.codecs.types import Codec, Content, EncodedFrame, EncodeRequest
from codecpilot.ratecontrol.frame_controller import FrameController
from codecpilot.ratecontrol.ladder import Size, coded_size
from codecpilot.ratecontrol.messages import Drop, DropReason, FramePlan
from codecpilot.ratecontrol.settings import ControllerSettings
from codecpilot.rtc.encode_loop import Skipped, encode_picture

from .fakes import picture

FRAME_US = 33_333
ENCODE_US, ENCODE_CPU_US = 700, 300


class SizedEncoder:
    """Gives each try the size that the test says, at the coded size that was asked for."""

    codec = Codec.AV1
    implementation = "sized"

    def __init__(self, bits: Callable[[EncodeRequest], int], *, can_retry: bool = True) -> None:
        self._bits = bits
        self.can_retry = can_retry
        self.requests: list[EncodeRequest] = []
        self.coded_sizes: dict[int, Size] = {}

    def encode(self, request: EncodeRequest) -> EncodedFrame:
        self.requests.append(request)
        scaled = coded_size(request.picture.width, request.picture.height, request.scale)
        width, height = self.coded_sizes.get(request.frame_id, scaled)
        return EncodedFrame(
            data=bytes(self._bits(request) // 8),
            codec=self.codec,
            frame_id=request.frame_id,
            capture_us=request.picture.capture_us,
            key=request.key,
            quantizer=request.quantizer,
            temporal_id=request.temporal_id,
            dependencies=request.dependencies,
            ltr_slot=request.ltr_slot,
            width=width,
            height=height,
            encode_us=ENCODE_US,
            encode_cpu_us=ENCODE_CPU_US,
        )

    def close(self) -> None:
        pass


class Stream:
    """One stream's loop: an encoder, a controller and a book, a picture every FRAME_US."""

    def __init__(
        self,
        bits: Callable[[EncodeRequest], int],
        *,
        target_bps: int = 100_000,
        can_retry: bool = True,
    ) -> None:
        self.encoder = SizedEncoder(bits, can_retry=can_retry)
        self.controller = FrameController(target_bps=target_bps)
        self.book = SlotBook()
        self.index = 0

    @property
    def now_us(self) -> int:
        return self.index * FRAME_US

    @property
    def last(self) -> EncodeRequest:
        return self.encoder.requests[-1]

    def next(
        self,
        *,
        key: bool = False,
        ltr: bool = False,
        finer: bool = True,
        temporal_id: int = 0,
        from_ltr: bool = False,
        preset: str = "default",
        content: Content = Content.CAMERA,
    ) -> EncodedFrame | Skipped:
        self.index += 1
        return encode_picture(
            picture(self.now_us, width=320, height=180),
            encoder=self.encoder,
            controller=self.controller,
            book=self.book,
            frame_id=self.index,
            now_us=self.now_us,
            key=key,
            ltr=ltr,
            finer=finer,
            temporal_id=temporal_id,
            from_ltr=from_ltr,
            preset=preset,
            content=content,
        )

    def sent(self, **asked: bool | int) -> EncodedFrame:
        result = self.next(**asked)  # type: ignore[arg-type]
        assert isinstance(result, EncodedFrame)
        return result


def small(request: EncodeRequest) -> int:
    return 8_000 if request.key else 2_000


def test_first_picture_is_a_key_frame_and_the_second_reads_it() -> None:
    stream = Stream(small)
    first, second = stream.sent(), stream.sent()
    assert (first.key, first.dependencies, first.tries) == (True, (), 1)
    assert (second.key, second.dependencies, second.tries) == (False, (1,), 1)
    assert stream.encoder.requests[0].writes == tuple(range(8))
    assert stream.last.reads == (0,)
    assert stream.last.writes == (1,)
    assert stream.book.frame_in(1) == 2


def test_request_carries_picture_plan_preset_and_content() -> None:
    stream = Stream(small)
    stream.next(preset="low", content=Content.SCREEN)
    request = stream.last
    assert (request.preset, request.content) == ("low", Content.SCREEN)
    assert request.picture.capture_us == FRAME_US
    assert request.scale == 1
    assert 50_000 <= request.target_bps <= 200_000


def test_each_try_is_coarser_and_all_are_counted_and_timed() -> None:
    sizes = {1: [60_000, 15_000], 2: [1_000]}
    stream = Stream(lambda request: sizes[request.frame_id].pop(0))
    first = stream.sent()
    assert first.tries == 2
    assert (first.encode_us, first.encode_cpu_us) == (2 * ENCODE_US, 2 * ENCODE_CPU_US)
    one, two = stream.encoder.requests
    assert two.quantizer > one.quantizer or two.scale < one.scale
    assert (one.reads, one.writes, one.frame_id) == (two.reads, two.writes, two.frame_id)
    assert one.picture is two.picture
    assert 8 * len(first.data) == 15_000
    assert stream.controller.vbv_delay_us(stream.now_us) == 150_000
    assert stream.sent().tries == 1


def test_backlog_skips_a_picture_without_encoding_it() -> None:
    stream = Stream(lambda request: 40_000 if request.key else 2_000, can_retry=False)
    assert stream.sent().key
    assert stream.next() == Skipped(
        reason=DropReason.BACKLOG, tries=0, encode_us=0, encode_cpu_us=0
    )
    assert len(stream.encoder.requests) == 1
    assert not stream.book.needs_key
    assert stream.book.frame_in(0) == 1
    results = [stream.next() for _ in range(12)]
    frames = [result for result in results if isinstance(result, EncodedFrame)]
    assert frames[0].dependencies == (1,)
    assert not any(frame.key for frame in frames)


def test_too_large_a_picture_is_skipped_and_the_next_reads_what_was_sent() -> None:
    stream = Stream(lambda request: 90_000 if request.frame_id == 3 else small(request))
    first, second, third = stream.sent(), stream.sent(), stream.next()
    assert first.key
    assert isinstance(third, Skipped)
    assert third.reason is DropReason.TOO_LARGE
    assert 2 <= third.tries <= ControllerSettings().max_tries
    assert third.encode_us == third.tries * ENCODE_US
    assert third.encode_cpu_us == third.tries * ENCODE_CPU_US
    assert not stream.book.needs_key
    assert stream.book.frame_in(1) == second.frame_id
    fourth = stream.sent()
    assert fourth.dependencies == (second.frame_id,)
    # It writes the slot that the dropped tries spoilt: no other frame may read that one.
    assert stream.last.writes == (2,)
    assert stream.book.frame_in(2) == fourth.frame_id


def test_after_a_dropped_key_try_the_next_frame_is_a_key_frame() -> None:
    stream = Stream(lambda request: 90_000 if request.frame_id == 3 else small(request))
    assert stream.sent().key
    assert not stream.sent().key
    assert isinstance(stream.next(key=True), Skipped)
    assert stream.book.needs_key
    fourth = stream.sent()
    assert fourth.key
    assert not stream.book.needs_key
    assert stream.sent().dependencies == (fourth.frame_id,)


def test_a_key_frame_that_finds_no_room_leaves_the_chain_as_it_was() -> None:
    stream = Stream(lambda request: 40_000 if request.frame_id == 2 else small(request))
    stream.encoder.can_retry = False
    stream.sent()
    stream.sent()
    assert isinstance(stream.next(key=True), Skipped)
    assert not stream.book.needs_key


def test_ltr_pins_the_frame_and_recovery_reads_the_acknowledged_one() -> None:
    stream = Stream(lambda request: 2_000)
    stream.sent()
    ltr = stream.sent(ltr=True)
    assert ltr.ltr_slot in (4, 5, 6, 7)
    assert stream.last.writes == (1, ltr.ltr_slot)
    stream.sent()
    stream.book.acknowledge(ltr.frame_id)
    recovery = stream.sent(from_ltr=True)
    assert recovery.dependencies == (ltr.frame_id,)
    assert stream.last.reads == (ltr.ltr_slot,)
    assert stream.sent().dependencies == (recovery.frame_id,)


def test_recovery_without_an_acknowledged_ltr_is_a_key_frame() -> None:
    stream = Stream(small)
    stream.sent()
    recovery = stream.sent(from_ltr=True)
    assert (recovery.key, recovery.dependencies) == (True, ())
    assert not stream.sent(ltr=True).key


def test_an_ltr_pinned_in_passing_is_coded_as_any_other_frame() -> None:
    stream = Stream(lambda request: round(40_000 * 2 ** (-request.quantizer / 10)))
    plain = [stream.sent() for _ in range(40)][-1]
    passing = stream.sent(ltr=True, finer=False)
    assert passing.ltr_slot in (4, 5, 6, 7)
    assert stream.last.writes[1:] == (passing.ltr_slot,)
    assert stream.last.ltr_slot is None
    assert abs(passing.quantizer - plain.quantizer) <= 1
    finer = stream.sent(ltr=True)
    assert stream.last.ltr_slot == finer.ltr_slot
    assert 2 <= passing.quantizer - finer.quantizer <= 4


def test_a_key_frame_in_place_of_an_upper_layer_frame_is_of_the_base_layer() -> None:
    stream = Stream(small)
    key = stream.sent(temporal_id=1)
    assert (key.key, key.temporal_id) == (True, 0)


def test_an_upper_layer_frame_writes_nothing_and_is_read_by_none() -> None:
    stream = Stream(lambda request: 2_000)
    base = stream.sent()
    for _ in range(3):
        upper = stream.sent(temporal_id=1)
        assert (upper.temporal_id, upper.dependencies) == (1, (base.frame_id,))
        assert stream.last.writes == ()
    assert stream.sent().dependencies == (base.frame_id,)


def test_upper_layer_frames_are_coarser_and_long_term_ones_finer() -> None:
    stream = Stream(lambda r: 8_000 if r.key else round(60_000 * 2 ** (-r.quantizer / 10)))
    for _ in range(30):
        stream.next()
    base = stream.sent()
    upper = stream.sent(temporal_id=1)
    long_term = stream.sent(ltr=True)
    assert long_term.quantizer < base.quantizer < upper.quantizer


def test_an_encoder_that_cannot_retry_is_asked_once() -> None:
    stream = Stream(lambda request: 60_000, can_retry=False)
    assert stream.sent().tries == 1
    assert stream.controller.vbv_delay_us(stream.now_us) == 600_000


def test_errors_of_the_encoder_pass_through_and_leave_the_book_and_bucket() -> None:
    def refuse(request: EncodeRequest) -> int:
        if request.frame_id == 2:
            raise LocalError("refused")
        return small(request)

    stream = Stream(refuse)
    stream.sent()
    before = stream.controller.vbv_delay_us(stream.now_us)
    with pytest.raises(LocalError, match="refused"):
        stream.next()
    assert stream.controller.vbv_delay_us(stream.now_us - FRAME_US) <= before
    assert stream.sent().dependencies == (1,)


class WatchedController(FrameController):
    """Notes what the loop says that the slots hold."""

    held: Sequence[Size] = ()

    def plan(self, *, held_sizes: Iterable[Size] = (), **rest: Any) -> FramePlan | Drop:
        self.held = list(held_sizes)
        return super().plan(held_sizes=self.held, **rest)


def test_controller_is_told_the_sizes_in_the_slots_read_and_written() -> None:
    """Of dropped tries too, which the encoder alone holds: AV1 limits the size against both."""
    stream = Stream(lambda r: 90_000 if r.frame_id == 3 else 8_000 if r.key else 1_000)
    stream.encoder.coded_sizes[3] = (160, 90)
    stream.controller = controller = WatchedController(target_bps=100_000)
    told = []
    for _ in range(5):
        stream.next()
        told.append(controller.held)
    full = (320, 180)
    assert told == [[], [full, full], [full, full], [full, (160, 90)], [full, full]]
