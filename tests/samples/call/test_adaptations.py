"""What a side decided, as it is shown and kept."""

from __future__ import annotations

from fractions import Fraction

from codecpilot.codecs.types import Codec
from codecpilot.rtc.adaptation.decisions import AdaptationDecision, AdaptationReason
from codecpilot.rtc.adaptation.operation import Operation
from codecpilot.samples.call.adaptations import SHOWN, AdaptationLog
from codecpilot.samples.call.series import Window

START_US = 1_700_000_000_000_000
WINDOW = Window(start_us=START_US, end_us=START_US + 10_000_000, tick_us=33_333)


def _decision(preset: str, *, every: int = 1, value: float | None = None) -> AdaptationDecision:
    operation = Operation(codec=Codec.AV1, preset=preset, scale=Fraction(1, 2), every=every)
    return AdaptationDecision(
        time_us=0,
        operation=operation,
        size=(320, 180),
        layers=2,
        reason=AdaptationReason.ENCODE_LATENCY,
        value=value,
    )


def _at(seconds: float) -> int:
    return START_US + int(seconds * 1_000_000)


def test_a_window_has_what_held_as_it_began_and_what_changed_in_it() -> None:
    log = AdaptationLog()
    for at_s, preset in ((-9, "best"), (-2, "high"), (3.5, "default"), (10.5, "low")):
        log.add(_decision(preset), now_us=_at(at_s))
    kept = log.summary(WINDOW)
    assert [(d["at_s"], d["preset"]) for d in kept] == [(-2.0, "high"), (3.5, "default")]


def test_a_stream_that_begins_in_the_window_has_nothing_before() -> None:
    log = AdaptationLog()
    assert log.summary(WINDOW) == []
    log.add(_decision("low"), now_us=_at(1))
    assert [d["at_s"] for d in log.summary(WINDOW)] == [1.0]


def test_an_entry_says_what_and_why() -> None:
    log = AdaptationLog()
    log.add(_decision("low", every=2, value=0.91234), now_us=_at(1))
    assert log.summary(WINDOW) == [
        {
            "at_s": 1.0,
            "codec": "AV1",
            "preset": "low",
            "coded": [320, 180],
            "every": 2,
            "layers": 2,
            "reason": "encode latency",
            "value": 0.912,
        }
    ]


def test_the_live_figures_are_the_newest_and_a_few_before_it() -> None:
    log = AdaptationLog()
    assert log.live(_at(0)) == {
        "preset": None,
        "coded": None,
        "every": 1,
        "reason": None,
        "decisions": [],
    }
    for number in range(SHOWN + 2):
        log.add(_decision(f"row {number}"), now_us=_at(number))
    live = log.live(_at(SHOWN + 2))
    assert (live["preset"], live["coded"]) == (f"row {SHOWN + 1}", [320, 180])
    assert [d["ago_s"] for d in live["decisions"]] == [1.0, 2.0, 3.0, 4.0, 5.0]
