"""A trained model: the estimator, what it knows of device models, and where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...codecs.errors import LocalError
from ..schema import SCHEMA_VERSION
from .calls import HARDWARE, SIGNALS, Calls, Floats, Ints
from .examples import training_examples
from .history import History, Signals
from .strength import fit_strength
from .versions import VERSIONS, Estimator

MIN_MODELS, MIN_ROWS = 8, 100
"""Ours: below, folds by device model hold too little to calibrate on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDevices:
    """What a store tells of each device model: one row a name, sorted; soc "" where it is not known."""

    names: list[str]
    socs: list[str]
    hardware: dict[str, Floats]
    own: Signals
    of_soc: Signals


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedModel:
    """card says where it comes from; it is JSON."""

    version: str
    estimator: Estimator
    known: KnownDevices
    strength: Mapping[str, float]
    card: dict[str, Any] = field(default_factory=dict)


def train(calls: Calls, *, version: str, data_digest: str, seed: int = 0) -> TrainedModel:
    """Fit a version to all device models of the store that are not held out. Raises LocalError."""
    if version not in VERSIONS:
        raise LocalError(f"--version {version}: known are {', '.join(VERSIONS)}")
    if seed < 0:
        raise LocalError(f"seed {seed} is below 0")
    examples = training_examples(calls, seed=seed)
    models = len(np.unique(examples.model))
    if models < MIN_MODELS or len(examples.good) < MIN_ROWS or len(np.unique(examples.good)) < 2:
        raise LocalError(
            f"{models} device models with {len(examples.good)} rows, {examples.good.sum()} of them good, "
            f"are too few to learn from: at least {MIN_MODELS} models, {MIN_ROWS} rows and both outcomes"
        )
    estimator = VERSIONS[version]().fit(examples.X, examples.good, examples.model)
    strength = fit_strength(examples.X, examples.good, estimator.held_out_, examples.model)
    return TrainedModel(
        version=version,
        estimator=estimator,
        known=known_devices(calls),
        strength=strength,
        card=_card(calls, version=version, digest=data_digest, seed=seed, models=models),
    )


def known_devices(calls: Calls) -> KnownDevices:
    """Everything that the store's calls tell of its device models, held out from training or not."""
    history = History(calls, np.ones(len(calls), dtype=bool))
    hardware = {
        name: _last(calls.columns[name], calls.model, len(calls.models)) for name in HARDWARE
    }
    named = [*calls.socs, ""]
    return KnownDevices(
        names=calls.models,
        socs=[named[place] for place in calls.soc_of_model],
        hardware=hardware,
        own=history.of_models(),
        of_soc=history.of_socs(),
    )


def _last(values: Floats, model: Ints, size: int) -> Floats:
    """Each model's latest value that is known."""
    last = np.full(size, np.nan)
    known = np.isfinite(values)
    last[model[known]] = values[known]
    return last


def _card(calls: Calls, *, version: str, digest: str, seed: int, models: int) -> dict[str, Any]:
    return {
        "version": version,
        "schema_version": SCHEMA_VERSION,
        "data_sha256": digest,
        "simulated": calls.simulated,
        "seed": seed,
        "call_sides": len(calls),
        "device_models": len(calls.models),
        "device_models_trained_on": models,
        "signals": list(SIGNALS),
    }
