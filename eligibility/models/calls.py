"""A store's calls as arrays: what models are trained on and judged by."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...codecs.errors import LocalError
from .call_table import training_calls
from .columns import SYSTEMS

if TYPE_CHECKING:
    import ibis.expr.types as ir

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

HELD_OUT_IN = 4
"""One in so many device models is never trained on; which ones hangs on their names alone."""
HISTORY_SHARE = 0.6
"""Calls in the first part of a store's time are what is known of a device, those after it are predicted."""
HARDWARE = ("cores", "memory_gib", "release_year", "os_version", "os_code")
REQUEST = ("asked_px", "fps", "receive_px", "receive_fps", "on_power", "battery")
SIGNALS = (
    "log_slowness",
    "encode_load",
    "decode_load",
    "drop_ratio",
    "late_ratio",
    "limited_cpu_ratio",
    "throttle",
    "pressure",
    "frequency",
    "is_good",
)
"""What earlier calls tell: each call's own value, NaN where it tells nothing."""
GIB = float(1 << 30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """One element a call side, in the order of time.

    model and soc are places in models and socs, soc -1 where it is not known; columns has HARDWARE, REQUEST,
    SIGNALS and first_slowness.
    """

    models: list[str]
    socs: list[str]
    model: Ints
    soc_of_model: Ints
    time_us: Ints
    has_outcome: Bools
    columns: dict[str, Floats]
    simulated: bool

    def __len__(self) -> int:
        return len(self.model)

    @property
    def is_history(self) -> Bools:
        """Which calls count as known; the others are there to be predicted."""
        return np.arange(len(self)) < HISTORY_SHARE * len(self)

    @property
    def is_held_out(self) -> Bools:
        """Of each device model, whether no model may be trained on it."""
        return np.array([held_out(name) for name in self.models], dtype=bool)


def held_out(model: str) -> bool:
    """Whether a device model is kept for evaluation, in every store and version alike."""
    return hashlib.sha256(model.encode()).digest()[0] % HELD_OUT_IN == 0


def model_name(*, brand: str | None, model: str) -> str:
    """What a device model is known by."""
    return f"{brand} {model}" if brand else model


def read_calls(telemetry: ir.Table) -> Calls:
    """Query and sort the calls. Raises LocalError where no device model is known of any, or reading fails."""
    import duckdb

    try:
        frame = training_calls(telemetry).order_by("time_us", "call_id", "side").to_pandas()
    except duckdb.Error as error:
        raise LocalError(f"the telemetry cannot be read: {error}") from error
    if not len(frame):
        raise LocalError("the telemetry names no device model, so there is nothing to learn from")
    brands = [value if isinstance(value, str) else None for value in frame["device_brand"]]
    names = [
        model_name(brand=brand, model=str(model))
        for brand, model in zip(brands, frame["device_model"], strict=True)
    ]
    models, model = np.unique(np.array(names), return_inverse=True)
    soc_names = [value if isinstance(value, str) else "" for value in frame["soc"]]
    socs, soc = np.unique(np.array(soc_names), return_inverse=True)
    soc_of_model = np.full(len(models), -1, dtype=np.int64)
    soc_of_model[model] = np.where(socs[soc] == "", -1, soc)
    number = {name: _numbers(frame[name]) for name in frame.columns if name not in _TEXTS}
    has_outcome = number["good"] + number["bad"] > 0
    return Calls(
        models=[str(name) for name in models],
        socs=[str(name) for name in socs],
        model=model.astype(np.int64),
        soc_of_model=soc_of_model,
        time_us=number["time_us"].astype(np.int64),
        has_outcome=has_outcome,
        columns=_columns(number, [str(value) for value in frame["os"]], has_outcome),
        simulated=bool(number["simulated"].max() > 0),
    )


_TEXTS = ("device_model", "device_brand", "soc", "call_id", "side", "os")


def _numbers(series: object) -> Floats:
    return np.asarray(series.astype("float64"), dtype=np.float64)  # type: ignore[attr-defined]


def _columns(
    number: dict[str, Floats], systems: list[str], has_outcome: Bools
) -> dict[str, Floats]:
    codes = {name: float(place) for place, name in enumerate(SYSTEMS)}
    derived = {
        "memory_gib": number["memory_bytes"] / GIB,
        "os_code": np.array([codes.get(name, np.nan) for name in systems]),
        "log_slowness": np.log(np.maximum(number["slowness"], 1e-3)),
        "is_good": np.where(has_outcome, number["good"], np.nan),
    }
    names = (*HARDWARE, *REQUEST, *SIGNALS, "first_slowness")
    return {name: derived[name] if name in derived else number[name] for name in names}
