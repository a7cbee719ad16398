"""libwebrtc's two loops, as a policy to compare with."""

from __future__ import annotations

from fractions import Fraction

from codecpilot.rtc.simulation.webrtc_adaptation import OveruseDetector, SpeedLadder


def speeds(ladder: SpeedLadder, used: list[float]) -> list[str]:
    made = []
    for ratio in used:
        ladder.encoded(ratio, key=False)
        made.append(ladder.preset)
    return made


def test_little_used_time_goes_to_slower_presets_one_frame_after_the_other():
    used = [0.2, 0.4, 0.6, 0.6]
    assert speeds(SpeedLadder(), used) == ["high", "best", "best", "best"]


def test_one_long_frame_is_enough_to_go_faster_and_a_key_frame_is_not():
    ladder = SpeedLadder()
    assert speeds(ladder, [0.6, 1.9]) == ["default", "low"]
    ladder = SpeedLadder()
    ladder.encoded(2.0, key=True)
    assert ladder.preset == "default"


def scales(detector: OveruseDetector, used: list[tuple[int, float]]) -> list[Fraction]:
    """Seconds of frames of a used ratio; the scale after each of them."""
    made, now_us = [], 0
    for seconds, ratio in used:
        for _ in range(seconds * 30):
            detector.encoded(ratio, now_us=now_us)
            now_us += 33_333
        made.append(detector.scale)
    return made


def test_overuse_halves_the_size_after_two_checks_of_five_seconds():
    assert scales(OveruseDetector(now_us=0), [(19, 0.9), (3, 0.9)]) == [1, Fraction(1, 2)]


def test_the_size_comes_back_after_the_ramp_up_delay_which_doubles_when_that_failed():
    detector = OveruseDetector(now_us=0)
    used = [(22, 0.9), (24, 0.1), (12, 0.9), (60, 0.1), (25, 0.1)]
    assert scales(detector, used) == [Fraction(1, 2), 1, Fraction(1, 2), Fraction(1, 2), 1]
