"""Cameras, through FFmpeg's capture devices."""

from __future__ import annotations

import sys
from collections.abc import Generator
from fractions import Fraction

import av
from av.container import InputContainer

from .errors import LocalError
from .media_container import US_PER_S
from .pictures import fit_picture, picture_from_frame
from .types import Picture


def open_camera(
    camera: int | str, *, size: tuple[int, int] | None = None, fps: Fraction | int = 30
) -> Generator[Picture, None, None]:
    """Pictures of camera number 0 up (on Windows also by the device's name), as they are captured.

    capture_us begins at 0 with the first picture. A camera that does not offer size and fps gives
    what it has, then the pictures are cropped and scaled. Raises LocalError at once where there is
    no such camera, or it is taken; a camera that is unplugged ends the pictures.
    """
    device, name = device_name(camera, platform=sys.platform)
    options = {"framerate": str(fps)}
    if size is not None:
        options["video_size"] = f"{size[0]}x{size[1]}"
    container = _opened(device, name, options)
    return _captured(container, size)


def device_name(camera: int | str, *, platform: str) -> tuple[str, str]:
    """FFmpeg's capture device and the name that the camera has there."""
    if isinstance(camera, int) and camera < 0:
        raise LocalError(f"camera {camera} is below 0")
    if platform == "linux":
        return "v4l2", f"/dev/video{camera}"
    if platform == "darwin":
        return "avfoundation", f"{camera}:none"
    if platform == "win32":
        # dshow knows names only, the older vfwcap numbers only.
        return ("vfwcap", str(camera)) if isinstance(camera, int) else ("dshow", f"video={camera}")
    raise LocalError(f"no camera capture on {platform}, only on linux, darwin and win32")


def _opened(device: str, name: str, options: dict[str, str]) -> InputContainer:
    try:
        try:
            return av.open(name, format=device, options=options)
        except (av.error.ValueError, av.error.OSError):
            # The camera may refuse the size or the rate alone.
            return av.open(name, format=device)
    except (av.FFmpegError, OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise LocalError(f"camera {name} cannot be opened: {reason}") from error


def _captured(
    container: InputContainer, size: tuple[int, int] | None
) -> Generator[Picture, None, None]:
    start_us = None
    with container:
        try:
            for frame in container.decode(video=0):
                time_us = round(Fraction(frame.pts or 0) * (frame.time_base or 0) * US_PER_S)
                start_us = time_us if start_us is None else start_us
                picture = picture_from_frame(frame, capture_us=time_us - start_us)
                yield (
                    picture if size is None else fit_picture(picture, width=size[0], height=size[1])
                )
        except av.FFmpegError:
            return
