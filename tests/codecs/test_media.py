"""Files become pictures and sound with right times; what is wrong with one is said in a line."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from codecpilot.codecs import media_video
from codecpilot.codecs.errors import LocalError
from codecpilot.codecs.media import open_audio, open_video, probe
from codecpilot.codecs.pictures import (
    frame_from_picture,
    i420_from_picture,
    new_picture,
)
from codecpilot.codecs.types import Picture


def numbered(index: int, *, width: int = 64, height: int = 48) -> Picture:
    """A picture whose brightness tells its number."""
    picture = new_picture(width, height)
    picture.y[...] = 20 + 8 * index
    return picture


def numbers(pictures: list[Picture]) -> list[int]:
    return [round((float(picture.y.mean()) - 20) / 8) for picture in pictures]


def write_video(
    path: Path,
    *,
    count: int = 12,
    fps: Fraction | int = 30,
    times_ms: list[int] | None = None,
    codec: str = "mpeg4",
    pix_fmt: str = "yuv420p",
    size: tuple[int, int] = (64, 48),
    sound_ms: int = 0,
) -> Path:
    with av.open(str(path), "w") as container:
        video = container.add_stream(codec, rate=Fraction(fps))
        video.width, video.height, video.pix_fmt = *size, pix_fmt
        video.bit_rate = 2_000_000
        if times_ms is not None:
            video.codec_context.time_base = Fraction(1, 1000)
        audio = container.add_stream("aac", rate=44_100) if sound_ms else None
        for index in range(count):
            frame = frame_from_picture(numbered(index, width=size[0], height=size[1]))
            frame = frame.reformat(format=pix_fmt)
            frame.pts = index if times_ms is None else times_ms[index]
            frame.time_base = 1 / Fraction(fps) if times_ms is None else Fraction(1, 1000)
            container.mux(video.encode(frame))
        container.mux(video.encode(None))
        if audio is not None:
            time = np.arange(44_100 * sound_ms // 1000) / 44_100
            wave = (8000 * np.sin(2 * np.pi * 440 * time)).astype(np.int16).reshape(1, -1)
            sound = av.AudioFrame.from_ndarray(wave, format="s16", layout="mono")
            sound.rate, sound.pts = 44_100, 0
            container.mux(audio.encode(sound))
            container.mux(audio.encode(None))
    return path


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_video(tmp_path_factory.mktemp("clip") / "clip.mp4", sound_ms=500)


def test_pictures_come_in_order_with_the_times_of_the_file(clip: Path) -> None:
    pictures = list(open_video(clip))
    assert numbers(pictures) == list(range(12))
    assert [p.capture_us for p in pictures] == [round(n * 1_000_000 / 30) for n in range(12)]


def test_a_file_tells_its_size_rate_length_and_sound(clip: Path, tmp_path: Path) -> None:
    info = probe(clip)
    assert (info.width, info.height, info.fps, info.has_audio) == (64, 48, 30, True)
    assert info.duration_us is not None
    assert 480_000 < info.duration_us < 580_000
    silent = probe(write_video(tmp_path / "silent.mkv", fps=Fraction(30_000, 1001)))
    assert (silent.fps, silent.has_audio) == (Fraction(30_000, 1001), False)


@pytest.mark.parametrize(
    ("fps", "expected"),
    [
        (30, list(range(12))),
        (15, list(range(0, 12, 2))),
        (10, list(range(0, 12, 3))),
        (60, [n // 2 for n in range(24)]),
    ],
)
def test_another_rate_repeats_or_leaves_out_pictures(
    clip: Path, fps: int, expected: list[int]
) -> None:
    pictures = list(open_video(clip, fps=fps))
    assert numbers(pictures) == expected
    assert [p.capture_us for p in pictures] == [
        round(n * 1_000_000 / fps) for n in range(len(expected))
    ]


def test_millisecond_timestamps_map_one_to_one_at_the_same_rate(tmp_path: Path) -> None:
    times = [round(n * 1000 / 30) for n in range(12)]
    path = write_video(tmp_path / "a.mkv", times_ms=times)
    assert numbers(list(open_video(path, fps=30))) == list(range(12))


def test_irregular_times_are_kept_or_filled(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mkv", count=4, times_ms=[0, 40, 340, 380], fps=25)
    assert [p.capture_us for p in open_video(path)] == [0, 40_000, 340_000, 380_000]
    assert numbers(list(open_video(path, fps=10))) == [0, 1, 1, 1, 3]


def test_a_jump_of_hours_is_evened_out(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mkv", count=4, times_ms=[0, 40, 7_200_000, 7_200_040], fps=25)
    times = [p.capture_us for p in itertools.islice(open_video(path, fps=25), 1000)]
    assert 4 <= len(times) <= 6


def test_looping_goes_on_in_time_and_keeps_sound_and_pictures_together(clip: Path) -> None:
    duration_us = probe(clip).duration_us
    assert duration_us is not None
    pictures = list(open_video(clip, loop=True, frames=30))
    assert numbers(pictures) == [*range(12), *range(12), *range(6)]
    assert pictures[12].capture_us == duration_us
    assert pictures[24].capture_us == 2 * duration_us
    assert all(a.capture_us < b.capture_us for a, b in itertools.pairwise(pictures))
    blocks = list(itertools.islice(open_audio(clip, loop=True), 100))
    assert [b.capture_us for b in blocks] == [n * 20_000 for n in range(100)]
    levels = np.concatenate([b.samples for b in blocks]).astype(float)
    second_pass = duration_us * 48 // 1000
    assert np.abs(levels[second_pass + 4800 : second_pass + 9600]).max() > 4000


def test_frames_bounds_the_number_of_pictures(clip: Path) -> None:
    assert numbers(list(open_video(clip, frames=5))) == [0, 1, 2, 3, 4]
    assert len(list(open_video(clip, frames=500))) == 12


def test_pictures_are_fitted_to_the_size_asked_for(clip: Path) -> None:
    pictures = list(open_video(clip, size=(33, 17)))
    assert {(p.width, p.height) for p in pictures} == {(33, 17)}
    assert numbers(pictures) == list(range(12))


@pytest.mark.parametrize(
    ("name", "codec", "pix_fmt", "size"),
    [
        ("a.y4m", "rawvideo", "yuv420p", (33, 17)),
        ("a.y4m", "rawvideo", "yuv444p", (32, 18)),
        ("a.y4m", "wrapped_avframe", "yuv420p", (32, 18)),
        ("a.mkv", "ffv1", "yuv420p10le", (33, 17)),
        ("a.mkv", "ffv1", "yuv422p", (33, 17)),
        ("a.mkv", "ffv1", "yuv444p", (33, 17)),
        ("a.avi", "mjpeg", "yuvj420p", (32, 16)),
        ("a.webm", "libvpx", "yuv420p", (64, 48)),
        ("a.mp4", "libx264", "yuv420p", (64, 48)),
    ],
)
def test_containers_and_formats_become_8_bit_420(
    tmp_path: Path, name: str, codec: str, pix_fmt: str, size: tuple[int, int]
) -> None:
    path = write_video(tmp_path / name, codec=codec, pix_fmt=pix_fmt, size=size)
    pictures = list(open_video(path))
    assert numbers(pictures) == list(range(12))
    assert {(p.width, p.height) for p in pictures} == {size}
    assert {p.u.shape for p in pictures} == {((size[1] + 1) // 2, (size[0] + 1) // 2)}


@pytest.mark.parametrize(("fps", "rate"), [(None, 30), (25, 25)])
def test_an_elementary_stream_has_30_pictures_a_second_or_what_is_said(
    tmp_path: Path, fps: int | None, rate: int
) -> None:
    path = write_video(tmp_path / "a.264", codec="libopenh264", fps=30)
    pictures = list(open_video(path, fps=fps))
    assert numbers(pictures) == list(range(12))
    assert [p.capture_us for p in pictures] == [round(n * 1_000_000 / rate) for n in range(12)]


def test_raw_files_are_read_with_their_size_and_rate(tmp_path: Path) -> None:
    path = tmp_path / "a.yuv"
    path.write_bytes(b"".join(i420_from_picture(numbered(n, width=31, height=9)) for n in range(3)))
    pictures = list(open_video(path, size=(31, 9), fps=20))
    assert numbers(pictures) == [0, 1, 2]
    assert [p.capture_us for p in pictures] == [0, 50_000, 100_000]
    assert numbers(list(open_video(path, size=(31, 9), loop=True, frames=5))) == [0, 1, 2, 0, 1]


def test_raw_files_without_size_or_cut_short_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.yuv"
    path.write_bytes(bytes(32 * 16 * 3 // 2 * 2 - 1))
    with pytest.raises(LocalError, match="needs its size"):
        open_video(path)
    with pytest.raises(LocalError, match="1535 bytes are no whole number of 32x16"):
        open_video(path, size=(32, 16))


def sound_only(path: Path) -> Path:
    with av.open(str(path), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=48_000)
        for _ in range(10):
            samples = np.full((1, 960), 1000, np.int16)
            frame = av.AudioFrame.from_ndarray(samples, format="s16", layout="mono")
            frame.rate = 48_000
            container.mux(stream.encode(frame))
    return path


def test_what_is_wrong_with_a_file_is_said_in_one_line(tmp_path: Path, clip: Path) -> None:
    text = tmp_path / "notes.mp4"
    text.write_text("not a video\n" * 50)
    empty = tmp_path / "empty.mp4"
    empty.touch()
    headless = tmp_path / "cut.mp4"
    headless.write_bytes(clip.read_bytes()[:200])
    header_only = tmp_path / "none.y4m"
    header_only.write_bytes(b"YUV4MPEG2 W32 H16 F30:1 Ip C420jpeg\n")
    for path, part in [
        (tmp_path / "missing.mp4", "no such file"),
        (tmp_path, "a directory"),
        (text, "not a readable media file"),
        (empty, "an empty file"),
        (headless, "not a readable media file"),
        (header_only, "no picture can be decoded"),
        (sound_only(tmp_path / "tone.wav"), "no video stream"),
        (Path("/dev/null"), "not a regular file"),
    ]:
        with pytest.raises(LocalError) as caught:
            open_video(path)
        assert part in str(caught.value)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [({"frames": 0}, "frames 0"), ({"fps": 0}, "fps 0"), ({"size": (0, 5)}, "0x5")],
)
def test_illegal_arguments_are_refused(clip: Path, arguments: dict[str, object], part: str) -> None:
    with pytest.raises(LocalError, match=part):
        open_video(clip, **arguments)  # type: ignore[arg-type]


def test_damage_in_a_file_ends_in_pictures_or_a_local_error(tmp_path: Path, clip: Path) -> None:
    data = clip.read_bytes()
    for seed in range(25):
        rng = random.Random(seed)
        damaged = bytearray(data[: rng.randrange(len(data) // 2, len(data) + 1)])
        for _ in range(rng.randrange(1, 60)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        path = tmp_path / f"{seed}.mp4"
        path.write_bytes(damaged)
        try:
            shown = sum(1 for _ in itertools.islice(open_video(path, fps=30), 5000))
        except LocalError:
            continue
        assert 1 <= shown < 5000


def test_sound_is_20_ms_blocks_of_48_khz_mono(clip: Path) -> None:
    blocks = list(open_audio(clip))
    assert {(b.samples.shape, b.samples.dtype.name) for b in blocks} == {((960,), "int16")}
    assert [b.capture_us for b in blocks] == [n * 20_000 for n in range(len(blocks))]
    assert 24 <= len(blocks) <= 28
    spectrum = np.abs(np.fft.rfft(np.concatenate([b.samples for b in blocks[5:20]])))
    assert abs(int(np.argmax(spectrum)) * 48_000 / (15 * 960) - 440) < 5


def test_a_file_without_sound_says_so(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match="no audio stream"):
        open_audio(write_video(tmp_path / "a.mp4"))
    assert len(list(open_audio(sound_only(tmp_path / "tone.wav")))) == 10


def test_a_reader_can_be_closed_before_its_end(clip: Path) -> None:
    pictures = open_video(clip, loop=True)
    next(pictures)
    pictures.close()
    assert next(pictures, None) is None


def test_the_reference_clips_are_read_whole(shared: Path) -> None:
    expected = {"foreman_352x288.264": 299, "talking_512x512.mp4": 448}
    for name, count in expected.items():
        assert sum(1 for _ in open_video(shared / "clips" / name)) == count


def test_a_picture_that_is_repeated_is_fitted_once(
    clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted: list[int] = []
    fit_picture = media_video.fit_picture

    def count(picture: Picture, *, width: int, height: int) -> Picture:
        fitted.append(picture.capture_us)
        return fit_picture(picture, width=width, height=height)

    monkeypatch.setattr(media_video, "fit_picture", count)
    as_it_is = len(list(open_video(clip)))
    pictures = list(open_video(clip, size=(32, 32), fps=240))
    assert len(pictures) > 4 * as_it_is
    assert len(fitted) == as_it_is
    assert [p.capture_us for p in pictures] == [round(i * 1e6 / 240) for i in range(len(pictures))]
