"""Feature rows from what is known: the same for a thousand calls in training and for one call at its set-up.

Needs numpy alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..fleet.costs import DEFAULT_COSTS
from .calls import SIGNALS, Floats
from .columns import FEATURES, NO_EVIDENCE, OF_MODEL, OF_PROBE, OF_SOC
from .history import Signals

DRAWN_CALLS = 3.0
"""Calls that what is known of the processor weighs: the variance of log_slowness over a model's calls (0.2 squared)
over that between models with the same processor (0.12 squared), in the simulated fleet."""
CHEAPEST, USUAL = "ultralow", "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """All that is known before a call, one row each. hardware has HARDWARE, request REQUEST of calls.py."""

    hardware: Mapping[str, Floats]
    request: Mapping[str, Floats]
    own: Signals
    soc: Signals
    probe: Floats | None = None
    """Encode time over the reference machine's, as a probe found it; NaN where there was none."""


def feature_rows(known: Known) -> Floats:
    """(rows, FEATURES)."""
    own, soc = known.own, known.soc
    # Signal by signal: a model whose calls were all on H.264 still has its processor's encode_load.
    means = np.where(own.counts > 0, own.means, soc.means)
    weight = np.where(soc.counts > 0, DRAWN_CALLS, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = np.where(own.counts > 0, own.means, 0.0) * own.counts
        drawn = (drawn + weight * np.nan_to_num(soc.means)) / (own.counts + weight)
    columns = {name: means[:, place] for place, name in enumerate(SIGNALS)}
    slowness, mean_slowness = np.exp(drawn[:, 0]), np.exp(means[:, 0])
    evidence = np.where(own.counts[:, 0] > 0, OF_MODEL, OF_SOC)
    evidence = np.where(np.isfinite(slowness), evidence, NO_EVIDENCE)
    if known.probe is not None:
        is_probed = np.isfinite(known.probe) & (own.counts[:, 0] == 0)
        slowness = np.where(is_probed, known.probe, slowness)
        mean_slowness = np.where(is_probed, known.probe, mean_slowness)
        evidence = np.where(is_probed, OF_PROBE, evidence)
    columns |= (
        dict(known.hardware)
        | dict(known.request)
        | {
            "load": slowness * _encode_load(known.request),
            "receive_load": slowness * _decode_load(known.request),
            "slowness": slowness,
            "mean_slowness": mean_slowness,
            "slowness_spread": np.where(own.counts[:, 0] > 1, own.spread, soc.spread),
            "px_rate": known.request["asked_px"] * known.request["fps"],
            "good_ratio": drawn[:, SIGNALS.index("is_good")],
            "mean_good_ratio": columns["is_good"],
            "n_calls": own.n_calls,
            "evidence": evidence.astype(np.float64),
        }
    )
    rows = len(slowness)
    return np.stack([np.broadcast_to(columns[name], (rows,)) for name in FEATURES], axis=1)


def _encode_load(request: Mapping[str, Floats]) -> Floats:
    """Of the reference machine, with the cheapest preset."""
    cost = DEFAULT_COSTS[CHEAPEST]
    frame_us = cost.encode_fixed_us + cost.encode_ns_px * request["asked_px"] / 1000
    return frame_us * request["fps"] / 1e6


def _decode_load(request: Mapping[str, Floats]) -> Floats:
    """Of the reference machine, for what the other side was asked to send."""
    cost = DEFAULT_COSTS[USUAL]
    frame_us = cost.decode_fixed_us + cost.decode_ns_px * request["receive_px"] / 1000
    return frame_us * request["receive_fps"] / 1e6
