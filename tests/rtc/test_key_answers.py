from __future__ import annotations

import pytest

from codecpilot.rtc.key_answers import MIN_KEY_INTERVAL_US, KeyAnswers
from codecpilot.rtc.rtp.rtcp import FullIntraRequest

SSRC = 7


def _fir(*requests: tuple[int, int]) -> FullIntraRequest:
    return FullIntraRequest(sender_ssrc=1, requests=requests)


def test_a_stream_begins_with_a_key_frame():
    keys = KeyAnswers()
    assert keys.wanted
    keys.sent(now_us=0)
    assert not keys.wanted


@pytest.mark.parametrize(
    ("rtt_us", "after_us", "wanted"),
    [
        (None, MIN_KEY_INTERVAL_US - 1, False),
        (None, MIN_KEY_INTERVAL_US, True),
        (500_000, 499_999, False),
        (500_000, 500_000, True),
    ],
)
def test_what_crossed_a_key_frame_on_its_way_is_answered_by_it(rtt_us, after_us, wanted):
    keys = KeyAnswers()
    keys.sent(now_us=1_000)
    keys.asked(rtt_us=rtt_us, now_us=1_000 + after_us)
    assert keys.wanted is wanted


def test_a_fir_counts_once_for_each_number_and_for_its_own_stream_alone():
    keys = KeyAnswers()
    assert keys.fir(_fir((8, 1)), ssrc=SSRC) == 0
    assert keys.fir(_fir((8, 1), (SSRC, 3)), ssrc=SSRC) == 1
    assert keys.fir(_fir((SSRC, 3)), ssrc=SSRC) == 0
    assert keys.fir(_fir((SSRC, 4)), ssrc=SSRC) == 1
