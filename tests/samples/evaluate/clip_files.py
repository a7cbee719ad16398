"""Tiny clips as files, and one picture to compare with."""

from __future__ import annotations

from pathlib import Path

from codecpilot.codecs.pictures import i420_from_picture
from codecpilot.codecs.types import Picture
from codecpilot.samples.scene import Scene

FPS = 30


def scene_pictures(
    count: int, *, width: int = 64, height: int = 64, seed: int = 5
) -> list[Picture]:
    scene = Scene(width=width, height=height, fps=FPS, seed=seed)
    return [scene.picture(index) for index in range(count)]


def write_y4m(
    path: Path, count: int, *, width: int = 64, height: int = 64, seed: int = 5, fps: int = FPS
) -> Path:
    pictures = scene_pictures(count, width=width, height=height, seed=seed)
    body = b"".join(b"FRAME\n" + i420_from_picture(picture) for picture in pictures)
    header = f"YUV4MPEG2 W{width} H{height} F{fps}:1 Ip A1:1 C420jpeg\n".encode()
    path.write_bytes(header + body)
    return path
