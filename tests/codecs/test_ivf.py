"""IVF files are what FFmpeg reads, and damaged ones are a RemoteError."""

from __future__ import annotations

import io
from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError, RemoteError
from codecpilot.codecs.ivf import IvfHeader, IvfWriter, read_ivf_frames, read_ivf_header

from tests.codecs.av1_link import Link


def written(frames: list[tuple[int, bytes]]) -> bytes:
    file = io.BytesIO()
    with IvfWriter(file, width=320, height=180, timebase_hz=90_000) as writer:
        for timestamp, data in frames:
            writer.write(data, timestamp=timestamp)
    return file.getvalue()


@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), st.binary(max_size=50)), max_size=5))
def test_frames_read_back_as_written(frames: list[tuple[int, bytes]]) -> None:
    file = io.BytesIO(written(frames))
    header = read_ivf_header(file)
    assert header == IvfHeader(width=320, height=180, timebase_hz=90_000, frames=len(frames))
    assert list(read_ivf_frames(file)) == frames


def test_ffmpeg_reads_the_file_and_its_pictures(tmp_path: Path) -> None:
    path, link = tmp_path / "call.ivf", Link()
    pictures = []
    with path.open("wb") as file, IvfWriter(file, width=160, height=96) as writer:
        for index in range(5):
            frame, _ = link.step(key=index == 0)
            pictures.append(link.encoder.reconstruction())
            writer.write(frame.data, timestamp=frame.capture_us)
    with av.open(str(path)) as container:
        shown = list(container.decode(video=0))
    assert [round(frame.time * 1e6) for frame in shown] == [i * 33_333 for i in range(5)]
    for frame, picture in zip(shown, pictures, strict=True):
        assert np.array_equal(frame.to_ndarray()[:96], picture.y)


def test_closing_twice_keeps_the_count_and_the_frames() -> None:
    file = io.BytesIO()
    writer = IvfWriter(file, width=16, height=16)
    writer.write(b"one", timestamp=0)
    writer.close()
    writer.close()
    file.seek(0)
    assert read_ivf_header(file).frames == 1
    assert list(read_ivf_frames(file)) == [(0, b"one")]


@pytest.mark.parametrize(
    ("at", "value", "words"),
    [
        (0, b"RIFF", "not an IVF file"),
        (4, b"\x01\x00", "not an IVF file"),
        (8, b"VP80", "VP80"),
        (16, bytes(4), "timebase"),
    ],
)
def test_a_foreign_header_is_refused(at: int, value: bytes, words: str) -> None:
    data = bytearray(written([]))
    data[at : at + len(value)] = value
    with pytest.raises(RemoteError, match=words):
        read_ivf_header(io.BytesIO(data))


def test_a_cut_off_file_is_refused_where_it_ends() -> None:
    data = written([(5, b"abcdef")])
    for length in (0, 31):
        with pytest.raises(RemoteError, match="IVF header"):
            read_ivf_header(io.BytesIO(data[:length]))
    for length in (33, 43, 44, 49):
        file = io.BytesIO(data[:length])
        read_ivf_header(file)
        with pytest.raises(RemoteError, match="IVF frame"):
            list(read_ivf_frames(file))


@pytest.mark.parametrize("size", [(0, 16), (16, 65536)])
def test_a_size_that_ivf_cannot_hold_is_a_local_error(size: tuple[int, int]) -> None:
    with pytest.raises(LocalError, match=r"1\.\.65535"):
        IvfWriter(io.BytesIO(), width=size[0], height=size[1])


@given(st.binary(max_size=100))
def test_garbage_behind_a_header_gives_frames_or_a_remote_error(data: bytes) -> None:
    file = io.BytesIO(written([]) + data)
    read_ivf_header(file)
    try:
        frames = list(read_ivf_frames(file))
    except RemoteError:
        return
    assert sum(12 + len(frame) for _, frame in frames) == len(data)
