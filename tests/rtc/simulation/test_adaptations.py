"""What is kept of a sender's decisions about codec, preset and size."""

from __future__ import annotations

from fractions import Fraction

from codecpilot.codecs.types import Codec
from codecpilot.rtc.adaptation.decisions import AdaptationDecision, AdaptationReason, Refusal
from codecpilot.rtc.adaptation.operation import Operation
from codecpilot.rtc.simulation.adaptations import AdaptationLog
from codecpilot.rtc.simulation.records import EventLog

BEST = Operation(codec=Codec.AV1, preset="best")
HALF = Operation(codec=Codec.AV1, preset="low", scale=Fraction(1, 2), every=2)


def decision(operation: Operation, reason: AdaptationReason, **changes) -> AdaptationDecision:
    return AdaptationDecision(
        **{
            "time_us": 0,
            "operation": operation,
            "size": (640, 360),
            "layers": 1,
            "reason": reason,
            **changes,
        }
    )


def log(events: EventLog) -> AdaptationLog:
    return AdaptationLog(peer="a", events=events)


def test_an_event_says_what_is_used_why_and_what_was_refused():
    events = EventLog()
    refused = Refusal(operation=BEST, constraint="encode latency", value=1.2, limit=0.85)
    log(events).decided(
        [decision(HALF, AdaptationReason.ENCODE_LATENCY, value=0.97, refused=(refused,))],
        now_us=5,
    )
    assert events.events == [
        {
            "time_us": 5,
            "peer": "a",
            "event": "adaptation",
            "reason": "encode latency",
            "value": 0.97,
            "codec": "AV1",
            "preset": "low",
            "scale": 0.5,
            "every": 2,
            "size": "640x360",
            "layers": 1,
            "refused": [
                {
                    "operation": "AV1 best",
                    "constraint": "encode latency",
                    "value": 1.2,
                    "limit": 0.85,
                }
            ],
        }
    ]


def test_shares_are_of_the_time_from_the_first_decision_on():
    made = log(EventLog())
    made.decided([decision(BEST, AdaptationReason.APPLICATION)], now_us=1_000_000)
    made.decided([decision(HALF, AdaptationReason.ENCODE_LATENCY)], now_us=2_000_000)
    made.decided([decision(BEST, AdaptationReason.SPARE_TIME)], now_us=4_000_000)
    assert made.shares(9_000_000) == {"AV1 best": 0.75, "AV1 low 1/2, one of 2": 0.25}
    assert list(made.shares(9_000_000)) == ["AV1 best", "AV1 low 1/2, one of 2"]
    assert log(EventLog()).shares(9_000_000) == {}


def test_reasons_count_changes_and_not_the_beginning():
    made = log(EventLog())
    for reason in ("APPLICATION", "SPARE_TIME", "ENCODE_LATENCY", "SPARE_TIME"):
        made.decided([decision(BEST, AdaptationReason[reason])], now_us=0)
    assert made.reasons() == {"encode latency": 1, "spare time": 2}
