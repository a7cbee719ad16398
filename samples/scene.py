"""The project's own test scene: a person who talks in front of a room, drawn procedurally.

It stands in for a webcam where none is given: a swaying head that talks and blinks, a hand-held
camera's shake, changing light and sensor noise over still texture. The same seed, index, size and
rate give the same picture, in whatever order they are asked for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from ..codecs.errors import LocalError
from ..codecs.media_audio import BLOCK_SAMPLES, SAMPLE_RATE_HZ, Samples
from ..codecs.pictures import check_size, new_picture
from ..codecs.types import Picture, Plane
from .scene_layers import (
    HEAD_WIDTH,
    LID_STEPS,
    MOUTH_STEPS,
    Layer,
    Weights,
    draw_heads,
    draw_room,
    draw_shoulders,
)

__all__ = ["BLOCK_SAMPLES", "SAMPLE_RATE_HZ", "Motion", "Pose", "Scene", "tone"]

MIN_SIDE_PX = 16
NOISE_FIELDS = 4
NOISE_SIGMA = 1.4  # ours: with it x264 at QP 30 spends what it spends on a real webcam clip
NOISE_MARGIN_PX = 64

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pose:
    """Where everything is at one instant; lengths in units of the head's height."""

    camera_x: float
    camera_y: float
    head_x: float
    head_y: float
    head_degrees: float
    body_x: float
    mouth: float
    lids: float
    light: float


class Scene:
    """Pictures of the scene at one size and rate."""

    def __init__(self, *, width: int, height: int, fps: Fraction | int = 30, seed: int = 0) -> None:
        check_size(width, height)
        if min(width, height) < MIN_SIDE_PX:
            raise LocalError(f"the scene needs {MIN_SIDE_PX} px a side, got {width}x{height}")
        if fps <= 0:
            raise LocalError(f"fps {fps} is not positive")
        self._size = (width, height)
        self._fps = Fraction(fps)
        self._motion = Motion(seed)
        self._unit_px = 0.62 * min(height, 0.9 * width)
        self._margin_px = 2 * math.ceil(0.08 * self._unit_px)
        rng = np.random.default_rng([seed, 1])
        self._room = draw_room(
            rng,
            width=2 * math.ceil(width / 2) + 2 * self._margin_px,
            height=2 * math.ceil(height / 2) + 2 * self._margin_px,
            unit_px=self._unit_px,
        )
        self._shoulders = draw_shoulders(rng, unit_px=self._unit_px)
        self._heads = draw_heads(rng, unit_px=self._unit_px)
        self._noise = _noise_fields(rng, width + NOISE_MARGIN_PX, height + NOISE_MARGIN_PX)
        self._seed = seed

    def picture(self, index: int) -> Picture:
        """Picture number index, captured at index / fps seconds."""
        seconds = float(index / self._fps)
        pose = self._motion.pose(seconds)
        picture = new_picture(*self._size, capture_us=round(index * 1_000_000 / self._fps))
        self._place_room(picture, pose)
        self._place(picture, self._shoulders, self._body_matrix(pose))
        self._place(picture, self._head(pose), self._head_matrix(pose))
        self._light_and_noise(picture.y, index, pose.light)
        return picture

    def _place_room(self, picture: Picture, pose: Pose) -> None:
        x = self._margin_px + pose.camera_x * self._unit_px
        y = self._margin_px + pose.camera_y * self._unit_px
        planes = (picture.y, picture.u, picture.v)
        for target, source, scale in zip(planes, self._room.planes, (1.0, 0.5, 0.5), strict=True):
            matrix = np.array([[1.0, 0.0, -x * scale], [0.0, 1.0, -y * scale]])
            target[...] = _moved(source, matrix, (target.shape[1], target.shape[0]))

    def _head(self, pose: Pose) -> Layer:
        return self._heads[
            round(pose.mouth * (MOUTH_STEPS - 1)), round(pose.lids * (LID_STEPS - 1))
        ]

    def _body_matrix(self, pose: Pose) -> Matrix:
        unit = self._unit_px
        left = self._size[0] / 2 - 1.1 * unit + (pose.body_x - pose.camera_x) * unit
        top = self._size[1] - 0.74 * unit - (pose.camera_y - 0.3 * pose.head_y) * unit
        return np.array([[1.0, 0.0, left], [0.0, 1.0, top]])

    def _head_matrix(self, pose: Pose) -> Matrix:
        unit = self._unit_px
        neck = (HEAD_WIDTH * unit / 2, 0.95 * unit)
        matrix: Matrix = np.asarray(cv2.getRotationMatrix2D(neck, pose.head_degrees, 1.0))
        matrix[0, 2] += self._size[0] / 2 - neck[0] + (pose.head_x - pose.camera_x) * unit
        matrix[1, 2] += self._size[1] - 1.46 * unit + (pose.head_y - pose.camera_y) * unit
        return matrix

    def _place(self, picture: Picture, layer: Layer, matrix: Matrix) -> None:
        chroma_matrix = matrix.copy()
        chroma_matrix[:, 2] /= 2
        y, u, v = layer.planes
        _blend([picture.y], [y], layer.luma_weight, matrix)
        _blend([picture.u, picture.v], [u, v], layer.chroma_weight, chroma_matrix)

    def _light_and_noise(self, luma: Plane, index: int, light: float) -> None:
        rng = np.random.default_rng([self._seed, 2, index])
        field = self._noise[int(rng.integers(NOISE_FIELDS))]
        left, top = (int(offset) for offset in rng.integers(0, NOISE_MARGIN_PX, 2))
        height, width = luma.shape
        noise = field[top : top + height, left : left + width]
        # The noise is kept above zero; beta takes its mean out again.
        cv2.addWeighted(luma, light, noise, 1.0, -128.0 + 16 * (1 - light), dst=luma)


def tone(index: int, *, seed: int = 0) -> Samples:
    """Block number index of the scene's sound: 20 ms of 48 kHz mono, 440 Hz in time with the mouth.

    Returns (960,) int16 of at most a quarter of full scale; blocks join without a click.
    """
    times = (index * BLOCK_SAMPLES + np.arange(BLOCK_SAMPLES)) / SAMPLE_RATE_HZ
    motion = Motion(seed)
    start, end = (motion.pose((index + step) * BLOCK_SAMPLES / SAMPLE_RATE_HZ) for step in (0, 1))
    envelope = np.linspace(start.mouth, end.mouth, BLOCK_SAMPLES, endpoint=False)
    wave = np.zeros(BLOCK_SAMPLES)
    for partial in (1, 2, 3):
        wave += np.sin(2 * np.pi * 440 * partial * times) / partial
    # The three partials never add up to more than 1.84.
    return np.rint(8191 / 1.84 * envelope * wave).astype(np.int16)


class Motion:
    """Every movement as a function of time: sums of sines with seeded rates and phases."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        rng = np.random.default_rng([seed, 0])
        self._rates = rng.uniform(0.8, 1.25, (9, 3))
        self._phases = rng.uniform(0, 2 * math.pi, (9, 3))

    def pose(self, seconds: float) -> Pose:
        """Where everything is at that time."""
        talking = self.loudness(seconds)
        nod = 0.012 * talking * self._wave(7, seconds, 2.2)
        return Pose(
            camera_x=0.012 * self._wave(0, seconds, 0.45) + 0.0015 * self._wave(1, seconds, 5.0),
            camera_y=0.010 * self._wave(2, seconds, 0.5) + 0.0015 * self._wave(3, seconds, 4.3),
            head_x=0.07 * self._wave(4, seconds, 0.22),
            head_y=0.02 * self._wave(5, seconds, 0.33) + nod,
            head_degrees=4.5 * self._wave(6, seconds, 0.27),
            body_x=0.03 * self._wave(4, seconds - 0.25, 0.22),
            mouth=min(1.0, talking * (0.55 + 0.45 * self._wave(8, seconds, 3.4))),
            lids=self._lids(seconds),
            light=1.0 + 0.012 * self._wave(5, seconds, 0.8),
        )

    def loudness(self, seconds: float) -> float:
        """0 in the pauses between phrases of some three seconds, up to 1 in them."""
        return min(1.0, max(0.0, 0.75 + 1.3 * math.sin(2 * math.pi * seconds / 3.7)))

    def _wave(self, row: int, seconds: float, hertz: float) -> float:
        """-1..1: three partials, the upper ones weaker."""
        parts = zip(
            (0.6, 0.28, 0.12), (1.0, 1.9, 3.1), self._rates[row], self._phases[row], strict=True
        )
        return sum(
            weight * math.sin(2 * math.pi * hertz * factor * rate * seconds + phase)
            for weight, factor, rate, phase in parts
        )

    def _lids(self, seconds: float) -> float:
        """Open, but for one blink of 0.22 s in each 3.2 s, at a seeded moment."""
        slot = math.floor(seconds / 3.2)
        start = float(np.random.default_rng([self._seed, 3, slot]).uniform(0.2, 2.8))
        phase = (seconds - 3.2 * slot - start) / 0.22
        return abs(2 * phase - 1) if 0 <= phase <= 1 else 1.0


def _noise_fields(rng: np.random.Generator, width: int, height: int) -> list[Plane]:
    """Sensor noise around 128, a little blurred as a camera's denoiser leaves it."""
    fields = []
    for _ in range(NOISE_FIELDS):
        raw = rng.standard_normal((height, width), np.float32)
        soft = np.asarray(cv2.GaussianBlur(raw, (0, 0), 0.6))
        fields.append(np.rint(128 + soft * (NOISE_SIGMA / soft.std())).astype(np.uint8))
    return fields


def _blend(targets: list[Plane], sources: list[Plane], weight: Weights, matrix: Matrix) -> None:
    """Draw a layer's planes, moved by matrix, over planes of one size; only where it lands."""
    height, width = targets[0].shape
    corners = np.array([[x, y, 1.0] for x in (0, weight.shape[1]) for y in (0, weight.shape[0])])
    landed = corners @ matrix.T
    left, top = (max(0, math.floor(low)) for low in landed.min(axis=0))
    right, bottom = (math.ceil(high) + 1 for high in landed.max(axis=0))
    right, bottom = min(width, right), min(height, bottom)
    if left >= right or top >= bottom:
        return
    local, size = matrix - [[0, 0, left], [0, 0, top]], (right - left, bottom - top)
    above = _moved(weight, local, size)
    below = 1 - above
    for target, source in zip(targets, sources, strict=True):
        region = target[top:bottom, left:right]
        region[...] = cv2.blendLinear(_moved(source, local, size), region, above, below)


def _moved(source: Any, matrix: Matrix, size: tuple[int, int]) -> Any:
    """The source under an affine map, its edge repeated, as an array of (width, height) size."""
    if np.array_equal(matrix[:, :2], np.eye(2)):
        # Ten times faster than warpAffine.
        centre = ((size[0] - 1) / 2 - matrix[0, 2], (size[1] - 1) / 2 - matrix[1, 2])
        return cv2.getRectSubPix(source, size, centre)
    return cv2.warpAffine(source, matrix, size, borderMode=cv2.BORDER_REPLICATE)
