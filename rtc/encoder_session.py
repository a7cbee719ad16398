"""One encoder with its slot book, from a key frame to the next change of codec or picture size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..codecs.slot_book import SlotBook
from ..codecs.types import Codec, Content, EncodedFrame, Picture, VideoEncoder
from ..ratecontrol.frame_controller import FrameController
from .codec_ladder import CodecReason
from .encode_loop import Skipped, encode_picture

EncoderFactory = Callable[[Codec, int, int], VideoEncoder]
"""Opens an encoder for a codec, a width and a height in px."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodeJob:
    """One picture to encode, and all that is decided about it beforehand.

    every tells that one of so many captured pictures is sent, codec_reason why this codec encodes it.
    acknowledged are the ids of long-term references that the peer decoded since the job before. finer,
    temporal_id and from_ltr are as in encode_picture().
    """

    picture: Picture
    codec: Codec
    frame_id: int
    key: bool
    ltr: bool
    target_bps: int
    preset: str
    content: Content
    now_us: int
    every: int = 1
    codec_reason: CodecReason = CodecReason.APPLICATION
    finer: bool = True
    temporal_id: int = 0
    from_ltr: bool = False
    acknowledged: tuple[int, ...] = ()


class EncoderSession:
    """Runs jobs in the worker. Whoever holds a job owns the session until its result is in."""

    def __init__(self, *, open_encoder: EncoderFactory, controller: FrameController) -> None:
        self._open_encoder = open_encoder
        self._controller = controller
        self._encoder: VideoEncoder | None = None
        self._picture_size = (0, 0)
        self._book = SlotBook()

    @property
    def implementation(self) -> str:
        """W3C encoderImplementation of the open encoder; empty before the first picture."""
        return self._encoder.implementation if self._encoder else ""

    def run(self, job: EncodeJob) -> EncodedFrame | Skipped:
        """Encode a job's picture within the controller's bound, or skip it. May raise LocalError."""
        encoder = self._encoder_for(job)
        self._controller.set_target(job.target_bps, now_us=job.now_us)
        for frame_id in job.acknowledged:
            self._book.acknowledge(frame_id)
        return encode_picture(
            job.picture,
            encoder=encoder,
            controller=self._controller,
            book=self._book,
            frame_id=job.frame_id,
            now_us=job.now_us,
            key=job.key,
            ltr=job.ltr,
            finer=job.finer,
            temporal_id=job.temporal_id,
            from_ltr=job.from_ltr,
            preset=job.preset,
            content=job.content,
        )

    def close(self) -> None:
        """Free the encoder."""
        if self._encoder is not None:
            self._encoder.close()
            self._encoder = None

    def _encoder_for(self, job: EncodeJob) -> VideoEncoder:
        size = (job.picture.width, job.picture.height)
        encoder = self._encoder
        if encoder is None or encoder.codec is not job.codec or size != self._picture_size:
            self.close()
            encoder = self._encoder = self._open_encoder(job.codec, *size)
            self._picture_size = size
            self._book = SlotBook()
        return encoder
