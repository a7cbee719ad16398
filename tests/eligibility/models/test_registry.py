"""Model folders: what loads, and what is refused."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import skops.io
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from sklearn.preprocessing import FunctionTransformer

from codecpilot.codecs.errors import LocalError
from codecpilot.eligibility.models import registry
from codecpilot.eligibility.models.client import ClientModel
from codecpilot.eligibility.models.examples import Start, held_out_examples

VERSIONS = ("heuristic", "v1.1", "v2")


def copied(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved / "v2", tmp_path / "model"))


def redigest(folder: Path) -> None:
    """Make the card fit what is there, as who tampers with a file would."""
    card = json.loads((folder / registry.CARD).read_text())
    for name in card["sha256"]:
        card["sha256"][name] = registry._digest(folder / name)
    (folder / registry.CARD).write_text(json.dumps(card))


def key_pair() -> tuple[bytes, bytes]:
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), public


@pytest.mark.parametrize("version", VERSIONS)
def test_the_client_artefact_scores_as_the_estimator_does(version, saved, calls):
    X = held_out_examples(calls, start=Start.WARM).X[:300]
    X = np.concatenate([X, np.full((1, X.shape[1]), np.nan)])
    X[-1, -9] = 0.0  # evidence is a number always
    X[:, 17] = np.nan_to_num(X[:, 17])
    expected = registry.load_estimator(saved / version).predict_proba(X)[:, 1]
    client = registry.load_client(saved / version)
    scores = [client.score_row(row).rtc_score for row in X]
    np.testing.assert_allclose(scores, expected, atol=1e-12)


def test_a_score_takes_less_than_a_fifth_of_a_millisecond(saved, calls):
    rows = held_out_examples(calls, start=Start.WARM).X[:200]
    client = registry.load_client(saved / "v2")
    best = min(_cpu_s(client, rows) for _ in range(5))
    assert best / len(rows) < 0.2e-3


def _cpu_s(client: ClientModel, rows: np.ndarray) -> float:
    start = time.process_time()
    for row in rows:
        client.score_row(row)
    return time.process_time() - start


def test_scoring_needs_neither_scikit_learn_nor_the_extra(saved):
    absent = ["sklearn", "scipy", "skops", "pandas", "pyarrow", "duckdb", "ibis", "threadpoolctl"]
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({absent!r}))\n"
        "from pathlib import Path\n"
        "from codecpilot.eligibility.models.client import ClientModel, Device\n"
        "from codecpilot.eligibility.policy import side_report, start_plan\n"
        f"model = ClientModel.load(Path({str(saved / 'v2' / 'client.npz')!r}))\n"
        "report = side_report(model, Device(cores=8), probe=2.0)\n"
        "print(start_plan(report, report).codec)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.stdout, run.stderr) == ("AV1\n", "")


@pytest.mark.parametrize("name", [registry.ESTIMATOR, registry.CLIENT])
def test_a_file_that_was_changed_is_refused(name, saved, tmp_path):
    folder = copied(saved, tmp_path)
    data = bytearray((folder / name).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / name).write_bytes(data)
    with pytest.raises(LocalError, match="is not the file that"):
        registry.load_client(folder)


def test_a_pickle_is_refused_and_not_run(saved, tmp_path):
    folder = copied(saved, tmp_path)
    (folder / registry.ESTIMATOR).write_bytes(pickle.dumps(_Trap(tmp_path / "sprung")))
    redigest(folder)
    with pytest.raises(LocalError, match="pickles are never read"):
        registry.load_estimator(folder)
    np.savez(folder / registry.CLIENT, card=np.array([_Trap(tmp_path / "sprung")], dtype=object))
    redigest(folder)
    with pytest.raises(LocalError, match="not a client artefact"):
        registry.load_client(folder)
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(_Trap(tmp_path / "sprung")))
    with pytest.raises(LocalError, match="is a file; a model is a folder"):
        registry.load_client(tmp_path / "model.pkl")
    assert not (tmp_path / "sprung").exists()


def test_types_that_nobody_reviewed_are_refused_by_name(saved, tmp_path):
    folder = copied(saved, tmp_path)
    skops.io.dump(FunctionTransformer(_func), folder / registry.ESTIMATOR)
    redigest(folder)
    with pytest.raises(LocalError, match=r"not trusted: .*_func"):
        registry.load_estimator(folder)


def test_something_trusted_that_is_no_model_is_refused(saved, tmp_path):
    folder = copied(saved, tmp_path)
    skops.io.dump({"a": 1}, folder / registry.ESTIMATOR)
    redigest(folder)
    with pytest.raises(LocalError, match="holds a dict, which is no model"):
        registry.load_estimator(folder)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (registry.CARD, b"not json", "not a model's card"),
        (registry.CARD, b"[]", "not a model's card"),
        (registry.CARD, b'{"sha256": {}}', "not a model's card"),
    ],
)
def test_a_card_that_is_none_is_refused(name, content, said, saved, tmp_path):
    folder = copied(saved, tmp_path)
    (folder / name).write_bytes(content)
    with pytest.raises(LocalError, match=said):
        registry.load_client(folder)


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(LocalError, match="is not a model"):
        registry.load_client(tmp_path)


def test_trees_that_point_outside_of_their_arrays_are_refused(saved, tmp_path):
    with np.load(saved / "v2" / registry.CLIENT, allow_pickle=False) as arrays:
        broken = dict(arrays)
    broken["low_left"] = broken["low_left"] + 100_000
    np.savez(tmp_path / "client.npz", **broken)
    with pytest.raises(LocalError, match="points outside"):
        ClientModel.load(tmp_path / "client.npz")


def test_an_artefact_of_another_schema_is_refused(saved, tmp_path):
    with np.load(saved / "v2" / registry.CLIENT, allow_pickle=False) as arrays:
        other = dict(arrays)
    card = json.loads(str(other["card"])) | {"schema_version": 99}
    np.savez(tmp_path / "client.npz", **(other | {"card": np.array(json.dumps(card))}))
    with pytest.raises(LocalError, match="made for other schema_version"):
        ClientModel.load(tmp_path / "client.npz")


def test_a_signed_model_loads_with_its_key_and_with_no_other(trained, tmp_path):
    (private, public), (_, others) = key_pair(), key_pair()
    registry.save(trained["heuristic"], tmp_path, private_key=private)
    assert registry.load_card(tmp_path, public_key=public)["version"] == "heuristic"
    with pytest.raises(LocalError, match="signed with another key, or was changed"):
        registry.load_card(tmp_path, public_key=others)
    card = json.loads((tmp_path / registry.CARD).read_text())
    (tmp_path / registry.CARD).write_text(json.dumps(card | {"simulated": False}))
    with pytest.raises(LocalError, match="signed with another key, or was changed"):
        registry.load_card(tmp_path, public_key=public)


def test_where_a_key_is_configured_an_unsigned_model_is_refused(saved):
    _, public = key_pair()
    with pytest.raises(LocalError, match="is not signed"):
        registry.load_client(saved / "v2", public_key=public)
    with pytest.raises(LocalError, match="not a public key"):
        registry.load_client(saved / "v2", public_key=b"something else")


class _Trap:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def _func(X):
    return X


def test_the_client_artefact_alone_scores_and_is_still_checked(saved, tmp_path):
    folder = copied(saved, tmp_path)
    (folder / registry.ESTIMATOR).unlink()
    assert registry.load_client(folder).names == registry.load_client(saved / "v2").names
    with pytest.raises(LocalError, match="is not a model"):
        registry.load_card(folder)
    with (folder / registry.CLIENT).open("ab") as file:
        file.write(b"x")
    with pytest.raises(LocalError, match="is not the file that"):
        registry.load_client(folder)


@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", [registry.CARD, registry.CLIENT, registry.SIGNATURE])
def test_a_pipe_in_place_of_a_file_is_refused_and_not_waited_for(name, saved, tmp_path):
    folder = copied(saved, tmp_path)
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    with pytest.raises(LocalError, match=f"{name} is not a file"):
        registry.load_client(folder)


def test_a_card_nested_too_deeply_is_refused(saved, tmp_path):
    folder = copied(saved, tmp_path)
    (folder / registry.CARD).write_text("[" * 100_000)
    with pytest.raises(LocalError, match="not a model's card"):
        registry.load_client(folder)


def test_a_model_that_cannot_be_written_leaves_the_one_before(
    trained, saved, tmp_path, monkeypatch
):
    folder = copied(saved, tmp_path)

    def no_space(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez_compressed", no_space)
    with pytest.raises(LocalError, match="no space left"):
        registry.save(trained["v2"], folder)
    registry.load_estimator(folder)
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        path.name for path in (saved / "v2").iterdir()
    )
