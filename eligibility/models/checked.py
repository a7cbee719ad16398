"""Arrays and numbers of an artefact that may be anything, taken out only as what they should be."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..schema import PLAIN_TEXT

FLOAT, WHOLE, TEXT = "f", "i", "U"
"""Kinds, as numpy's dtype.kind has them."""


def array(
    arrays: Mapping[str, Any], name: str, *, kind: str, shape: tuple[int | None, ...]
) -> npt.NDArray[Any]:
    """One of the arrays, whose shape has any size where None stands. Raises ValueError, KeyError."""
    found = np.asarray(arrays[name])
    fits = len(found.shape) == len(shape) and all(
        size in (None, have) for size, have in zip(shape, found.shape, strict=True)
    )
    if found.dtype.kind != kind or not fits:
        wanted = "x".join("any" if size is None else str(size) for size in shape)
        raise ValueError(f"{name} is {found.dtype} of the shape {found.shape}, not {kind} {wanted}")
    return found


def places(
    arrays: Mapping[str, Any], name: str, *, count: int | None, below: int
) -> npt.NDArray[Any]:
    """An array of so many places in something of the size `below`. Raises ValueError, KeyError."""
    found = array(arrays, name, kind=WHOLE, shape=(count,))
    if len(found) and not 0 <= found.min() <= found.max() < below:
        raise ValueError(f"{name} points outside of 0..{below - 1}")
    return found


def known(
    arrays: Mapping[str, Any], name: str, *, shape: tuple[int | None, ...]
) -> npt.NDArray[np.float64]:
    """An array of numbers that are all finite. Raises ValueError, KeyError."""
    found = array(arrays, name, kind=FLOAT, shape=shape)
    if not np.isfinite(found).all():
        raise ValueError(f"{name} holds what is not finite")
    return found


def names(arrays: Mapping[str, Any], which: str, *, count: int | None) -> list[str]:
    """Names of products, in the letters of the schema: a terminal takes none of them for orders.

    Raises ValueError, KeyError.
    """
    found = [str(name) for name in array(arrays, which, kind=TEXT, shape=(count,))]
    odd = next((name for name in found if not re.fullmatch(PLAIN_TEXT, name)), None)
    if odd is not None:
        raise ValueError(f"{which} holds {odd[:80]!r}")
    return found


def number(value: object, name: str, *, least: float, most: float) -> float:
    """A number within its bounds. Raises ValueError."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or not least <= value <= most:  # type: ignore[arg-type, operator]
        raise ValueError(f"{name} is {str(value)[:40]}, outside {least:g}..{most:g}")
    return float(value)  # type: ignore[arg-type]
