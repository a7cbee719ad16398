"""The H.264 decoder shows what was sent, or says RemoteError: never a concealed picture."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codecpilot.codecs.errors import RemoteError
from codecpilot.codecs.h264_decoder import H264Decoder
from codecpilot.codecs.h264_encoder import H264Encoder
from codecpilot.codecs.types import EncodeRequest, Picture


def _access_units() -> list[bytes]:
    codec = H264Encoder(width=96, height=64, fps=30)
    units = []
    for index in range(12):
        rng = np.random.default_rng(index)
        chroma = np.full((32, 48), 128, np.uint8)
        picture = Picture(y=rng.integers(0, 256, (64, 96), np.uint8), u=chroma, v=chroma)
        key = index in (0, 8)
        units.append(
            codec.encode(
                EncodeRequest(
                    picture=picture,
                    frame_id=index,
                    quantizer=0,
                    target_bps=1_000_000,
                    key=key,
                    reads=() if key else (0,),
                )
            ).data
        )
    return units


UNITS = _access_units()


def test_every_unit_shows_its_picture_with_its_capture_time() -> None:
    decoder = H264Decoder()
    for index, unit in enumerate(UNITS):
        picture = decoder.decode(unit, capture_us=index)
        assert picture is not None
        assert (picture.width, picture.height, picture.capture_us) == (96, 64, index)


def test_a_shown_picture_stays_as_it_was_while_decoding_goes_on() -> None:
    decoder = H264Decoder()
    first = decoder.decode(UNITS[0])
    assert first is not None
    before = first.y.copy()
    for unit in UNITS[1:]:
        decoder.decode(unit)
    assert np.array_equal(first.y, before)


def test_parameter_sets_alone_show_nothing_and_serve_the_next_unit() -> None:
    decoder = H264Decoder()
    idr = UNITS[0].index(b"\0\0\1\x65")
    assert decoder.decode(UNITS[0][:idr]) is None
    assert decoder.decode(UNITS[0][idr:]) is not None


def test_a_stream_that_begins_without_a_key_frame_is_refused_until_one_comes() -> None:
    decoder = H264Decoder()
    with pytest.raises(RemoteError):
        decoder.decode(UNITS[3])
    assert decoder.decode(UNITS[8]) is not None
    assert decoder.decode(UNITS[9]) is not None


def test_after_a_damaged_unit_nothing_is_shown_before_the_next_key_frame() -> None:
    decoder = H264Decoder()
    decoder.decode(UNITS[0])
    with pytest.raises(RemoteError):
        decoder.decode(UNITS[1][: len(UNITS[1]) // 2])
    with pytest.raises(RemoteError):
        decoder.decode(UNITS[2])
    assert decoder.decode(UNITS[8]) is not None


@pytest.mark.parametrize("garbage", [b"", b"\0", b"\0\0\0\1", b"\0\0\1\xff", bytes(500), b"text"])
def test_garbage_is_refused_and_harms_nothing(garbage: bytes) -> None:
    decoder = H264Decoder()
    decoder.decode(UNITS[0])
    with pytest.raises(RemoteError):
        decoder.decode(garbage)
    assert decoder.decode(UNITS[1]) is not None


def test_closing_twice_is_allowed_and_decoding_then_starts_over() -> None:
    decoder = H264Decoder()
    decoder.decode(UNITS[0])
    decoder.close()
    decoder.close()
    with pytest.raises(RemoteError):
        decoder.decode(UNITS[1])
    assert decoder.decode(UNITS[8]) is not None


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(range(len(UNITS))))
def test_damage_gives_a_picture_or_a_remote_error(seed: int, index: int) -> None:
    rng, decoder = random.Random(seed), H264Decoder()
    decoder.decode(UNITS[0])
    data = bytearray(UNITS[index])
    for _ in range(rng.randrange(1, 20)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    try:
        picture = decoder.decode(bytes(data[: rng.randrange(1, len(data) + 1)]))
    except RemoteError:
        return
    assert picture is None or picture.y.size > 0
