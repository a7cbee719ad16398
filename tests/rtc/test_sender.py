from __future__ import annotations

import random

import pytest

from codecpilot.codecs.errors import LocalError
from codecpilot.codecs.types import Codec
from codecpilot.ratecontrol.frame_controller import FrameController
from codecpilot.rtc.encoder_session import EncoderSession
from codecpilot.rtc.packetizer import MAX_PACKET_BYTES
from codecpilot.rtc.resilience.retransmission_budget import WINDOW_US
from codecpilot.rtc.rtp.extensions import ExtensionMap
from codecpilot.rtc.rtp.packet import parse_rtp
from codecpilot.rtc.rtp.rtcp import (
    FullIntraRequest,
    Nack,
    PictureLossIndication,
    ReceiverEstimatedMaximumBitrate,
    ReceiverReport,
    ReportBlock,
    SenderReport,
    SourceDescription,
    parse_rtcp,
)
from codecpilot.rtc.sender import MIN_TARGET_BPS, SenderCore, SenderSettings

from tests.rtc.fakes import AV1, FRAME_US, H264, IDENTITY, IDS, WALL_OFFSET_US, FakeEncoder, picture

SSRC = IDENTITY.ssrc


class Sending:
    """A sender core whose jobs are run at once."""

    def __init__(self, *, codecs=(AV1, H264), target_bps: int = 300_000) -> None:
        self.now_us = 0
        self.core = SenderCore(
            settings=SenderSettings(
                identity=IDENTITY,
                cname="a",
                codecs=codecs,
                extensions=ExtensionMap(IDS),
                target_bps=target_bps,
            ),
            rng=random.Random(1),
            now_us=0,
            wall_offset_us=WALL_OFFSET_US,
        )
        self.session = EncoderSession(
            open_encoder=lambda codec, width, height: FakeEncoder(codec),
            controller=FrameController(),
        )

    def frame(self, **size):
        """One picture through; its packets."""
        self.now_us += FRAME_US
        self.core.handle_picture(picture(self.now_us, **size))
        job = self.core.poll_encode(now_us=self.now_us)
        self.core.handle_encoded(self.session.run(job), now_us=self.now_us)
        return self.packets()

    def packets(self):
        """All that waits, in the time that the pacer takes for it."""
        packets = self.core.poll_packets(now_us=self.now_us)
        while (leaves_us := self.core.path.poll_timeout()) is not None:
            self.now_us = max(self.now_us, leaves_us)
            packets += self.core.poll_packets(now_us=self.now_us)
        return packets

    def key_of_next(self) -> bool:
        before = self.core.counters.keyFramesEncoded
        self.frame()
        return self.core.counters.keyFramesEncoded > before

    def tell(self, message, *, after_us: int = 0) -> None:
        self.now_us += after_us
        self.core.handle_rtcp(message, now_us=self.now_us)


def pli(media_ssrc: int = SSRC) -> PictureLossIndication:
    return PictureLossIndication(sender_ssrc=9, media_ssrc=media_ssrc)


def report(**fields) -> ReceiverReport:
    values = {"ssrc": SSRC, "fraction_lost": 0, "packets_lost": 0, "highest_sequence": 0}
    values |= {"jitter": 0, "last_sr": 0, "delay_since_last_sr": 0} | fields
    return ReceiverReport(ssrc=9, reports=(ReportBlock(**values),))


def test_a_picture_that_waits_is_dropped_for_a_newer_one():
    sending = Sending()
    core = sending.core
    core.handle_picture(picture(1))
    busy = core.poll_encode(now_us=1)
    for time_us in (2, 3, 4):
        core.handle_picture(picture(time_us))
    assert core.poll_encode(now_us=4) is None
    core.handle_encoded(sending.session.run(busy), now_us=5)
    assert core.poll_encode(now_us=5).picture.capture_us == 4
    assert (core.counters.framesCaptured, core.counters.framesDropped) == (4, 2)


def test_an_encoder_that_fails_costs_one_picture():
    sending = Sending()
    sending.core.handle_picture(picture(1))
    assert sending.core.poll_encode(now_us=1) is not None
    sending.core.handle_encoded(None, now_us=2)
    assert sending.key_of_next()


def test_packets_fit_and_the_last_one_is_marked():
    sending = Sending(target_bps=2_000_000)
    packets = sending.frame()
    assert [p.marker for p in packets] == [False] * (len(packets) - 1) + [True]
    assert all(len(p.serialize()) <= MAX_PACKET_BYTES for p in packets)
    numbers = [p.sequence_number for p in packets + sending.frame()]
    assert numbers == [(IDENTITY.first_sequence + i) & 0xFFFF for i in range(len(numbers))]


def test_a_request_makes_one_key_frame_and_those_that_crossed_it_none():
    sending = Sending()
    assert sending.key_of_next()
    assert not sending.key_of_next()
    sending.tell(pli(), after_us=300_000)
    sending.tell(pli())
    assert sending.key_of_next()
    sending.tell(pli())
    assert not sending.key_of_next()
    sending.tell(pli(), after_us=300_000)
    assert sending.key_of_next()


def test_a_repeated_fir_is_the_same_request():
    sending = Sending()
    sending.frame()
    for number, expected in ((7, True), (7, False), (8, True)):
        sending.tell(FullIntraRequest(sender_ssrc=9, requests=((SSRC, number),)), after_us=300_000)
        assert sending.key_of_next() is expected
    assert sending.core.counters.firCount == 2


def test_feedback_for_other_streams_changes_nothing():
    sending = Sending()
    packets = sending.frame()
    sending.tell(pli(media_ssrc=5), after_us=300_000)
    sending.tell(FullIntraRequest(sender_ssrc=9, requests=((5, 1),)))
    sending.tell(Nack(sender_ssrc=9, media_ssrc=5, lost=(packets[0].sequence_number,)))
    sending.tell(ReceiverEstimatedMaximumBitrate(sender_ssrc=9, bitrate_bps=20_000, ssrcs=(5,)))
    assert not sending.key_of_next()
    assert sending.core.counters.retransmittedPacketsSent == 0
    assert sending.core.target_bps == 300_000


def test_a_remb_holds_the_rate_down_and_lets_it_up_again_but_not_over_the_limit():
    sending = Sending()
    for bps, expected in ((120_000, 120_000), (900_000, 300_000), (5, MIN_TARGET_BPS)):
        remb = ReceiverEstimatedMaximumBitrate(sender_ssrc=9, bitrate_bps=bps, ssrcs=(SSRC,))
        # Until what left before has drained at the new rate.
        sending.tell(remb, after_us=1_000_000)
        assert sending.core.target_bps == expected
        sending.core.handle_picture(picture(sending.now_us))
        job = sending.core.poll_encode(now_us=sending.now_us)
        assert job.target_bps == expected
        sending.core.handle_encoded(sending.session.run(job), now_us=sending.now_us)
        sending.packets()


def test_a_retransmission_carries_the_packet_on_the_rtx_stream_once_a_round_trip():
    sending = Sending()
    original = sending.frame()[-1]
    lost = Nack(sender_ssrc=9, media_ssrc=SSRC, lost=(original.sequence_number,) * 3)
    sending.tell(lost)
    sending.tell(lost)
    (again,) = sending.packets()
    assert again.ssrc == IDENTITY.rtx_ssrc
    assert again.payload_type == AV1.rtx_payload_type
    assert again.payload == original.sequence_number.to_bytes(2, "big") + original.payload
    assert again.timestamp == original.timestamp
    sending.tell(lost, after_us=100_000)
    assert len(sending.packets()) == 1


def test_a_nack_for_packets_never_sent_sends_nothing():
    sending = Sending()
    sending.frame()
    sending.tell(Nack(sender_ssrc=9, media_ssrc=SSRC, lost=tuple(range(2000))))
    assert sending.packets() == []


def test_reports_carry_the_timestamp_of_their_own_time():
    sending = Sending()
    sending.frame()
    sending.now_us = sending.core.poll_timeout()
    (data,) = sending.core.poll_rtcp(now_us=sending.now_us)
    sender_report, names = parse_rtcp(data)
    assert isinstance(sender_report, SenderReport)
    assert isinstance(names, SourceDescription)
    expected = (IDENTITY.first_timestamp + sending.now_us * 9 // 100) & 0xFFFFFFFF
    assert sender_report.rtp_timestamp == expected
    assert sender_report.packet_count == sending.core.counters.packetsSent
    assert sending.core.poll_rtcp(now_us=sending.now_us) == []
    assert 400_000 <= sending.core.poll_timeout() - sending.now_us <= 1_600_000


def test_the_round_trip_is_the_answer_s_time_less_the_peer_s_delay():
    sending = Sending()
    sending.frame()
    sending.now_us = sending.core.poll_timeout()
    (data,) = sending.core.poll_rtcp(now_us=sending.now_us)
    middle = parse_rtcp(data)[0].ntp_timestamp >> 16 & 0xFFFFFFFF
    sending.tell(report(last_sr=middle, delay_since_last_sr=1 << 15), after_us=560_000)
    assert 59_900 <= sending.core.rtt_us <= 60_100
    # An echo of a report that was never sent, and one that claims more delay than passed.
    sending.tell(report(last_sr=middle ^ 1))
    sending.tell(report(last_sr=middle, delay_since_last_sr=1 << 20))
    assert 59_900 <= sending.core.rtt_us <= 60_100


def test_a_round_trip_of_seconds_is_told_too():
    sending = Sending()
    sending.frame()
    echoes = []
    for _ in range(40):
        sending.now_us = sending.core.poll_timeout()
        for data in sending.core.poll_rtcp(now_us=sending.now_us):
            middle = parse_rtcp(data)[0].ntp_timestamp >> 16 & 0xFFFFFFFF
            echoes.append((sending.now_us, middle))
        while echoes and sending.now_us - echoes[0][0] >= 4_000_000:
            sending.tell(report(last_sr=echoes.pop(0)[1]))
    assert sending.core.rtt_us is not None
    assert 4_000_000 <= sending.core.rtt_us <= 5_600_000


def test_a_change_of_picture_size_begins_with_a_key_frame():
    sending = Sending()
    sending.frame()
    sending.frame(width=32, height=32)
    assert sending.core.counters.keyFramesEncoded == 2
    assert (sending.core.counters.frameWidth, sending.core.counters.frameHeight) == (32, 32)


def test_a_codec_that_was_not_negotiated_is_refused():
    sending = Sending(codecs=(AV1,))
    with pytest.raises(LocalError, match="H264 was not negotiated, only AV1"):
        sending.core.set_codec(Codec.H264)


@pytest.mark.parametrize("target_bps", [0, -1, MIN_TARGET_BPS - 1])
def test_a_rate_that_no_call_can_run_at_is_refused(target_bps):
    with pytest.raises(LocalError, match=str(MIN_TARGET_BPS)):
        Sending(target_bps=target_bps)
    with pytest.raises(LocalError, match=str(MIN_TARGET_BPS)):
        Sending().core.set_target(target_bps)


def test_every_packet_says_when_it_was_sent_and_the_first_when_it_was_captured():
    sending = Sending(target_bps=2_000_000)
    packets = [parse_rtp(p.serialize()) for p in sending.frame()]
    values = [ExtensionMap(IDS).unpack(p) for p in packets]
    assert all(v.abs_send_time is not None and v.mid == "0" for v in values)
    assert [v.abs_capture_time is not None for v in values] == [True] + [False] * (len(values) - 1)
    assert all(v.dependency_descriptor for v in values)


def test_a_flood_of_nacks_is_answered_at_the_target_rate():
    sending = Sending()
    for _ in range(60):
        newest = sending.frame()[-1].sequence_number
    some = Nack(sender_ssrc=9, media_ssrc=SSRC, lost=tuple(range(newest - 4, newest + 1)))
    sent_bytes, started_us = 0, sending.now_us
    # A round trip that the peer's reports told to be next to nothing.
    sending.core._reports._rtt_us = 0
    while sending.now_us - started_us < 4 * WINDOW_US:
        sending.tell(some, after_us=2_000)
        sent_bytes += sum(len(p.payload) for p in sending.packets())
    # A window's worth at once, and as much again in each window's time.
    window_bytes = sending.core.target_bps * WINDOW_US // 1_000_000 // 8
    assert 4 * window_bytes < sent_bytes <= 5 * window_bytes + 10_000
    assert sending.core.counters.retransmittedBytesSent == sent_bytes
    assert not sending.key_of_next()


def test_more_losses_than_the_path_repairs_within_the_bound_are_answered_by_a_key_frame():
    sending = Sending()
    for _ in range(30):
        newest = sending.frame()[-1].sequence_number
    everything = Nack(sender_ssrc=9, media_ssrc=SSRC, lost=tuple(range(1 << 16)))
    sending.tell(everything)
    assert sending.packets() == []
    assert sending.key_of_next()
    # What the key frame made useless is not repaired, and the request that crossed it on its way is answered.
    sending.tell(Nack(sender_ssrc=9, media_ssrc=SSRC, lost=(newest,)))
    assert sending.packets() == []
    assert not sending.key_of_next()


def test_a_flood_of_requests_makes_a_key_frame_every_300_ms_and_no_more():
    sending = Sending()
    for _ in range(30):
        sending.tell(pli())
        sending.frame()
    # One second: at the start, and at the first picture after 300, 600 and 900 ms.
    assert 3 <= sending.core.counters.keyFramesEncoded <= 4
