"""Transport-wide feedback on the wire, and how arrivals become feedback."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError, RemoteError
from codecpilot.rtc.rtp.rtcp import TransportFeedback, parse_rtcp, serialize_rtcp
from codecpilot.rtc.rtp.rtcp_transport_feedback import (
    MAX_ARRIVALS,
    MAX_STATUSES,
    transport_feedbacks,
)

deltas = st.integers(0, 255) | st.integers(-(1 << 15), (1 << 15) - 1)
feedbacks = st.builds(
    TransportFeedback,
    sender_ssrc=st.integers(0, 0xFFFFFFFF),
    media_ssrc=st.integers(0, 0xFFFFFFFF),
    base_sequence=st.integers(0, 0xFFFF),
    reference_time=st.integers(0, 0xFFFFFF),
    feedback_count=st.integers(0, 255),
    statuses=st.lists(st.none() | deltas, min_size=1, max_size=60).map(tuple),
)
arrival_lists = st.dictionaries(
    st.integers(-70_000, 70_000).map(lambda n: n // 40),
    st.integers(0, 30_000_000) | st.integers(0, 20_000_000_000_000),
    max_size=40,
).map(lambda arrivals: sorted(arrivals.items()))


def feedback(*statuses: int | None) -> TransportFeedback:
    return TransportFeedback(
        sender_ssrc=1,
        media_ssrc=2,
        base_sequence=0x0102,
        reference_time=0x010203,
        feedback_count=7,
        statuses=statuses,
    )


FIXED = "00000001" + "00000002" + "0102" + "{:04x}" + "010203" + "07"


@pytest.mark.parametrize(
    ("statuses", "wire"),
    [
        # Two bits a symbol: 11 01 00 01 10 10 00 00; deltas of 1 ms, 250 us, 75 ms, -500 us.
        ((4, None, 1, 300, -2), "8fcd0006" + FIXED.format(5) + "d1a0" + "04" + "01" + "012cfffe"),
        # One bit a symbol: 1 0 10101010101010; seven deltas and three bytes of padding.
        ((1, None) * 7, "afcd0007" + FIXED.format(14) + "aaaa" + "01" * 7 + "000003"),
        # A run of three small deltas, and padding.
        ((0, 255, 128), "afcd0006" + FIXED.format(3) + "2003" + "00ff80" + "000003"),
        # A run of three large ones.
        ((256, -32768, 32767), "8fcd0006" + FIXED.format(3) + "4003" + "010080007fff"),
        # Nothing arrived.
        ((None,) * 9, "afcd0005" + FIXED.format(9) + "0009" + "0002"),
    ],
)
def test_known_bytes(statuses: tuple[int | None, ...], wire: str) -> None:
    message = feedback(*statuses)
    assert serialize_rtcp([message]).hex() == wire
    assert parse_rtcp(bytes.fromhex(wire)) == [message]


@pytest.mark.parametrize("padding", ["000000", "01", "000002", "00000003", "ffffff"])
def test_what_follows_the_last_delta_is_ignored(padding: str) -> None:
    body = bytes.fromhex(FIXED.format(1) + "2001" + "05" + padding)
    body += bytes(-len(body) % 4)
    wire = bytes((0x8F, 205, 0, len(body) // 4)) + body
    assert parse_rtcp(wire) == [feedback(5)]


@pytest.mark.parametrize(
    "body",
    [
        "00000001" + "00000002" + "01020001",  # the fixed part is truncated
        FIXED.format(0) + "20010500",  # speaks of no packet
        FIXED.format(1),  # no chunk
        FIXED.format(3) + "20010500",  # chunks for one packet of three
        FIXED.format(3) + "20030505",  # deltas for two packets of three
        FIXED.format(1) + "40010000"[:4],  # a large delta is missing
        FIXED.format(1) + "60010000",  # the reserved symbol
        FIXED.format(MAX_STATUSES + 1) + "1fff0002",  # more packets than anyone remembers
        FIXED.format(0xFFFF) + "1fff" * 8 + "0007" + "0000",
    ],
)
def test_malformed_feedback_is_refused(body: str) -> None:
    padded = bytes.fromhex(body)
    count = -len(padded) % 4
    padded += bytes(count - 1) + bytes((count,)) if count else b""
    first = 0x8F | (count > 0) << 5
    with pytest.raises(RemoteError):
        parse_rtcp(bytes((first, 205, 0, len(padded) // 4)) + padded)


@pytest.mark.parametrize(
    "message",
    [
        feedback(),
        feedback(32768),
        feedback(-32769),
        feedback(*(None,) * (MAX_STATUSES + 1)),
        TransportFeedback(
            sender_ssrc=1,
            media_ssrc=2,
            base_sequence=1 << 16,
            reference_time=0,
            feedback_count=0,
            statuses=(1,),
        ),
        TransportFeedback(
            sender_ssrc=1,
            media_ssrc=2,
            base_sequence=0,
            reference_time=1 << 24,
            feedback_count=0,
            statuses=(1,),
        ),
        TransportFeedback(
            sender_ssrc=1,
            media_ssrc=2,
            base_sequence=0,
            reference_time=0,
            feedback_count=256,
            statuses=(1,),
        ),
    ],
)
def test_what_the_wire_cannot_carry_is_a_local_error(message: TransportFeedback) -> None:
    with pytest.raises(LocalError):
        serialize_rtcp([message])


@given(feedbacks)
def test_any_feedback_survives_the_wire(message: TransportFeedback) -> None:
    wire = serialize_rtcp([message])
    assert len(wire) % 4 == 0
    assert parse_rtcp(wire) == [message]


@given(feedbacks, st.data())
def test_damaged_feedback_parses_or_raises_remote_error(
    message: TransportFeedback, data: st.DataObject
) -> None:
    wire = bytearray(serialize_rtcp([message]))
    for _ in range(data.draw(st.integers(1, 4))):
        wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(RemoteError):
        parse_rtcp(bytes(wire[: data.draw(st.integers(0, len(wire)))]))


def build(arrivals: list[tuple[int, int]], *, base_number: int = 0) -> list[TransportFeedback]:
    return transport_feedbacks(
        arrivals, base_number=base_number, feedback_count=254, sender_ssrc=1, media_ssrc=2
    )


def told(messages: list[TransportFeedback], *, base_number: int) -> dict[int, int | None]:
    """Number to arrival in steps of 250 us, as a reader that knows nothing else finds them."""
    found: dict[int, int | None] = {}
    number = base_number
    for message in messages:
        assert message.base_sequence == number & 0xFFFF
        step = message.reference_time * 256
        for status in message.statuses:
            step += status or 0
            found[number] = None if status is None else step
            number += 1
    return found


def test_arrivals_become_steps_of_250_us_after_a_multiple_of_64_ms() -> None:
    (message,) = build([(0, 640_000), (1, 641_249), (3, 641_251), (4, 640_500)])
    assert (message.base_sequence, message.reference_time) == (0, 10)
    assert message.statuses == (0, 4, None, 1, -3)


def test_rounding_errors_do_not_add_up() -> None:
    messages = build([(n, n * 1_100) for n in range(150)])
    assert told(messages, base_number=0)[149] == 149 * 1_100 // 250


def test_a_feedback_begins_with_what_is_missing_before_its_first_arrival() -> None:
    (message,) = build([(65_537, 64_000)], base_number=65_535)
    assert message.base_sequence == 65_535
    assert message.statuses == (None, None, 0)


@pytest.mark.parametrize(
    ("gap_us", "parts"), [(32_767 * 250, 1), (32_768 * 250, 2), (-32_768 * 250, 1)]
)
def test_a_delta_beyond_16_bits_begins_another_feedback(gap_us: int, parts: int) -> None:
    arrivals = [(0, 64_000_000), (3, 64_000_000 + gap_us), (4, 64_000_000 + gap_us)]
    messages = build(arrivals)
    assert len(messages) == parts
    assert [m.feedback_count for m in messages] == [254, 255, 0][:parts]
    assert told(messages, base_number=0)[4] == (64_000_000 + gap_us) // 250
    assert sum(len(m.statuses) for m in messages) == 5


def test_many_arrivals_make_several_feedbacks_that_each_fit_a_datagram() -> None:
    # The worst: all alone between missing ones, each delta large.
    arrivals = [(20 * n, 1_000_000 + 70_000 * n) for n in range(2 * MAX_ARRIVALS + 1)]
    messages = build(arrivals)
    assert [m.feedback_count for m in messages] == [254, 255, 0]
    sizes = [len(serialize_rtcp([m])) for m in messages]
    assert 1_000 < max(sizes) <= 1_250
    found = told(messages, base_number=0)
    assert {n: s for n, s in found.items() if s is not None} == {n: us // 250 for n, us in arrivals}


@given(arrival_lists, st.integers(0, 10))
def test_feedback_tells_every_arrival_and_every_gap(
    arrivals: list[tuple[int, int]], before: int
) -> None:
    base_number = (arrivals[0][0] if arrivals else 0) - before
    messages = build(arrivals, base_number=base_number)
    for message in messages:
        assert parse_rtcp(serialize_rtcp([message])) == [message]
    found = told(messages, base_number=base_number)
    period = 256 << 24
    assert {n: s % period for n, s in found.items() if s is not None} == {
        n: us // 250 % period for n, us in arrivals
    }
    last = arrivals[-1][0] if arrivals else base_number - 1
    assert list(found) == list(range(base_number, last + 1))
