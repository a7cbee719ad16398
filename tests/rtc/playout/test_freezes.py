from __future__ import annotations

from codecpilot.rtc.playout.freezes import FreezeDetector

FRAME_US = 33_333


def shown(detector: FreezeDetector, times_us: list[int]) -> None:
    for time_us in times_us:
        detector.shown(time_us)


def steady(count: int, *, start_us: int = 0) -> list[int]:
    return [start_us + i * FRAME_US for i in range(count)]


def test_steady_pictures_are_no_freeze():
    detector = FreezeDetector()
    shown(detector, steady(100))
    assert (detector.count, detector.total_us) == (0, 0)


def test_a_gap_over_mean_plus_150_ms_is_one_freeze_of_its_whole_length():
    # At 30 fps 3 x mean is 100 ms, so mean + 150 ms = 183.3 ms decides.
    for gap_us, expected in ((183_000, 0), (184_000, 1)):
        detector = FreezeDetector()
        times = steady(31)
        shown(detector, [*times, times[-1] + gap_us])
        assert detector.count == expected
        assert detector.total_us == expected * gap_us


def test_at_low_frame_rates_three_times_the_mean_decides():
    # At 5 fps the mean is 200 ms: 350 ms is no freeze, 601 ms is.
    for gap_us, expected in ((599_000, 0), (601_000, 1)):
        detector = FreezeDetector()
        times = [i * 200_000 for i in range(20)]
        shown(detector, [*times, times[-1] + gap_us])
        assert detector.count == expected


def test_the_first_pictures_of_a_stream_cannot_freeze():
    detector = FreezeDetector()
    shown(detector, [0, 500_000, 1_000_000])
    assert detector.count == 0


def test_a_freeze_that_goes_on_is_told_apart_from_one_that_ended():
    detector = FreezeDetector()
    times = steady(31)
    shown(detector, times)
    assert detector.standing_us(times[-1] + 100_000) == 0
    assert detector.standing_us(times[-1] + 2_000_000) == 2_000_000
    assert detector.count == 0
