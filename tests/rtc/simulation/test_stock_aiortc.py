"""The model of stock aiortc against aiortc itself."""

from __future__ import annotations

import random

from aiortc.jitterbuffer import JitterBuffer as TheirBuffer
from aiortc.rtcrtpreceiver import NackGenerator
from aiortc.rtp import RtpPacket as TheirPacket
from hypothesis import given, settings
from hypothesis import strategies as st

from codecpilot.rtc.rtp.packet import RtpPacket
from codecpilot.rtc.rtp.rtcp import Nack, salvage_rtcp
from codecpilot.rtc.simulation.stock_receiver import JitterBuffer, StockReceiver

from tests.rtc.fakes import H264

FIRST = 1000


@st.composite
def arrivals(draw):
    """Numbers in rough order with gaps, some late, some twice, some far ahead."""
    numbers, at = [], FIRST
    for _ in range(draw(st.integers(1, 60))):
        at += draw(st.sampled_from([1, 1, 1, 1, 2, 5, 40, 300, 600]))
        numbers.append(at + draw(st.sampled_from([0, 0, 0, -1, -2, -30, -120])))
    return [max(FIRST, n) for n in numbers]


@settings(max_examples=200)
@given(arrivals(), st.integers(1, 5))
def test_the_jitter_buffer_gives_aiortcs_frames_and_plis(numbers, packets_a_frame):
    ours, theirs = JitterBuffer(), TheirBuffer(capacity=512, is_video=True)
    for number in numbers:
        timestamp = number // packets_a_frame * 3000
        their_packet = TheirPacket(sequence_number=number, timestamp=timestamp)
        their_packet._data = b"%d," % number
        their_pli, their_frame = theirs.add(their_packet)
        packet = RtpPacket(99, False, number, timestamp, 1, b"x")
        pli, frame = ours.add(number, packet)
        assert pli == their_pli
        data = b"".join(b"%d," % n for n, _ in frame)
        assert data == (their_frame.data if their_frame else b"")


@settings(max_examples=50)
@given(arrivals())
def test_nacks_name_what_aiortcs_generator_names(numbers):
    ours, theirs = stock_receiver(), NackGenerator()
    for number in numbers:
        missed = theirs.add(TheirPacket(sequence_number=number))
        ours.handle_rtp(
            RtpPacket(99, False, number, number * 3000, 1111, b"\x41x").serialize(), now_us=0
        )
        sent = [m for data in ours.drain(now_us=0).rtcp for m in salvage_rtcp(data)[0]]
        lost = [m.lost for m in sent if isinstance(m, Nack)]
        assert lost == ([tuple(sorted(theirs.missing))] if missed else [])


def stock_receiver() -> StockReceiver:
    return StockReceiver(
        ssrc=5, remote_ssrc=1111, codec=H264, estimator=None, rng=random.Random(1), now_us=0
    )
