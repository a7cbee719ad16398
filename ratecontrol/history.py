"""What sent frames show, so that the next picture can be compared with the one it is predicted from."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .probe import Luma, Thumbnail, thumbnail
from .quantizer_scale import QUANTIZER_MAX, coarseness
from .rate_model import Scene

# Ours: more than the frames between two long-term references at 60 pictures a second, twice.
CAPACITY = 256
# Ours: detail changes slowly, so it is measured on every so manieth picture, and after a cut.
DETAIL_EVERY = 16
# Ours: log2 by which change stays below detail as long as the picture is the same scene.
CUT = 1.0
# Ours: what is assumed of a picture whose pixels are not known.
LOG_DETAIL_UNKNOWN = 2.0
LOG_CHANGE_UNKNOWN = 1.0
COARSEST = coarseness(QUANTIZER_MAX)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shown:
    """A frame: its samples, its detail, and the coarseness of what it shows."""

    samples: Thumbnail | None
    log_detail: float
    coarse: float
    log_pixels: float


class FrameHistory:
    """The last CAPACITY sent frames by frame id."""

    def __init__(self) -> None:
        self._frames: dict[int, Shown] = {}
        self._newest: Shown | None = None
        self._pictures = 0

    def look(
        self, luma: Luma | None, *, key: bool, reference_id: int | None, pixels: int
    ) -> tuple[Scene, Thumbnail | None]:
        """A picture to be coded at this many pixels as the rate model sees it, and its samples."""
        samples = None if luma is None else thumbnail(luma)
        self._pictures += 1
        reference = self._reference(reference_id)
        change, coarse, log_pixels = None, 0.0, math.log2(pixels)
        if not key:
            change = LOG_CHANGE_UNKNOWN if reference is None else _change(samples, reference)
            coarse = COARSEST if reference is None else _coarseness(reference, log_pixels)
        scene = Scene(
            log_detail=self._detail(samples, reference, change),
            log_change=change,
            reference_coarseness=coarse,
            log_pixels=log_pixels,
        )
        return scene, samples

    def sent(
        self, frame_id: int, *, scene: Scene, samples: Thumbnail | None, coarse: float
    ) -> None:
        """The picture was sent and shows this coarseness."""
        self._newest = Shown(
            samples=samples,
            log_detail=scene.log_detail,
            coarse=coarse,
            log_pixels=scene.log_pixels,
        )
        self._frames.pop(frame_id, None)
        self._frames[frame_id] = self._newest
        if len(self._frames) > CAPACITY:
            del self._frames[next(iter(self._frames))]

    def _reference(self, reference_id: int | None) -> Shown | None:
        """The frame predicted from; the newest where that is not known."""
        known = None if reference_id is None else self._frames.get(reference_id)
        return known or self._newest

    def _detail(
        self, samples: Thumbnail | None, reference: Shown | None, change: float | None
    ) -> float:
        if samples is None:
            return LOG_DETAIL_UNKNOWN if reference is None else reference.log_detail
        is_same_scene = (
            reference is not None and change is not None and change < reference.log_detail - CUT
        )
        if reference is not None and is_same_scene and self._pictures % DETAIL_EVERY:
            return reference.log_detail
        return samples.log_detail()


def _coarseness(reference: Shown, log_pixels: float) -> float:
    """A smaller reference lacks the detail of this size, as one at the coarsest quantizer does."""
    return COARSEST if reference.log_pixels < log_pixels else reference.coarse


def _change(samples: Thumbnail | None, reference: Shown) -> float:
    if samples is None or reference.samples is None:
        return LOG_CHANGE_UNKNOWN
    change = samples.log_change(reference.samples)
    return LOG_CHANGE_UNKNOWN if change is None else change
