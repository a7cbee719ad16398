from __future__ import annotations

import random

from codecpilot.rtc.delay_rise import DelayRise
from codecpilot.rtc.rtp.extensions import abs_send_time

PACKET_US = 20_000


def rises(delays_us: list[int], *, start_us: int = 0, rise: DelayRise | None = None) -> list[bool]:
    rise = rise or DelayRise()
    return [
        rise.add(abs_send_time(sent_us), arrival_us=sent_us + delay_us + 7_777)
        for delay_us, sent_us in zip(
            delays_us,
            range(start_us, start_us + len(delays_us) * PACKET_US, PACKET_US),
            strict=True,
        )
    ]


def test_a_queue_alarms_from_15_ms_on_and_while_it_grows():
    assert rises([0, 0, 14_000, 15_100, 30_000, 30_000 - 10, 45_000]) == [
        *[False] * 3,
        True,
        True,
        False,
        True,
    ]


def test_a_queue_that_stands_or_drains_does_not_alarm_again():
    delays = [0, 40_000, *[39_000] * 40, *range(39_000, 0, -1000)]
    assert sum(rises(delays)) == 1


def test_delays_that_come_with_every_frame_alarm_once_a_second_at_most():
    frame = [0, 20_000, 35_000]
    alarms = rises(frame * 100)
    assert 1 <= sum(alarms[:3]) <= 2
    assert sum(alarms) <= 2 + 6, "6 s went by"


def test_jitter_alarms_about_once_a_second():
    rng = random.Random(1)
    assert 1 <= sum(rises([rng.randint(0, 30_000) for _ in range(500)])) <= 2.5 * 10


def test_a_clock_that_drifts_does_not_alarm():
    drifting = [index * PACKET_US // 5_000 for index in range(3_000)]  # 200 ppm over a minute
    assert not any(rises(drifting))


def test_the_wrap_of_send_times_does_not_alarm():
    assert not any(rises([100] * 50, start_us=64_000_000 - 25 * PACKET_US))


def test_memory_is_bounded_whatever_is_sent():
    rise = DelayRise()
    for index in range(60_000):
        # Ever longer delays keep every value of the window alive.
        rise.add(abs_send_time(index * 5), arrival_us=index * 10)
    assert len(rise._base._values) <= 1_001
    assert len(rise._longest._values) <= 101
