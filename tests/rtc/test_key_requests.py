from __future__ import annotations

from codecpilot.rtc.key_requests import MIN_INTERVAL_US, MIN_STALL_US, KeyRequests

RTT_US = 40_000


def polled(requests: KeyRequests, until_us: int, *, rtt_us: int = RTT_US) -> list[int]:
    out = []
    for now_us in range(0, until_us, 10_000):
        if requests.poll(now_us=now_us, rtt_us=rtt_us):
            out.append(now_us)
    return out


def test_without_need_nothing_is_asked():
    assert polled(KeyRequests(), 5_000_000) == []


def test_what_only_a_key_frame_heals_is_asked_at_once_and_again_until_it_comes():
    requests = KeyRequests()
    requests.require()
    assert polled(requests, 500_000) == [0, MIN_INTERVAL_US, 2 * MIN_INTERVAL_US]
    requests.progressed(key=False)
    assert requests.poll_timeout(rtt_us=RTT_US) is not None
    requests.progressed(key=True)
    assert requests.poll_timeout(rtt_us=RTT_US) is None


def test_a_stall_is_left_to_retransmission_first():
    requests = KeyRequests()
    requests.blocked(now_us=0)
    requests.blocked(now_us=100_000)
    assert polled(requests, MIN_STALL_US + 50_000) == [MIN_STALL_US]


def test_long_paths_get_longer():
    requests = KeyRequests()
    requests.blocked(now_us=0)
    assert polled(requests, 1_600_000, rtt_us=300_000) == [900_000, 1_500_000]


def test_progress_ends_a_stall():
    requests = KeyRequests()
    requests.blocked(now_us=0)
    requests.progressed(key=False)
    assert polled(requests, 3_000_000) == []
