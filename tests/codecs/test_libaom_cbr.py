"""libaom's own CBR: it holds a rate by itself, obeys key frames and new rates, and may drop pictures."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest

from codecpilot.codecs.av1_decoder import Av1Decoder
from codecpilot.codecs.errors import LocalError
from codecpilot.codecs.libaom_cbr import LibaomCbrEncoder
from codecpilot.codecs.types import EncodedFrame, EncodeRequest, Picture
from codecpilot.samples.scene import Scene

WIDTH, HEIGHT, FPS = 128, 96, 30


@pytest.fixture(scope="module")
def pictures() -> list[Picture]:
    scene = Scene(width=WIDTH, height=HEIGHT, fps=FPS, seed=3)
    return [scene.picture(index) for index in range(90)]


def request(picture: Picture, *, index: int, target_bps: int, key: bool = False) -> EncodeRequest:
    return EncodeRequest(
        picture=picture,
        frame_id=index,
        quantizer=0,
        target_bps=target_bps,
        key=key,
        reads=() if key else (0,),
    )


def encode(
    pictures: Sequence[Picture], targets: Sequence[int], *, drops: bool, keys: Sequence[int] = (0,)
) -> list[EncodedFrame]:
    encoder = LibaomCbrEncoder(width=WIDTH, height=HEIGHT, fps=FPS, speed=11, drops=drops)
    frames = [
        encoder.encode(request(picture, index=index, target_bps=target, key=index in keys))
        for index, (picture, target) in enumerate(zip(pictures, targets, strict=True))
    ]
    encoder.close()
    return frames


def kbps(frames: Sequence[EncodedFrame]) -> float:
    return sum(8 * len(frame.data) for frame in frames) * FPS / len(frames) / 1000


def test_it_follows_a_new_rate_without_a_key_frame(pictures: list[Picture]) -> None:
    frames = encode(pictures, [60_000] * 45 + [180_000] * 45, drops=False)
    before, after = kbps(frames[15:45]), kbps(frames[55:])
    assert 40 <= before <= 80
    assert 130 <= after <= 230
    assert [frame.key for frame in frames] == [True] + [False] * 89


def test_a_key_frame_comes_where_it_is_asked_for_and_every_frame_decodes(
    pictures: list[Picture],
) -> None:
    frames = encode(pictures[:20], [100_000] * 20, drops=False, keys=(0, 12))
    assert [index for index, frame in enumerate(frames) if frame.key] == [0, 12]
    decoder = Av1Decoder()
    shown = [decoder.decode(frame.data) for frame in frames[12:]]
    assert [(p.width, p.height) for p in shown if p is not None] == [(WIDTH, HEIGHT)] * 8


def test_starved_it_drops_pictures_as_in_libwebrtc_unless_told_not_to(
    pictures: list[Picture],
) -> None:
    starved = [8_000] * 45
    dropping = encode(pictures[:45], starved, drops=True)
    keeping = encode(pictures[:45], starved, drops=False)
    dropped = [frame for frame in dropping if not frame.data]
    assert 5 <= len(dropped) <= 40
    assert not any(frame.key for frame in dropped)
    assert all(frame.data for frame in keeping)
    assert max(frame.quantizer for frame in keeping) == 63
    assert max(frame.quantizer for frame in dropping) <= 52
    decoder = Av1Decoder()
    assert all(decoder.decode(frame.data) is not None for frame in dropping if frame.data)


def test_the_same_pictures_give_the_same_bytes(pictures: list[Picture]) -> None:
    first, second = (encode(pictures[:15], [80_000] * 15, drops=True) for _ in range(2))
    assert [frame.data for frame in first] == [frame.data for frame in second]


def test_what_it_cannot_execute_is_refused(pictures: list[Picture]) -> None:
    with pytest.raises(LocalError, match=r"speed 4 is outside 5\.\.12"):
        LibaomCbrEncoder(width=WIDTH, height=HEIGHT, fps=FPS, speed=4)
    with pytest.raises(LocalError, match="fps 0"):
        LibaomCbrEncoder(width=WIDTH, height=HEIGHT, fps=0)
    encoder = LibaomCbrEncoder(width=WIDTH, height=HEIGHT, fps=FPS)
    with pytest.raises(LocalError, match="at scale 1/2"):
        encoder.encode(
            EncodeRequest(
                picture=pictures[0],
                frame_id=0,
                quantizer=0,
                target_bps=50_000,
                key=True,
                scale=Fraction(1, 2),
            )
        )
    with pytest.raises(LocalError, match="target_bps 500"):
        encoder.encode(request(pictures[0], index=0, target_bps=500, key=True))
    encoder.close()
    encoder.close()
    with pytest.raises(LocalError, match="closed"):
        encoder.encode(request(pictures[0], index=0, target_bps=50_000, key=True))
