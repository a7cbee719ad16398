"""NAL units: framing both ways, headers, and sequence parameter sets from real encoders."""

from __future__ import annotations

from fractions import Fraction

import av
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import RemoteError
from codecpilot.codecs.nal import (
    NalHeader,
    nal_types,
    parse_header,
    parse_sps,
    rbsp,
    split_annex_b,
)


def escaped(payload: bytes) -> bytes:
    """7.4.1.1 the other way: emulation prevention as an encoder writes it."""
    out, zeros = bytearray(), 0
    for byte in payload:
        if zeros >= 2 and byte <= 3:
            out.append(3)
            zeros = 0
        out.append(byte)
        zeros = zeros + 1 if byte == 0 else 0
    return bytes(out)


UNITS = st.binary(min_size=1, max_size=40).map(lambda data: escaped(data + b"\x80"))


@given(st.lists(st.tuples(st.booleans(), UNITS), min_size=1, max_size=6))
def test_splitting_gives_back_what_was_joined(parts: list[tuple[bool, bytes]]) -> None:
    stream = b"".join((b"\0\0\0\1" if long else b"\0\0\1") + unit for long, unit in parts)
    assert split_annex_b(stream) == [unit for _, unit in parts]
    assert nal_types(stream) == {unit[0] & 31 for _, unit in parts}


@given(st.binary(max_size=60))
def test_escaping_is_undone(payload: bytes) -> None:
    assert rbsp(escaped(payload)) == payload


def test_trailing_zeros_belong_to_no_unit() -> None:
    assert split_annex_b(b"\0\0\1\x67\x42\0\0\0\0\1\x68\xce\0\0") == [b"\x67\x42", b"\x68\xce"]


@pytest.mark.parametrize(
    "data", [b"", b"\0\0", b"abc", b"a\0\0\1\x67", b"\0\0\1", b"\0\0\1\0\0\1\x67"]
)
def test_streams_without_proper_units_are_refused(data: bytes) -> None:
    with pytest.raises(RemoteError):
        split_annex_b(data)


def test_the_header_is_read() -> None:
    assert parse_header(b"\x67") == NalHeader(nal_type=7, ref_idc=3)
    assert parse_header(b"\x01\xff") == NalHeader(nal_type=1, ref_idc=0)


@pytest.mark.parametrize("unit", [b"", b"\x87"])
def test_an_illegal_header_is_refused(unit: bytes) -> None:
    with pytest.raises(RemoteError):
        parse_header(unit)


def encoded_sps(name: str, width: int, height: int, pix_fmt: str, **options: str) -> bytes:
    context = av.CodecContext.create(name, "w")
    context.width, context.height, context.pix_fmt = width, height, pix_fmt
    context.time_base, context.bit_rate = Fraction(1, 30), 500_000
    context.options = options
    context.open()
    frame = av.VideoFrame(width, height, pix_fmt)
    data = b"".join(bytes(packet) for packet in [*context.encode(frame), *context.encode(None)])
    return next(unit for unit in split_annex_b(data) if unit[0] & 31 == 7)


@pytest.mark.parametrize(
    ("name", "size", "pix_fmt", "options", "profile_idc"),
    [
        ("libx264", (320, 180), "yuv420p", {"profile": "baseline"}, 66),
        ("libx264", (1918, 1078), "yuv420p", {"profile": "main"}, 77),
        ("libx264", (98, 50), "yuv420p", {"profile": "high"}, 100),
        ("libx264", (130, 66), "yuv420p10le", {}, 110),
        ("libx264", (130, 66), "yuv422p", {}, 122),
        ("libx264", (131, 67), "yuv444p", {}, 244),
        ("libx264", (320, 180), "yuv420p", {"x264-params": "interlaced=1"}, 100),
        ("libx264", (320, 180), "yuv420p", {"x264-params": "cqm=jvt"}, 100),
        ("libopenh264", (322, 182), "yuv420p", {"profile": "constrained_baseline"}, 66),
    ],
)
def test_size_and_profile_are_what_the_encoder_was_given(
    name: str, size: tuple[int, int], pix_fmt: str, options: dict[str, str], profile_idc: int
) -> None:
    sps = parse_sps(encoded_sps(name, *size, pix_fmt, **options))
    assert (sps.width, sps.height, sps.profile_idc) == (*size, profile_idc)
    assert 9 <= sps.level_idc <= 62


SPS = encoded_sps("libx264", 320, 180, "yuv420p", profile="high")


@pytest.mark.parametrize("length", range(1, 10))
def test_a_cut_parameter_set_is_refused(length: int) -> None:
    with pytest.raises(RemoteError):
        parse_sps(SPS[:length])


def test_another_unit_is_no_parameter_set() -> None:
    with pytest.raises(RemoteError, match="NAL type 8"):
        parse_sps(b"\x68\xce\x3c\x80")


@given(st.binary(max_size=80), st.booleans())
def test_bytes_parse_or_give_a_remote_error(data: bytes, as_sps: bool) -> None:
    unit = b"\x67" + data if as_sps else data
    for parse in (parse_sps, split_annex_b, parse_header):
        try:
            parse(unit)
        except RemoteError:
            continue


@given(st.integers(0, len(SPS) - 1), st.integers(0, 255))
def test_a_changed_parameter_set_gives_a_bounded_size_or_an_error(at: int, value: int) -> None:
    try:
        sps = parse_sps(SPS[:at] + bytes([value]) + SPS[at + 1 :])
    except RemoteError:
        return
    assert 0 < sps.width <= 16 * 1055
    assert 0 < sps.height <= 2 * 16 * 1055
