"""The drawn parts of the procedural scene: a room, shoulders, and heads with their expressions.

Each is drawn once as BGR with OpenCV and kept as 4:2:0 planes (BT.601, limited range). Lengths
are fractions of `unit_px`, the height of the head, so that every size shows the same scene.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import cv2
import numpy as np
import numpy.typing as npt

Image = npt.NDArray[np.uint8]
Weights = npt.NDArray[np.float32]
Generator = np.random.Generator

MOUTH_STEPS = 9
LID_STEPS = 4
HEAD_WIDTH = 0.98  # of the head's height, hair included: the patch, not the face
SUPERSAMPLING = 2  # small features are drawn larger, then averaged down

SKIN = (146, 172, 214)
LIPS = (92, 92, 168)
HAIR = (34, 44, 60)
SHIRT = (124, 92, 66)
NECK = (120, 146, 188)
COLLAR = (98, 70, 48)
BOOKS = (
    (70, 90, 150),
    (120, 110, 80),
    (60, 120, 110),
    (150, 140, 120),
    (50, 60, 120),
    (90, 60, 70),
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layer:
    """4:2:0 planes of even size with the weight of each sample, 0 (transparent) to 1."""

    planes: tuple[Image, Image, Image]
    luma_weight: Weights
    chroma_weight: Weights


def draw_room(rng: Generator, *, width: int, height: int, unit_px: float) -> Layer:
    """A wall with a bookshelf, a picture and a plant, slightly out of focus; sides are even."""
    light = np.linspace(1.1, 0.82, width, dtype=np.float32)[None, :, None]
    image = np.full((height, width, 3), (172, 182, 190), np.float32) * light
    image += 7 * _fractal(rng, height, width)[..., None]
    canvas = np.clip(image, 0, 255).astype(np.uint8)
    _draw_shelf(canvas, rng, unit_px)
    _draw_painting(canvas, rng, unit_px)
    _draw_plant(canvas, rng, unit_px)
    return _layer(cv2.GaussianBlur(canvas, (0, 0), max(0.3, 0.006 * unit_px)), None)


def draw_shoulders(rng: Generator, *, unit_px: float) -> Layer:
    """Neck and shirt, 2.2 units wide and 1.3 high; the neck begins at the middle of the top."""
    width, height = _even(2.2 * unit_px), _even(1.3 * unit_px)
    # The colour goes on outside the shape, so that its soft edge has no dark fringe.
    canvas = np.full((height, width, 3), SHIRT, np.uint8)
    canvas = _shaded(canvas, 20 * _fractal(rng, height, width) + 9 * _knit(height, width, unit_px))
    canvas[: int(0.3 * unit_px)] = NECK
    mask = np.zeros((height, width), np.uint8)
    middle = width // 2
    body = _ellipse_points(middle, height, 1.0 * unit_px, 0.98 * unit_px)
    neck = _ellipse_points(middle, 0.12 * unit_px, 0.21 * unit_px, 0.36 * unit_px)
    collar = _ellipse_points(middle, 0.36 * unit_px, 0.29 * unit_px, 0.16 * unit_px)
    cv2.fillPoly(canvas, [collar], COLLAR, cv2.LINE_AA)
    cv2.fillPoly(canvas, [neck], NECK, cv2.LINE_AA)
    for shape in (body, neck):
        cv2.fillPoly(mask, [shape], 255, cv2.LINE_AA)
    return _layer(canvas, mask)


def draw_heads(rng: Generator, *, unit_px: float) -> dict[tuple[int, int], Layer]:
    """Every (mouth, lids) expression of one head: 0 is closed, the last step is wide open."""
    width, height = _even(HEAD_WIDTH * unit_px), _even(unit_px)
    big = (height * SUPERSAMPLING, width * SUPERSAMPLING)
    base, mask = _draw_bare_head(rng, *big)
    small_mask = cv2.resize(mask, (width, height), interpolation=cv2.INTER_AREA)
    heads = {}
    for mouth, lids in product(range(MOUTH_STEPS), range(LID_STEPS)):
        canvas = base.copy()
        _draw_mouth(canvas, mouth / (MOUTH_STEPS - 1))
        _draw_eyes(canvas, lids / (LID_STEPS - 1))
        small = cv2.resize(canvas, (width, height), interpolation=cv2.INTER_AREA)
        heads[mouth, lids] = _layer(np.asarray(small, np.uint8), np.asarray(small_mask, np.uint8))
    return heads


def _draw_shelf(canvas: Image, rng: Generator, unit_px: float) -> None:
    height, width = canvas.shape[:2]
    right, row = int(0.3 * width), max(8, int(0.5 * unit_px))
    canvas[:, :right] = (canvas[:, :right] * 0.42).astype(np.uint8)
    for bottom in range(row, height + row, row):
        left = 0
        while left < right - 2:
            thick = max(2, int(rng.uniform(0.05, 0.12) * unit_px))
            tall = int(rng.uniform(0.6, 0.92) * row)
            colour = np.clip(
                np.array(BOOKS[rng.integers(len(BOOKS))]) + rng.integers(-25, 25), 0, 255
            )
            end = min(left + thick, right)
            spine = (left, bottom - tall), (end - 1, bottom - 3)
            cv2.rectangle(canvas, *spine, colour.tolist(), cv2.FILLED)
            cv2.line(canvas, (end - 1, bottom - tall), (end - 1, bottom), (30, 30, 34), 1)
            for line in range(int(rng.integers(0, 3))):
                y = bottom - tall + (2 + 3 * line) * tall // 12
                cv2.line(canvas, (left + 1, y), (end - 2, y), (170, 190, 200), 1)
            left = end
        cv2.rectangle(canvas, (0, bottom - 3), (right, bottom + 2), (60, 84, 110), cv2.FILLED)


def _draw_painting(canvas: Image, rng: Generator, unit_px: float) -> None:
    height, width = canvas.shape[:2]
    w, h = max(4, int(0.62 * unit_px)), max(4, int(0.5 * unit_px))
    x, y = int(0.74 * width), int(0.12 * height)
    w, h = min(w, width - x - 2), min(h, height - y - 2)
    if min(w, h) < 4:
        return
    hills = _fractal(rng, h, w)[..., None] * (60, 40, 10) + (140, 150, 120)
    canvas[y : y + h, x : x + w] = np.clip(hills, 0, 255).astype(np.uint8)
    cv2.rectangle(canvas, (x, y), (x + w, y + h), (40, 50, 60), max(1, int(0.03 * unit_px)))


def _draw_plant(canvas: Image, rng: Generator, unit_px: float) -> None:
    height, width = canvas.shape[:2]
    root = np.array([0.88 * width, 0.98 * height])
    for _ in range(70):
        angle, reach = rng.uniform(-2.9, -0.25), rng.uniform(0.2, 0.8) * unit_px
        tip = root + reach * np.array([np.cos(angle), np.sin(angle)])
        axes = (max(1, int(0.11 * unit_px)), max(1, int(0.03 * unit_px)))
        green = (int(rng.integers(40, 80)), int(rng.integers(80, 150)), int(rng.integers(50, 90)))
        degrees = float(np.degrees(angle) + rng.uniform(-40, 40))
        centre = (int(tip[0]), int(tip[1]))
        cv2.ellipse(canvas, centre, axes, degrees, 0, 360, green, cv2.FILLED, cv2.LINE_AA)


def _draw_bare_head(rng: Generator, height: int, width: int) -> tuple[Image, Image]:
    canvas = np.full((height, width, 3), HAIR, np.uint8)
    canvas[int(0.8 * height) :] = SKIN
    mask = np.zeros((height, width), np.uint8)
    x = width // 2
    hair = _ellipse_points(x, 0.46 * height, 0.41 * height, 0.44 * height)
    face = _ellipse_points(x, 0.54 * height, 0.335 * height, 0.43 * height)
    for shape, colour in ((hair, HAIR), (face, SKIN)):
        cv2.fillPoly(canvas, [shape], colour, cv2.LINE_AA)
        cv2.fillPoly(mask, [shape], 255, cv2.LINE_AA)
    side = (np.linspace(-1, 1, width, dtype=np.float32) ** 3)[None, :] * -55
    canvas = _shaded(canvas, side + 7 * _fractal(rng, height, width))
    _draw_hair(canvas, rng, height, x)
    dark = tuple(int(c * 0.8) for c in SKIN)
    nose = ((-0.03, 0.5), (-0.055, 0.63), (0.0, 0.655), (0.05, 0.63))
    points = np.array([(x + dx * height, y * height) for dx, y in nose], np.int32)
    cv2.polylines(canvas, [points], False, dark, max(1, height // 90), cv2.LINE_AA)
    for sign in (-1, 1):
        brow = _ellipse_points(
            x + sign * 0.15 * height, 0.405 * height, 0.09 * height, 0.018 * height
        )
        cv2.fillPoly(canvas, [brow], HAIR, cv2.LINE_AA)
    return canvas, mask


def _draw_hair(canvas: Image, rng: Generator, height: int, x: int) -> None:
    for _ in range(420):
        angle = rng.uniform(np.pi, 2 * np.pi)
        near, far = rng.uniform(0.27, 0.36), rng.uniform(0.37, 0.42)
        direction = np.array([np.cos(angle), np.sin(angle) * 1.05])
        ends = [np.array([x, 0.45 * height]) + r * height * direction for r in (near, far)]
        tone = int(rng.integers(-18, 46))
        colour = tuple(max(0, c + tone) for c in HAIR)
        start, stop = ((int(end[0]), int(end[1])) for end in ends)
        cv2.line(canvas, start, stop, colour, max(1, height // 200), cv2.LINE_AA)


def _draw_mouth(canvas: Image, openness: float) -> None:
    height, width = canvas.shape[:2]
    x, y = width / 2, 0.765 * height
    half_width, half_height = (
        (0.125 - 0.025 * openness) * height,
        (0.026 + 0.05 * openness) * height,
    )
    cv2.fillPoly(canvas, [_ellipse_points(x, y, half_width, half_height)], LIPS, cv2.LINE_AA)
    inner = _ellipse_points(x, y, 0.8 * half_width, max(1.0, half_height - 0.024 * height))
    cv2.fillPoly(canvas, [inner], (36, 30, 60), cv2.LINE_AA)
    if openness > 0.3:
        teeth = _ellipse_points(x, y - 0.35 * half_height, 0.6 * half_width, 0.22 * half_height)
        cv2.fillPoly(canvas, [teeth], (205, 215, 220), cv2.LINE_AA)


def _draw_eyes(canvas: Image, openness: float) -> None:
    height, width = canvas.shape[:2]
    for sign in (-1, 1):
        x, y = width / 2 + sign * 0.15 * height, 0.485 * height
        half = (0.007 + 0.022 * openness) * height
        white = _ellipse_points(x, y, 0.068 * height, half)
        cv2.fillPoly(canvas, [white], (214, 220, 224), cv2.LINE_AA)
        if openness > 0.2:
            radius = min(0.025 * height, half)
            for part, colour in ((1.0, (70, 84, 92)), (0.5, (18, 18, 20))):
                disc = _ellipse_points(x, y, part * radius, part * radius)
                cv2.fillPoly(canvas, [disc], colour, cv2.LINE_AA)
        cv2.polylines(canvas, [white], True, (50, 60, 80), max(1, height // 150), cv2.LINE_AA)


def _layer(canvas: Image, mask: Image | None) -> Layer:
    height, width = canvas.shape[:2]
    planes = np.asarray(cv2.cvtColor(canvas, cv2.COLOR_BGR2YUV_I420), np.uint8).reshape(-1)
    luma, chroma = height * width, (height // 2, width // 2)
    u, v = planes[luma:].reshape(2, *chroma)
    weight: Weights = np.ones((height, width), np.float32)
    if mask is not None:
        weight = (mask / 255).astype(np.float32)
    small = cv2.resize(weight, chroma[::-1], interpolation=cv2.INTER_AREA)
    return Layer(
        planes=(planes[:luma].reshape(height, width), u, v),
        luma_weight=weight,
        chroma_weight=np.asarray(small, np.float32).reshape(chroma),
    )


def _fractal(rng: Generator, height: int, width: int) -> Weights:
    """Noise of about -1..1 with as much contrast in each octave as in natural textures (1/f)."""
    total = np.zeros((height, width), np.float32)
    for octave in range(1, 8):
        cells = 2**octave
        grid = rng.normal(0, 1, (cells, cells * 2)).astype(np.float32)
        total += cv2.resize(grid, (width, height), interpolation=cv2.INTER_CUBIC) / cells**0.7
    return total


def _knit(height: int, width: int, unit_px: float) -> Weights:
    period = max(2.0, 0.035 * unit_px)
    y, x = np.mgrid[:height, :width].astype(np.float32)
    wave = np.sin(2 * np.pi * x / period) * np.sin(2 * np.pi * (y + x * 0.3) / period)
    return np.asarray(wave, np.float32)


def _shaded(canvas: Image, change: Weights) -> Image:
    lit: Image = np.clip(canvas + change[..., None], 0, 255).astype(np.uint8)
    return lit


def _ellipse_points(
    x: float, y: float, half_width: float, half_height: float
) -> npt.NDArray[np.int32]:
    angle = np.linspace(0, 2 * np.pi, 72, endpoint=False)
    points = np.stack([x + half_width * np.cos(angle), y + half_height * np.sin(angle)], axis=1)
    return np.rint(points).astype(np.int32)


def _even(length: float) -> int:
    return max(8, 2 * round(length / 2))
