"""Models on disk: a folder with the estimator (skops), the client artefact (npz), a card, and digests of both.

Nothing in a folder is trusted: digests come first, then the types in the skops file against TRUSTED, and only
then is anything built. With a public key, the card must be signed by its owner, or nothing is read.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...codecs.errors import LocalError
from ..extra import INSTALL
from .arrays import forest_of_tier, rule_of_heuristic
from .client import ClientModel, signals_arrays
from .columns import FEATURES

if TYPE_CHECKING:
    from .trained import TrainedModel
    from .versions import Estimator

CARD, ESTIMATOR, CLIENT, SIGNATURE = "card.json", "estimator.skops", "client.npz", "card.sig"
TRUSTED = (
    # Ours: they hold arrays and numbers, and run nothing as they are built.
    "codecpilot.eligibility.models.calibrated.SingleTier",
    "codecpilot.eligibility.models.estimators.HeuristicEligibility",
    "codecpilot.eligibility.models.estimators.TwoTier",
    # Parts of HistGradientBoostingClassifier that skops leaves to its users; in scikit-learn 1.9 arrays alone.
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
)
"""Types that a model file may hold beside skops' own list."""


def save(model: TrainedModel, folder: Path, *, private_key: bytes | None = None) -> None:
    """Write the folder; private_key (PEM, Ed25519) signs it. Raises LocalError where that is impossible."""
    skops_io = _skops_io()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Aside first: what ends the writing leaves the model that was there.
        with tempfile.TemporaryDirectory(prefix=".saving-", dir=folder) as name:
            aside = Path(name)
            skops_io.dump(model.estimator, aside / ESTIMATOR, compression=zipfile.ZIP_DEFLATED)
            np.savez_compressed(aside / CLIENT, **_client_arrays(model))
            digests = {name: _digest(aside / name) for name in (ESTIMATOR, CLIENT)}
            card = _card(model) | {"sha256": digests}
            text = json.dumps(card, indent=2, sort_keys=True) + "\n"
            (aside / CARD).write_text(text, encoding="utf-8")
            if private_key is not None:
                (aside / SIGNATURE).write_bytes(_sign(text.encode(), private_key))
            (folder / SIGNATURE).unlink(missing_ok=True)
            for path in sorted(aside.iterdir()):
                path.replace(folder / path.name)
    except OSError as error:
        raise LocalError(f"cannot write the model to {folder}: {error}") from error


def load_card(
    folder: Path,
    *,
    public_key: bytes | None = None,
    needs: Collection[str] = (ESTIMATOR, CLIENT),
) -> dict[str, Any]:
    """The card, once signature and digests are as they should be. needs are files that must be there.

    Raises LocalError.
    """
    if folder.is_file():
        raise LocalError(
            f"{folder} is a file; a model is a folder with {CARD}, {ESTIMATOR} and {CLIENT}"
        )
    try:
        for name in (CARD, ESTIMATOR, CLIENT, SIGNATURE):
            if (folder / name).exists() and not (folder / name).is_file():
                raise LocalError(f"{folder / name} is not a file")
        text = (folder / CARD).read_bytes()
        if public_key is not None:
            _verify(folder, text, public_key)
        card = json.loads(text)
        for name in (ESTIMATOR, CLIENT):
            is_there = name in needs or (folder / name).exists()
            if is_there and card["sha256"][name] != _digest(folder / name):
                raise LocalError(f"{folder / name} is not the file that {CARD} was written for")
    except OSError as error:
        raise LocalError(f"{folder} is not a model: {error}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, LocalError):
            raise
        raise LocalError(f"{folder / CARD} is not a model's card: {error!r}") from error
    return dict(card)


def load_client(folder: Path, *, public_key: bytes | None = None) -> ClientModel:
    """What scores devices; needs neither scikit-learn nor skops, nor the estimator's file. Raises LocalError."""
    load_card(folder, public_key=public_key, needs=(CLIENT,))
    return ClientModel.load(folder / CLIENT)


def load_estimator(folder: Path, *, public_key: bytes | None = None) -> Estimator:
    """The estimator, for evaluation. Raises LocalError for anything else in the file."""
    load_card(folder, public_key=public_key)
    return read_estimator(folder / ESTIMATOR)


def read_estimator(path: Path) -> Estimator:
    """An estimator from a skops file. Raises LocalError for a pickle, other types, damage."""
    skops_io = _skops_io()
    try:
        others = sorted(set(skops_io.get_untrusted_types(file=path)) - set(TRUSTED))
        if others:
            raise LocalError(f"{path} holds types that are not trusted: {', '.join(others[:5])}")
        loaded = skops_io.load(path, trusted=list(TRUSTED))
    except LocalError:
        raise
    except zipfile.BadZipFile as error:
        raise LocalError(f"{path} is not a skops file; pickles are never read") from error
    except Exception as error:
        # skops reports damage by whatever its parsing meets first.
        raise LocalError(f"{path} cannot be read: {error!r}") from error
    from .versions import Estimator

    if not isinstance(loaded, Estimator):
        raise LocalError(f"{path} holds a {type(loaded).__name__}, which is no model")
    return loaded


def _skops_io() -> Any:
    """Absent without the eligibility extra, which scoring does not need."""
    try:
        import skops.io
    except ImportError as error:
        raise LocalError(f"models need skops: {INSTALL}") from error
    return skops.io


def _client_arrays(model: TrainedModel) -> dict[str, Any]:
    estimator, known = model.estimator, model.known
    arrays: dict[str, Any] = {
        "card": np.array(json.dumps(_card(model), sort_keys=True)),
        "known_names": np.array(known.names, dtype=np.str_),
        "known_socs": np.array(known.socs, dtype=np.str_),
        **{f"hardware_{name}": values for name, values in known.hardware.items()},
        **signals_arrays(known.own, "own"),
        **signals_arrays(known.of_soc, "soc"),
    }
    tiers = _tiers(estimator)
    for name, tier in tiers.items():
        arrays |= forest_of_tier(tier).arrays(name)
    if not tiers:
        arrays |= rule_of_heuristic(estimator).arrays("all")
    return arrays


def _tiers(estimator: Estimator) -> dict[str, Any]:
    """By name; none for rules."""
    from .estimators import HeuristicEligibility, TwoTier

    if isinstance(estimator, TwoTier):
        return {"low": estimator.low_, "high": estimator.high_}
    return {} if isinstance(estimator, HeuristicEligibility) else {"all": estimator}


def _card(model: TrainedModel) -> dict[str, Any]:
    tiers = list(_tiers(model.estimator)) or ["all"]
    more = {"strength": dict(model.strength), "features": list(FEATURES), "tiers": tiers}
    return {**model.card, **more}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sign(text: bytes, private_key: bytes) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(private_key, password=None)
    except (ValueError, TypeError) as error:
        raise LocalError(f"not a private key without password in PEM: {error}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise LocalError(f"the key must be Ed25519, not {type(key).__name__}")
    return key.sign(text)


def _verify(folder: Path, text: bytes, public_key: bytes) -> None:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(public_key)
    except ValueError as error:
        raise LocalError(f"not a public key in PEM: {error}") from error
    if not isinstance(key, Ed25519PublicKey):
        raise LocalError(f"the key must be Ed25519, not {type(key).__name__}")
    if not (folder / SIGNATURE).is_file():
        raise LocalError(
            f"{folder} is not signed, and a key is configured that it must be signed with"
        )
    try:
        key.verify((folder / SIGNATURE).read_bytes(), text)
    except InvalidSignature as error:
        raise LocalError(f"{folder} is signed with another key, or was changed since") from error
