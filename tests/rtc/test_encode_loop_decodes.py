from __future__ import annotations

import numpy as np

from codecpilot.codecs.av1_decoder import Av1Decoder
from codecpilot.codecs.av1_encoder import Av1Encoder
from codecpilot.codecs.slot_book import SlotBook
from codecpilot.codecs.types import Picture
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


def test_what_is_sent_decodes_exactly_across_tries_sizes_and_drops() -> None:
    encoder, decoder = Av1Encoder(width=160, height=128), Av1Decoder()
    controller, book = FrameController(target_bps=400_000), SlotBook()
    sizes: set[tuple[int, int]] = set()
    tries: list[int] = []
    skipped = 0
    for index in range(90):
        if index in (30, 60):
            controller.set_target(60_000 if index == 30 else 3_000_000, now_us=index * FRAME_US)
        result = encode_picture(
            _moving(index),
            encoder=encoder,
            controller=controller,
            book=book,
            frame_id=index,
            now_us=index * FRAME_US,
            key=index == 45,
            ltr=index % 10 == 5,
        )
        tries.append(result.tries)
        if isinstance(result, Skipped):
            skipped += 1
            continue
        shown, own = decoder.decode(result.data), encoder.reconstruction()
        assert shown is not None
        assert (shown.width, shown.height) == (result.width, result.height)
        for plane in ("y", "u", "v"):
            assert np.array_equal(getattr(shown, plane), getattr(own, plane)), index
        sizes.add((result.width, result.height))
    assert max(tries) > 1
    assert 0 < skipped < 45
    assert sizes == {(160, 128), (80, 64)}
    encoder.close()
    decoder.close()
