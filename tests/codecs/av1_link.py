"""What the AV1 tests share: drawn pictures, and a sender and receiver around the slot book."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from codecpilot.codecs.av1_decoder import Av1Decoder
from codecpilot.codecs.av1_encoder import Av1Encoder
from codecpilot.codecs.frame_header import FrameHeader, read_frame_header
from codecpilot.codecs.obu import ObuType, read_obus
from codecpilot.codecs.sequence_header import SequenceHeader, read_sequence_header
from codecpilot.codecs.slot_book import References, SlotBook
from codecpilot.codecs.types import Content, EncodedFrame, EncodeRequest, Picture

FULL = Fraction(1)


def draw(index: int, width: int = 160, height: int = 96) -> Picture:
    """A textured scene that pans, with a block that moves across it and a little noise."""
    y, x = np.mgrid[0:height, 0:width]
    luma = 120 + 40 * np.sin((x + 2 * index) / 7) + 30 * np.cos((y + index) / 5)
    top, left = (3 * index) % max(height - 24, 1), (5 * index) % max(width - 24, 1)
    luma[top : top + 24, left : left + 24] = 220
    luma += np.random.default_rng(index).normal(0, 2, luma.shape)
    half_y, half_x = np.mgrid[0 : (height + 1) // 2, 0 : (width + 1) // 2]
    return Picture(
        y=np.clip(luma, 0, 255).astype(np.uint8),
        u=(128 + 30 * np.sin((half_x + index) / 9) + 0 * half_y).astype(np.uint8),
        v=(128 + 30 * np.cos((half_y + index) / 9) + 0 * half_x).astype(np.uint8),
        capture_us=index * 33_333,
    )


def same(one: Picture, other: Picture) -> bool:
    return all(np.array_equal(getattr(one, p), getattr(other, p)) for p in ("y", "u", "v"))


def psnr_db(one: Picture, other: Picture) -> float:
    mse = float(np.mean((one.y.astype(float) - other.y.astype(float)) ** 2))
    return 99.0 if mse == 0 else 10 * np.log10(255**2 / mse)


def headers(data: bytes) -> tuple[SequenceHeader | None, bytes]:
    """The unit's sequence header, if any, and the payload of its one frame."""
    units = list(read_obus(data))
    sequences = [read_sequence_header(u.payload) for u in units if u.type == 1]
    frames = [u.payload for u in units if u.type == ObuType.FRAME]
    assert len(frames) == 1
    return (sequences[0] if sequences else None), frames[0]


class Link:
    """An encoder with its slot book, and a decoder that gets only what is sent and not lost."""

    def __init__(self, *, width: int = 160, height: int = 96, **options: Any) -> None:
        self.size = (width, height)
        self.encoder = Av1Encoder(width=width, height=height, **options)
        self.decoder = Av1Decoder()
        self.book = SlotBook()
        self.sequence: SequenceHeader | None = None
        self.slot_sizes: list[tuple[int, int] | None] = [None] * 8
        self.index = -1

    def tried(
        self,
        references: References,
        *,
        quantizer: int = 35,
        scale: Fraction = FULL,
        preset: str = "default",
        content: Content = Content.CAMERA,
        picture: Picture | None = None,
        temporal_id: int = 0,
    ) -> EncodedFrame:
        """One try at the picture of this index."""
        frame = self.encoder.encode(
            EncodeRequest(
                picture=draw(self.index, *self.size) if picture is None else picture,
                frame_id=self.index,
                quantizer=quantizer,
                target_bps=0,
                key=references.key,
                reads=references.reads,
                writes=references.writes,
                temporal_id=temporal_id,
                dependencies=references.dependencies,
                ltr_slot=references.ltr_slot,
                scale=scale,
                preset=preset,
                content=content,
            )
        )
        self.book.tried(references)
        return frame

    def sent(self, references: References, frame: EncodedFrame) -> FrameHeader:
        """Book the last try as sent; returns its frame header."""
        size = (frame.width, frame.height)
        self.book.sent(references, frame_id=frame.frame_id, width=size[0], height=size[1])
        sequence, payload = headers(frame.data)
        self.sequence = sequence or self.sequence
        assert self.sequence is not None
        header = read_frame_header(payload, self.sequence, slot_sizes=self.slot_sizes)
        for slot in range(8):
            if header.refresh >> slot & 1:
                self.slot_sizes[slot] = size
        assert (header.width, header.height) == size
        return header

    def received(self, frame: EncodedFrame) -> Picture:
        picture = self.decoder.decode(frame.data, capture_us=frame.capture_us)
        assert picture is not None
        return picture

    def step(
        self,
        *,
        key: bool = False,
        ltr: bool = False,
        from_ltr: bool = False,
        lost: bool = False,
        **options: Any,
    ) -> tuple[EncodedFrame, FrameHeader]:
        """Next picture, one try, sent; unless lost it must decode to the encoder's own picture."""
        self.index += 1
        references = self.book.plan(key=key, ltr=ltr, from_ltr=from_ltr)
        frame = self.tried(references, **options)
        header = self.sent(references, frame)
        if not lost:
            assert same(self.received(frame), self.encoder.reconstruction())
        return frame, header
