"""Sound in and out of PyAV frames."""

from __future__ import annotations

from fractions import Fraction

import av
import numpy as np
import numpy.typing as npt

from .errors import LocalError


def frame_from_samples(samples: npt.NDArray[np.int16], *, rate_hz: int, pts: int) -> av.AudioFrame:
    """A mono frame of (count,) int16 samples; pts counts samples."""
    if samples.ndim != 1 or samples.dtype != np.int16:
        raise LocalError(f"mono int16 samples expected, got {samples.dtype} {samples.shape}")
    frame = av.AudioFrame.from_ndarray(samples[None, :], format="s16", layout="mono")
    frame.sample_rate = rate_hz
    frame.time_base = Fraction(1, rate_hz)
    frame.pts = pts
    return frame
