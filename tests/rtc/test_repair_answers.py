"""Which requests are answered, with what, and when."""

from __future__ import annotations

import pytest

from codecpilot.rtc.repair_answers import HOLD_MARGIN_US, MAX_HELD
from codecpilot.rtc.resilience.decisions import Action, Reason
from codecpilot.rtc.resilience.fec_plan import FecPlan
from codecpilot.rtc.resilience.settings import Switch
from codecpilot.rtc.rtp.rtcp import Nack

from tests.rtc.fakes import AV1, FLEXFEC, IDENTITY
from tests.rtc.test_loss_recovery import RTT_US, SSRC, Sending, settled

ALONE = {"ltr": Switch.OFF, "temporal_layers": Switch.OFF, "ltr_proactive": Switch.OFF}


def nack(sending: Sending, *numbers: int, after_us: int = 0) -> list[int]:
    """Ask for these; the payload types of what comes."""
    sending.tell(Nack(sender_ssrc=1, media_ssrc=SSRC, lost=numbers), after_us=after_us)
    return [packet.payload_type for packet in sending.leave()]


def protected(**settings) -> tuple[Sending, int]:
    """A call whose frames are protected one by one; the number of the newest frame's packet."""
    sending = settled(flexfec=FLEXFEC, fec=Switch.ON, nack=Switch.ON, **(ALONE | settings))
    sending.core._recovery.protection.plan = FecPlan(percent=50)
    sending.core._recovery.policy.fec = FecPlan(percent=50)
    before = len(sending.sent)
    # A key frame has enough packets to be protected.
    sending.core.request_key()
    sending.frame()
    media = [p for p in sending.sent[before:] if p.ssrc == IDENTITY.ssrc]
    assert any(p.ssrc == FLEXFEC.ssrc for p in sending.sent[before:])
    return sending, media[0].sequence_number


def test_a_nack_that_crossed_the_fec_waits_for_it_and_is_answered_when_nothing_was_heard():
    sending, number = protected()
    asked_us = sending.now_us
    assert nack(sending, number) == []
    assert nack(sending, number, after_us=10_000) == []
    assert sending.core.counters.nacksHeld == 1
    holds = [d for d in sending.core.poll_decisions() if d.action is Action.HOLD]
    assert [(d.reason, d.value) for d in holds] == [(Reason.FEC_COVERS, number)]
    due_us = sending.core.poll_timeout()
    assert asked_us < due_us <= asked_us + RTT_US + HOLD_MARGIN_US
    sending.now_us = due_us - 1
    assert sending.leave() == []
    sending.now_us = due_us
    assert [p.payload_type for p in sending.leave()] == [AV1.rtx_payload_type]


def test_a_held_answer_is_spared_where_fec_gave_the_packet_back():
    sending, number = protected()
    first = next(
        i for i, p in enumerate(sending.sent[sending.told :]) if p.sequence_number == number
    )
    assert nack(sending, number) == []
    sending.feedback(lost={first})
    sending.now_us += 2 * RTT_US
    assert sending.leave() == []


def test_a_nack_later_than_the_fec_is_answered_at_once():
    sending, number = protected()
    answered = nack(sending, number, after_us=RTT_US + HOLD_MARGIN_US + 1)
    assert answered == [AV1.rtx_payload_type]


def test_what_fec_cannot_give_back_is_answered_at_once():
    sending, number = protected()
    packets = sending.sent[sending.told :]
    lost = {
        i for i, p in enumerate(packets) if p.ssrc == FLEXFEC.ssrc or p.sequence_number == number
    }
    sending.feedback(lost=lost)
    assert nack(sending, number) == [AV1.rtx_payload_type]


def test_held_answers_are_bounded():
    sending, number = protected()
    answers = sending.core._answers
    for other in range(MAX_HELD):
        answers._held[60_000 + other] = sending.now_us + 1_000_000
    assert nack(sending, number) == [AV1.rtx_payload_type]
    assert len(answers._held) == MAX_HELD


@pytest.mark.parametrize(("rtt_us", "answered"), [(60_000, 1), (61_000, 0)])
def test_packets_of_the_upper_layer_are_sent_again_on_short_paths_alone(rtt_us, answered):
    sending = Sending(temporal_layers=Switch.ON, nack=Switch.ON, ltr=Switch.OFF)
    sending.tell_rtt(RTT_US)
    sending.core._reports._rtt_us = rtt_us
    frames = [sending.frame() for _ in range(4)]
    assert [f.temporal_id for f in frames] == [0, 1, 0, 1]
    assert len(nack(sending, sending.sent[-1].sequence_number)) == answered


def test_what_feedback_says_arrived_is_not_sent_again():
    sending = settled(nack=Switch.ON, ltr=Switch.OFF)
    sending.frame()
    number = sending.sent[-1].sequence_number
    sending.feedback()
    assert nack(sending, number) == []


def test_a_switched_off_nack_is_counted_and_no_more():
    sending = settled(nack=Switch.OFF, ltr=Switch.OFF)
    sending.frame()
    assert nack(sending, sending.sent[-1].sequence_number) == []
    assert sending.core.counters.nackCount == 1
