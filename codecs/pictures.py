"""Pictures in and out of PyAV frames and plain bytes, and their scaling and cropping.

Sizes are any from 1x1 up; the chroma planes of an odd size round up, as in I420. Where the planes
of a frame are already 8-bit 4:2:0 of limited range, a picture is a read-only view of them. Every
other format is converted by swscale, which documents what becomes of it:

- more than 8 bits: rounded to 8, dithered; 4:2:2, 4:4:4 and 4:1:1: chroma averaged down to 4:2:0
- full range ("yuvj", or tagged so): scaled to limited range, since Picture carries no range and
  every receiver assumes limited
- RGB, palettes: BT.601 limited range, alpha is ignored; gray: neutral chroma
"""

from __future__ import annotations

from fractions import Fraction

import av
import cv2
import numpy as np
from av.video.reformatter import ColorRange

from .errors import LocalError
from .types import Picture, Plane

BLACK_LUMA = 16  # ITU-R BT.601, limited range
NEUTRAL_CHROMA = 128  # ITU-R BT.601
NATIVE_FORMATS = ("yuv420p", "yuvj420p")
MAX_SIDE_PX = 16384  # H.264 and AV1 levels end below it; bounds what a damaged header can allocate


def new_picture(width: int, height: int, *, capture_us: int = 0) -> Picture:
    """A black picture whose planes lie in one contiguous I420 buffer and may be written to."""
    check_size(width, height)
    buffer = np.full(i420_bytes(width, height), NEUTRAL_CHROMA, np.uint8)
    buffer[: width * height] = BLACK_LUMA
    return _picture_over(buffer, width, height, capture_us)


def i420_bytes(width: int, height: int) -> int:
    """Size in bytes of one contiguous I420 picture."""
    return width * height + 2 * ((width + 1) // 2) * ((height + 1) // 2)


def picture_from_i420(data: bytes, *, width: int, height: int, capture_us: int = 0) -> Picture:
    """A read-only view of contiguous I420 bytes. Raises LocalError when their number is wrong."""
    check_size(width, height)
    if len(data) != i420_bytes(width, height):
        raise LocalError(
            f"{len(data)} bytes given, {width}x{height} I420 has {i420_bytes(width, height)}"
        )
    return _picture_over(np.frombuffer(data, np.uint8), width, height, capture_us)


def i420_from_picture(picture: Picture) -> bytes:
    """The picture as contiguous I420 bytes: y, then u, then v, without row padding."""
    return b"".join(plane.tobytes() for plane in (picture.y, picture.u, picture.v))


def picture_from_frame(frame: object, *, capture_us: int) -> Picture:
    """The frame's planes without a copy where its format allows, else converted (see the module).

    A view keeps the frame's buffer alive. It is read-only, because a decoder may still predict
    from that buffer. Raises LocalError for a format that swscale cannot convert, and for what is no
    VideoFrame: a media track may also give packets.
    """
    if not isinstance(frame, av.VideoFrame):
        raise LocalError(f"a VideoFrame is expected, got {type(frame).__name__}")
    is_native = frame.format.name in NATIVE_FORMATS and frame.planes[0].line_size > 0
    source = frame if is_native else _converted(frame)
    y, u, v = (_plane_view(plane) for plane in source.planes)
    if _is_full_range(frame) and _has_420_chroma(frame.format):
        y, u, v = _limited_range(y, u, v)
    return Picture(y=y, u=u, v=v, capture_us=capture_us)


def frame_from_picture(
    picture: Picture, *, pts: int | None = None, time_base: Fraction | None = None
) -> av.VideoFrame:
    """A yuv420p frame with its own copy of the picture."""
    frame = av.VideoFrame(picture.width, picture.height, "yuv420p")
    for plane, source in zip(frame.planes, (picture.y, picture.u, picture.v), strict=True):
        _plane_view(plane, writable=True)[...] = source
    frame.pts = pts
    if time_base is not None:
        frame.time_base = time_base
    return frame


def scale_picture(picture: Picture, *, width: int, height: int) -> Picture:
    """The picture at another size: area average when neither side grows, else bicubic."""
    check_size(width, height)
    if (width, height) == (picture.width, picture.height):
        return picture
    shrinks = width <= picture.width and height <= picture.height
    method = cv2.INTER_AREA if shrinks else cv2.INTER_CUBIC
    chroma = ((width + 1) // 2, (height + 1) // 2)
    return Picture(
        y=_resized(picture.y, (width, height), method),
        u=_resized(picture.u, chroma, method),
        v=_resized(picture.v, chroma, method),
        capture_us=picture.capture_us,
    )


def fit_picture(picture: Picture, *, width: int, height: int) -> Picture:
    """The picture at another size, its middle cropped to the new shape so nothing stretches."""
    check_size(width, height)
    crop_width = min(picture.width, max(1, round(picture.height * width / height)))
    crop_height = min(picture.height, max(1, round(picture.width * height / width)))
    cropped = _cropped(picture, crop_width, crop_height)
    return scale_picture(cropped, width=width, height=height)


def crop_even(picture: Picture) -> Picture:
    """A view without the last row or column of an odd side. LocalError below 2x2 pixels."""
    width, height = picture.width & ~1, picture.height & ~1
    if not (width and height):
        raise LocalError(f"{picture.width}x{picture.height} has no even size of at least 2x2")
    if (width, height) == (picture.width, picture.height):
        return picture
    return Picture(
        y=picture.y[:height, :width],
        u=picture.u[: height // 2, : width // 2],
        v=picture.v[: height // 2, : width // 2],
        capture_us=picture.capture_us,
    )


def check_size(width: int, height: int) -> None:
    """Raises LocalError for a size that no picture has."""
    if not (1 <= width <= MAX_SIDE_PX and 1 <= height <= MAX_SIDE_PX):
        raise LocalError(f"a picture of {width}x{height}: each side is 1 to {MAX_SIDE_PX} pixels")


def _picture_over(
    buffer: np.ndarray[tuple[int], np.dtype[np.uint8]], width: int, height: int, capture_us: int
) -> Picture:
    shape = ((height + 1) // 2, (width + 1) // 2)
    luma_end = width * height
    u_end = luma_end + shape[0] * shape[1]
    return Picture(
        y=buffer[:luma_end].reshape(height, width),
        u=buffer[luma_end:u_end].reshape(shape),
        v=buffer[u_end:].reshape(shape),
        capture_us=capture_us,
    )


def _is_full_range(frame: av.VideoFrame) -> bool:
    return frame.format.name.startswith("yuvj") or frame.color_range == ColorRange.JPEG


def _has_420_chroma(pixel_format: av.VideoFormat) -> bool:
    """Whether swscale, which then only copies planes, leaves the range as it was."""
    return pixel_format.chroma_width(4) == 2 and pixel_format.chroma_height(4) == 2


def _converted(frame: av.VideoFrame) -> av.VideoFrame:
    color_range = ColorRange.JPEG if _is_full_range(frame) else ColorRange.MPEG
    try:
        return frame.reformat(
            format="yuv420p", src_color_range=color_range, dst_color_range=ColorRange.MPEG
        )
    except (av.FFmpegError, ValueError) as error:
        name = frame.format.name
        raise LocalError(f"pixel format {name} cannot be converted: {error}") from error


def _limited_table(low: int, high: int) -> Plane:
    """Full range to low..high, as in ITU-R BT.601: 219 steps of luma, 224 of chroma."""
    return np.rint(low + np.arange(256) * (high - low) / 255).astype(np.uint8)


_LUMA_TABLE = _limited_table(16, 235)
_CHROMA_TABLE = _limited_table(16, 240)


def _limited_range(y: Plane, u: Plane, v: Plane) -> tuple[Plane, Plane, Plane]:
    tables = (_LUMA_TABLE, _CHROMA_TABLE, _CHROMA_TABLE)
    y, u, v = (_lookup(plane, table) for plane, table in zip((y, u, v), tables, strict=True))
    return y, u, v


def _plane_view(plane: av.video.plane.VideoPlane, *, writable: bool = False) -> Plane:
    rows: Plane = np.frombuffer(memoryview(plane), np.uint8)
    rows = rows.reshape(plane.height, plane.line_size)
    view = rows[:, : plane.width]
    view.flags.writeable = writable
    return view


def _lookup(plane: Plane, table: Plane) -> Plane:
    return np.asarray(cv2.LUT(plane, table), np.uint8).reshape(plane.shape)


def _resized(plane: Plane, size: tuple[int, int], method: int) -> Plane:
    return np.asarray(cv2.resize(plane, size, interpolation=method), np.uint8).reshape(size[::-1])


def _cropped(picture: Picture, width: int, height: int) -> Picture:
    left, top = (picture.width - width) // 2 & ~1, (picture.height - height) // 2 & ~1
    half_width, half_height = (width + 1) // 2, (height + 1) // 2
    return Picture(
        y=picture.y[top : top + height, left : left + width],
        u=picture.u[top // 2 : top // 2 + half_height, left // 2 : left // 2 + half_width],
        v=picture.v[top // 2 : top // 2 + half_height, left // 2 : left // 2 + half_width],
        capture_us=picture.capture_us,
    )
