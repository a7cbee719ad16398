from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from codecpilot.ratecontrol.bandwidth.arrival_groups import ArrivalGroups, GroupDelta


def feed(groups: ArrivalGroups, *packets: tuple[int, int]) -> list[GroupDelta | None]:
    """Packets as (sent, arrival) in ms; feedback comes as they arrive."""
    return [
        groups.handle_arrival(
            sent_us=sent * 1000, arrival_us=arrival * 1000, now_us=1_000_000 + arrival * 1000
        )
        for sent, arrival in packets
    ]


def test_packets_sent_within_five_ms_are_one_group() -> None:
    deltas = feed(ArrivalGroups(), (0, 50), (5, 58), (20, 70), (24, 79), (40, 95))
    assert deltas[:4] == [None] * 4
    assert deltas[4] == GroupDelta(send_delta_us=19_000, arrival_delta_us=21_000, arrival_us=79_000)
    assert deltas[4].delay_delta_us == 2_000


def test_packets_that_leave_a_buffer_together_are_one_group() -> None:
    # Sent every 10 ms, they arrive 1 ms apart: the link was away and came back.
    deltas = feed(ArrivalGroups(), (0, 30), (10, 100), (20, 101), (30, 102), (50, 120), (70, 140))
    assert [delta is not None for delta in deltas] == [False, False, False, False, True, True]
    assert deltas[4] == GroupDelta(
        send_delta_us=30_000, arrival_delta_us=72_000, arrival_us=102_000
    )


def test_a_burst_ends_after_a_tenth_of_a_second() -> None:
    packets = [(10 * i, 1000 + 4 * i) for i in range(40)]
    deltas = [d for d in feed(ArrivalGroups(), *packets) if d is not None]
    assert len(deltas) == 0
    # The second begins with the 26th packet, 100 ms after the first one's arrival.
    deltas = [d for d in feed(ArrivalGroups(), *packets, (600, 1300), (620, 1320)) if d is not None]
    assert [d.send_delta_us for d in deltas] == [150_000, 210_000]


def test_a_packet_sent_before_the_group_is_passed_over() -> None:
    groups = ArrivalGroups()
    feed(groups, (0, 50), (20, 70), (40, 90))
    assert feed(groups, (10, 95)) == [None]
    (delta,) = feed(groups, (60, 110))
    assert delta == GroupDelta(send_delta_us=20_000, arrival_delta_us=20_000, arrival_us=90_000)


def test_a_group_that_arrives_before_the_last_gives_no_delta_but_the_next_does() -> None:
    deltas = feed(ArrivalGroups(), (0, 500), (20, 70), (40, 90), (60, 110))
    assert [delta is not None for delta in deltas] == [False, False, False, True]


def test_a_receiver_clock_that_jumps_ahead_gives_no_delta() -> None:
    groups = ArrivalGroups()
    feed(groups, (0, 50), (20, 70))
    jumped = groups.handle_arrival(sent_us=40_000, arrival_us=9_000_000, now_us=1_090_000)
    after = groups.handle_arrival(sent_us=60_000, arrival_us=9_020_000, now_us=1_110_000)
    last = groups.handle_arrival(sent_us=80_000, arrival_us=9_040_000, now_us=1_130_000)
    assert jumped is not None
    assert jumped.delay_delta_us == 0
    assert after is None
    assert last is not None
    assert last.delay_delta_us == 0


times = st.integers(min_value=-(2**40), max_value=2**40)


@given(st.lists(st.tuples(st.integers(min_value=0, max_value=10**9), times), max_size=60))
def test_whatever_arrives_deltas_are_forward_and_believable(packets: list[tuple[int, int]]) -> None:
    groups = ArrivalGroups()
    for now_us, (sent_us, arrival_us) in enumerate(packets):
        delta = groups.handle_arrival(sent_us=sent_us, arrival_us=arrival_us, now_us=now_us)
        if delta is not None:
            assert delta.send_delta_us >= 0
            assert 0 <= delta.arrival_delta_us < 3_000_060
