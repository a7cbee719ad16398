"""The encoding of a run: pictures in, one row each and the bitstream file out.

Controlled codecs run the call's own loop over a picture (rtc/encode_loop.py) with the call's rule for
long-term references. The baselines run under their own rate control; their frames are counted in the
same VBV bucket.
"""

from __future__ import annotations

import contextlib
import io
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Protocol

from ...codecs.ivf import IvfWriter
from ...codecs.slot_book import SlotBook
from ...codecs.types import Codec, EncodedFrame, EncodeRequest, Picture, VideoEncoder
from ...ratecontrol.frame_controller import FrameController
from ...ratecontrol.vbv import VbvBuffer
from ...rtc.encode_loop import Skipped, encode_picture
from ...rtc.resilience.policy import LTR_INTERVAL_US
from .codec_specs import CodecSpec, open_spec_encoder
from .job import FrameRow, Job


class _Driver(Protocol):
    def set_target(self, target_bps: int, *, now_us: int) -> None: ...

    def encode(self, picture: Picture, *, key: bool) -> EncodedFrame | Skipped: ...

    def vbv_delay_us(self, now_us: int) -> int: ...


class _Controlled:
    """An encoder under the frame controller, as in a call."""

    def __init__(self, encoder: VideoEncoder, *, spec: CodecSpec, target_bps: int) -> None:
        self._encoder = encoder
        self._preset = spec.preset if encoder.codec is Codec.AV1 else "default"
        self._controller = FrameController(target_bps=target_bps)
        self._book = SlotBook()
        self._next_frame_id = 0
        self._last_ltr_us: int | None = None

    def set_target(self, target_bps: int, *, now_us: int) -> None:
        self._controller.set_target(target_bps, now_us=now_us)

    def encode(self, picture: Picture, *, key: bool) -> EncodedFrame | Skipped:
        now_us, last_us = picture.capture_us, self._last_ltr_us
        ltr = not key and (last_us is None or now_us - last_us >= LTR_INTERVAL_US)
        result = encode_picture(
            picture,
            encoder=self._encoder,
            controller=self._controller,
            book=self._book,
            frame_id=self._next_frame_id,
            now_us=now_us,
            key=key,
            ltr=ltr,
            preset=self._preset,
        )
        if isinstance(result, EncodedFrame):
            self._next_frame_id += 1
            if ltr or result.key:
                self._last_ltr_us = now_us
        return result

    def vbv_delay_us(self, now_us: int) -> int:
        return self._controller.vbv_delay_us(now_us)


class _OwnControl:
    """A baseline that holds the target by itself."""

    def __init__(self, encoder: VideoEncoder, *, target_bps: int) -> None:
        self._encoder = encoder
        self._vbv = VbvBuffer(target_bps)
        self._next_frame_id = 0

    def set_target(self, target_bps: int, *, now_us: int) -> None:
        self._vbv.set_target(target_bps, now_us=now_us)

    def encode(self, picture: Picture, *, key: bool) -> EncodedFrame:
        frame = self._encoder.encode(
            EncodeRequest(
                picture=picture,
                frame_id=self._next_frame_id,
                quantizer=0,
                target_bps=self._vbv.target_bps,
                key=key,
                reads=() if key else (0,),
            )
        )
        self._vbv.add(8 * len(frame.data), now_us=picture.capture_us)
        self._next_frame_id += bool(frame.data)
        return frame

    def vbv_delay_us(self, now_us: int) -> int:
        return self._vbv.delay_us(now_us)


def encode_run(job: Job, pictures: Iterable[Picture]) -> tuple[tuple[FrameRow, ...], bytes]:
    """Encode the pictures in their own time. Raises LocalError for what the encoder refuses."""
    clip = job.clip
    encoder = open_spec_encoder(
        job.codec, width=clip.width, height=clip.height, fps=clip.fps, rates=job.rates
    )
    file, rows = _BitstreamFile(job), []
    with contextlib.closing(encoder):
        for row, frame in _encoded(job, pictures, _driver(encoder, job)):
            rows.append(row)
            if frame is not None:
                file.write(frame)
    return tuple(rows), file.close()


def _encoded(
    job: Job, pictures: Iterable[Picture], driver: _Driver
) -> Iterator[tuple[FrameRow, EncodedFrame | None]]:
    """Each picture's row, with its frame unless it was dropped."""
    keys, key_wanted = deque(job.key_times_us), True
    steps, target_bps = deque(job.rates.steps), job.rates.steps[0][1]
    for index, picture in enumerate(pictures):
        now_us = picture.capture_us
        while steps and steps[0][0] <= now_us:
            start_us, target_bps = steps.popleft()
            driver.set_target(target_bps, now_us=start_us)
        while keys and keys[0] <= now_us:
            keys.popleft()
            key_wanted = True
        result = driver.encode(picture, key=key_wanted)
        frame = result if isinstance(result, EncodedFrame) and result.data else None
        key_wanted = key_wanted and frame is None
        yield _row(index, now_us, result, driver.vbv_delay_us(now_us), target_bps), frame


def _driver(encoder: VideoEncoder, job: Job) -> _Driver:
    target_bps = job.rates.steps[0][1]
    if job.codec.is_controlled:
        return _Controlled(encoder, spec=job.codec, target_bps=target_bps)
    return _OwnControl(encoder, target_bps=target_bps)


def _row(
    index: int, now_us: int, result: EncodedFrame | Skipped, vbv_us: int, target_bps: int
) -> FrameRow:
    sent = result if isinstance(result, EncodedFrame) and result.data else None
    return FrameRow(
        index=index,
        pts_us=now_us,
        size_bytes=len(sent.data) if sent else 0,
        quantizer=sent.quantizer if sent else 0,
        key=sent.key if sent else False,
        temporal_id=sent.temporal_id if sent else 0,
        tries=result.tries,
        dropped=sent is None,
        width=sent.width if sent else 0,
        height=sent.height if sent else 0,
        encode_us=result.encode_us,
        encode_cpu_us=result.encode_cpu_us,
        vbv_us=vbv_us,
        target_bps=target_bps,
    )


class _BitstreamFile:
    """An IVF file whose timestamps are capture times in us, or H.264 in Annex B."""

    def __init__(self, job: Job) -> None:
        self._buffer = io.BytesIO()
        self._ivf: IvfWriter | None = None
        if job.codec.codec is Codec.AV1:
            self._ivf = IvfWriter(self._buffer, width=job.clip.width, height=job.clip.height)

    def write(self, frame: EncodedFrame) -> None:
        if self._ivf is None:
            self._buffer.write(frame.data)
        else:
            self._ivf.write(frame.data, timestamp=frame.capture_us)

    def close(self) -> bytes:
        if self._ivf is not None:
            self._ivf.close()
        return self._buffer.getvalue()
