"""What simulated peers see."""

from __future__ import annotations

import itertools
from pathlib import Path

import av
import numpy as np
import pytest

from codecpilot.codecs.errors import LocalError
from codecpilot.rtc.simulation.scenario import PeerScenario, scenario
from codecpilot.samples.simulate.pictures import Sources


def peers(**values: object) -> dict[str, PeerScenario]:
    made = scenario(
        {"size": "64x64", **values},
        read_text=lambda path: "",
        default_bps=lambda size, fps: 100_000,
    )
    return dict(made.peers)


def test_the_scene_goes_on_without_a_jump_and_each_peer_sees_another_part():
    sources = Sources(peers())
    mine = list(itertools.islice(sources.open("a"), 500))
    theirs = list(itertools.islice(sources.open("b"), 500))
    assert [p.capture_us for p in mine[:3]] == [0, 33_333, 66_667]
    steps = [
        float(np.abs(a.y.astype(int) - b.y.astype(int)).mean()) for a, b in itertools.pairwise(mine)
    ]
    assert min(steps) > 0
    assert max(steps) <= 8 * sorted(steps)[250]
    assert not np.array_equal(mine[0].y, theirs[0].y)


def test_the_same_pictures_come_again():
    sources = Sources(peers())
    first = list(itertools.islice(sources.open("b"), 5))
    again = list(itertools.islice(sources.again("b"), 5))
    assert all(np.array_equal(a.y, b.y) for a, b in zip(first, again, strict=True))


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    path = tmp_path / "clip.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=10, options={"qp": "10"})
        stream.width = stream.height = 64
        for level in range(6):
            frame = av.VideoFrame.from_ndarray(
                np.full((64, 64, 3), 40 * level, np.uint8), format="rgb24"
            )
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def test_a_file_repeats_and_both_peers_see_it_from_its_beginning(clip: Path):
    sources = Sources(peers(source=str(clip), fps=10))
    mine = [int(p.y.mean()) for p in itertools.islice(sources.open("a"), 9)]
    theirs = [int(p.y.mean()) for p in itertools.islice(sources.open("b"), 9)]
    assert mine == theirs
    assert mine[6:] == mine[:3]
    assert mine[:6] == sorted(set(mine))


def test_a_file_that_is_missing_is_told_at_once(tmp_path: Path):
    with pytest.raises(LocalError, match="absent"):
        Sources(peers(source=str(tmp_path / "absent.mp4"))).open("a")
