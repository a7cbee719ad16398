from __future__ import annotations

from dataclasses import replace

import numpy as np

from codecpilot.codecs.av1_decoder import Av1Decoder
from codecpilot.codecs.av1_encoder import Av1Encoder
from codecpilot.codecs.slot_book import SlotBook
from codecpilot.codecs.types import Codec, EncodedFrame, EncodeRequest, Picture
from codecpilot.ratecontrol.frame_controller import FrameController
from codecpilot.rtc.encode_loop import Skipped, encode_picture

FRAME_US = 33_333


def _moving(index: int, *, width: int = 160, height: int = 128) -> Picture:
    """Noise that pans, with a cut to another every 12 pictures."""
    rng = np.random.default_rng(index // 12)
    y = np.roll(rng.integers(0, 255, (height, width), dtype=np.uint8), 3 * index, axis=1)
    y = np.ascontiguousarray(y // 2 + np.roll(y, 1, axis=0) // 2)
    chroma = np.full(((height + 1) // 2, (width + 1) // 2), 128, np.uint8)
    return Picture(y=y, u=chroma, v=chroma, capture_us=index)


class TooLargeAt:
    """Av1Encoder, whose tries at some frames come out far too large to be sent."""

    codec = Codec.AV1
    can_retry = True

    def __init__(self, encoder: Av1Encoder, frame_ids: set[int]) -> None:
        self.implementation = encoder.implementation
        self._encoder = encoder
        self._frame_ids = frame_ids

    def encode(self, request: EncodeRequest) -> EncodedFrame:
        frame = self._encoder.encode(request)
        if request.frame_id in self._frame_ids:
            return replace(frame, data=frame.data + bytes(1_000_000))
        return frame

    def close(self) -> None:
        self._encoder.close()


def test_what_is_sent_decodes_exactly_across_tries_sizes_and_drops() -> None:
    """From 400 to 20 kbit/s and up to 3 Mbit/s; the tries of a delta, an LTR and a key are dropped."""
    real, decoder = Av1Encoder(width=160, height=128), Av1Decoder()
    encoder = TooLargeAt(real, {20, 55, 80})
    controller, book = FrameController(target_bps=400_000), SlotBook()
    results: list[EncodedFrame | Skipped] = []
    for index in range(100):
        # Dropped tries share their time with the frame before, lest the bucket be empty.
        now_us = (index - (index in (20, 55, 80))) * FRAME_US
        if index in (30, 60):
            controller.set_target(20_000 if index == 30 else 3_000_000, now_us=now_us)
        result = encode_picture(
            _moving(index),
            encoder=encoder,
            controller=controller,
            book=book,
            frame_id=index,
            now_us=now_us,
            key=index in (45, 80),
            ltr=index % 10 == 5,
        )
        results.append(result)
        if isinstance(result, EncodedFrame):
            _assert_exact(decoder.decode(result.data), real.reconstruction(), result)
    sent = [result for result in results if isinstance(result, EncodedFrame)]
    assert {(frame.width, frame.height) for frame in sent} == {(160, 128), (80, 64)}
    assert any(frame.tries > 1 for frame in sent)
    assert all(isinstance(results[index], Skipped) for index in (20, 55, 80))
    assert any(frame.key for frame in sent if frame.frame_id > 80)
    assert 50 < len(sent) < 98
    encoder.close()
    decoder.close()


def _assert_exact(shown: Picture | None, own: Picture, frame: EncodedFrame) -> None:
    assert shown is not None
    assert (shown.width, shown.height) == (frame.width, frame.height)
    for plane in ("y", "u", "v"):
        assert np.array_equal(getattr(shown, plane), getattr(own, plane)), frame.frame_id
