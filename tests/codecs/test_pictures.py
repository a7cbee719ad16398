"""Pictures keep their samples through frames, bytes, scaling and cropping, at any size."""

from __future__ import annotations

from fractions import Fraction

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError
from codecpilot.codecs.pictures import (
    crop_even,
    fit_picture,
    frame_from_picture,
    i420_bytes,
    i420_from_picture,
    new_picture,
    picture_from_frame,
    picture_from_i420,
    scale_picture,
)
from codecpilot.codecs.types import Picture

SIZES = st.tuples(st.integers(1, 70), st.integers(1, 70))
FULL_RANGE = 2  # AVCOL_RANGE_JPEG


def random_picture(width: int, height: int, *, seed: int = 0) -> Picture:
    data = np.random.default_rng(seed).integers(0, 256, i420_bytes(width, height), np.uint8)
    return picture_from_i420(data.tobytes(), width=width, height=height, capture_us=7)


def uniform_frame(name: str, *, luma: int, full_range: bool = False) -> av.VideoFrame:
    """Neutral chroma, for formats with separate planes; 8 or 16 bits a sample."""
    frame = av.VideoFrame(22, 13, name)
    deep = frame.format.components[0].bits > 8
    for index, plane in enumerate(frame.planes):
        middle = 1 << (frame.format.components[0].bits - 1)
        samples = np.frombuffer(memoryview(plane), np.uint16 if deep else np.uint8)
        samples[:] = luma if index == 0 else middle
    if full_range:
        frame.color_range = FULL_RANGE
    return frame


@settings(deadline=None)
@given(SIZES)
def test_bytes_and_frames_give_the_same_picture_back(size: tuple[int, int]) -> None:
    picture = random_picture(*size)
    frame = frame_from_picture(picture, pts=5, time_base=Fraction(1, 30))
    assert (frame.width, frame.height, frame.pts, frame.time_base) == (*size, 5, Fraction(1, 30))
    back = picture_from_frame(frame, capture_us=9)
    assert back.capture_us == 9
    assert i420_from_picture(back) == i420_from_picture(picture)
    assert back.u.shape == ((size[1] + 1) // 2, (size[0] + 1) // 2)


def test_a_plain_frame_is_viewed_not_copied_and_cannot_be_written_through() -> None:
    frame = frame_from_picture(random_picture(41, 22))
    picture = picture_from_frame(frame, capture_us=0)
    np.frombuffer(memoryview(frame.planes[0]), np.uint8)[0] = 200
    assert picture.y[0, 0] == 200
    assert picture.y.strides[0] == frame.planes[0].line_size > 41
    with pytest.raises(ValueError, match="read-only"):
        picture.y[0, 0] = 1


def test_a_view_outlives_its_frame() -> None:
    expected = random_picture(64, 48)
    picture = picture_from_frame(frame_from_picture(expected), capture_us=0)
    for seed in range(20):
        frame_from_picture(random_picture(64, 48, seed=seed))
    assert i420_from_picture(picture) == i420_from_picture(expected)


@pytest.mark.parametrize(
    ("name", "white", "full_range"),
    [
        ("yuv420p", 235, False),
        ("yuvj420p", 255, False),
        ("yuv420p", 255, True),
        ("nv12", 255, True),
        ("yuvj422p", 255, False),
        ("yuv444p", 235, False),
        ("yuv444p", 255, True),
        ("yuv422p", 235, False),
        ("yuv420p10le", 940, False),
        ("yuv422p10le", 940, False),
        ("gray", 255, False),
        ("gbrp", 255, False),
    ],
)
def test_white_stays_white_and_neutral_in_every_format(
    name: str, white: int, full_range: bool
) -> None:
    frame = uniform_frame(name, luma=white, full_range=full_range)
    if name == "gbrp":
        for plane in frame.planes:
            np.frombuffer(memoryview(plane), np.uint8)[:] = white
    picture = picture_from_frame(frame, capture_us=0)
    assert (picture.width, picture.height) == (22, 13)
    assert 234 <= picture.y.min() <= picture.y.max() <= 236
    for chroma in (picture.u, picture.v):
        assert 127 <= chroma.min() <= chroma.max() <= 129


def test_444_chroma_is_averaged_down() -> None:
    frame = uniform_frame("yuv444p", luma=100)
    chroma = np.frombuffer(memoryview(frame.planes[1]), np.uint8).reshape(13, -1)
    chroma[:, ::2], chroma[:, 1::2] = 60, 180
    picture = picture_from_frame(frame, capture_us=0)
    assert 105 < picture.u[:, 1:-1].mean() < 135


@settings(deadline=None, max_examples=60)
@given(SIZES, SIZES)
def test_scaling_gives_the_size_asked_for_and_keeps_the_mean(
    old: tuple[int, int], new: tuple[int, int]
) -> None:
    base = new_picture(*old, capture_us=3)
    base.y[...] = 90
    scaled = scale_picture(base, width=new[0], height=new[1])
    assert (scaled.width, scaled.height, scaled.capture_us) == (*new, 3)
    assert scaled.y.min() == scaled.y.max() == 90


def test_scaling_to_the_same_size_is_free() -> None:
    picture = random_picture(33, 20)
    assert scale_picture(picture, width=33, height=20) is picture


def test_scaling_down_averages_areas() -> None:
    picture = random_picture(64, 64)
    scaled = scale_picture(picture, width=32, height=32)
    means = picture.y.reshape(32, 2, 32, 2).mean(axis=(1, 3))
    assert np.abs(scaled.y - means).max() <= 1


@settings(deadline=None, max_examples=60)
@given(SIZES, SIZES)
def test_fitting_gives_the_size_asked_for(old: tuple[int, int], new: tuple[int, int]) -> None:
    fitted = fit_picture(random_picture(*old), width=new[0], height=new[1])
    assert (fitted.width, fitted.height, fitted.capture_us) == (*new, 7)


def test_fitting_crops_the_middle_and_does_not_stretch() -> None:
    picture = new_picture(64, 32)
    picture.y[:, 16:48] = 200
    fitted = fit_picture(picture, width=16, height=16)
    assert fitted.y.min() > 190, "the dark sides should be cropped away"


@settings(deadline=None)
@given(SIZES)
def test_cropping_to_even_drops_at_most_one_row_and_column(size: tuple[int, int]) -> None:
    picture = random_picture(*size)
    if min(size) < 2:
        with pytest.raises(LocalError):
            crop_even(picture)
        return
    cropped = crop_even(picture)
    assert (cropped.width, cropped.height) == (size[0] & ~1, size[1] & ~1)
    assert np.shares_memory(cropped.y, picture.y)
    assert np.array_equal(cropped.y, picture.y[: cropped.height, : cropped.width])


def test_a_new_picture_is_black() -> None:
    picture = new_picture(5, 3)
    assert (picture.y.min(), picture.y.max()) == (16, 16)
    assert (picture.u.min(), picture.v.max()) == (128, 128)


@pytest.mark.parametrize("size", [(0, 4), (4, -1), (16_385, 4)])
def test_illegal_sizes_are_refused(size: tuple[int, int]) -> None:
    for act in (new_picture, lambda w, h: scale_picture(new_picture(4, 4), width=w, height=h)):
        with pytest.raises(LocalError, match="16384"):
            act(*size)


def test_a_wrong_number_of_bytes_is_refused() -> None:
    with pytest.raises(LocalError, match=r"5 bytes given, 2x2 I420 has 6"):
        picture_from_i420(bytes(5), width=2, height=2)
