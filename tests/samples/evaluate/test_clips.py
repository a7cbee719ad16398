"""How clips are read: even sizes, repeats without a cut, and what is refused before any run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from codecpilot.codecs.errors import LocalError
from codecpilot.samples.evaluate.clips import (
    Clip,
    ReadOptions,
    inspect_clips,
    pictures_of_run,
    read_pictures,
)
from codecpilot.samples.evaluate.rates import constant, parse_schedule

from .clip_files import write_y4m

HUNDRED = constant(100)
DEFAULT = ReadOptions()


def inspect(path: Path, options: ReadOptions = DEFAULT) -> Clip:
    return inspect_clips([str(path)], options=options)[0]


def test_a_clip_is_counted_and_cropped_to_even_sides(tmp_path: Path) -> None:
    clip = inspect(write_y4m(tmp_path / "a.y4m", 7, width=65, height=49))
    assert (clip.name, clip.width, clip.height, clip.pictures, clip.fps) == ("a.y4m", 64, 48, 7, 30)
    shown = list(read_pictures(clip, pictures=7, options=DEFAULT))
    assert {(p.width, p.height) for p in shown} == {(64, 48)}
    assert [p.capture_us for p in shown] == [round(i * 1e6 / 30) for i in range(7)]


def test_constant_runs_take_the_clip_or_its_beginning(tmp_path: Path) -> None:
    path = write_y4m(tmp_path / "a.y4m", 12)
    for frames, expected in ((None, 12), (5, 5), (40, 12)):
        options = ReadOptions(frames=frames)
        clip = inspect(path, options)
        assert pictures_of_run(clip, rates=HUNDRED, options=options) == expected


def test_a_schedule_goes_on_to_its_end_on_a_clip_that_is_shorter(tmp_path: Path) -> None:
    path = write_y4m(tmp_path / "a.y4m", 12)
    schedule = parse_schedule("0:300,0.5:100,1:300")
    clip = inspect(path)
    assert pictures_of_run(clip, rates=schedule, options=DEFAULT) == 45
    assert pictures_of_run(clip, rates=schedule, options=ReadOptions(frames=20)) == 20
    longer = inspect(write_y4m(tmp_path / "b.y4m", 50))
    assert pictures_of_run(longer, rates=schedule, options=DEFAULT) == 50


def test_a_short_clip_is_played_back_and_forth_in_even_time(tmp_path: Path) -> None:
    clip = inspect(write_y4m(tmp_path / "a.y4m", 4))
    shown = list(read_pictures(clip, pictures=12, options=DEFAULT))
    once = shown[:4]
    order = [next(i for i, p in enumerate(once) if np.array_equal(p.y, s.y)) for s in shown]
    assert order == [0, 1, 2, 3, 2, 1, 0, 1, 2, 3, 2, 1]
    gaps = np.diff([p.capture_us for p in shown])
    assert all(abs(gap - 33_333) <= 1 for gap in gaps)


def test_a_clip_of_one_picture_stands_still(tmp_path: Path) -> None:
    clip = inspect(write_y4m(tmp_path / "a.y4m", 1))
    shown = list(read_pictures(clip, pictures=3, options=DEFAULT))
    assert len(shown) == 3
    assert all(np.array_equal(p.y, shown[0].y) for p in shown)


def test_random_gaps_are_the_seeds_and_last_as_long_as_the_schedule(tmp_path: Path) -> None:
    path, schedule = write_y4m(tmp_path / "a.y4m", 5), parse_schedule("random:10:20-300:2")
    options = ReadOptions(gaps_us=(0, 300_000), seed=3)
    clip = inspect(path, options)
    count = pictures_of_run(clip, rates=schedule, options=options)
    times = [p.capture_us for p in read_pictures(clip, pictures=count, options=options)]
    again = [p.capture_us for p in read_pictures(clip, pictures=count, options=options)]
    assert times == again
    assert times == sorted(times)
    assert 1_600_000 <= times[-1] < 2_000_000
    other = ReadOptions(gaps_us=(0, 300_000), seed=4)
    assert times != [p.capture_us for p in read_pictures(clip, pictures=count, options=other)]


def test_clips_of_one_name_are_told_apart_and_repeated_ones_read_once(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    paths = [write_y4m(tmp_path / "a.y4m", 2), write_y4m(tmp_path / "x" / "a.y4m", 2)]
    clips = inspect_clips([str(p) for p in (*paths, paths[0])], options=DEFAULT)
    assert [clip.name for clip in clips] == [str(p) for p in paths]
    assert len({clip.slug for clip in clips}) == 2


def test_names_that_make_one_folder_name_get_two_folders(tmp_path: Path) -> None:
    paths = [write_y4m(tmp_path / name, 2) for name in ("a b.y4m", "a_b.y4m", ".y4m")]
    clips = inspect_clips([str(path) for path in paths], options=DEFAULT)
    assert [clip.slug for clip in clips] == ["a_b.y4m", "a_b.y4m-2", "y4m"]


def test_a_clip_too_small_to_code_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.yuv"
    path.write_bytes(bytes(14 * 14 * 3 // 2))
    with pytest.raises(LocalError, match="14x14 is below 16 pixels"):
        inspect(path, ReadOptions(size=(14, 14)))
