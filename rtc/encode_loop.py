"""The one loop over a picture: plan, encode, judge, try again.

The live call, the simulator and the offline evaluation all run this function. It runs to its end in
the thread that calls it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from ..codecs.av1_presets import PRESETS, frame_scale
from ..codecs.slot_book import References, SlotBook
from ..codecs.types import (
    FULL_SIZE,
    Codec,
    Content,
    EncodedFrame,
    EncodeRequest,
    Picture,
    VideoEncoder,
)
from ..ratecontrol.frame_controller import FrameController
from ..ratecontrol.messages import Drop, DropReason, FrameKind, FramePlan, Retry


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A picture that is not sent; encode_us and encode_cpu_us cover the tries thrown away."""

    reason: DropReason
    tries: int
    encode_us: int
    encode_cpu_us: int


def encode_picture(
    picture: Picture,
    *,
    encoder: VideoEncoder,
    controller: FrameController,
    book: SlotBook,
    frame_id: int,
    now_us: int,
    key: bool = False,
    ltr: bool = False,
    finer: bool = True,
    temporal_id: int = 0,
    from_ltr: bool = False,
    preset: str = "default",
    content: Content = Content.CAMERA,
    scale: Fraction = FULL_SIZE,
) -> EncodedFrame | Skipped:
    """Encode one picture within the controller's bound, or skip it.

    key asks for a key frame; one is made too when the book needs it, or where from_ltr finds no
    acknowledged long-term reference. ltr pins the frame as such a reference, finer gives it more
    quality for it; from_ltr predicts it from the acknowledged one; temporal_id 1 makes a frame that
    no other reads. scale is the most of the picture's size that is coded: an encoder that cannot
    retry codes just that, and begins a new stream where it changes. The frame's encode_us and
    encode_cpu_us cover all tries. Raises LocalError for a request that the codec cannot execute.
    """
    key = key or book.needs_key or (from_ltr and not book.can_read_ltr)
    temporal_id = 0 if key else temporal_id
    references = book.plan(key=key, ltr=ltr, temporal_id=temporal_id, from_ltr=from_ltr)
    finer = references.ltr_slot is not None and (finer or key)
    plan = controller.plan(
        now_us=now_us,
        kind=_kind(key=key, ltr=finer, temporal_id=temporal_id),
        width=picture.width,
        height=picture.height,
        luma=picture.y,
        frame_id=frame_id,
        reference_id=references.dependencies[0] if references.dependencies else None,
        held_sizes=[] if references.key else _held_sizes(book, references),
        largest_scale=_largest_scale(encoder.codec, preset=preset, content=content, asked=scale),
        keeps_size=content is Content.SCREEN,
        can_retry=encoder.can_retry,
    )
    if isinstance(plan, Drop):
        return Skipped(reason=plan.reason, tries=0, encode_us=0, encode_cpu_us=0)
    request = _request(
        picture,
        references=references,
        plan=plan if encoder.can_retry else replace(plan, scale=scale),
        frame_id=frame_id,
        temporal_id=temporal_id,
        finer=finer,
        preset=preset,
        content=content,
    )
    return _tried(request, references, encoder=encoder, controller=controller, book=book)


def _largest_scale(codec: Codec, *, preset: str, content: Content, asked: Fraction) -> Fraction:
    """What the preset codes at most; all that is asked where the table does not know it."""
    if codec is not Codec.AV1 or preset not in PRESETS:
        return asked
    return frame_scale(PRESETS[preset], content=content, asked=asked)


def _held_sizes(book: SlotBook, references: References) -> list[tuple[int, int]]:
    """Sizes in the slots read and written, as the encoder has them: both limit a frame's size."""
    slots = (*references.reads, *references.writes)
    sizes = (book.encoder_size_of(slot) for slot in slots)
    return [size for size in sizes if size is not None]


def _kind(*, key: bool, ltr: bool, temporal_id: int) -> FrameKind:
    if key:
        return FrameKind.KEY
    if ltr:
        return FrameKind.LTR
    return FrameKind.ENHANCEMENT if temporal_id else FrameKind.DELTA


def _request(
    picture: Picture,
    *,
    references: References,
    plan: FramePlan,
    frame_id: int,
    temporal_id: int,
    finer: bool,
    preset: str,
    content: Content,
) -> EncodeRequest:
    return EncodeRequest(
        picture=picture,
        frame_id=frame_id,
        quantizer=plan.quantizer,
        target_bps=plan.target_bps,
        key=references.key,
        reads=references.reads,
        writes=references.writes,
        temporal_id=temporal_id,
        dependencies=references.dependencies,
        # What is pinned in passing is coded as any other frame: an encoder takes its time over an LTR.
        ltr_slot=references.ltr_slot if finer else None,
        scale=plan.scale,
        preset=preset,
        content=content,
    )


def _tried(
    request: EncodeRequest,
    references: References,
    *,
    encoder: VideoEncoder,
    controller: FrameController,
    book: SlotBook,
) -> EncodedFrame | Skipped:
    tries = encode_us = encode_cpu_us = 0
    while True:
        frame = encoder.encode(request)
        book.tried(references, size=(frame.width, frame.height))
        tries += 1
        encode_us += frame.encode_us
        encode_cpu_us += frame.encode_cpu_us
        verdict = controller.judge(8 * len(frame.data), can_retry=encoder.can_retry)
        if isinstance(verdict, Retry):
            request = replace(request, quantizer=verdict.quantizer, scale=verdict.scale)
        elif isinstance(verdict, Drop):
            return Skipped(
                reason=verdict.reason,
                tries=tries,
                encode_us=encode_us,
                encode_cpu_us=encode_cpu_us,
            )
        else:
            book.sent(references, frame_id=frame.frame_id, width=frame.width, height=frame.height)
            return replace(
                frame,
                ltr_slot=references.ltr_slot,
                tries=tries,
                encode_us=encode_us,
                encode_cpu_us=encode_cpu_us,
            )
