"""Pictures as JPEGs in the reports' pages."""

from __future__ import annotations

import base64

import cv2
import numpy as np

from ..codecs.pictures import i420_from_picture
from ..codecs.types import Picture


def jpeg_from_picture(picture: Picture, *, quality: int, width_px: int | None = None) -> bytes:
    """The picture, whose sides are even, at its own size or scaled to a width. quality is 0..100."""
    planes = np.frombuffer(i420_from_picture(picture), np.uint8)
    pixels = cv2.cvtColor(planes.reshape(-1, picture.width), cv2.COLOR_YUV2BGR_I420)
    if width_px is not None:
        height_px = round(picture.height * width_px / picture.width)
        pixels = cv2.resize(pixels, (width_px, height_px), interpolation=cv2.INTER_AREA)
    return cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, quality])[1].tobytes()


def data_url(jpeg: bytes) -> str:
    """For the src of an img."""
    return "data:image/jpeg;base64," + base64.b64encode(jpeg).decode("ascii")
