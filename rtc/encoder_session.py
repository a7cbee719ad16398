"""One encoder with its slot book, from a key frame to the next change of codec or picture size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from ..codecs.pictures import scale_picture
from ..codecs.slot_book import SlotBook
from ..codecs.types import FULL_SIZE, Codec, Content, EncodedFrame, Picture, VideoEncoder
from ..ratecontrol.frame_controller import FrameController
from .adaptation.decisions import AdaptationReason
from .encode_loop import Skipped, encode_picture

EncoderFactory = Callable[[Codec, int, int], VideoEncoder]
"""Opens an encoder for a codec, a width and a height in px."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodeJob:
    """One picture to encode, and all that is decided about it beforehand.

    size is the width and height that the picture is brought to first, None for its own; of that, scale
    is the most that is coded. every tells that one of so many captured pictures is sent, reason why all
    this is as it is. acknowledged are the ids of long-term references that the peer decoded since the
    job before. finer, temporal_id and from_ltr are as in encode_picture().
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
    reason: AdaptationReason = AdaptationReason.APPLICATION
    scale: Fraction = FULL_SIZE
    size: tuple[int, int] | None = None
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
        self._scale = FULL_SIZE
        self._book = SlotBook()

    @property
    def implementation(self) -> str:
        """W3C encoderImplementation of the open encoder; empty before the first picture."""
        return self._encoder.implementation if self._encoder else ""

    def run(self, job: EncodeJob) -> EncodedFrame | Skipped:
        """Encode a job's picture within the controller's bound, or skip it. May raise LocalError."""
        picture = job.picture
        if job.size is not None and job.size != (picture.width, picture.height):
            picture = scale_picture(picture, width=job.size[0], height=job.size[1])
        encoder = self._encoder_for(job.codec, (picture.width, picture.height))
        # Such an encoder begins a new stream with a new size, which the controller is to expect.
        is_new_size = not encoder.can_retry and job.scale != self._scale
        self._controller.set_target(job.target_bps, now_us=job.now_us)
        for frame_id in job.acknowledged:
            self._book.acknowledge(frame_id)
        result = encode_picture(
            picture,
            encoder=encoder,
            controller=self._controller,
            book=self._book,
            frame_id=job.frame_id,
            now_us=job.now_us,
            key=job.key or is_new_size,
            ltr=job.ltr,
            finer=job.finer,
            temporal_id=job.temporal_id,
            from_ltr=job.from_ltr,
            preset=job.preset,
            content=job.content,
            scale=job.scale,
        )
        if isinstance(result, EncodedFrame):
            self._scale = job.scale
        return result

    def close(self) -> None:
        """Free the encoder."""
        if self._encoder is not None:
            self._encoder.close()
            self._encoder = None

    def _encoder_for(self, codec: Codec, size: tuple[int, int]) -> VideoEncoder:
        encoder = self._encoder
        if encoder is None or encoder.codec is not codec or size != self._picture_size:
            self.close()
            encoder = self._encoder = self._open_encoder(codec, *size)
            self._picture_size = size
            self._book = SlotBook()
        return encoder
