"""The client artefact: scores devices with numpy alone, from one npz of plain arrays."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...codecs.errors import LocalError
from ..schema import SCHEMA_VERSION
from .arrays import scorer_of_arrays
from .calls import GIB, HARDWARE, REQUEST, SIGNALS, Floats, model_name
from .checked import FLOAT, array, known, names, number
from .columns import FEATURES, NO_EVIDENCE, OF_MODEL, OF_PROBE, OF_SOC, SYSTEMS
from .history import NOTHING, Signals
from .reference import REFERENCE_FPS, REFERENCE_PX, is_low_tier
from .strength import LEAST_CALLS, MOST_CALLS, interval, worth_of
from .vectors import Known, feature_rows

# Ours: 100 000 device models take 0.1 GB.
MAX_UNPACKED_BYTES = 1 << 29
# Sizes that no memory holds, brackets without end.
UNFIT = (MemoryError, OverflowError, RecursionError)
EVIDENCE = {NO_EVIDENCE: "hardware", OF_PROBE: "probe", OF_SOC: "soc", OF_MODEL: "calls"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a side of a call is to do: send px a picture at fps, and receive as much as the other side sends."""

    px: int = REFERENCE_PX
    fps: float = REFERENCE_FPS
    receive_px: int = REFERENCE_PX
    receive_fps: float = REFERENCE_FPS
    on_power: bool | None = None
    battery_ratio: float | None = None

    def __post_init__(self) -> None:
        if not (0 < self.px <= 1 << 28 and 0 < self.receive_px <= 1 << 28):
            raise LocalError(f"{self.px} and {self.receive_px} px a picture: legal is 1..{1 << 28}")
        if not (0 < self.fps <= 1000 and 0 < self.receive_fps <= 1000):
            raise LocalError(f"{self.fps} and {self.receive_fps} fps: legal is above 0, up to 1000")

    def columns(self) -> dict[str, Floats]:
        """As REQUEST of calls.py, one row."""
        values = {
            "asked_px": self.px,
            "fps": self.fps,
            "receive_px": self.receive_px,
            "receive_fps": self.receive_fps,
            "on_power": None if self.on_power is None else float(self.on_power),
            "battery": self.battery_ratio,
        }
        return {name: _one(values[name]) for name in REQUEST}


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """What a device says of itself; None where it does not. name is model_name's."""

    name: str | None = None
    soc: str | None = None
    cores: float | None = None
    memory_gib: float | None = None
    release_year: float | None = None
    os_version: float | None = None
    os_code: float | None = None

    @classmethod
    def of_columns(cls, columns: Mapping[str, Any]) -> Device:
        """By the device columns of a telemetry row."""
        model, version = columns["device_model"], re.match(r"\d{1,6}", columns["os_version"] or "")
        memory_bytes = columns["memory_bytes"]
        return cls(
            name=None if model is None else model_name(brand=columns["device_brand"], model=model),
            soc=columns["soc"],
            cores=columns["cores"],
            memory_gib=None if memory_bytes is None else memory_bytes / GIB,
            release_year=columns["release_year"],
            os_version=None if version is None else float(version[0]),
            os_code=system_code(columns["os"]),
        )

    def columns(self) -> dict[str, Floats]:
        """As HARDWARE of calls.py, one row."""
        return {name: _one(getattr(self, name)) for name in HARDWARE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """rtc_score is the chance of a good call; 90 % of what such devices turn out to be lies in low..high.

    evidence says what it rests on: calls, soc, probe or hardware; threshold is its tier's: of the held-out
    calls from there on 2 % were bad. slowness is against the reference machine, None where nothing tells.
    """

    rtc_score: float
    low: float
    high: float
    tier: str
    evidence: str
    n_calls: int
    slowness: float | None
    threshold: float

    @property
    def is_admitted(self) -> bool:
        """Whether such calls belong on AV1."""
        return self.rtc_score >= self.threshold


class ClientModel:
    """A loaded artefact."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        """arrays as registry.py writes them. Raises LocalError for others."""
        try:
            self.card: dict[str, Any] = json.loads(str(arrays["card"]))
            self._check()
            self.strength = _strength(self.card["strength"])
            self._forests = {
                name: scorer_of_arrays(arrays, name) for name in _tiers(self.card["tiers"])
            }
            self.names = names(arrays, "known_names", count=None)
            self.socs = names(arrays, "known_socs", count=len(self.names))
            self._own, self._soc = (
                _signals(arrays, which, count=len(self.names)) for which in ("own", "soc")
            )
            self._hardware = {
                name: array(arrays, f"hardware_{name}", kind=FLOAT, shape=(len(self.names),))
                for name in HARDWARE
            }
        except LocalError:
            raise
        except (KeyError, ValueError, TypeError, AttributeError, *UNFIT) as error:
            raise LocalError(f"not a client artefact of codecpilot: {error}") from error
        self._place = {name: place for place, name in enumerate(self.names)}
        self._of_soc = {name: place for place, name in enumerate(self.socs) if name}

    @classmethod
    def load(cls, path: Path) -> ClientModel:
        """Raises LocalError for a file that is not there or is something else; nothing in it is run."""
        try:
            if path.exists() and not path.is_file():
                raise LocalError(f"{path} is no file")
            with zipfile.ZipFile(path) as packed:
                # zipfile reads no more of a part than is declared here.
                unpacked = sum(part.file_size for part in packed.infolist())
            if unpacked > MAX_UNPACKED_BYTES:
                raise LocalError(
                    f"{path} unpacks to over {MAX_UNPACKED_BYTES} bytes, no model does"
                )
            with np.load(path, allow_pickle=False) as arrays:
                return cls(dict(arrays))
        except OSError as error:
            raise LocalError(f"{path}: {error.strerror or 'not an npz file'}") from error
        except LocalError:
            raise
        except (ValueError, zipfile.BadZipFile, TypeError, AttributeError, *UNFIT) as error:
            raise LocalError(f"{path} is not a client artefact: {error}") from error

    def score(
        self, device: Device, *, request: Request | None = None, probe: float | None = None
    ) -> Score:
        """probe is the slowness that was measured on the device now; it counts where no call tells."""
        row = self.features(device, request=request or Request(), probe=probe)
        return self.score_row(row)

    def features(self, device: Device, *, request: Request, probe: float | None) -> Floats:
        """The row of FEATURES."""
        own, soc, hardware = self._known(device)
        known = Known(
            hardware=hardware,
            request=request.columns(),
            own=own,
            soc=soc,
            probe=None if probe is None else _one(probe),
        )
        return np.asarray(feature_rows(known)[0])

    def score_row(self, row: Floats) -> Score:
        """The score of a row of FEATURES."""
        at = {name: float(row[_AT[name]]) for name in ("slowness", "evidence", "n_calls")}
        tier = "low" if is_low_tier(row[_AT["slowness"] : _AT["slowness"] + 1])[0] else "high"
        forest = self._forests.get(tier) or self._forests["all"]
        chance = forest.chance(row)
        calls = worth_of(self.strength, evidence=at["evidence"], n_calls=at["n_calls"])
        low, high = interval(chance, calls=calls)
        return Score(
            rtc_score=chance,
            low=low,
            high=high,
            tier=tier,
            evidence=EVIDENCE[int(at["evidence"])],
            n_calls=int(at["n_calls"]),
            slowness=at["slowness"] if at["slowness"] == at["slowness"] else None,
            threshold=forest.threshold,
        )

    def knows(self, name: str) -> bool:
        """Whether calls of the device model stand behind its score."""
        return name in self._place

    def known_device(self, name: str) -> Device:
        """A model that the artefact knows. Raises LocalError for others."""
        if name not in self._place:
            raise LocalError(f"the model knows no device {name!r}")
        place = self._place[name]
        told = {key: float(values[place]) for key, values in self._hardware.items()}
        hardware = {key: value if value == value else None for key, value in told.items()}
        return Device(name=name, soc=self.socs[place] or None, **hardware)

    def _known(self, device: Device) -> tuple[Signals, Signals, dict[str, Floats]]:
        """What calls tell of its model and its processor; what it does not say of itself its model does."""
        hardware = device.columns()
        place = self._place.get(device.name or "")
        if place is not None:
            for name, values in self._hardware.items():
                hardware[name] = np.where(np.isnan(hardware[name]), values[place], hardware[name])
            rows = np.array([place])
            return self._own.take(rows), self._soc.take(rows), hardware
        if device.soc in self._of_soc:
            return NOTHING, self._whole_soc(device.soc), hardware
        return NOTHING, NOTHING, hardware

    def _whole_soc(self, soc: str) -> Signals:
        """A model of the processor and its others, together: all of its models."""
        place = np.array([self._of_soc[soc]])
        own, others = self._own.take(place), self._soc.take(place)
        counts = own.counts + others.counts
        sums = np.nan_to_num(own.means) * own.counts + np.nan_to_num(others.means) * others.counts
        with np.errstate(invalid="ignore", divide="ignore"):
            means = np.where(counts > 0, sums / counts, np.nan)
        spread = np.where(np.isnan(others.spread), own.spread, others.spread)
        return Signals(
            means=means, counts=counts, spread=spread, n_calls=own.n_calls + others.n_calls
        )

    def _check(self) -> None:
        expected = {
            "schema_version": SCHEMA_VERSION,
            "features": list(FEATURES),
            "signals": list(SIGNALS),
        }
        for name, value in expected.items():
            if self.card.get(name) != value:
                raise LocalError(f"the artefact was made for other {name} than this build's")


_AT = {name: FEATURES.index(name) for name in ("slowness", "evidence", "n_calls")}


def system_code(name: str | None) -> float | None:
    """The place in SYSTEMS; None for what is not among them."""
    return float(SYSTEMS.index(name)) if name in SYSTEMS else None


def _one(value: float | None) -> Floats:
    return np.array([np.nan if value is None else value], dtype=np.float64)


def signals_arrays(signals: Signals, which: str) -> dict[str, Floats]:
    """By name, for numpy.savez."""
    return {f"{which}_{name}": getattr(signals, name) for name in _SIGNAL_PARTS}


_SIGNAL_PARTS = ("means", "counts", "spread", "n_calls")


def _signals(arrays: Mapping[str, Any], which: str, *, count: int) -> Signals:
    table = (count, len(SIGNALS))
    return Signals(
        means=array(arrays, f"{which}_means", kind=FLOAT, shape=table),
        counts=known(arrays, f"{which}_counts", shape=table),
        spread=array(arrays, f"{which}_spread", kind=FLOAT, shape=(count,)),
        n_calls=known(arrays, f"{which}_n_calls", shape=(count,)),
    )


def _tiers(told: object) -> list[str]:
    if told not in (["all"], ["low", "high"]):
        raise ValueError(f"tiers are {str(told)[:80]}")
    return list(told)


def _strength(told: object) -> dict[str, float]:
    """How many calls the scores of a class are worth."""
    if not isinstance(told, dict):
        raise ValueError("strength is no table")
    return {
        name: number(calls, f"strength {name}", least=LEAST_CALLS, most=MOST_CALLS)
        for name, calls in told.items()
    }
