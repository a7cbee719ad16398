"""What a sender knows of its stream's losses, and what it does about them: one object a stream.

It gathers what feedback, NACKs, requests and acknowledgements say, and asks the policy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice

from ..codecs.types import Codec, EncodedFrame
from .flights import PacketFate
from .key_answers import KeyAnswers
from .repair_history import Repairable
from .resilience.decisions import Action, Decision, Reason
from .resilience.delivered_frames import DeliveredFrames, LostPacket
from .resilience.fec_protection import FecProtection
from .resilience.loss_monitor import Loss, LossMonitor
from .resilience.ltr_sender import LtrSender
from .resilience.nack import DEFAULT_RTT_US
from .resilience.policy import RECENT_US, PicturePlan, ResiliencePolicy, Situation
from .resilience.settings import ResilienceSettings, Switch

# ours: decisions that nobody takes are forgotten, the oldest first.
MAX_DECISIONS = 256
# ours: a frame interval, its encoding and its pacing; a request that crossed an answer is answered by it.
ANSWER_US = 50_000
# ours: three frame intervals; a source that gives no picture for so long cannot restart the stream.
RESTART_WAIT_US = 100_000
# ours: a browser that asks again within this after a recovery frame did not get on by it.
PLI_AGAIN_US = 500_000


class LossRecovery:
    """See the module. All state is bounded by what its parts keep."""

    def __init__(
        self,
        *,
        settings: ResilienceSettings,
        protection: FecProtection,
        has_descriptor: bool,
        has_marks: bool,
        can_fec: bool,
        recovered: Callable[[int], Repairable | None],
    ) -> None:
        """has_descriptor and has_marks tell whether the peer takes dependency descriptors and LTR marks.

        recovered is OutgoingStream.recovered.
        """
        self.policy = ResiliencePolicy(settings)
        self.keys = KeyAnswers()
        self.ltrs = LtrSender()
        self.protection = protection
        self._has_descriptor = has_descriptor
        self._has_marks = has_marks
        self._can_fec = can_fec
        self._recovered = recovered
        self._losses = LossMonitor()
        self._delivered = DeliveredFrames()
        self._decisions: deque[Decision] = deque(maxlen=MAX_DECISIONS)
        self._key_reason = Reason.START
        self._recovery: Reason | None = None
        self._recovered_us: int | None = None
        self._finer_us: int | None = None
        self._pli_us: int | None = None
        self._was_base = False

    def loss(self, *, now_us: int) -> Loss:
        """What is lost of the stream."""
        return self._losses.loss(now_us=now_us, recent_us=RECENT_US)

    def poll_decisions(self) -> list[Decision]:
        """Decisions since the last call."""
        decisions = list(self._decisions)
        self._decisions.clear()
        return decisions

    def note(
        self, action: Action, reason: Reason, *, now_us: int, value: int | None = None
    ) -> None:
        """Add a decision that was made elsewhere."""
        self._decisions.append(Decision(now_us=now_us, action=action, reason=reason, value=value))

    def plan(
        self, *, codec: Codec, is_broken: bool, rtt_us: int | None, now_us: int
    ) -> PicturePlan:
        """What the next frame is; is_broken tells that one was never sent."""
        loss = self.loss(now_us=now_us)
        self._decisions += self.policy.observe(
            loss,
            rtt_us=rtt_us,
            can_layer=codec is Codec.AV1 and self._has_descriptor,
            can_fec=self._can_fec,
            now_us=now_us,
        )
        self.protection.set_plan(self.policy.fec)
        recovery = Reason.EXPIRED if is_broken else self._recovery
        return self.policy.picture(
            self._situation(recovery, codec=codec, rtt_us=rtt_us, now_us=now_us)
        )

    def uncovered_numbers(self) -> set[int]:
        """Sequence numbers of lost packets that nothing but a retransmission can give back."""
        return {lost.sequence_number for lost in self._uncovered()}

    def restarts_soon(self, *, codec: Codec, rtt_us: int | None, now_us: int) -> bool:
        """Whether the next frame needs nothing of what was lost; False when none came in time.

        Then nothing of it need be sent again, which would only delay that frame.
        """
        lost = self._uncovered(most=1)
        if lost and now_us - lost[0].lost_us > RESTART_WAIT_US:
            return False
        plan = self.policy.picture(
            self._situation(self._recovery, codec=codec, rtt_us=rtt_us, now_us=now_us)
        )
        return plan.key or plan.from_ltr

    def coded(self, frame: EncodedFrame, plan: PicturePlan, *, packets: int, now_us: int) -> None:
        """The frame that came of a plan, in so many packets; none when it is not sent."""
        self._was_base = frame.temporal_id == 0
        if frame.key or plan.finer:
            self._finer_us = now_us
        if frame.key:
            self._key_sent(plan, now_us=now_us)
        if not packets:
            return
        is_recovery = plan.from_ltr and not frame.key
        if is_recovery:
            self._recovery, self._recovered_us = None, now_us
            self.note(Action.LTRP, plan.reason or Reason.LOSS, now_us=now_us)
        if frame.ltr_slot is not None:
            self.ltrs.sent(frame.frame_id, key=frame.key, now_us=now_us)
        self._delivered.sent(
            frame.frame_id,
            packets=packets,
            dependencies=frame.dependencies,
            is_base=frame.temporal_id == 0,
            restarts=frame.key or is_recovery,
        )

    def handle_fates(self, fates: list[PacketFate], *, now_us: int) -> None:
        """What became of packets; OutgoingStream tells."""
        for fate in fates:
            if fate.arrived:
                self._losses.arrived(was_missing=fate.was_missing, now_us=now_us)
            else:
                self._losses.lost(fate.number, now_us=now_us)
            if fate.packet.fec_id is not None:
                self._regain(self.protection.fec_reported(fate.packet.fec_id, arrived=fate.arrived))
            elif fate.arrived:
                self._media_arrived(fate)
            elif fate.packet.repeats is None:
                self._media_lost(fate, now_us=now_us)

    def handle_loss_report(self, fraction_lost: int, *, now_us: int) -> None:
        """A receiver report's fraction, of 256."""
        self._losses.reported(fraction_lost / 256, now_us=now_us)

    def handle_nack(self, packet: Repairable, *, now_us: int) -> None:
        """A packet is asked for again: it was lost, if nothing says otherwise."""
        outgoing = packet.outgoing
        if outgoing.fec_id is None and not packet.has_arrived:
            self._delivered.lost(
                outgoing.frame_id,
                outgoing.index,
                sequence_number=packet.sequence_number,
                now_us=now_us,
            )

    def handle_acknowledgements(self, short_ids: Iterable[int]) -> None:
        """The peer decoded these frames (16 bits); what was never sent or is old says nothing."""
        if self._has_marks:
            for short_id in short_ids:
                self.ltrs.acknowledge_short(short_id)

    def handle_rpsi(self, short_id: int, *, codec: Codec, rtt_us: int | None, now_us: int) -> None:
        """The peer asks for a frame that goes on from what it names."""
        if not self._has_marks or self._was_answered(rtt_us, now_us=now_us):
            return
        if not self.ltrs.holds_short(short_id):
            return
        self.ltrs.acknowledge_short(short_id)
        self.want_restart(Reason.RPSI, codec=codec, rtt_us=rtt_us, now_us=now_us)

    def handle_pli(self, *, codec: Codec, rtt_us: int | None, now_us: int) -> None:
        """The peer cannot go on.

        A peer that marks references has asked for one before, in vain; any other is given a frame that
        goes on from a reference once, and a key frame if that does not help it.
        """
        if self._was_answered(rtt_us, now_us=now_us):
            return
        within_us = 2 * (DEFAULT_RTT_US if rtt_us is None else rtt_us) + PLI_AGAIN_US
        again = self._pli_us is not None and now_us - self._pli_us <= within_us
        self._pli_us = now_us
        if self._has_marks or again:
            reason = Reason.PLI_AGAIN if again else Reason.PLI
            self.want_key(reason, rtt_us=rtt_us, now_us=now_us)
        else:
            self.want_restart(Reason.PLI, codec=codec, rtt_us=rtt_us, now_us=now_us)

    def want_restart(
        self, reason: Reason, *, codec: Codec, rtt_us: int | None, now_us: int
    ) -> None:
        """Make the next frame one that needs nothing lost: from a reference, or a key frame."""
        if self._has_references(codec) and self.ltrs.acknowledged is not None:
            self._recovery = reason
        else:
            self.want_key(reason, rtt_us=rtt_us, now_us=now_us)

    def want_key(self, reason: Reason, *, rtt_us: int | None, now_us: int) -> None:
        """Make the next frame a key frame, if the last one does not answer this."""
        was_wanted = self.keys.wanted
        self.keys.asked(rtt_us=rtt_us, now_us=now_us)
        if self.keys.wanted and not was_wanted:
            self._key_reason = reason

    def request_key(self) -> None:
        """Make the next frame a key frame, since the application says so."""
        if not self.keys.wanted:
            self.keys.wanted, self._key_reason = True, Reason.APPLICATION

    def _situation(
        self, recovery: Reason | None, *, codec: Codec, rtt_us: int | None, now_us: int
    ) -> Situation:
        has_references = self._has_references(codec)
        acknowledged = self.ltrs.acknowledged if has_references else None
        return Situation(
            now_us=now_us,
            rtt_us=rtt_us,
            loss=self.loss(now_us=now_us),
            key=self._key_reason if self.keys.wanted else None,
            recovery=recovery,
            damage=len(self._uncovered(most=2)),
            ltr_age_us=None if acknowledged is None else now_us - acknowledged.sent_us,
            pinned_us=self.ltrs.last_sent_us,
            finer_us=self._finer_us,
            recovered_us=self._recovered_us,
            has_references=has_references,
            may_be_upper=self._was_base,
        )

    def _key_sent(self, plan: PicturePlan, *, now_us: int) -> None:
        reason = plan.reason if plan.reason is not None else Reason.CODEC
        self.keys.sent(now_us=now_us)
        self._recovery = self._recovered_us = None
        self.note(Action.KEY, reason, now_us=now_us)

    def _has_references(self, codec: Codec) -> bool:
        is_on = self.policy.settings.ltr is not Switch.OFF
        return is_on and codec is Codec.AV1 and self._has_descriptor

    def _was_answered(self, rtt_us: int | None, *, now_us: int) -> bool:
        """Whether a request that comes now crossed a recovery frame on its way, or one is due."""
        if self._recovery is not None or self._recovered_us is None:
            return self._recovery is not None
        answered_us = (DEFAULT_RTT_US if rtt_us is None else rtt_us) + ANSWER_US
        return now_us - self._recovered_us < answered_us

    def _uncovered(self, most: int | None = None) -> list[LostPacket]:
        """Lost packets that nothing but a retransmission can give back, the oldest of them first."""
        covers = self.protection.covers
        lost = (lost for lost in self._delivered.damage if not covers(lost.sequence_number))
        return list(islice(lost, most))

    def _media_arrived(self, fate: PacketFate) -> None:
        self._regain(self.protection.media_reported(fate.sequence_number, arrived=True))
        self._hold(fate.packet.frame_id, fate.packet.index)

    def _media_lost(self, fate: PacketFate, *, now_us: int) -> None:
        self._regain(self.protection.media_reported(fate.sequence_number, arrived=False))
        self._delivered.lost(
            fate.packet.frame_id,
            fate.packet.index,
            sequence_number=fate.sequence_number,
            now_us=now_us,
        )

    def _regain(self, sequence_number: int | None) -> None:
        """FEC gives the receiver this packet."""
        if sequence_number is None:
            return
        packet = self._recovered(sequence_number)
        if packet is not None:
            self._hold(packet.outgoing.frame_id, packet.outgoing.index)

    def _hold(self, frame_id: int, index: int) -> None:
        """The receiver holds a packet. Peers that mark references tell themselves what they decoded."""
        for delivered in self._delivered.arrived(frame_id, index):
            if not self._has_marks:
                self.ltrs.acknowledge(delivered)
