"""Scenarios: what holds for whom, and what bad input is told."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError
from codecpilot.codecs.types import Codec
from codecpilot.rtc.resilience.settings import ResilienceSettings, Switch
from codecpilot.rtc.simulation.keys import LINK_KEYS, PEER_KEYS, RUN_KEYS
from codecpilot.rtc.simulation.recovery import SWITCHES
from codecpilot.rtc.simulation.scenario import (
    Scenario,
    parse_toml,
    scenario,
    set_value,
    shared_values,
)
from codecpilot.rtc.simulation.trace import TraceRate


def read(values: dict[str, object], *, trace: str = "5\n10\n") -> Scenario:
    return scenario(
        values, read_text=lambda path: trace, default_bps=lambda size, fps: size[0] * 1000
    )


def test_nothing_set_is_a_call_of_two_like_peers():
    made = read({})
    assert made.duration_us == 30_000_000
    assert made.peers["a"] == made.peers["b"]
    peer = made.peers["a"]
    assert (peer.size, peer.fps, peer.codec) == ((640, 360), 30, Codec.AV1)
    assert peer.target_bps == 640_000
    link = made.links["ab"]
    assert (link.settings.delay_us, link.settings.queue_us) == (25_000, 300_000)
    assert link.rate.offered(1_000_000) == link.rate.units_per_byte * 125_000


def test_a_peers_and_a_directions_own_table_stand_above_the_common_values():
    made = read(
        parse_toml(
            """
            seconds = 12.5
            size = "320x180"
            loss = 0.01
            delay_ms = 50
            [a]
            device = "0:1,20:4,60:1"
            [b]
            size = "640x360"
            [ba]
            loss = "0:0,3:0.5"
            """
        )
    )
    assert made.duration_us == 12_500_000
    assert [made.peers[p].size for p in "ab"] == [(320, 180), (640, 360)]
    assert made.peers["a"].device.at(30_000_000) == 4
    assert made.peers["b"].device.at(30_000_000) == 1
    assert made.links["ab"].loss.at(4_000_000) == 0.01
    assert made.links["ba"].loss.at(4_000_000) == 0.5
    assert made.links["ba"].settings.delay_us == 50_000


def test_switches_stand_above_the_recovery_that_is_named():
    made = read({"recovery": "nack", "a": {"fec": "on"}, "b": {"recovery": "key", "ltr": "auto"}})
    off = dict.fromkeys(SWITCHES, Switch.OFF)
    assert read({}).peers["a"].resilience == ResilienceSettings()
    assert made.peers["a"].resilience == ResilienceSettings(
        **off | {"nack": Switch.ON, "fec": Switch.ON}
    )
    assert made.peers["b"].resilience == ResilienceSettings(**off | {"ltr": Switch.AUTO})
    with pytest.raises(LocalError, match="fec 'yes' is none of off, on, auto"):
        read({"fec": "yes"})


def test_a_device_is_on_power_unless_its_battery_is_told():
    made = read({"a": {"battery": "0:30,20:10"}, "b": {"av1_decode": "0:1,5:9"}})
    assert made.peers["b"].battery_percent is None
    assert [made.peers["a"].battery_percent.at(s * 1_000_000) for s in (0, 20)] == [30, 10]
    assert [made.peers["b"].av1_decode.at(s * 1_000_000) for s in (0, 5)] == [1, 9]
    assert [read({"adaptation": value}).peers["a"].adaptation for value in (False, "webrtc")] == [
        "false",
        "webrtc",
    ]
    assert made.peers["a"].adaptation == "true"
    assert made.peers["a"].cpu_budget_ratio == 0.5
    assert made.peers["a"].rtc_score is None


def test_text_from_the_command_line_reads_like_toml():
    table = {"rate": 600}
    for name, value in {
        "a.device": "2.5",
        "loss": "0.1",
        "seed": "7",
        "b.descriptor": "false",
    }.items():
        set_value(table, name, value)
    made = read(table)
    assert made.peers["a"].device.at(0) == Fraction("2.5")
    assert made.seed == 7
    assert not made.peers["b"].descriptor
    assert made.links["ba"].loss.at(0) == 0.1


def test_a_trace_takes_the_place_of_a_rate_and_bytes_that_of_milliseconds():
    table = {"rate": 600, "ba": {"trace": "x", "queue_bytes": 9000}}
    made = read(table)
    assert isinstance(made.links["ba"].rate, TraceRate)
    assert not isinstance(made.links["ab"].rate, TraceRate)
    assert (made.links["ba"].settings.queue_us, made.links["ba"].settings.queue_bytes) == (
        None,
        9000,
    )
    set_value(table, "ba.rate", "100")
    assert table["ba"] == {"rate": "100", "queue_bytes": 9000}


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ({"sped": 1}, "unknown key 'sped'; did you mean seed"),
        ({"a": {"loss": 1}}, r"unknown key 'a\.loss'; known are source, size"),
        ({"ab": {"fps": 30}}, r"unknown key 'ab\.fps'"),
        ({"c": {"fps": 30}}, "unknown key 'c'"),
        ({"a": 5}, "a is a table of its own"),
        ({"rate": {"x": 1}}, "rate is a dict"),
        ({"loss": [0.1]}, "loss is a list"),
        ({"seconds": 0}, r"seconds 0 is outside 0\.1\.\.86400"),
        ({"seconds": 0.09}, r"seconds 0\.09 is outside 0\.1\.\.86400"),
        ({"seconds": "1e400000000"}, "seconds '1e400000000' is not a number"),
        ({"rate": "0:1e-400000000"}, "rate '1e-400000000' is not a number"),
        ({"seed": 1 << 20_000}, "seed is a number of 20001 bits"),
        ({"loss": 1 << 20_000}, "loss is a number of 20001 bits"),
        ({"seconds": True}, "seconds True is not a number"),
        ({"seconds": float("nan")}, "seconds nan is not a number"),
        ({"seconds": float("inf")}, "seconds inf is not a number"),
        ({"seed": -1}, r"seed -1 is outside 0\.\."),
        ({"seed": 1.5}, "seed 1.5 is not a whole number"),
        ({"loss": 1.2}, r"loss 1\.2 is outside 0\.\.1"),
        ({"ba": {"loss": -0.1}}, r"ba\.loss -0\.1 is outside 0\.\.1"),
        ({"loss": "0:0.1,5:x"}, "loss 'x' is not a number"),
        ({"rate": "0:600,10:0"}, "ab: the last rate is 0"),
        ({"rate": -5}, r"rate -5 is outside 0\.\.10000000 kbps"),
        ({"delay_ms": -1}, r"delay_ms -1 is outside 0\.\.60000"),
        ({"burst": 0.5}, r"burst 0\.5 is outside 1\.\."),
        ({"queue_bytes": 100}, r"queue_bytes 100 is outside 1500\.\."),
        ({"size": "641x360"}, "size '641x360' is not WIDTHxHEIGHT of even numbers from 64 to 4096"),
        ({"size": "big"}, "size 'big' is not WIDTHxHEIGHT"),
        ({"fps": 0}, r"fps 0 is outside 1\.\.120"),
        ({"codec": "VP8"}, "codec 'VP8' is none of AV1, H264"),
        ({"stack": "webrtc"}, "stack 'webrtc' is none of codecpilot, aiortc"),
        ({"preset": "turbo"}, "preset 'turbo' is none of auto, ultralow"),
        ({"descriptor": "maybe"}, "descriptor 'maybe' is neither true nor false"),
        ({"a": {"device": "0:0"}}, r"a\.device 0 is outside 0\.01\.\.1000"),
        ({"a": {"av1_encode": 0}}, r"a\.av1_encode 0 is outside 0\.01\.\.1000"),
        ({"battery": "0:50,9:101"}, r"battery 101 is outside 0\.\.100 %"),
        ({"adaptation": "yes"}, "adaptation 'yes' is none of true, false, webrtc"),
        ({"rtc_score": 1.1}, r"rtc_score 1\.1 is outside 0\.\.1"),
        ({"cpu_budget": 0}, r"cpu_budget 0 is outside 0\.01\.\.1"),
        ({"target_kbps": 5}, r"target_kbps 5 is outside 10\.\.50000"),
        ({"source": ""}, "source '' is not a text"),
        ({"rate": 1, "trace": "x"}, "rate and trace exclude each other"),
        ({"ab": {"queue_ms": 1, "queue_bytes": 2000}}, "queue_ms and queue_bytes exclude"),
    ],
)
def test_bad_input_is_named_with_what_is_legal(values, names):
    with pytest.raises(LocalError, match=names):
        read(values)


@pytest.mark.parametrize(
    ("trace", "names"),
    [
        ("", "ab: the trace is empty"),
        ("3\n2\n", "ab: the trace is not sorted"),
        ("x", "ab: line 1"),
    ],
)
def test_a_broken_trace_names_its_direction(trace, names):
    with pytest.raises(LocalError, match=names):
        read({"trace": "x"}, trace=trace)


@pytest.mark.parametrize("name", ["c.fps", "fpss", "a.rate", "ab.size", "a.", "."])
def test_unknown_names_cannot_be_set(name):
    with pytest.raises(LocalError, match="unknown key"):
        set_value({}, name, "1")


@pytest.mark.parametrize(
    "text", ["rate = = 5", "seed = " + "9" * 5000, "x = " + "[" * 100_000], ids=["=", "9", "["]
)
def test_what_is_no_toml_is_said_to_be_none(text):
    with pytest.raises(LocalError, match="not TOML"):
        parse_toml(text)


def test_a_peer_that_is_no_table_is_named_wherever_it_is_used():
    with pytest.raises(LocalError, match="a is a table of its own"):
        set_value({"a": 3}, "a.fps", "5")
    with pytest.raises(LocalError, match="a is a table of its own"):
        shared_values({"a": 3})


@pytest.mark.parametrize("seconds", [0.1, "0.1", "1e-1"])
def test_a_bound_itself_is_legal(seconds):
    assert read({"seconds": seconds}).duration_us == 100_000


def test_two_policies_share_their_ground_when_only_policies_differ():
    ours = {"rate": 600, "a": {"device": 2}, "stack": "aiortc", "ab": {"loss": 0.1}}
    theirs = {"rate": "600", "ab": {"loss": "0.1"}, "preset": "low"}
    assert shared_values(ours) == shared_values(theirs) == {"rate": "600", "ab.loss": "0.1"}
    assert shared_values({"ab": {"loss": 0.2}}) != shared_values({"loss": 0.2})


values = st.one_of(
    st.text(max_size=8),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.lists(st.integers(), max_size=1),
)


@given(st.sampled_from([*RUN_KEYS, *PEER_KEYS, *LINK_KEYS]), values)
def test_any_value_is_accepted_or_refused_as_ours_to_mend(name, value):
    try:
        made = read({name: value})
    except LocalError:
        return
    assert made.duration_us > 0
