"""Sequence and frame headers are read as FFmpeg reads them, and garbage is a RemoteError."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.bits import BitReader
from codecpilot.codecs.errors import RemoteError
from codecpilot.codecs.frame_header import FrameHeader, read_frame_header
from codecpilot.codecs.ivf import IvfWriter, read_ivf_frames, read_ivf_header
from codecpilot.codecs.obu import ObuType, read_obus
from codecpilot.codecs.sequence_header import SequenceHeader, read_sequence_header
from codecpilot.codecs.tile_info import read_tile_counts_log2

from tests.codecs.av1_link import Link, headers

FIELDS = {
    "frame_type": lambda h: int(h.frame_type),
    "show_frame": lambda h: int(h.show_frame),
    "error_resilient_mode": lambda h: int(h.error_resilient),
    "primary_ref_frame": lambda h: h.primary_ref,
    "refresh_frame_flags": lambda h: h.refresh,
    "allow_screen_content_tools": lambda h: int(h.screen_content_tools),
    "allow_intrabc": lambda h: int(h.intrabc),
    "base_q_idx": lambda h: h.quantizer,
    "ref_frame_idx[0]": lambda h: h.reads[0],
    "ref_frame_idx[6]": lambda h: h.reads[6],
}
SVT = "-c:v libsvtav1 -preset 11 -crf 40 -svtav1-params"
AOM = "-c:v libaom-av1 -cpu-used 8 -crf 40"


@pytest.fixture(scope="module")
def ffmpeg() -> str:
    exe: str = pytest.importorskip("imageio_ffmpeg").get_ffmpeg_exe()
    return exe


def run(ffmpeg: str, arguments: str) -> str:
    command = [ffmpeg, "-hide_banner", "-y", *arguments.split()]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stderr


def traced_headers(ffmpeg: str, path: Path) -> list[dict[str, int]]:
    """The fields of each frame header as FFmpeg's trace_headers filter reads them."""
    log = run(ffmpeg, f"-i {path} -c copy -bsf:v trace_headers -f null -")
    _, *sections = re.split(r"\] (?:Frame Header|Redundant Frame Header)\n", log)
    field = re.compile(r"\] \d+ +(\S+) +[01]* = (\d+)")
    return [{n: int(v) for n, v in field.findall(s.split("] OBU header")[0])} for s in sections]


def our_headers(path: Path) -> Iterator[FrameHeader]:
    sequence: SequenceHeader | None = None
    sizes: list[tuple[int, int] | None] = [None] * 8
    with path.open("rb") as file:
        read_ivf_header(file)
        for _, data in read_ivf_frames(file):
            for obu in read_obus(data):
                if obu.type == ObuType.SEQUENCE_HEADER:
                    sequence = read_sequence_header(obu.payload)
                if obu.type not in (ObuType.FRAME, ObuType.FRAME_HEADER):
                    continue
                assert sequence is not None
                header = read_frame_header(obu.payload, sequence, slot_sizes=sizes)
                if header.width is not None and header.height is not None:
                    for slot in range(8):
                        if header.refresh >> slot & 1:
                            sizes[slot] = (header.width, header.height)
                yield header


def assert_same_headers(ffmpeg: str, path: Path) -> list[FrameHeader]:
    expected, ours = traced_headers(ffmpeg, path), list(our_headers(path))
    assert len(ours) == len(expected) > 0
    for header, fields in zip(ours, expected, strict=True):
        if fields.get("show_existing_frame"):
            assert header.show_existing == fields["frame_to_show_map_idx"]
            continue
        assert header.show_existing is None
        wanted = {name: value for name, value in fields.items() if name in FIELDS}
        assert {name: FIELDS[name](header) for name in wanted} == wanted
        assert "base_q_idx" in wanted
    return ours


@pytest.mark.parametrize(
    ("encoder", "size"),
    [
        (f"{SVT} superres-mode=1:superres-denom=12:film-grain=8", "320x200"),
        (f"{SVT} scm=1:pred-struct=1:tile-columns=1", "600x120"),
        (f"{AOM} -tiles 2x2", "200x200"),
        (f"{AOM} -usage realtime -error-resilience 1 -aom-params sb-size=128", "330x100"),
        (f"{AOM} -still-picture 1 -frames:v 1", "96x64"),
    ],
)
def test_headers_of_other_encoders_are_read_as_ffmpeg_reads_them(
    ffmpeg: str, tmp_path: Path, encoder: str, size: str
) -> None:
    path = tmp_path / "stream.ivf"
    run(ffmpeg, f"-f lavfi -i testsrc2=s={size}:r=30 -frames:v 12 {encoder} {path}")
    width, height = map(int, size.split("x"))
    for header in assert_same_headers(ffmpeg, path):
        if header.show_existing is None:
            assert (header.width, header.height) == (width, height)


def test_headers_of_our_own_streams_are_read_as_ffmpeg_reads_them(
    ffmpeg: str, tmp_path: Path
) -> None:
    path, link = tmp_path / "own.ivf", Link()
    with path.open("wb") as file, IvfWriter(file, width=160, height=96) as writer:
        for index, divisor in enumerate([1, 1, 2, 2, 1, 1]):
            scale = Fraction(1, divisor)
            frame, _ = link.step(key=index == 0, ltr=index == 2, scale=scale)
            writer.write(frame.data, timestamp=index)
    assert_same_headers(ffmpeg, path)


def test_the_sequence_header_tells_size_profile_level_and_format() -> None:
    link = Link(width=161, height=97)
    frame, _ = link.step(key=True)
    sequence, _ = headers(frame.data)
    assert sequence is not None
    assert (sequence.max_width, sequence.max_height) == (161, 97)
    assert (sequence.profile, sequence.reduced, sequence.still_picture) == (0, False, False)
    # Level 2.0, the lowest, has index 0 (annex A.3).
    assert [p.level for p in sequence.operating_points] == [0]
    color = sequence.color
    assert (color.bit_depth, color.monochrome, color.full_range) == (8, False, False)
    assert (color.subsampling_x, color.subsampling_y) == (1, 1)


def test_a_size_taken_from_a_slot_of_unknown_size_is_left_open() -> None:
    link = Link()
    link.step(key=True)
    link.step(scale=Fraction(3, 4))
    frame, known = link.step(scale=Fraction(3, 4))
    assert (known.found_ref, known.width, known.height) == (0, 120, 72)
    assert link.sequence is not None
    unknown = read_frame_header(headers(frame.data)[1], link.sequence)
    assert (unknown.found_ref, unknown.width, unknown.quantizer) == (0, None, None)
    assert unknown.reads == known.reads


def test_a_cut_off_header_is_a_remote_error() -> None:
    link = Link()
    data = link.step(key=True)[0].data
    sequence, payload = headers(data)
    assert sequence is not None
    sequence_payload = next(o.payload for o in read_obus(data) if o.type == 1)
    for length in range(len(sequence_payload) - 1):
        with pytest.raises(RemoteError):
            read_sequence_header(sequence_payload[:length])
    for length in range(2):
        with pytest.raises(RemoteError):
            read_frame_header(payload[:length], sequence)


def test_a_reserved_profile_is_refused() -> None:
    with pytest.raises(RemoteError, match="seq_profile 7"):
        read_sequence_header(b"\xff" * 40)


@given(st.binary(max_size=80), st.binary(max_size=80))
def test_garbage_gives_a_header_or_a_remote_error(first: bytes, second: bytes) -> None:
    try:
        sequence = read_sequence_header(first)
        header = read_frame_header(second, sequence, slot_sizes=[(64, 64)] * 8)
    except RemoteError:
        return
    assert header.quantizer is None or 0 <= header.quantizer <= 255


@given(data=st.binary(min_size=1, max_size=60))
def test_garbage_after_a_real_sequence_header_gives_a_header_or_a_remote_error(
    data: bytes,
) -> None:
    try:
        header = read_frame_header(data, REAL, slot_sizes=[(160, 96), None] * 4)
    except RemoteError:
        return
    assert header.show_existing is None or 0 <= header.show_existing <= 7


def _real_sequence() -> SequenceHeader:
    sequence, _ = headers(Link().step(key=True)[0].data)
    assert sequence is not None
    return sequence


REAL = _real_sequence()


@pytest.mark.parametrize(
    ("bits", "expected"),
    [
        # 4096x2176 at 64 px superblocks: 64 columns, 34 rows. Uniform, two increments, one.
        ("1" + "110" + "10" + "000" + "00", (2, 1)),
        # Not uniform: two columns of 32 (ns(64) has 6 bits), then rows of 17 and 17.
        ("0" + "011111" + "11111" + "10000" + "11111" + "00" + "00", (1, 1)),
    ],
)
def test_tile_info_is_read_in_both_spacings(bits: str, expected: tuple[int, int]) -> None:
    padded = bits + "0" * (-len(bits) % 8)
    reader = BitReader(int(padded, 2).to_bytes(len(padded) // 8, "big"))
    got = read_tile_counts_log2(reader, width=4096, height=2176, superblock_128=False)
    assert got == expected


@pytest.mark.parametrize(
    ("bits", "value"), [("1", 0), ("010", 1), ("011", 2), ("00101", 4), ("0" * 32 + "1", 2**32 - 1)]
)
def test_uvlc_reads_the_specifications_code(bits: str, value: int) -> None:
    padded = bits + "0" * (-len(bits) % 8)
    assert BitReader(int(padded, 2).to_bytes(len(padded) // 8, "big")).uvlc() == value
