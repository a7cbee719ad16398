"""The call that was held, once more in virtual time."""

from __future__ import annotations

import io
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from rich.console import Console

from codecpilot.codecs.errors import LocalError
from codecpilot.codecs.types import Codec
from codecpilot.samples.call.device_options import DeviceOptions
from codecpilot.samples.call.options import CallOptions, Source
from codecpilot.samples.call.simulated import check_simulated, print_comparison, simulate_call

OPTIONS = CallOptions(
    source=Source(kind="synthetic"),
    width=160,
    height=96,
    fps=Fraction(30),
    bitrate_bps=150_000,
    codec=Codec.AV1,
    preset="low",
    seed=3,
    link={"rate": "400", "delay_ms": "40", "loss": "0.05"},
)


def report(*, seconds: float) -> dict[str, Any]:
    return {"seconds": seconds}


def test_it_has_the_words_of_the_live_report_and_the_calls_settings() -> None:
    first, second = simulate_call(OPTIONS, report(seconds=2))
    assert (first["from"], first["to"], second["from"], second["to"]) == ("A", "B", "B", "A")
    for figures in (first, second):
        assert figures["captured"] == 60
        assert 45 <= figures["shown"] <= figures["encoded"] <= 60
        assert 100 <= figures["kbps"] <= 170
        # The delay, the codec's time, and at most the hold for sound and what is lost.
        assert 40 <= figures["latency_ms"]["p50"] <= 140
        # 100 packets of sound, and at least one a picture.
        assert 160 <= figures["link"]["packets_offered"] <= 400
        assert 1 <= figures["link"]["packets_lost"] <= 30
    out = io.StringIO()
    print_comparison([first, second], [first, second], console=Console(file=out, width=80))
    assert out.getvalue().count("live") == 2
    assert max(len(line.rstrip()) for line in out.getvalue().splitlines()) <= 80


def test_scores_and_what_adapts_are_those_of_the_call() -> None:
    begins = {}
    for adapts in (True, False):
        device = DeviceOptions(rtc_scores=(0.0, None), adaptation=adapts)
        for figures in simulate_call(replace(OPTIONS, device=device), report(seconds=1)):
            begins[adapts, figures["from"]] = next(iter(figures["operations"]))
    assert [begins[False, side] for side in "AB"] == ["AV1 low"] * 2
    assert [begins[True, side] for side in "AB"] == ["H264 default"] * 2


def test_a_call_that_was_never_held_is_not_repeated() -> None:
    assert simulate_call(OPTIONS, report(seconds=0.0)) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"link": {}}, "needs an emulated link"),
        ({"device": DeviceOptions(max_fps=Fraction(15))}, "--max-fps"),
        ({"device": DeviceOptions(send_codecs=(("H264",), None))}, "--send-codecs"),
        ({"source": Source(kind="camera", place="0")}, "camera"),
        ({"seed": -1}, "--seed -1 is below 0"),
    ],
)
def test_what_cannot_be_repeated_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(LocalError, match=words):
        check_simulated(replace(OPTIONS, **change))
