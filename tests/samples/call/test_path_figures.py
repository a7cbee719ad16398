"""Figures of the path, from a side's own statistics."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from codecpilot.samples.call.path_figures import PathFigures


def statistics(*, packets: int, waited_s: float, available_bps: int | None = 700_000) -> list[Any]:
    return [
        SimpleNamespace(type="outbound-rtp", kind="audio", packetsSent=10_000),
        SimpleNamespace(
            type="outbound-rtp",
            kind="video",
            packetsSent=packets,
            totalPacketSendDelay=waited_s,
            targetBitrate=400_000,
            qualityLimitationReason="bandwidth",
        ),
        SimpleNamespace(type="candidate-pair", availableOutgoingBitrate=available_bps),
        SimpleNamespace(type="transport"),
    ]


def test_rates_are_those_of_now_and_the_wait_is_that_of_the_packets_since() -> None:
    figures = PathFigures()
    figures.live(statistics(packets=100, waited_s=5.0))
    assert figures.live(statistics(packets=150, waited_s=5.5)) == {
        "estimate_kbps": 700.0,
        "target_kbps": 400.0,
        "pacer_ms": 10.0,
        "limited_by": "bandwidth",
    }


def test_what_is_not_known_is_none() -> None:
    figures = PathFigures()
    assert set(figures.live([]).values()) == {None}
    told = figures.live(statistics(packets=0, waited_s=0.0, available_bps=None))
    assert (told["estimate_kbps"], told["pacer_ms"]) == (None, None)
    assert told["target_kbps"] == 400.0
