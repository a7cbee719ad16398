"""A path with its streams, an estimator that does as it is told, and feedback of a receiver that is not there."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from codecpilot.codecs.errors import LocalError
from codecpilot.ratecontrol.bandwidth.gcc import GccEstimator
from codecpilot.ratecontrol.bandwidth.messages import Feedback, ProbeCluster, SentPacket
from codecpilot.ratecontrol.frame_controller import FrameController
from codecpilot.ratecontrol.pacer import MAX_WAIT_US, PacketKind
from codecpilot.rtc.datagram import RTP_OVERHEAD_BYTES
from codecpilot.rtc.drain import drain_sender
from codecpilot.rtc.encoder_session import EncoderSession
from codecpilot.rtc.outgoing_packet import OutgoingPacket
from codecpilot.rtc.packetizer import StreamIdentity
from codecpilot.rtc.rtp.extensions import ExtensionMap, abs_send_time
from codecpilot.rtc.rtp.packet import RtpPacket
from codecpilot.rtc.rtp.rtcp import Nack
from codecpilot.rtc.rtp.rtcp_transport_feedback import TransportFeedback
from codecpilot.rtc.send_path import MIN_PACING_BPS, SendPath
from codecpilot.rtc.sender import MIN_TARGET_BPS, SenderCore, SenderSettings

from tests.rtc.fakes import (
    AV1,
    FRAME_US,
    IDENTITY,
    PATH_IDS,
    WALL_OFFSET_US,
    FakeEncoder,
    Pair,
    picture,
)

VALUES = ExtensionMap(PATH_IDS)
RATE = 1_000_000


class FakeEstimator:
    """Holds the rates that a test sets, and what it was told."""

    def __init__(self, target_bps: int = RATE, *, pacing_bps: int | None = None) -> None:
        self.target_bps = target_bps
        self.pacing_bps = pacing_bps or target_bps
        self.demands: list[int] = []
        self.rtts: list[int] = []
        self.sent: list[SentPacket] = []
        self.feedback: list[Feedback] = []
        self.probes: list[ProbeCluster] = []
        self.falls_at: int | None = None

    def set_demand(self, demand_bps: int, *, now_us: int) -> None:
        self.demands.append(demand_bps)

    def handle_rtt(self, rtt_us: int, *, now_us: int) -> None:
        self.rtts.append(rtt_us)

    def handle_sent(self, packet: SentPacket) -> None:
        self.sent.append(packet)

    def handle_feedback(self, feedback: Feedback) -> None:
        self.feedback.append(feedback)

    def poll(self, *, now_us: int) -> None:
        if self.falls_at is not None and now_us >= self.falls_at:
            self.target_bps, self.falls_at = self.target_bps // 4, None

    def opens_us(self, *, now_us: int) -> int | None:
        return None

    def poll_probe(self, *, now_us: int) -> ProbeCluster | None:
        return self.probes.pop(0) if self.probes else None

    def poll_timeout(self) -> int | None:
        return self.falls_at


class FakeStream:
    """A source of packets of any size."""

    in_feedback = True

    def __init__(self, ssrc: int = 1, *, has_padding: bool = True) -> None:
        self.ssrc = ssrc
        self.has_padding = has_padding
        self.expired: list[int] = []
        self.fates: list[Feedback] = []
        self.left: list[tuple[int, OutgoingPacket, int | None]] = []
        self._frame_id = 0

    def packet(
        self,
        *,
        now_us: int,
        kind: PacketKind = PacketKind.MEDIA,
        payload_bytes: int = 944,
        frame_id: int | None = None,
    ) -> OutgoingPacket:
        if frame_id is None:
            self._frame_id += 1
            frame_id = self._frame_id
        return OutgoingPacket(
            source=self,
            packet=RtpPacket(96, True, 0, 0, self.ssrc, bytes(payload_bytes)),
            kind=kind,
            frame_id=frame_id,
            key=False,
            size_bytes=payload_bytes + 12 + RTP_OVERHEAD_BYTES,
            enqueued_us=now_us,
        )

    def release(self, packet, *, abs_send_time, transport_number, now_us) -> RtpPacket:
        self.left.append((now_us, packet, transport_number))
        return packet.packet

    def take_fec(self) -> list[OutgoingPacket]:
        return []

    def handle_feedback(self, feedback: Feedback) -> None:
        self.fates.append(feedback)

    def expire(self, packets: Iterable[OutgoingPacket]) -> None:
        self.expired += [packet.frame_id for packet in packets]

    def padding(self, *, now_us: int) -> OutgoingPacket | None:
        if not self.has_padding:
            return None
        return self.packet(now_us=now_us, kind=PacketKind.PADDING, payload_bytes=444)


def run(path: SendPath, *, now_us: int, until_us: int) -> int:
    """Poll as a driver does; returns how often."""
    polls = 0
    while True:
        path.poll_packets(now_us=now_us)
        polls += 1
        due_us = path.poll_timeout()
        if due_us is None or due_us > until_us:
            return polls
        assert due_us > now_us, "a timer that is due changed nothing"
        now_us = due_us


def arrived(base: int, count: int, *, now_us: int) -> TransportFeedback:
    return TransportFeedback(
        sender_ssrc=1,
        media_ssrc=2,
        base_sequence=base,
        reference_time=now_us // 64_000,
        feedback_count=0,
        statuses=(now_us % 64_000 // 250,) + (0,) * (count - 1),
    )


def path_of(estimator: FakeEstimator | None) -> SendPath:
    return SendPath(estimator=estimator, wall_offset_us=WALL_OFFSET_US)


def test_packets_leave_at_the_estimator_s_pace_and_it_learns_of_each():
    estimator, stream = FakeEstimator(), FakeStream()
    path = path_of(estimator)
    path.enqueue([stream.packet(now_us=0, frame_id=1) for _ in range(5)], now_us=0)
    assert run(path, now_us=0, until_us=1_000_000) == 5
    assert [time_us for time_us, _, _ in stream.left] == [0, 8_000, 16_000, 24_000, 32_000]
    assert [number for _, _, number in stream.left] == [0, 1, 2, 3, 4]
    assert [(p.number, p.sent_us, p.size_bytes) for p in estimator.sent[:2]] == [
        (0, 0, 1000),
        (1, 8_000, 1000),
    ]
    assert path.in_flight_bytes == 5000


def test_a_pace_that_falls_holds_from_the_next_packet_on():
    estimator, stream = FakeEstimator(), FakeStream()
    path = path_of(estimator)
    path.enqueue([stream.packet(now_us=0, frame_id=1) for _ in range(3)], now_us=0)
    path.poll_packets(now_us=0)
    estimator.pacing_bps = RATE // 2
    path.handle_feedback(arrived(0, 1, now_us=4_000), now_us=4_000)
    run(path, now_us=4_000, until_us=1_000_000)
    assert [time_us for time_us, _, _ in stream.left] == [0, 12_000, 28_000]


def test_without_an_estimator_frames_are_paced_by_demand_and_no_packet_is_numbered():
    stream = FakeStream()
    path = path_of(None)
    path.set_demand(1, RATE * 2 // 3 + 1, now_us=0)
    path.enqueue([stream.packet(now_us=0, frame_id=1) for _ in range(3)], now_us=0)
    run(path, now_us=0, until_us=1_000_000)
    assert [(t, number) for t, _, number in stream.left] == [
        (0, None),
        (8_000, None),
        (16_000, None),
    ]
    assert path.share_bps(1) is None
    assert path.available_outgoing_bps is None
    path.handle_feedback(arrived(0, 3, now_us=20_000), now_us=20_000)
    assert path.feedback_counters.received == 0


def test_a_stream_without_the_extension_is_paced_and_not_numbered():
    estimator, stream = FakeEstimator(), FakeStream()
    stream.in_feedback = False
    path = path_of(estimator)
    estimator.probes.append(
        ProbeCluster(probe_id=1, rate_bps=2 * RATE, min_packets=5, min_bytes=5000)
    )
    path.enqueue([stream.packet(now_us=0, frame_id=1) for _ in range(3)], now_us=0)
    run(path, now_us=0, until_us=1_000_000)
    assert [(t, number) for t, _, number in stream.left] == [
        (0, None),
        (8_000, None),
        (16_000, None),
    ]
    assert estimator.sent == []


def test_the_share_is_the_estimate_less_headers_and_repairs():
    estimator, stream = FakeEstimator(), FakeStream()
    path = path_of(estimator)
    path.set_demand(1, 2_000_000, now_us=0)
    # 50 packets a second with 56 bytes around each payload: 22.4 kbit/s.
    for now_us in range(0, 5_000_000, 20_000):
        path.enqueue([stream.packet(now_us=now_us)], now_us=now_us)
        run(path, now_us=now_us, until_us=now_us + 19_999)
    assert path.share_bps(1) == pytest.approx(977_600, rel=0.002)
    # IP and UDP take 28 bytes of each packet.
    assert path.available_outgoing_bps == pytest.approx(988_800, rel=0.002)
    # Ten repairs of 1000 bytes: 80 kbit, counted before they left.
    repairs = [stream.packet(now_us=now_us, kind=PacketKind.RETRANSMISSION) for _ in range(10)]
    path.enqueue(repairs, now_us=now_us)
    burst_bps = path.share_bps(1)
    assert 500_000 <= burst_bps <= 901_000
    run(path, now_us=now_us, until_us=now_us + 100_000)
    path.set_demand(1, 1_999_999, now_us=now_us + 1_000_000)
    # A time constant later a third of both is left.
    assert 955_000 <= path.share_bps(1) <= 970_000


def test_repairs_never_take_more_than_half_of_the_encoder_s_rate():
    estimator, stream = FakeEstimator(), FakeStream()
    path = path_of(estimator)
    path.set_demand(1, 2_000_000, now_us=0)
    now_us = 0
    for now_us in range(0, 3_000_000, 8_000):
        repair = stream.packet(now_us=now_us, kind=PacketKind.RETRANSMISSION)
        path.enqueue([repair], now_us=now_us)
        run(path, now_us=now_us, until_us=now_us + 7_999)
    assert 470_000 <= path.share_bps(1) <= 500_000


def test_a_queue_that_the_encoder_does_not_know_of_lowers_its_rate():
    estimator, stream = FakeEstimator(), FakeStream()
    path = path_of(estimator)
    path.set_demand(1, 2_000_000, now_us=0)
    before_bps = path.share_bps(1)
    # The encoder's own frame: it knows.
    path.enqueue([stream.packet(now_us=0, frame_id=1) for _ in range(15)], now_us=0)
    assert path.share_bps(1) >= before_bps - 10_000
    run(path, now_us=0, until_us=1_000_000)
    # A pacer slower than the estimate: after 120 ms the encoder's bucket is empty, and half of this waits.
    estimator.pacing_bps = RATE // 2
    path.set_demand(1, 2_000_001, now_us=1_000_000)
    path.enqueue([stream.packet(now_us=1_000_000, frame_id=2) for _ in range(15)], now_us=1_000_000)
    run(path, now_us=1_000_000, until_us=1_120_000)
    waiting_bits = path.wait_us(now_us=1_120_000) * RATE // 2 // 1_000_000
    assert 50_000 <= waiting_bits <= 65_000
    # Less one picture's time of the estimate; worked off over half a second.
    assert before_bps - 60_000 <= path.share_bps(1) <= before_bps - 20_000


def test_streams_share_by_demand_and_one_that_sends_nothing_leaves_its_share():
    estimator, big, small = FakeEstimator(), FakeStream(1), FakeStream(2)
    path = path_of(estimator)
    path.set_demand(1, 1_200_000, now_us=0)
    path.set_demand(2, 400_000, now_us=0)
    assert path.share_bps(1) == pytest.approx(3 * path.share_bps(2), abs=3)
    for now_us in range(0, 3_000_000, 20_000):
        path.enqueue([big.packet(now_us=now_us)], now_us=now_us)
        run(path, now_us=now_us, until_us=now_us + 19_999)
    # Stream 2 was silent for three seconds; once it sends, the shares are as before.
    assert path.share_bps(1) == pytest.approx(977_600, rel=0.002)
    path.enqueue([small.packet(now_us=3_000_000)], now_us=3_000_000)
    assert path.share_bps(1) == pytest.approx(735_000, rel=0.01)
    assert path.share_bps(2) == pytest.approx(245_000, rel=0.01)
    path.remove_stream(1)
    assert path.share_bps(1) is None
    assert path.share_bps(2) == pytest.approx(400_000, rel=0.01)


def test_repairs_come_out_of_the_demand_where_the_path_has_room_too():
    estimator, stream = FakeEstimator(), FakeStream(1)
    path = path_of(estimator)
    path.set_demand(1, 400_000, now_us=0)
    assert path.share_bps(1) == 400_000
    for now_us in range(0, 3_000_000, 100_000):
        repair = stream.packet(now_us=now_us, kind=PacketKind.RETRANSMISSION)
        path.enqueue([repair], now_us=now_us)
        run(path, now_us=now_us, until_us=now_us + 99_999)
    repairs_bps = 10 * 8 * repair.size_bytes
    assert path.share_bps(1) == pytest.approx(400_000 - repairs_bps, rel=0.1)


def test_the_estimator_learns_the_demand_of_all_streams_with_their_headers():
    estimator = FakeEstimator()
    path = path_of(estimator)
    path.set_demand(1, 600_000, now_us=0)
    path.set_demand(2, 300_000, now_us=0)
    path.remove_stream(1)
    path.remove_stream(2)
    one, both, second, none = estimator.demands
    assert 640_000 <= one <= 680_000
    assert 960_000 <= both <= 1_000_000
    assert 320_000 <= second <= 350_000
    assert none == 0
    with pytest.raises(LocalError, match="demand_bps"):
        path.set_demand(1, 0, now_us=0)


def test_a_probe_is_media_first_then_padding_and_ends_with_its_size():
    estimator, stream = FakeEstimator(), FakeStream()
    path = path_of(estimator)
    estimator.probes.append(
        ProbeCluster(probe_id=7, rate_bps=4 * RATE, min_packets=5, min_bytes=4_000)
    )
    # It waits for media.
    assert run(path, now_us=0, until_us=100_000) == 1
    path.enqueue([stream.packet(now_us=100_000, frame_id=1) for _ in range(2)], now_us=100_000)
    run(path, now_us=100_000, until_us=400_000)
    kinds = [packet.kind for _, packet, _ in stream.left]
    assert kinds == [PacketKind.MEDIA] * 2 + [PacketKind.PADDING] * 4
    assert [p.probe_id for p in estimator.sent] == [7] * 6
    # 1000 bytes take 2 ms and 500 bytes 1 ms: those that are due within a millisecond go together.
    times = [time_us - 100_000 for time_us, _, _ in stream.left]
    assert times == sorted(times)
    assert 3_000 <= times[-1] <= 6_000
    assert path.counters.paddingPacketsSent == 4
    assert path.counters.paddingBytesSent == 2_000


@pytest.mark.parametrize("has_padding", [True, False])
def test_a_probe_that_nothing_can_fill_ends(has_padding):
    estimator, stream = FakeEstimator(), FakeStream(has_padding=has_padding)
    path = path_of(estimator)
    for probe_id in (1, 2):
        estimator.probes.append(
            ProbeCluster(probe_id=probe_id, rate_bps=4 * RATE, min_packets=3, min_bytes=3_000)
        )
    path.enqueue([stream.packet(now_us=0)], now_us=0)
    run(path, now_us=0, until_us=1_000_000)
    left = [packet.kind for _, packet, _ in stream.left]
    assert len(left) == (11 if has_padding else 1)
    assert path.poll_timeout() is None
    # What waited longer than a second was meant for another path.
    path.enqueue([stream.packet(now_us=2_000_000)], now_us=2_000_000)
    run(path, now_us=2_000_000, until_us=3_000_000)
    assert len(stream.left) == len(left) + 1
    assert estimator.sent[-1].probe_id is None


def test_frames_that_would_leave_too_late_are_given_back_to_their_stream():
    estimator, stream = FakeEstimator(), FakeStream()
    path = path_of(estimator)
    for _ in range(20):
        path.enqueue([stream.packet(now_us=0)], now_us=0)
    path.poll_packets(now_us=0)
    assert stream.expired == []
    assert path.opens_us(now_us=0) is None
    estimator.pacing_bps = RATE // 4
    path.handle_feedback(arrived(0, 1, now_us=1_000), now_us=1_000)
    # 32 ms each now: 19 take 608 ms.
    assert path.opens_us(now_us=1_000) == pytest.approx(636_000 - MAX_WAIT_US, abs=10_000)
    path.poll_packets(now_us=1_000)
    assert stream.expired == list(range(8, 21))
    run(path, now_us=1_000, until_us=1_000_000)
    assert [packet.frame_id for _, packet, _ in stream.left] == list(range(1, 8))
    assert stream.left[-1][0] <= MAX_WAIT_US


def test_a_driver_that_is_asked_for_little_is_woken_seldom():
    estimator, stream = FakeEstimator(20_000_000), FakeStream()
    path = path_of(estimator)
    # 1000 bytes take 0.4 ms: three go at once.
    path.enqueue([stream.packet(now_us=0, frame_id=1) for _ in range(60)], now_us=0)
    assert 15 <= run(path, now_us=0, until_us=1_000_000) <= 24
    assert stream.left[-1][0] <= 59 * 400


def test_an_estimator_that_wants_to_stop_does_not_stop_the_path():
    estimator, stream = FakeEstimator(), FakeStream()
    estimator.pacing_bps = 0
    path = path_of(estimator)
    path.enqueue([stream.packet(now_us=0, frame_id=1) for _ in range(2)], now_us=0)
    run(path, now_us=0, until_us=10_000_000)
    assert [t for t, _, _ in stream.left] == [0, 8_000_000_000 // MIN_PACING_BPS]


class Streams:
    """Two cores on one path, whose jobs are run at once."""

    def __init__(self, estimator: FakeEstimator) -> None:
        self.path = path_of(estimator)
        self.now_us = 0
        self.cores = [self._core(i) for i in range(2)]
        self.sessions = [
            EncoderSession(
                open_encoder=lambda codec, width, height: FakeEncoder(codec),
                controller=FrameController(),
            )
            for _ in self.cores
        ]

    def _core(self, index: int) -> SenderCore:
        identity = StreamIdentity(
            ssrc=10 + index,
            rtx_ssrc=20 + index,
            mid=str(index),
            first_sequence=100,
            first_rtx_sequence=0,
            first_timestamp=0,
        )
        return SenderCore(
            settings=SenderSettings(
                identity=identity,
                cname="a",
                codecs=(AV1,),
                extensions=VALUES,
                target_bps=400_000,
            ),
            rng=random.Random(index),
            now_us=0,
            wall_offset_us=WALL_OFFSET_US,
            path=self.path,
        )

    def frame(self, index: int, *, drained: int | None = None) -> list[RtpPacket]:
        """One picture through core `index`; what core `drained` sends from there on."""
        core = self.cores[index]
        core.handle_picture(picture(self.now_us))
        job = core.poll_encode(now_us=self.now_us)
        assert job is not None
        core.handle_encoded(self.sessions[index].run(job), now_us=self.now_us)
        packets = []
        polled = self.cores[index if drained is None else drained]
        packets += polled.poll_packets(now_us=self.now_us)
        while (due_us := self.path.poll_timeout()) is not None:
            self.now_us = max(self.now_us, due_us)
            packets += polled.poll_packets(now_us=self.now_us)
        return packets


def test_two_streams_share_one_line_of_transport_numbers():
    streams = Streams(FakeEstimator())
    packets = []
    for i in range(6):
        streams.now_us += FRAME_US
        packets += streams.frame(i % 2, drained=0)
    values = [VALUES.unpack(packet) for packet in packets]
    assert [v.transport_sequence_number for v in values] == list(range(len(packets)))
    assert {p.ssrc for p in packets} == {10, 11}
    for core in streams.cores:
        assert core.counters.framesSent == 3
        assert core.counters.packetsSent == sum(
            p.ssrc == core.settings.identity.ssrc for p in packets
        )


def test_sizes_are_those_of_the_datagrams_and_times_those_of_leaving():
    estimator = FakeEstimator(300_000)
    streams = Streams(estimator)
    streams.now_us = FRAME_US
    packets = streams.frame(0)
    assert len(packets) >= 2
    assert [p.size_bytes for p in estimator.sent] == [
        len(p.serialize()) + RTP_OVERHEAD_BYTES for p in packets
    ]
    stamps = [VALUES.unpack(packet).abs_send_time for packet in packets]
    assert stamps == [abs_send_time(p.sent_us + WALL_OFFSET_US) for p in estimator.sent]
    assert len(set(stamps)) == len(stamps)
    counters = streams.cores[0].counters
    waited_us = sum(p.sent_us - FRAME_US for p in estimator.sent)
    assert counters.totalPacketSendDelayUs == waited_us > 0
    sizes = sum(len(p.serialize()) for p in packets)
    assert counters.headerBytesSent + counters.bytesSent == sizes


def test_a_retransmission_has_a_transport_number_of_its_own():
    estimator = FakeEstimator()
    streams = Streams(estimator)
    original = streams.frame(0)[0]
    nack = Nack(sender_ssrc=1, media_ssrc=10, lost=(original.sequence_number,))
    streams.cores[0].handle_rtcp(nack, now_us=streams.now_us)
    (again,) = streams.cores[0].poll_packets(now_us=streams.now_us + 100_000)
    assert again.ssrc == 20
    number = VALUES.unpack(again).transport_sequence_number
    assert number == VALUES.unpack(original).transport_sequence_number + len(estimator.sent) - 1
    assert estimator.sent[-1].size_bytes == len(again.serialize()) + RTP_OVERHEAD_BYTES


def test_a_fallen_estimate_is_in_the_very_next_job():
    estimator = FakeEstimator(2_000_000)
    streams = Streams(estimator)
    core = streams.cores[0]
    streams.frame(0)
    assert core.target_bps == 400_000
    estimator.target_bps = 300_000
    streams.now_us += FRAME_US
    core.handle_picture(picture(streams.now_us))
    job = core.poll_encode(now_us=streams.now_us)
    assert 100_000 <= job.target_bps <= 150_000
    assert core.target_bps == job.target_bps


def test_a_fall_that_comes_with_time_alone_is_in_the_job_of_the_same_drain():
    estimator = FakeEstimator(600_000)
    streams = Streams(estimator)
    core = streams.cores[0]
    streams.frame(0)
    streams.path.remove_stream(11)
    estimator.falls_at = streams.now_us + 10_000
    assert drain_sender(core, now_us=streams.now_us).wake_us == estimator.falls_at
    core.handle_picture(picture(streams.now_us))
    job = drain_sender(core, now_us=streams.now_us + 10_000).job
    assert job is not None
    assert 110_000 <= job.target_bps <= 150_000


@pytest.mark.parametrize("estimate_bps", [0, 5_000, 20_000])
def test_no_estimate_drives_an_encoder_below_the_least_rate(estimate_bps):
    streams = Streams(FakeEstimator(estimate_bps))
    assert streams.cores[0].target_bps == MIN_TARGET_BPS


def test_a_frame_that_was_given_up_is_followed_by_a_key_frame_and_leaves_no_gap():
    estimator = FakeEstimator(600_000)
    streams = Streams(estimator)
    core, session = streams.cores[0], streams.sessions[0]
    streams.frame(0)
    for _ in range(3):
        streams.now_us += FRAME_US
        last = streams.frame(0)[-1]
    # Two frames come to a pacer that something else has filled.
    other = FakeStream(99)
    streams.path.enqueue(
        [other.packet(now_us=streams.now_us, frame_id=1) for _ in range(12)], now_us=streams.now_us
    )
    streams.path.poll_packets(now_us=streams.now_us)
    for i in range(1, 3):
        core.handle_picture(picture(streams.now_us + i * FRAME_US))
        job = core.poll_encode(now_us=streams.now_us)
        assert not job.key
        core.handle_encoded(session.run(job), now_us=streams.now_us)
    estimator.pacing_bps = 50_000
    streams.path.handle_feedback(arrived(0, 1, now_us=streams.now_us), now_us=streams.now_us)
    core.poll_packets(now_us=streams.now_us)
    assert core.counters.framesExpired == 2
    # The pacer is full: no frame is encoded for it until it has room.
    core.handle_picture(picture(streams.now_us))
    assert core.poll_encode(now_us=streams.now_us) is None
    opens_us = streams.path.opens_us(now_us=streams.now_us)
    assert opens_us is not None
    assert core.poll_timeout() <= opens_us
    run(streams.path, now_us=streams.now_us, until_us=opens_us)
    job = core.poll_encode(now_us=opens_us)
    assert job.key
    core.handle_encoded(session.run(job), now_us=opens_us)
    packets = []
    now_us = opens_us
    while (due_us := streams.path.poll_timeout()) is not None:
        now_us = max(now_us, due_us)
        packets += [p for p in core.poll_packets(now_us=now_us) if p.ssrc == 10]
    assert packets[0].sequence_number == last.sequence_number + 1


def test_a_frame_that_depends_on_one_given_up_while_it_was_encoded_is_not_sent():
    estimator = FakeEstimator(600_000)
    streams = Streams(estimator)
    core, session = streams.cores[0], streams.sessions[0]
    streams.frame(0)
    jobs = []
    for i in range(1, 3):
        core.handle_picture(picture(streams.now_us + i * FRAME_US))
        jobs.append(core.poll_encode(now_us=streams.now_us))
        if i == 1:
            core.handle_encoded(session.run(jobs[0]), now_us=streams.now_us)
    # It waited longer than the bound for a driver that did not come.
    streams.now_us += MAX_WAIT_US + 1
    assert core.poll_packets(now_us=streams.now_us) == []
    core.handle_encoded(session.run(jobs[1]), now_us=streams.now_us)
    assert core.poll_packets(now_us=streams.now_us) == []
    assert core.counters.framesExpired == 2
    core.handle_picture(picture(streams.now_us))
    assert core.poll_encode(now_us=streams.now_us).key


def test_a_stream_that_ends_leaves_the_path_to_the_others():
    streams = Streams(FakeEstimator())
    both_bps = streams.cores[1].target_bps
    core = streams.cores[0]
    core.handle_picture(picture(0))
    core.handle_encoded(streams.sessions[0].run(core.poll_encode(now_us=0)), now_us=0)
    core.bye()
    assert streams.cores[1].poll_packets(now_us=0) == []
    assert streams.path.poll_timeout() is None
    assert streams.cores[1].target_bps >= both_bps


def test_a_call_follows_its_path_down_and_up_again():
    pair = Pair(estimator=GccEstimator(start_bps=300_000), target_bps=200_000)
    pair.media.capacity_bps = 400_000
    pair.run(5)
    assert pair.sender.target_bps == 200_000
    pair.media.capacity_bps = 120_000
    pair.run(8)
    assert 50_000 <= pair.sender.target_bps <= 120_000
    assert pair.media.free_us - pair.now_us <= 150_000
    pair.media.capacity_bps = 400_000
    pair.run(15)
    assert 150_000 <= pair.sender.target_bps <= 200_000
    assert pair.receiver.counters.freezeCount <= 1
    counters = pair.sender.path.feedback_counters
    assert counters.received >= 150
    assert counters.refused_floods == counters.refused_times == counters.unknown_numbers == 0


def test_feedback_of_any_kind_never_stops_a_call():
    rng = random.Random(5)
    pair = Pair(estimator=GccEstimator(start_bps=300_000))
    pair.run(1)
    for _ in range(3_000):
        message = TransportFeedback(
            sender_ssrc=1,
            media_ssrc=IDENTITY.ssrc,
            base_sequence=rng.randrange(1 << 16) if rng.random() < 0.5 else rng.randrange(80),
            reference_time=rng.randrange(1 << 24) if rng.random() < 0.5 else rng.randrange(40),
            feedback_count=rng.randrange(256),
            statuses=tuple(
                rng.choice((None, 0, 40, rng.randrange(-(1 << 15), 1 << 15)))
                for _ in range(rng.randrange(1, 30))
            ),
        )
        pair.sender.path.handle_feedback(message, now_us=pair.now_us)
    shown = len(pair.shown)
    pair.run(3)
    assert len(pair.shown) - shown >= 60
    counters = pair.sender.path.feedback_counters
    assert counters.refused_times + counters.refused_floods + counters.without_news >= 2_000
