"""Pictures for the report: what was on the screen now and then, beside what should have been."""

from __future__ import annotations

from dataclasses import dataclass

from ...codecs.metrics import psnr_y
from ...codecs.types import Picture
from ..jpeg import data_url, jpeg_from_picture

# Ours: enough to see what a call looked like, in a page of some hundred kilobytes.
STILLS = 6
WIDTH_PX = 320
JPEG_QUALITY = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Still:
    """Two pictures as data URLs, when they were compared, and how like they were."""

    number: int
    psnr_y: float
    wanted: str
    shown: str


class StillSink:
    """A direction's pairs as they are compared: keeps every nth."""

    def __init__(self, *, pairs: int) -> None:
        """pairs is how many are expected."""
        self.stills: list[Still] = []
        self._every = max(1, pairs // STILLS)
        self._count = 0

    def __call__(self, wanted: Picture, shown: Picture) -> None:
        """Take a pair."""
        if self._count % self._every == self._every // 2:
            self.stills.append(
                Still(
                    number=self._count,
                    psnr_y=round(psnr_y(wanted, shown), 1),
                    wanted=_small(wanted),
                    shown=_small(shown),
                )
            )
        self._count += 1


def _small(picture: Picture) -> str:
    return data_url(jpeg_from_picture(picture, quality=JPEG_QUALITY, width_px=WIDTH_PX))
