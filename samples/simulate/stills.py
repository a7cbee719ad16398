"""Pictures for the report: what was on the screen now and then, beside what should have been."""

from __future__ import annotations

import base64
from dataclasses import dataclass

import cv2
import numpy as np

from ...codecs.metrics import psnr_y
from ...codecs.types import Picture

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
                    wanted=data_url(wanted),
                    shown=data_url(shown),
                )
            )
        self._count += 1


def data_url(picture: Picture) -> str:
    """A small JPEG of a picture."""
    i420 = np.concatenate([p.reshape(-1) for p in (picture.y, picture.u, picture.v)])
    bgr = cv2.cvtColor(i420.reshape(-1, picture.width), cv2.COLOR_YUV2BGR_I420)
    height = round(picture.height * WIDTH_PX / picture.width)
    small = cv2.resize(bgr, (WIDTH_PX, height), interpolation=cv2.INTER_AREA)
    _, data = cv2.imencode(".jpg", small, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    return "data:image/jpeg;base64," + base64.b64encode(data.tobytes()).decode("ascii")
