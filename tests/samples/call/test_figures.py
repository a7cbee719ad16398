"""Figures of a direction: counts, latency, freezes and A/V offset of known events."""

from __future__ import annotations

from typing import Any

from codecpilot.samples.call.figures import SentLog, ShownLog, direction_figures
from codecpilot.samples.call.series import Window

START_US = 1_700_000_000_000_000
TICK_US = 33_333
WINDOW = Window(start_us=START_US, end_us=START_US + 30 * TICK_US, tick_us=TICK_US)


def tick(number: int) -> int:
    return START_US + number * TICK_US


def shown_log(*, latency_us: int = 20_000, without: range = range(0), last: int = 40) -> ShownLog:
    """A call whose pictures begin 60 ticks before the window, shown latency_us after capture."""
    log = ShownLog()
    for number in range(-60, last):
        if number not in without:
            log.decoded(tick(number), now_us=tick(number) + 15_000, decode_us=1_500)
            log.shown(tick(number), now_us=tick(number) + latency_us)
    return log


def sent_log() -> SentLog:
    log = SentLog()
    log.codec = "AV1"
    for number in range(-60, 40):
        log.captured(tick(number))
        log.encoded(
            tick(number),
            now_us=tick(number) + 5_000,
            encode_us=5_000,
            cpu_us=4_000,
            bits=20_000,
            quantizer=30,
            key=number == 3,
        )
    return log


def test_a_smooth_call_counts_each_picture_of_the_window() -> None:
    figures = shown_log().summary(WINDOW, now_us=tick(41))
    assert (figures["decoded"], figures["shown"]) == (30, 30)
    assert (figures["freeze_count"], figures["freeze_s"]) == (0, 0.0)
    assert figures["latency_ms"] == {"p50": 20.0, "p95": 20.0}
    assert figures["decode_ms"] == {"p50": 1.5, "p95": 1.5}


def test_a_gap_in_the_window_is_one_freeze_of_its_length() -> None:
    figures = shown_log(without=range(10, 20)).summary(WINDOW, now_us=tick(41))
    assert figures["shown"] == 20
    assert figures["freeze_count"] == 1
    assert abs(figures["freeze_s"] - 11 * TICK_US / 1e6) < 0.001


def test_a_gap_before_the_window_is_not_its_freeze() -> None:
    figures = shown_log(without=range(-30, -15)).summary(WINDOW, now_us=tick(41))
    assert (figures["shown"], figures["freeze_count"]) == (30, 0)


def test_pictures_that_never_come_back_are_a_freeze_that_stands() -> None:
    figures = shown_log(last=15).summary(WINDOW, now_us=tick(45))
    assert (figures["shown"], figures["freeze_count"]) == (15, 1)
    assert abs(figures["freeze_s"] - 31 * TICK_US / 1e6) < 0.05


def test_offset_is_positive_when_the_picture_is_later_than_its_sound() -> None:
    log = ShownLog()
    for number in range(50):
        sound_us = START_US + number * 20_000
        log.audio.arrived(sound_us + 30_000, capture_us=sound_us, length_us=20_000)
        log.shown(sound_us - 50_000, now_us=sound_us + 35_000)
    assert log.summary(WINDOW, now_us=tick(40))["av_offset_ms"] == {"p50": 55.0, "p95": 55.0}


def test_sent_figures_are_of_the_window() -> None:
    figures = sent_log().summary(WINDOW)
    assert (figures["captured"], figures["encoded"], figures["key_frames"]) == (30, 30, 1)
    assert 599 < figures["kbps"] < 601
    assert figures["quantizer_mean"] == 30.0
    assert figures["encode_ms"] == {"p50": 5.0, "p95": 5.0}


def test_an_empty_window_has_no_figures_but_no_error() -> None:
    empty = Window(start_us=START_US, end_us=START_US, tick_us=0)
    assert SentLog().summary(empty)["kbps"] == 0.0
    assert ShownLog().summary(empty, now_us=START_US)["latency_ms"]["p50"] is None


def test_live_figures_are_of_the_last_second() -> None:
    now_us = tick(39) + 25_000
    live = shown_log().live(now_us)
    assert 29 <= live["fps"] <= 31
    assert live["latency_ms"]["p50"] == 20.0
    assert 580 < sent_log().live(now_us)["kbps"] < 620


def test_a_direction_joins_what_both_ends_measured() -> None:
    sent: dict[str, Any] = sent_log().summary(WINDOW)
    shown: dict[str, Any] = shown_log().summary(WINDOW, now_us=tick(41))
    direction = direction_figures("A", "B", sent=sent, shown=shown)
    required = (
        "from to codec width height captured encoded decoded shown freeze_count freeze_s latency_ms "
        "av_offset_ms kbps encode_ms decode_ms"
    )
    assert set(required.split()) <= direction.keys()
    assert (direction["from"], direction["to"]) == ("A", "B")
