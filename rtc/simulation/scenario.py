"""A whole call to simulate, checked: two peers, the link of each direction, how long, which seed.

Values come as nested tables, as TOML has them: run, peer and link keys at the top, those of a peer
for both peers and those of a link for both directions; tables `a` and `b` say otherwise of one peer,
`ab` and `ba` of one direction.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...codecs.errors import LocalError
from ...codecs.types import Codec, Content
from ..estimators import CongestionControl
from ..resilience.settings import ResilienceSettings
from ..sender import MIN_TARGET_BPS
from .keys import LINK_KEYS, PEER_KEYS, RUN_KEYS, Key, Value
from .link import LinkSettings
from .rate import Rate, StepRate
from .recovery import SWITCHES, resilience
from .steps import Steps
from .trace import parse_trace

PEERS = ("a", "b")
DIRECTIONS = ("ab", "ba")
# Two ways to say one thing: who says one of them takes back the other.
ALTERNATIVES = (("rate", "trace"), ("queue_ms", "queue_bytes"))

# ours: above every legal number; Python refuses to print one of a few thousand digits.
MAX_VALUE_BITS = 64

Table = dict[str, Any]
ReadText = Callable[[str], str]
DefaultRate = Callable[[tuple[int, int], Fraction], int]
"""A rate in bit/s that suits a width, a height and pictures a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerScenario:
    """One peer; see keys.PEER_KEYS."""

    source: str
    size: tuple[int, int]
    fps: Fraction
    stack: str
    cc: CongestionControl
    codec: Codec
    preset: str
    content: Content
    target_bps: int
    resilience: ResilienceSettings
    descriptor: bool
    adaptation: str
    cpu_budget_ratio: float
    rtc_score: float | None
    device: Steps[Fraction]
    av1_encode: Steps[Fraction]
    av1_decode: Steps[Fraction]
    battery_percent: Steps[Fraction] | None
    clock_ppm: int
    wall_error_us: int
    audio_bps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkScenario:
    """One direction; see keys.LINK_KEYS."""

    rate: Rate
    loss: Steps[float]
    burst: float
    settings: LinkSettings
    cross_flows: Steps[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """peers are "a" and "b", links "ab" and "ba". values is what was set, for reports.

    calls have the same peers and links; those beside the first begin at calls_start_us. compares
    tells whether the screen is compared with what was due.
    """

    duration_us: int
    seed: int
    calls: int
    calls_start_us: int
    compares: bool
    peers: Mapping[str, PeerScenario]
    links: Mapping[str, LinkScenario]
    values: Mapping[str, Any]


def parse_toml(text: str) -> Table:
    """The tables of a scenario file. Raises LocalError."""
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise LocalError("the scenario is not TOML: nested too deeply") from error
    except ValueError as error:  # tomllib's own, and int()'s of a number with too many digits
        raise LocalError(f"the scenario is not TOML: {error}") from error


def set_value(table: Table, name: str, value: Value) -> None:
    """Set a key, "seed" or "a.device", over what the table says. Raises LocalError if unknown."""
    scope, _, key = name.rpartition(".")
    if scope and scope not in (*PEERS, *DIRECTIONS):
        raise _unknown(name, _names())
    target = table.setdefault(scope, {}) if scope else table
    _check_table(scope, target)
    _check_key(scope, key, name)
    for pair in ALTERNATIVES:
        if key in pair:
            for other in pair:
                target.pop(other, None)
    target[key] = value


def scenario(values: Table, *, read_text: ReadText, default_bps: DefaultRate) -> Scenario:
    """Check every value and fill in what was not set. read_text gives a trace file's text.

    Raises LocalError that names the key and what is legal.
    """
    _check_names(values)
    run = {name: _read(key, name, values.get(name)) for name, key in RUN_KEYS.items()}
    if run["calls"] > 1 and run["calls_start_s"] >= run["seconds"]:
        raise LocalError(
            f"calls_start_s {run['calls_start_s']} is not below seconds {run['seconds']}"
        )
    return Scenario(
        duration_us=int(run["seconds"] * 1_000_000),
        seed=run["seed"],
        calls=run["calls"],
        calls_start_us=int(run["calls_start_s"] * 1_000_000),
        compares=run["psnr"],
        peers={name: _peer(values, name, default_bps) for name in PEERS},
        links={name: _link(values, name, read_text) for name in DIRECTIONS},
        values=values,
    )


def shared_values(values: Table) -> dict[str, str]:
    """What two scenarios must have in common for their policies to be compared, as it was written.

    Raises LocalError as scenario() does for names that there are not.
    """
    _check_names(values)
    names = (*RUN_KEYS, *LINK_KEYS, "source", "size", "fps")
    scopes = [("", values), *((f"{s}.", values.get(s, {})) for s in (*PEERS, *DIRECTIONS))]
    return {
        f"{prefix}{name}": str(table[name])
        for prefix, table in scopes
        for name in names
        if name in table
    }


def _peer(values: Table, peer: str, default_bps: DefaultRate) -> PeerScenario:
    v = _scoped(values, peer, PEER_KEYS)
    target_bps = default_bps(v["size"], v["fps"])
    if v["target_kbps"] is not None:
        target_bps = v["target_kbps"] * 1000
    return PeerScenario(
        source=v["source"],
        size=v["size"],
        fps=v["fps"],
        stack=v["stack"],
        cc=CongestionControl(v["cc"]),
        codec=Codec(v["codec"]),
        preset=v["preset"],
        content=Content(v["content"]),
        target_bps=max(target_bps, MIN_TARGET_BPS),
        resilience=resilience(v["recovery"], {name: v[name] for name in SWITCHES}),
        descriptor=v["descriptor"],
        adaptation=v["adaptation"],
        cpu_budget_ratio=float(v["cpu_budget"]),
        rtc_score=None if v["rtc_score"] is None else float(v["rtc_score"]),
        device=v["device"],
        av1_encode=v["av1_encode"],
        av1_decode=v["av1_decode"],
        battery_percent=v["battery"],
        clock_ppm=v["clock_ppm"],
        wall_error_us=int(v["wall_error_ms"] * 1000),
        audio_bps=v["audio_kbps"] * 1000,
    )


def _link(values: Table, direction: str, read_text: ReadText) -> LinkScenario:
    v = _scoped(values, direction, LINK_KEYS)
    try:
        rate: Rate = (
            StepRate(v["rate"]) if v["trace"] is None else parse_trace(read_text(v["trace"]))
        )
    except LocalError as error:
        raise LocalError(f"{direction}: {error}") from error
    return LinkScenario(
        rate=rate,
        loss=v["loss"].map(float),
        burst=float(v["burst"]),
        settings=LinkSettings(
            delay_us=_us(v["delay_ms"]),
            jitter_us=_us(v["jitter_ms"]),
            reorder_ratio=float(v["reorder"]),
            reorder_us=_us(v["reorder_ms"]),
            queue_us=None if v["queue_bytes"] is not None else _us(v["queue_ms"]),
            queue_bytes=v["queue_bytes"],
        ),
        cross_flows=v["cross"].map(lambda flows: _flows(flows, name=f"{direction}: cross")),
    )


def _flows(value: Fraction, *, name: str) -> int:
    if value.denominator != 1:
        raise LocalError(f"{name} {value} is not a whole number")
    return int(value)


def _us(milliseconds: Fraction) -> int:
    return int(milliseconds * 1000)


def _scoped(values: Table, scope: str, keys: Mapping[str, Key]) -> dict[str, Any]:
    """What holds for one peer or direction: its own table over the top, over the defaults."""
    raw: dict[str, Value] = {name: values[name] for name in keys if name in values}
    names = {name: name for name in raw}
    for name, value in values.get(scope, {}).items():
        for pair in ALTERNATIVES:
            if name in pair and name not in raw:
                for other in pair:
                    raw.pop(other, None)
        raw[name], names[name] = value, f"{scope}.{name}"
    return {n: _read(key, names.get(n, n), raw.get(n)) for n, key in keys.items()}


def _read(key: Key, name: str, value: Value | None) -> Any:
    value = key.default if value is None else value
    if value is None:
        return None
    if not isinstance(value, str | int | float | bool):
        raise LocalError(f"{name} is a {type(value).__name__}, not a single value")
    if isinstance(value, int) and value.bit_length() > MAX_VALUE_BITS:
        raise LocalError(
            f"{name} is a number of {value.bit_length()} bits, beyond any that is legal"
        )
    return key.read(name, value)


def _check_names(values: Table) -> None:
    for name, value in values.items():
        if name in (*PEERS, *DIRECTIONS):
            _check_table(name, value)
            for key in value:
                _check_key(name, key, f"{name}.{key}")
            _check_alternatives(value)
        else:
            _check_key("", name, name)
    _check_alternatives(values)


def _check_table(name: str, value: object) -> None:
    if not isinstance(value, dict):
        raise LocalError(f"{name} is a table of its own, not a value")


def _check_alternatives(table: Table) -> None:
    for one, other in ALTERNATIVES:
        if one in table and other in table:
            raise LocalError(f"{one} and {other} exclude each other; set one of them")


def _check_key(scope: str, key: str, name: str) -> None:
    if scope in PEERS:
        known: Iterable[str] = PEER_KEYS
    elif scope in DIRECTIONS:
        known = LINK_KEYS
    else:
        known = _names()
    if key not in known:
        raise _unknown(name, known)


def _names() -> tuple[str, ...]:
    return (*RUN_KEYS, *PEER_KEYS, *LINK_KEYS)


def _unknown(name: str, known: Iterable[str]) -> LocalError:
    names = list(known)
    near = difflib.get_close_matches(name.rpartition(".")[2], names, n=1)
    hint = f"; did you mean {near[0]}" if near else ""
    return LocalError(f"unknown key {name!r}{hint}; known are {', '.join(names)}")
