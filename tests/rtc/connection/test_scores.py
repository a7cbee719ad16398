"""How well a device holds a call, told in its description."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.rtc.connection.scores import (
    announce_device,
    announce_score,
    announced_device,
    announced_score,
)

SDP = "v=0\r\ns=-\r\na=group:BUNDLE 0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\na=mid:0\r\n"


@given(st.floats(0, 1))
def test_a_score_goes_over(score: float) -> None:
    told = announced_score(announce_score(SDP, score))
    assert told is not None
    assert abs(told - score) <= 0.00005


def test_it_stands_once_before_the_media() -> None:
    once = announce_score(SDP, 0.83)
    assert once == SDP.replace("m=video", "a=codecpilot-score:0.8300\r\nm=video")
    assert announce_score(once, 0.1) == once
    assert announce_score(SDP, None) == SDP


@pytest.mark.parametrize(
    "text", ["", "-0.5", "1.01", "nan", "inf", "1e0", "0,5", ".5", "0.5 0.6", "0." + "1" * 400]
)
def test_what_is_no_score_counts_for_none(text: str) -> None:
    assert announced_score(SDP.replace("m=", f"a=codecpilot-score:{text}\r\nm=")) is None


def test_two_scores_count_for_none() -> None:
    twice = SDP.replace("m=", "a=codecpilot-score:0.5\r\na=codecpilot-score:0.5\r\nm=")
    assert announced_score(twice) is None


def test_a_score_of_a_media_section_is_none() -> None:
    assert announced_score(SDP + "a=codecpilot-score:0.5\r\n") is None


def test_what_looks_like_a_media_section_within_a_line_is_none() -> None:
    named = SDP.replace("s=-", "s=team=a")
    assert announced_score(announce_score(named, 0.5)) == 0.5
    told = announce_score(announce_device(named, "high m=1 am=2"), 0.5)
    assert (announced_score(told), announced_device(told)) == (0.5, "high m=1 am=2")
    assert told.endswith(SDP[SDP.index("m=") :])


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    told = announced_score(text)
    assert told is None or 0 <= told <= 1


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=400))
def test_a_line_about_the_device_goes_over_beside_the_score(text: str) -> None:
    told = announce_device(announce_score(SDP, 0.5), text)
    assert (announced_score(told), announced_device(told)) == (0.5, text)
    assert announce_device(told, "other") == told


@pytest.mark.parametrize(
    "text", ["", " low", "x" * 401, "low\x00", "tief\u00f6", "low\u2028high", "low\thigh"]
)
def test_what_is_no_line_counts_for_none(text: str) -> None:
    assert announced_device(SDP.replace("m=", f"a=codecpilot-device:{text}\r\nm=")) is None


def test_two_lines_or_one_of_a_media_section_are_none() -> None:
    twice = SDP.replace("m=", "a=codecpilot-device:low -\r\na=codecpilot-device:low -\r\nm=")
    assert announced_device(twice) is None
    assert announced_device(SDP + "a=codecpilot-device:low -\r\n") is None
    assert announce_device(SDP, None) == SDP
