"""PSNR and SSIM of one picture against another. VMAF is in vmaf."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from .errors import LocalError
from .types import Picture, Plane

PEAK = 255.0
MAX_PSNR_DB = 100.0  # ours: stands for "identical", so that means stay finite

# Wang et al., "Image quality assessment: from error visibility to structural similarity" (2004).
SSIM_WINDOW_PX = 11
SSIM_SIGMA_PX = 1.5
SSIM_C1 = (0.01 * PEAK) ** 2
SSIM_C2 = (0.03 * PEAK) ** 2

FloatPlane = npt.NDArray[np.float32]


def psnr_y(reference: Picture, distorted: Picture) -> float:
    """Luma PSNR in dB, at most MAX_PSNR_DB. Raises LocalError for pictures of two sizes."""
    _check_same_size(reference, distorted)
    return _psnr_db(_squared_error(reference.y, distorted.y), reference.y.size)


def psnr(reference: Picture, distorted: Picture) -> float:
    """PSNR in dB over all samples of the three planes alike (FFmpeg's "average")."""
    _check_same_size(reference, distorted)
    error = sum(
        _squared_error(getattr(reference, plane), getattr(distorted, plane)) for plane in "yuv"
    )
    return _psnr_db(error, reference.y.size + reference.u.size + reference.v.size)


def ssim_y(reference: Picture, distorted: Picture) -> float:
    """Mean luma SSIM, 1 for identical pictures; the image's edge is reflected."""
    _check_same_size(reference, distorted)
    a, b = (picture.y.astype(np.float32) for picture in (reference, distorted))
    mean_a, mean_b = _blurred(a), _blurred(b)
    variance_a = _blurred(a * a) - mean_a * mean_a
    variance_b = _blurred(b * b) - mean_b * mean_b
    covariance = _blurred(a * b) - mean_a * mean_b
    luminance = (2 * mean_a * mean_b + SSIM_C1) / (mean_a**2 + mean_b**2 + SSIM_C1)
    structure = (2 * covariance + SSIM_C2) / (variance_a + variance_b + SSIM_C2)
    return float(np.mean(luminance * structure, dtype=np.float64))


def _check_same_size(a: Picture, b: Picture) -> None:
    if (a.width, a.height) != (b.width, b.height):
        raise LocalError(
            f"pictures of {a.width}x{a.height} and {b.width}x{b.height}: scale one of them first"
        )


def _squared_error(a: Plane, b: Plane) -> float:
    return float(cv2.norm(a, b, cv2.NORM_L2SQR))


def _psnr_db(squared_error: float, samples: int) -> float:
    if not squared_error:
        return MAX_PSNR_DB
    return min(MAX_PSNR_DB, 10 * float(np.log10(PEAK**2 * samples / squared_error)))


def _blurred(plane: FloatPlane) -> FloatPlane:
    window = (SSIM_WINDOW_PX, SSIM_WINDOW_PX)
    return np.asarray(cv2.GaussianBlur(plane, window, SSIM_SIGMA_PX), np.float32)
