"""A client artefact of lies is refused as it is loaded, never as it scores."""

from __future__ import annotations

import copy
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io

from codecpilot.codecs.errors import LocalError
from codecpilot.eligibility.models import client, registry
from codecpilot.eligibility.models.client import ClientModel

CHANGES: dict[str, Callable[[Any], Any]] = {
    "scalar": lambda array: array.ravel()[0],
    "shorter": lambda array: array[:-1],
    "deeper": lambda array: array[None],
    "text": lambda array: np.full(array.shape, "\x1b[31m"),
    "complex": lambda array: np.full(array.shape, 1j),
}
POINTERS = ("left", "right", "feature", "missing_left", "roots")


@pytest.fixture(scope="module", params=["v2", "heuristic"])
def arrays(request: pytest.FixtureRequest, saved: Path) -> dict[str, Any]:
    return dict(np.load(saved / request.param / "client.npz"))


def refused(arrays: dict[str, Any], **changed: Any) -> None:
    with pytest.raises(LocalError):
        ClientModel(arrays | changed)


def test_as_it_was_it_loads(arrays):
    assert len(ClientModel(arrays).names) > 100


@pytest.mark.parametrize("change", CHANGES)
def test_arrays_of_another_shape_or_type(arrays, change):
    # Fewer trees are a model, too; fewer names are told by what is known of them.
    for name in set(arrays) - {"card", "low_roots", "high_roots"}:
        refused(arrays, **{name: CHANGES[change](arrays[name])})


def test_arrays_that_are_missing(arrays):
    for name in arrays:
        with pytest.raises(LocalError):
            ClientModel({other: value for other, value in arrays.items() if other != name})


@pytest.mark.parametrize("value", [-1, 1 << 62])
def test_places_outside_of_what_they_point_into(arrays, value):
    for name in [name for name in arrays if name.endswith((*POINTERS, "_columns"))]:
        refused(arrays, **{name: np.full_like(arrays[name], value)})


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e18, -1.0])
def test_numbers_that_would_not_end_or_say_nothing(arrays, value):
    """A depth of 1e18 would be as many steps at each score."""
    for name in [name for name in arrays if name.endswith("_numbers")]:
        numbers = arrays[name].copy()
        numbers[0] = value
        refused(arrays, **{name: numbers})


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("strength", []),
        ("strength", {"many": "x"}),
        ("strength", {"many": 0}),
        ("tiers", []),
        ("tiers", ["low"]),
        ("tiers", [["all"]]),
        ("features", []),
    ],
)
def test_an_odd_card(arrays, member, value):
    card = json.loads(str(arrays["card"])) | {member: value}
    refused(arrays, card=np.array(json.dumps(card)))


@pytest.mark.parametrize("card", ["[1]", "5", "[" * 50_000])
def test_no_card_at_all(arrays, card):
    refused(arrays, card=np.array(card))


def header(shape: str) -> bytes:
    """Of a .npy file of doubles (numpy.lib.format, version 1.0)."""
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize("shape", ["(10**12,)", f"({10**12},)", f"({10**30},)", "(-5,)"])
def test_a_shape_that_no_memory_holds(tmp_path: Path, shape: str):
    path = tmp_path / "client.npz"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("card.npy", header(shape) + bytes(64))

    with pytest.raises(LocalError):
        ClientModel.load(path)


def test_what_unpacks_without_end(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(client, "MAX_UNPACKED_BYTES", 1000)
    np.savez_compressed(tmp_path / "client.npz", card=np.zeros(200))

    with pytest.raises(LocalError, match="unpacks to over 1000 bytes"):
        ClientModel.load(tmp_path / "client.npz")


@pytest.mark.parametrize(
    ("member", "value"), [("left", 1 << 31), ("right", 0), ("feature_idx", 1 << 30)]
)
def test_an_estimator_whose_trees_lead_outside_or_around(trained, tmp_path: Path, member, value):
    """scikit-learn follows them in compiled code: it would crash, or never end."""
    estimator = copy.deepcopy(trained["v2"].estimator)
    nodes = estimator.high_.booster_._predictors[-1][0].nodes
    nodes[member][0] = value
    skops.io.dump(estimator, tmp_path / "estimator.skops")

    with pytest.raises(LocalError, match="point outside"):
        registry.read_estimator(tmp_path / "estimator.skops")
