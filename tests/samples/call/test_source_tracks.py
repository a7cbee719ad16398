"""The tracks of a named source, with real files and the drawn scene."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from aiortc.mediastreams import MediaStreamError

from codecpilot.codecs.errors import LocalError
from codecpilot.codecs.media import open_video
from codecpilot.samples.call import source_tracks
from codecpilot.samples.call.clocks import wall_us
from codecpilot.samples.call.options import Source
from codecpilot.samples.call.source_tracks import SourceTracks, check_source, open_tracks

SIZE = (64, 64)
FPS = Fraction(30)
SCENE = Source(kind="synthetic")


def opened(source: Source, *, side: str = "A", due: list[int] | None = None) -> SourceTracks:
    return open_tracks(
        source,
        side=side,
        width=SIZE[0],
        height=SIZE[1],
        fps=FPS,
        seed=1,
        on_due=(due if due is not None else []).append,
    )


async def received(
    tracks: SourceTracks, *, pictures: int, sounds: int
) -> tuple[list[Any], list[Any]]:
    async def some(track: Any, count: int) -> list[Any]:
        return [await asyncio.wait_for(track.recv(), 10) for _ in range(count)]

    try:
        found = await asyncio.gather(some(tracks.pictures, pictures), some(tracks.sound, sounds))
    finally:
        tracks.close()
    return found[0], found[1]


@pytest.fixture
def clip(tmp_path: Path) -> Source:
    """Half a second of gray that brightens, with a loud sound."""
    path = tmp_path / "clip.mkv"
    with av.open(str(path), "w") as container:
        video = container.add_stream("ffv1", rate=30)
        video.width, video.height, video.pix_fmt = 64, 64, "yuv420p"
        sound = container.add_stream("pcm_s16le", rate=48_000, layout="mono")
        for i in range(15):
            picture = av.VideoFrame.from_ndarray(
                np.full((96, 64), 100 + 5 * i, np.uint8), format="yuv420p"
            )
            picture.pts = i
            container.mux(video.encode(picture))
            samples = np.full((1, 1600), 9_000, np.int16)
            frame = av.AudioFrame.from_ndarray(samples, format="s16", layout="mono")
            frame.sample_rate, frame.pts = 48_000, i * 1600
            container.mux(sound.encode(frame))
        container.mux(video.encode(None))
    return Source(kind="file", place=str(path))


async def test_the_scene_comes_in_the_asked_size_with_even_timestamps_and_a_tone() -> None:
    due: list[int] = []
    tracks = opened(SCENE, due=due)
    pictures, sounds = await received(tracks, pictures=4, sounds=3)
    assert {(frame.width, frame.height) for frame in pictures} == {SIZE}
    assert all(frame.pts % 3000 == 0 for frame in pictures)
    assert [frame.pts for frame in pictures] == sorted({frame.pts for frame in pictures})
    assert {frame.time_base for frame in pictures} == {Fraction(1, 90_000)}
    # Ticks that a busy machine misses leave gaps of whole blocks.
    assert all(frame.pts % 960 == 0 for frame in sounds)
    assert [frame.pts for frame in sounds] == sorted({frame.pts for frame in sounds})
    assert due == sorted(due)
    assert len(due) >= 4


async def test_the_sides_draw_different_pictures() -> None:
    first = (await received(opened(SCENE, side="A"), pictures=1, sounds=1))[0][0].to_ndarray()
    second = (await received(opened(SCENE, side="B"), pictures=1, sounds=1))[0][0].to_ndarray()
    assert np.abs(first.astype(int) - second).mean() > 1


async def test_a_file_is_played_again_from_its_start_with_its_own_sound(clip: Source) -> None:
    pictures, sounds = await received(opened(clip), pictures=20, sounds=5)
    brightness = [int(frame.to_ndarray()[0, 0]) for frame in pictures]
    assert all(98 <= value <= 172 for value in brightness)
    assert any(after < before for before, after in pairwise(brightness))
    assert pictures[-1].pts >= 19 * 3000
    assert np.abs(sounds[3].to_ndarray().astype(int) - 9_000).max() < 20


async def test_the_next_due_time_is_that_of_a_coming_picture() -> None:
    due: list[int] = []
    tracks = opened(SCENE, due=due)
    await received(tracks, pictures=2, sounds=1)
    now_us = wall_us()
    next_us = tracks.next_due_us(now_us)
    assert now_us - 2 <= next_us <= now_us + 33_400


def test_only_side_a_takes_the_camera() -> None:
    tracks = opened(Source(kind="camera", place="77"), side="B")
    pictures, _ = asyncio.run(received(tracks, pictures=1, sounds=1))
    assert (pictures[0].width, pictures[0].height) == SIZE


def test_a_camera_that_is_not_there_is_told_before_the_call() -> None:
    with pytest.raises(LocalError, match="77"):
        check_source(Source(kind="camera", place="77"), width=64, height=64, fps=FPS)


def test_a_good_file_passes_the_check(clip: Source) -> None:
    check_source(clip, width=64, height=64, fps=FPS)


async def test_a_file_that_reads_slower_than_real_time_keeps_giving_pictures(
    clip: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*args: Any, **kwargs: Any) -> Iterator[Any]:
        for picture in open_video(*args, **kwargs):
            time.sleep(1.5 / FPS)
            yield picture

    monkeypatch.setattr(source_tracks, "open_video", slow)
    tracks = opened(clip)
    try:
        await tracks.pictures.recv()
        started, gaps = time.monotonic(), []
        while (now := time.monotonic()) < started + 3:
            await tracks.pictures.recv()
            gaps.append(time.monotonic() - now)
    finally:
        tracks.close()
    # Skipping ahead by all that was missed made each gap one and a half times the one before.
    assert max(gaps) < 1
    assert len(gaps) >= 12


async def exhausted(track: Any) -> None:
    while True:
        await track.recv()


async def test_a_file_that_disappears_during_the_call_is_the_tracks_error(clip: Source) -> None:
    tracks = opened(clip)
    try:
        await tracks.pictures.recv()
        Path(clip.place).unlink()
        with pytest.raises(MediaStreamError):
            await asyncio.wait_for(exhausted(tracks.pictures), 10)
    finally:
        tracks.close()
    assert "no such file" in str(tracks.error)


async def test_sound_that_cannot_be_decoded_gives_way_to_a_tone(
    clip: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise LocalError("no sound can be decoded")

    monkeypatch.setattr(source_tracks, "open_audio", refuse)
    _, sounds = await received(opened(clip), pictures=1, sounds=3)
    assert max(np.abs(frame.to_ndarray()).max() for frame in sounds) > 100
