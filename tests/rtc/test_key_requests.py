from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.rtc.key_requests import (
    MIN_INTERVAL_US,
    MIN_REFERENCE_INTERVAL_US,
    MIN_STALL_US,
    REFERENCE_MARGIN_US,
    REPAIR_MARGIN_US,
    KeyRequests,
    Request,
)

RTT_US = 40_000


def polled(
    requests: KeyRequests,
    until_us: int,
    *,
    rtt_us: int = RTT_US,
    has_reference: bool = False,
    kind: Request = Request.KEY,
) -> list[int]:
    out = []
    for now_us in range(0, until_us, 10_000):
        if requests.poll(now_us=now_us, rtt_us=rtt_us, has_reference=has_reference) is kind:
            out.append(now_us)
    return out


def blocked(*, missing: bool = False, wait_us: int = 0) -> KeyRequests:
    requests = KeyRequests()
    requests.blocked(now_us=0, missing=missing, wait_us=wait_us)
    return requests


def test_without_need_nothing_is_asked():
    assert polled(KeyRequests(), 5_000_000) == []


def test_what_only_a_key_frame_heals_is_asked_at_once_and_again_until_it_comes():
    requests = KeyRequests()
    requests.require()
    assert polled(requests, 500_000) == [0, MIN_INTERVAL_US, 2 * MIN_INTERVAL_US]
    requests.progressed(key=False, last_sequence=9)
    assert requests.poll_timeout(rtt_us=RTT_US) is not None
    requests.progressed(key=True, last_sequence=10)
    assert requests.poll_timeout(rtt_us=RTT_US) is None


def test_a_stall_is_left_to_retransmission_first():
    requests = blocked()
    requests.blocked(now_us=100_000)
    assert polled(requests, MIN_STALL_US + 50_000) == [MIN_STALL_US]


def test_long_paths_get_longer():
    assert polled(blocked(missing=True), 1_600_000, rtt_us=300_000) == [900_000, 1_500_000]


def test_progress_ends_a_stall():
    requests = blocked(missing=True)
    requests.progressed(key=False, last_sequence=9)
    for has_reference in (False, True):
        assert polled(requests, 3_000_000, has_reference=has_reference) == []


def test_with_a_reference_what_is_lost_is_asked_for_by_it_once_a_round_trip():
    times = polled(
        blocked(missing=True), 220_000, has_reference=True, kind=Request.REFERENCE, rtt_us=RTT_US
    )
    assert times == [RTT_US + REPAIR_MARGIN_US + i * RTT_US for i in range(4)]


def test_no_shorter_round_trip_than_a_frame_interval_counts():
    times = polled(
        blocked(missing=True), 120_000, has_reference=True, kind=Request.REFERENCE, rtt_us=1_000
    )
    assert 2 <= len(times) <= 120_000 // MIN_REFERENCE_INTERVAL_US
    assert all(b - a >= MIN_REFERENCE_INTERVAL_US for a, b in pairwise(times))


def test_a_key_frame_is_asked_for_when_the_reference_was_not_answered():
    first = RTT_US + REPAIR_MARGIN_US
    due = first + 2 * RTT_US + REFERENCE_MARGIN_US
    assert polled(blocked(missing=True), due + 250_000, has_reference=True) == [
        due,
        due + MIN_INTERVAL_US,
    ]


def test_what_fec_may_still_give_back_is_waited_for():
    times = polled(
        blocked(missing=True, wait_us=60_000), 150_000, has_reference=True, kind=Request.REFERENCE
    )
    assert times == [60_000 + RTT_US + REPAIR_MARGIN_US]


def test_what_is_still_arriving_is_no_loss_but_a_key_frame_is_asked_for_in_the_end():
    assert polled(blocked(), 240_000, has_reference=True, kind=Request.REFERENCE) == []
    assert polled(blocked(), MIN_STALL_US + 50_000, has_reference=True) == [MIN_STALL_US]


def test_what_will_not_be_repaired_is_not_waited_for():
    for has_reference, kind in ((True, Request.REFERENCE), (False, Request.KEY)):
        requests = blocked(missing=True)
        requests.gave_up(100)
        assert polled(requests, 30_000, has_reference=has_reference, kind=kind) == [0]


def test_a_frame_before_what_was_given_up_does_not_make_it_repairable():
    requests = KeyRequests()
    requests.gave_up(100)
    requests.progressed(key=False, last_sequence=99)
    requests.blocked(now_us=0, missing=True)
    assert requests.poll_timeout(rtt_us=RTT_US, has_reference=True) == 0
    requests.progressed(key=True, last_sequence=101)
    requests.blocked(now_us=0, missing=True)
    assert requests.poll_timeout(rtt_us=RTT_US, has_reference=True) == RTT_US + REPAIR_MARGIN_US


def test_a_decoder_that_failed_has_no_reference_to_go_on_from():
    requests = blocked(missing=True)
    requests.require()
    assert polled(requests, 150_000, has_reference=True) == [0]
    assert polled(requests, 150_000, has_reference=True, kind=Request.REFERENCE) == []


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["require", "blocked", "missing", "gave_up", "progressed", "key"]),
            st.integers(0, 50_000),
        ),
        max_size=60,
    ),
    st.booleans(),
    st.integers(0, 300_000),
)
def test_whatever_happens_requests_are_spaced_and_timers_are_true(events, has_reference, rtt_us):
    requests, now_us = KeyRequests(), 0
    asked: dict[Request, list[int]] = {Request.KEY: [], Request.REFERENCE: []}
    for name, elapsed_us in events:
        now_us += elapsed_us
        if name == "require":
            requests.require()
        elif name in ("blocked", "missing"):
            requests.blocked(now_us=now_us, missing=name == "missing")
        elif name == "gave_up":
            requests.gave_up(now_us)
        else:
            requests.progressed(key=name == "key", last_sequence=now_us)
        due_us = requests.poll_timeout(rtt_us=rtt_us, has_reference=has_reference)
        request = requests.poll(now_us=now_us, rtt_us=rtt_us, has_reference=has_reference)
        assert (request is not None) == (due_us is not None and due_us <= now_us)
        if request is not None:
            asked[request].append(now_us)
    keys, references = asked[Request.KEY], asked[Request.REFERENCE]
    assert all(b - a >= MIN_INTERVAL_US for a, b in pairwise(keys))
    assert all(b - a >= rtt_us for a, b in pairwise(references))
    assert has_reference or not references


def test_behind_asks_at_once_for_a_reference_and_again_when_no_answer_can_be_on_its_way():
    requests = KeyRequests()
    requests.behind(20_000)
    requests.behind(50_000)
    asked = polled(requests, 1_000_000, has_reference=True, kind=Request.REFERENCE)
    gap_us = 2 * RTT_US + REFERENCE_MARGIN_US
    assert asked[0] == 20_000
    assert all(gap_us <= later - earlier <= gap_us + 10_000 for earlier, later in pairwise(asked))
    assert len(asked) == 6


def test_behind_asks_for_key_frames_where_there_is_no_reference():
    requests = KeyRequests()
    requests.behind(0)
    asked = polled(requests, 1_000_000)
    gap_us = 2 * RTT_US + REFERENCE_MARGIN_US
    assert asked[0] == 0
    assert all(gap_us <= later - earlier <= gap_us + 10_000 for earlier, later in pairwise(asked))


@pytest.mark.parametrize("caught_up", [True, False])
def test_behind_asks_for_nothing_once_a_beginning_was_decoded_or_it_caught_up(caught_up):
    requests = KeyRequests()
    requests.behind(0)
    if caught_up:
        requests.behind(None)
    else:
        requests.progressed(key=True, last_sequence=5)
    assert requests.poll_timeout(rtt_us=RTT_US, has_reference=True) is None
    assert requests.poll_timeout(rtt_us=RTT_US) is None
    assert requests.poll(now_us=10**9, rtt_us=RTT_US, has_reference=True) is None


def test_frames_decoded_while_behind_do_not_put_off_or_repeat_the_request():
    requests = KeyRequests()
    requests.behind(0)
    assert requests.poll(now_us=0, rtt_us=RTT_US, has_reference=True) is Request.REFERENCE
    requests.progressed(key=False, last_sequence=5)
    assert requests.poll(now_us=50_000, rtt_us=RTT_US, has_reference=True) is None
    due_us = 2 * RTT_US + REFERENCE_MARGIN_US
    assert requests.poll_timeout(rtt_us=RTT_US, has_reference=True) == due_us
