"""The AV1 decoder: one picture out for each unit in, RemoteError for what is no AV1."""

from __future__ import annotations

import contextlib
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codecpilot.codecs.av1_decoder import Av1Decoder
from codecpilot.codecs.errors import LocalError, RemoteError
from codecpilot.codecs.obu import Obu, ObuType, read_obus, write_obus
from codecpilot.codecs.types import Codec

from tests.codecs.av1_link import Link, draw, psnr_db, same


@pytest.fixture(scope="module")
def stream() -> list[bytes]:
    link = Link()
    return [link.step(key=index == 0)[0].data for index in range(10)]


def test_each_unit_gives_its_picture_at_once_with_its_capture_time(stream: list[bytes]) -> None:
    decoder = Av1Decoder()
    for index, data in enumerate(stream):
        picture = decoder.decode(data, capture_us=index * 1000)
        assert picture is not None
        assert picture.capture_us == index * 1000
        assert psnr_db(picture, draw(index)) > 30


def test_pictures_are_read_only_views_that_outlive_the_decoder(stream: list[bytes]) -> None:
    decoder = Av1Decoder()
    first = decoder.decode(stream[0])
    assert first is not None
    kept = first.y.copy()
    assert not first.y.flags.owndata
    with pytest.raises(ValueError, match="read-only"):
        first.y[0, 0] = 1
    for data in stream[1:]:
        decoder.decode(data)
    decoder.close()
    assert np.array_equal(first.y, kept)


def test_a_unit_without_a_frame_shows_nothing(stream: list[bytes]) -> None:
    decoder = Av1Decoder()
    sequence_alone = [o for o in read_obus(stream[0]) if o.type == ObuType.SEQUENCE_HEADER]
    assert decoder.decode(write_obus(sequence_alone)) is None
    assert decoder.decode(stream[0]) is not None


def test_it_names_itself_and_its_codec() -> None:
    decoder = Av1Decoder()
    assert decoder.codec is Codec.AV1
    assert decoder.implementation.startswith("libdav1d")


def test_a_closed_decoder_decodes_no_more_and_may_be_closed_again(stream: list[bytes]) -> None:
    decoder = Av1Decoder()
    decoder.close()
    decoder.close()
    with pytest.raises(LocalError, match="closed"):
        decoder.decode(stream[0])


def test_an_empty_unit_and_a_frame_without_a_key_frame_are_refused(stream: list[bytes]) -> None:
    decoder = Av1Decoder()
    with pytest.raises(RemoteError, match="empty"):
        decoder.decode(b"")
    with pytest.raises(RemoteError):
        decoder.decode(stream[1])
    assert decoder.decode(stream[0]) is not None


def test_a_header_that_claims_a_huge_picture_is_refused_not_allocated(stream: list[bytes]) -> None:
    obus = list(read_obus(stream[0]))
    bits = "".join(f"{byte:08b}" for byte in obus[1].payload)
    # libaom's header up to the sizes: 29 bits, two 4-bit widths, then 8 and 7 bits of size.
    assert bits[29:37] == "01110110"
    huge = bits[:29] + "1111" * 2 + f"{16383:016b}{8191:016b}" + bits[37 + 15 :]
    huge += "0" * (-len(huge) % 8)
    payload = int(huge, 2).to_bytes(len(huge) // 8, "big")
    obus[1] = Obu(type=ObuType.SEQUENCE_HEADER, payload=payload)
    decoder = Av1Decoder()
    with pytest.raises(RemoteError, match="out of range"):
        decoder.decode(write_obus(obus))
    assert decoder.decode(stream[0]) is not None


@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=200))
def test_random_bytes_are_refused_or_show_nothing(data: bytes) -> None:
    decoder = Av1Decoder()
    with contextlib.suppress(RemoteError):
        assert decoder.decode(data) is None


def test_damaged_units_never_spoil_the_key_frame_after_them(stream: list[bytes]) -> None:
    rng = random.Random(1)
    clean = Av1Decoder().decode(stream[0])
    assert clean is not None
    decoder = Av1Decoder()
    refused = 0
    for _ in range(150):
        damaged = bytearray(rng.choice(stream))
        for _ in range(rng.randrange(1, 6)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        end = rng.choice([len(damaged), rng.randrange(1, len(damaged))])
        try:
            decoder.decode(bytes(damaged[:end]))
        except RemoteError:
            refused += 1
        if rng.random() < 0.2:
            again = decoder.decode(stream[0])
            assert again is not None
            assert same(again, clean)
    assert 30 < refused < 145
