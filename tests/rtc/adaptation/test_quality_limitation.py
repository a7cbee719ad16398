from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.rtc.adaptation.quality_limitation import QualityLimitation, QualityLimitationReason

FRAME_US = 33_333
NONE, CPU, BANDWIDTH, OTHER = QualityLimitationReason


def _captures(limitation, replaced, *, from_us):
    for index, is_replaced in enumerate(replaced):
        limitation.picture(replaced=is_replaced, now_us=from_us + index * FRAME_US)


def test_names_are_those_of_webrtc_stats():
    assert [str(reason) for reason in QualityLimitationReason] == [
        "none",
        "cpu",
        "bandwidth",
        "other",
    ]


@pytest.mark.parametrize(
    ("target_bps", "reason"), [(300_000, NONE), (290_000, NONE), (280_000, BANDWIDTH)]
)
def test_a_rate_below_the_applications_is_the_paths_limit(target_bps, reason):
    limitation = QualityLimitation(now_us=0)
    limitation.rate(target_bps, max_bps=300_000, now_us=0)
    assert limitation.reason is reason
    limitation.rate(300_000, max_bps=300_000, now_us=1)
    assert limitation.reason is NONE


def test_one_picture_replaced_now_and_then_is_no_limit_and_many_are():
    limitation = QualityLimitation(now_us=0)
    _captures(limitation, ([True] + [False] * 24) * 10, from_us=0)
    assert limitation.reason is NONE
    _captures(limitation, [True] * 4, from_us=10_000_000)
    assert limitation.reason is CPU
    _captures(limitation, [False] * 20, from_us=11_000_000)
    assert limitation.reason is CPU
    _captures(limitation, [False] * 40, from_us=12_000_000)
    assert limitation.reason is NONE


def test_every_third_picture_replaced_is_the_processors_limit_whatever_the_path():
    limitation = QualityLimitation(now_us=0)
    limitation.rate(50_000, max_bps=300_000, now_us=0)
    _captures(limitation, [True, False, False] * 30, from_us=0)
    assert limitation.reason is CPU
    _captures(limitation, [False] * 90, from_us=5_000_000)
    assert limitation.reason is BANDWIDTH


def test_durations_count_each_reason_up_to_now():
    limitation = QualityLimitation(now_us=1_000_000)
    limitation.rate(50_000, max_bps=300_000, now_us=3_000_000)
    limitation.rate(60_000, max_bps=300_000, now_us=4_000_000)
    limitation.rate(300_000, max_bps=300_000, now_us=7_000_000)
    assert limitation.durations_us(now_us=8_000_000) == {
        NONE: 3_000_000,
        CPU: 0,
        BANDWIDTH: 4_000_000,
        OTHER: 0,
    }
    assert limitation.durations_us(now_us=9_000_000)[NONE] == 4_000_000


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2_000_000),
            st.one_of(st.booleans(), st.integers(10_000, 400_000)),
        ),
        max_size=80,
    )
)
def test_durations_add_up_to_the_streams_time(steps):
    limitation, now_us = QualityLimitation(now_us=500), 500
    for elapsed_us, what in steps:
        now_us += elapsed_us
        if isinstance(what, bool):
            limitation.picture(replaced=what, now_us=now_us)
        else:
            limitation.rate(what, max_bps=300_000, now_us=now_us)
    durations_us = limitation.durations_us(now_us=now_us)
    assert sum(durations_us.values()) == now_us - 500
    assert all(value >= 0 for value in durations_us.values())


def test_sizes_that_the_source_chose_are_no_limitation():
    limitation = QualityLimitation(now_us=0)
    for size, picture in [
        ((320, 180), (640, 360)),
        ((320, 180), (640, 360)),
        ((1280, 720), (1280, 720)),
    ]:
        limitation.coded(size, picture=picture)
        assert limitation.resolution_changes == 0
    limitation.coded((640, 360), picture=(1280, 720))
    limitation.coded((640, 360), picture=(1280, 720))
    assert limitation.resolution_changes == 1
    limitation.coded((1280, 720), picture=(1280, 720))
    assert limitation.resolution_changes == 2
