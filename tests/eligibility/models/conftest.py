"""A small simulated fleet, its calls, and a model of each version trained on it: once a test run."""

from __future__ import annotations

from pathlib import Path

import pytest

from codecpilot.eligibility.fleet.simulate import FleetRequest, simulate_fleet
from codecpilot.eligibility.models.calls import Calls, read_calls
from codecpilot.eligibility.models.evaluation import Evaluation, evaluate
from codecpilot.eligibility.models.trained import TrainedModel, train
from codecpilot.eligibility.models.versions import VERSIONS
from codecpilot.eligibility.store import Store


@pytest.fixture(scope="session")
def fleet_store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    store = Store(Path(tmp_path_factory.mktemp("fleet")))
    for table in simulate_fleet(FleetRequest(devices=400, calls=6000, seed=11)):
        store.append(table)
    return store


@pytest.fixture(scope="session")
def calls(fleet_store: Store) -> Calls:
    return read_calls(fleet_store.connect())


@pytest.fixture(scope="session")
def trained(calls: Calls, fleet_store: Store) -> dict[str, TrainedModel]:
    digest = fleet_store.digest()
    return {name: train(calls, version=name, data_digest=digest) for name in VERSIONS}


@pytest.fixture(scope="session")
def evaluation(calls: Calls, trained: dict[str, TrainedModel]) -> Evaluation:
    return evaluate(calls, {name: model.estimator for name, model in trained.items()})


@pytest.fixture(scope="session")
def saved(trained: dict[str, TrainedModel], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model of each version."""
    from codecpilot.eligibility.models.registry import save

    folder = tmp_path_factory.mktemp("models")
    for name, model in trained.items():
        save(model, folder / name)
    return folder
