"""What a sender makes of losses, requests and acknowledgements, told of them one by one."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codecpilot.codecs.types import EncodedFrame
from codecpilot.ratecontrol.frame_controller import FrameController
from codecpilot.rtc.encoder_session import EncodeJob, EncoderSession
from codecpilot.rtc.resilience.decisions import Action, Reason
from codecpilot.rtc.resilience.settings import ResilienceSettings, Switch
from codecpilot.rtc.rtp.extensions import DEPENDENCY_DESCRIPTOR, ExtensionMap
from codecpilot.rtc.rtp.packet import RtpPacket
from codecpilot.rtc.rtp.rtcp import (
    LtrAcknowledgement,
    Nack,
    PictureLossIndication,
    ReceiverReport,
    ReferencePictureSelection,
    ReportBlock,
    RtcpMessage,
    TransportFeedback,
)
from codecpilot.rtc.send_path import SendPath
from codecpilot.rtc.sender import SenderCore, SenderSettings

from tests.rtc.fakes import (
    AV1,
    FLEXFEC,
    FRAME_US,
    H264,
    IDENTITY,
    LTR_IDS,
    PATH_IDS,
    WALL_OFFSET_US,
    FakeEncoder,
    picture,
)
from tests.rtc.test_send_path import FakeEstimator

SSRC = IDENTITY.ssrc
RTT_US = 100_000


class Sending:
    """A sender core whose jobs run at once, and a peer that says what the test lets it say."""

    def __init__(self, *, marks=True, descriptor=True, codecs=(AV1,), flexfec=None, **switches):
        ids = {u: i for u, i in PATH_IDS.items() if descriptor or u != DEPENDENCY_DESCRIPTOR}
        self.now_us = 0
        estimator = FakeEstimator(2_000_000)
        self.core = SenderCore(
            settings=SenderSettings(
                identity=IDENTITY,
                cname="a",
                codecs=codecs,
                extensions=ExtensionMap(ids | LTR_IDS if marks else ids),
                target_bps=300_000,
                flexfec=flexfec,
                resilience=ResilienceSettings(**switches),
            ),
            rng=random.Random(1),
            now_us=0,
            wall_offset_us=WALL_OFFSET_US,
            path=SendPath(estimator=estimator, wall_offset_us=WALL_OFFSET_US),
        )
        self.session = EncoderSession(
            open_encoder=lambda codec, width, height: FakeEncoder(codec),
            controller=FrameController(),
        )
        self.jobs: list[EncodeJob] = []
        self.frames: list[EncodedFrame] = []
        self.sent: list[RtpPacket] = []
        self.told = self.captured_us = 0
        self.tell_rtt(RTT_US)

    def frame(self) -> EncodedFrame:
        self.now_us += FRAME_US
        # Evenly captured, however long the test lets the path take.
        self.captured_us += FRAME_US
        self.core.handle_picture(picture(self.captured_us))
        job = self.core.poll_encode(now_us=self.now_us)
        assert job is not None
        result = self.session.run(job)
        assert isinstance(result, EncodedFrame)
        self.core.handle_encoded(result, now_us=self.now_us)
        self.jobs.append(job)
        self.frames.append(result)
        self.leave()
        return result

    def leave(self) -> list[RtpPacket]:
        """All that waits, in the time that the pacer takes for it."""
        packets = self.core.poll_packets(now_us=self.now_us)
        while (due_us := self.core.path.poll_timeout()) is not None:
            self.now_us = max(self.now_us, due_us)
            packets += self.core.poll_packets(now_us=self.now_us)
        self.sent += packets
        return packets

    def feedback(self, *, lost: set[int] = frozenset(), after_us: int = RTT_US // 2) -> None:
        """Feedback on all that left since the last; lost counts among those, from 0."""
        count = len(self.sent) - self.told
        self.now_us += after_us
        self.core.path.handle_feedback(
            TransportFeedback(
                sender_ssrc=1,
                media_ssrc=SSRC,
                base_sequence=self.told & 0xFFFF,
                reference_time=self.now_us // 64_000,
                feedback_count=0,
                statuses=tuple(None if i in lost else 0 for i in range(count)),
            ),
            now_us=self.now_us,
        )
        self.told = len(self.sent)

    def tell(self, message: RtcpMessage, *, after_us: int = 0) -> None:
        self.now_us += after_us
        self.core.handle_rtcp(message, now_us=self.now_us)

    def tell_rtt(self, rtt_us: int) -> None:
        """A report that answers a sender report sent rtt_us before."""
        self.core.counters.packetsSent += 1
        self.now_us = max(self.now_us, self.core.poll_timeout())
        self.core.poll_rtcp(now_us=self.now_us)
        self.core.counters.packetsSent -= 1
        block = ReportBlock(
            ssrc=SSRC,
            fraction_lost=0,
            packets_lost=0,
            highest_sequence=0,
            jitter=0,
            last_sr=next(reversed(self.core._reports._sent)),
            delay_since_last_sr=0,
        )
        self.now_us += rtt_us
        self.core.handle_rtcp(ReceiverReport(ssrc=1, reports=(block,)), now_us=self.now_us)
        assert self.core.rtt_us == rtt_us

    def acknowledge(self, *frame_ids: int) -> None:
        self.tell(LtrAcknowledgement(sender_ssrc=1, media_ssrc=SSRC, frame_ids=frame_ids))

    def rpsi(self, frame_id: int, *, after_us: int = 0) -> None:
        message = ReferencePictureSelection(
            sender_ssrc=1, media_ssrc=SSRC, payload_type=AV1.payload_type, frame_id=frame_id
        )
        self.tell(message, after_us=after_us)

    def pli(self, *, after_us: int = 0) -> None:
        self.tell(PictureLossIndication(sender_ssrc=1, media_ssrc=SSRC), after_us=after_us)

    def reasons(self, action: Action) -> list[Reason]:
        return [d.reason for d in self.core.poll_decisions() if d.action is action]


def settled(**settings) -> Sending:
    """A call of ten frames that all arrived; a peer with marks acknowledged the key frame."""
    sending = Sending(**settings)
    for _ in range(10):
        sending.frame()
        sending.feedback()
    if settings.get("marks", True):
        sending.acknowledge(0)
    sending.core.poll_decisions()
    return sending


def test_a_loss_seen_in_feedback_is_answered_by_the_next_frame_from_the_acknowledged_one():
    sending = settled()
    sending.frame()
    sending.feedback(lost={0})
    recovery = sending.frame()
    assert (recovery.key, recovery.dependencies) == (False, (0,))
    assert sending.reasons(Action.LTRP) == [Reason.LOSS]
    assert sending.frame().dependencies == (recovery.frame_id,)
    assert sending.core.counters.recoveryFramesSent == 1


def test_the_lost_packet_is_sent_again_at_once_and_not_again_after_the_recovery_frame():
    sending = settled()
    sending.frame()
    lost = sending.sent[-1].sequence_number
    sending.feedback(lost={0})
    repair = sending.leave()
    assert [p.payload_type for p in repair] == [AV1.rtx_payload_type]
    sending.frame()
    sending.now_us += 2 * RTT_US
    sending.tell(Nack(sender_ssrc=1, media_ssrc=SSRC, lost=(lost,)))
    assert sending.leave() == []


def test_nack_on_answers_only_what_is_asked_for():
    sending = settled(nack=Switch.ON, ltr=Switch.OFF)
    sending.frame()
    lost = sending.sent[-1].sequence_number
    sending.feedback(lost={0})
    assert sending.leave() == []
    sending.tell(Nack(sender_ssrc=1, media_ssrc=SSRC, lost=(lost,)))
    assert [p.payload_type for p in sending.leave()] == [AV1.rtx_payload_type]


def test_without_an_acknowledged_reference_a_loss_waits_for_its_retransmission():
    sending = Sending()
    for _ in range(3):
        sending.frame()
    sending.feedback(lost={1})
    frame = sending.frame()
    assert (frame.key, frame.dependencies) == (False, (2,))


def test_an_acknowledged_reference_is_told_to_the_encoder_with_the_next_job():
    sending = settled()
    for _ in range(30):
        sending.frame()
    ltr = next(f for f in sending.frames[1:] if f.ltr_slot is not None)
    sending.core.handle_ltr_acks([ltr.frame_id & 0xFFFF])
    sending.frame()
    assert sending.jobs[-1].acknowledged == (ltr.frame_id,)
    sending.rpsi(ltr.frame_id)
    assert sending.frame().dependencies == (ltr.frame_id,)


def test_rpsi_is_answered_at_once_and_those_that_cross_the_answer_are_one_request():
    sending = settled()
    sending.rpsi(0)
    assert sending.frame().dependencies == (0,)
    for _ in range(3):
        sending.rpsi(0, after_us=10_000)
        assert sending.frame().dependencies != (0,)
    assert sending.reasons(Action.LTRP) == [Reason.RPSI]
    sending.rpsi(0, after_us=RTT_US)
    assert sending.frame().dependencies == (0,)


def test_rpsi_for_what_was_never_sent_or_to_another_stream_is_nothing():
    sending = settled()
    sending.rpsi(7)
    sending.rpsi(999)
    sending.tell(
        ReferencePictureSelection(sender_ssrc=1, media_ssrc=5, payload_type=45, frame_id=0)
    )
    assert len(sending.frame().dependencies) == 1
    assert sending.frames[-1].dependencies != (0,)


def test_a_peer_with_marks_that_says_pli_is_given_a_key_frame():
    sending = settled()
    sending.now_us += 1_000_000
    sending.pli()
    assert sending.frame().key
    assert sending.reasons(Action.KEY) == [Reason.PLI]


def test_a_browser_is_given_a_recovery_frame_first_and_a_key_frame_when_it_asks_again():
    sending = settled(marks=False)
    sending.now_us += 1_000_000
    sending.pli()
    recovery = sending.frame()
    assert not recovery.key
    assert recovery.dependencies == (0,)
    sending.pli(after_us=RTT_US // 4)
    assert not sending.frame().key
    sending.pli(after_us=2 * RTT_US)
    assert sending.frame().key
    assert sending.reasons(Action.KEY) == [Reason.PLI_AGAIN]


def test_a_browser_without_descriptors_can_only_be_given_key_frames():
    sending = settled(marks=False, descriptor=False)
    sending.frame()
    sending.feedback(lost={0})
    assert not sending.frame().key
    sending.pli(after_us=1_000_000)
    assert sending.frame().key


def test_a_browser_s_references_count_once_all_that_they_depend_on_arrived():
    sending = Sending(marks=False)
    for _ in range(40):
        sending.frame()
        sending.feedback()
    ltrs = [f.frame_id for f in sending.frames if f.ltr_slot is not None]
    acknowledged = [frame_id for job in sending.jobs for frame_id in job.acknowledged]
    assert acknowledged == ltrs[: len(acknowledged)]
    assert len(ltrs) - len(acknowledged) <= 1
    # A reference that depends on a lost frame is not held, though all its own packets arrived.
    first = len(sending.frames)
    sending.frame()
    sending.feedback(lost={0})
    sending.frame()
    sending.feedback()
    assert not [i for job in sending.jobs[first:] for i in job.acknowledged if i >= first]


def test_h264_has_no_recovery_frames_and_layers():
    sending = settled(codecs=(H264,))
    for _ in range(30):
        sending.frame()
        sending.feedback(lost={0})
    assert not any(job.from_ltr or job.temporal_id for job in sending.jobs)
    sending.pli(after_us=1_000_000)
    assert sending.frame().key


def test_a_frame_that_was_never_sent_costs_no_key_frame():
    sending = settled()
    sending.core._stream._is_broken = True
    assert sending.frame().dependencies == (0,)
    assert sending.reasons(Action.LTRP) == [Reason.EXPIRED]


def test_switched_off_there_are_no_recovery_frames():
    sending = settled(ltr=Switch.OFF, nack=Switch.OFF)
    sending.frame()
    sending.feedback(lost={0})
    sending.rpsi(0)
    sending.pli(after_us=1_000_000)
    assert sending.frame().key
    assert not any(job.from_ltr for job in sending.jobs)


def test_layers_pins_and_fec_begin_with_losses():
    sending = settled(flexfec=FLEXFEC)
    for index in range(40):
        sending.frame()
        sending.feedback(lost={0} if index % 10 == 0 else set())
    jobs = sending.jobs[30:]
    assert {job.temporal_id for job in jobs} == {0, 1}
    assert all(not (job.ltr and job.temporal_id) for job in jobs)
    assert sum(job.ltr for job in jobs) >= 4
    actions = {d.action for d in sending.core.poll_decisions()}
    assert {Action.LAYERS, Action.FEC} <= actions


FLOODS = st.lists(
    st.tuples(
        st.sampled_from(["rpsi", "pli", "nack", "ack", "own ack"]),
        st.integers(0, 0xFFFF),
        st.integers(0, 20_000),
    ),
    min_size=20,
    max_size=150,
)


@settings(max_examples=25)
@given(FLOODS)
def test_floods_of_requests_make_no_more_than_one_answer_a_round_trip(flood):
    sending = settled()
    start_us, before = sending.now_us, len(sending.frames)
    next_us = start_us
    for kind, number, after_us in flood:
        sending.now_us += after_us
        if kind == "rpsi":
            sending.rpsi(number if number & 1 else 0)
        elif kind == "pli":
            sending.pli()
        elif kind == "nack":
            lost = tuple((number + i) & 0xFFFF for i in range(17))
            sending.tell(Nack(sender_ssrc=1, media_ssrc=SSRC, lost=lost))
        elif kind == "ack":
            sending.acknowledge(number)
        else:
            sending.core.handle_ltr_acks([number, 0])
        if sending.now_us >= next_us:
            sending.frame()
            next_us = sending.now_us + FRAME_US
    frames = sending.frames[before:]
    elapsed_us = sending.now_us - start_us
    restarts = sum(
        f.key or job.from_ltr for f, job in zip(frames, sending.jobs[before:], strict=True)
    )
    assert restarts <= 2 + elapsed_us // RTT_US
    assert sum(f.key for f in frames) <= 1 + elapsed_us // 300_000
    sent_bytes = sending.core.counters.bytesSent + sending.core.counters.headerBytesSent
    assert sent_bytes * 8 <= 2 * 300_000 * (sending.now_us + 1_000_000) / 1_000_000


@pytest.mark.parametrize("fraction", [0, 64])
def test_a_report_tells_of_loss_where_no_packet_is_told_of(fraction):
    sending = Sending(marks=False)
    block = ReportBlock(
        ssrc=SSRC,
        fraction_lost=fraction,
        packets_lost=0,
        highest_sequence=0,
        jitter=0,
        last_sr=0,
        delay_since_last_sr=0,
    )
    sending.tell(ReceiverReport(ssrc=1, reports=(block,)))
    sending.frame()
    layers = [d for d in sending.core.poll_decisions() if d.action is Action.LAYERS]
    assert bool(layers) is (fraction > 0)
