"""What the peers of a simulated call see: a file, or the project's scene."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from ...codecs.media import open_video
from ...codecs.pictures import i420_bytes
from ...codecs.types import Picture
from ...rtc.simulation.scenario import PeerScenario
from ..scene import Scene

SYNTHETIC = "synthetic"
# Ours: drawing takes a third of what encoding does, so a stretch of the scene is drawn once and
# played to and fro: four seconds, or fewer where their memory would be more than this.
LOOP_S = 4
LOOP_BYTES = 128_000_000
MIN_LOOP = 30

US_PER_S = 1_000_000


class Sources:
    """Gives each peer of a call its pictures, endless and from capture_us 0 on."""

    def __init__(self, peers: Mapping[str, PeerScenario]) -> None:
        self._peers = peers
        self._scenes: dict[tuple[tuple[int, int], Fraction], _SceneLoop] = {}
        self._shared: dict[str, Iterator[Picture]] = {}

    def open(self, name: str) -> Iterator[Picture]:
        """A peer's pictures for the call itself: two peers that see one file decode it once.

        Raises LocalError for a file that cannot be read.
        """
        if name not in self._shared:
            self._shared[name] = self.again(name)
            others = [
                n for n, peer in self._peers.items() if n != name and self._is_same(peer, name)
            ]
            for other in others:
                self._shared[name], self._shared[other] = itertools.tee(self._shared[name])
        return self._shared.pop(name)

    def again(self, name: str) -> Iterator[Picture]:
        """The same pictures once more."""
        peer = self._peers[name]
        if peer.source != SYNTHETIC:
            return open_video(peer.source, size=peer.size, fps=peer.fps, loop=True)
        key = (peer.size, peer.fps)
        if key not in self._scenes:
            self._scenes[key] = _SceneLoop(peer.size, peer.fps)
        loop = self._scenes[key]
        # Who is not the first begins elsewhere in the scene.
        return loop.pictures(first=0 if name == min(self._peers) else loop.count // 2)

    def _is_same(self, peer: PeerScenario, name: str) -> bool:
        mine = self._peers[name]
        is_file = mine.source != SYNTHETIC
        return is_file and (peer.source, peer.size, peer.fps) == (mine.source, mine.size, mine.fps)


class _SceneLoop:
    """Pictures of the scene, drawn as they are needed and kept."""

    def __init__(self, size: tuple[int, int], fps: Fraction) -> None:
        fitting = LOOP_BYTES // i420_bytes(*size)
        self.count = max(MIN_LOOP, min(int(LOOP_S * fps), fitting))
        self._fps = fps
        self._scene = Scene(width=size[0], height=size[1], fps=fps)
        self._drawn: dict[int, Picture] = {}

    def pictures(self, *, first: int) -> Iterator[Picture]:
        """Endless, from picture number `first` of the loop."""
        period = 2 * (self.count - 1)
        for index in itertools.count():
            place = (first + index) % period
            picture = self._picture(place if place < self.count else period - place)
            yield replace(picture, capture_us=round(index * US_PER_S / self._fps))

    def _picture(self, place: int) -> Picture:
        if place not in self._drawn:
            self._drawn[place] = self._scene.picture(place)
        return self._drawn[place]
