"""How requests of the receiver are answered: NACK, PLI, FIR, RPSI, and acknowledgements beside them.

A NACK is, within the path's bound and a budget, and not while FEC is on its way.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..codecs.types import Codec
from ..ratecontrol.pacer import MAX_WAIT_US
from .flights import PacketFate
from .loss_recovery import LossRecovery
from .outgoing_stream import OutgoingStream
from .resilience.decisions import Action, Reason
from .resilience.nack import DEFAULT_RTT_US
from .resilience.retransmission_budget import RetransmissionBudget
from .resilience.settings import Switch
from .rtp.rtcp import (
    FullIntraRequest,
    LtrAcknowledgement,
    Nack,
    PictureLossIndication,
    ReferencePictureSelection,
    RtcpMessage,
)
from .send_path import SendPath
from .stats import OutboundCounters

# ours: reordering, and the time that a receiver takes to send feedback.
HOLD_MARGIN_US = 20_000
# ours: a frame interval. So long the path is free, in the mean, before a frame that restarts has left.
QUICK_REPAIR_US = 33_000
# ours: a held answer is one packet; more of them than this are answered at once.
MAX_HELD = 64


class RepairAnswers:
    """Answers what is asked of one stream."""

    def __init__(
        self,
        *,
        stream: OutgoingStream,
        path: SendPath,
        recovery: LossRecovery,
        counters: OutboundCounters,
    ) -> None:
        self._stream = stream
        self._path = path
        self._recovery = recovery
        self._counters = counters
        self._budget = RetransmissionBudget()
        # Sequence numbers, and when they are answered if nothing else was heard of them.
        self._held: dict[int, int] = {}

    def handle(
        self,
        message: RtcpMessage,
        *,
        codec: Codec,
        target_bps: int,
        rtt_us: int | None,
        now_us: int,
    ) -> None:
        """Take a message; those of other streams, or that ask for nothing, are ignored."""
        recovery = self._recovery
        if isinstance(message, FullIntraRequest):
            if new := recovery.keys.fir(message, ssrc=self._stream.ssrc):
                self._counters.firCount += new
                recovery.want_key(Reason.FIR, rtt_us=rtt_us, now_us=now_us)
        elif getattr(message, "media_ssrc", None) != self._stream.ssrc:
            return
        elif isinstance(message, Nack):
            self._counters.nackCount += 1
            self._note_lost(message.lost, now_us=now_us)
            if not self._repair(
                message.lost, codec=codec, target_bps=target_bps, rtt_us=rtt_us, now_us=now_us
            ):
                # More than the path carries within the bound: a new beginning is there sooner.
                reason = Reason.NACK_TOO_LARGE
                recovery.want_restart(reason, codec=codec, rtt_us=rtt_us, now_us=now_us)
        elif isinstance(message, PictureLossIndication):
            self._counters.pliCount += 1
            recovery.handle_pli(codec=codec, rtt_us=rtt_us, now_us=now_us)
        elif isinstance(message, ReferencePictureSelection):
            self._counters.rpsiCount += 1
            recovery.handle_rpsi(message.frame_id, codec=codec, rtt_us=rtt_us, now_us=now_us)
        elif isinstance(message, LtrAcknowledgement):
            recovery.handle_acknowledgements(message.frame_ids)

    def handle_fates(
        self,
        fates: list[PacketFate],
        *,
        codec: Codec,
        target_bps: int,
        rtt_us: int | None,
        now_us: int,
    ) -> None:
        """Take what became of packets: what is lost need not be asked for to be sent again."""
        self._recovery.handle_fates(fates, now_us=now_us)
        if self._recovery.policy.settings.nack is not Switch.AUTO:
            return
        lost = {fate.sequence_number for fate in fates if not fate.arrived}
        lost &= self._recovery.uncovered_numbers() if lost else lost
        if lost:
            self._repair(
                [fate.sequence_number for fate in fates if fate.sequence_number in lost],
                codec=codec,
                target_bps=target_bps,
                rtt_us=rtt_us,
                now_us=now_us,
            )

    def poll(self, *, target_bps: int, rtt_us: int | None, now_us: int) -> None:
        """Answer what was held in vain."""
        due = [number for number, until_us in self._held.items() if until_us <= now_us]
        for number in due:
            del self._held[number]
        if due:
            self._answer(
                due,
                target_bps=target_bps,
                limit_bytes=self._path.bound_bytes,
                rtt_us=rtt_us,
                now_us=now_us,
            )

    def poll_timeout(self) -> int | None:
        """When a held answer is due."""
        return min(self._held.values(), default=None)

    def _note_lost(self, lost: Iterable[int], *, now_us: int) -> None:
        for number in dict.fromkeys(lost):
            sent = self._stream.repairable(number)
            if sent is not None:
                self._recovery.handle_nack(sent, now_us=now_us)

    def _repair(
        self,
        lost: Iterable[int],
        *,
        codec: Codec,
        target_bps: int,
        rtt_us: int | None,
        now_us: int,
    ) -> bool:
        """Send again what was lost; False where that takes more than the path carries in time."""
        if self._recovery.policy.settings.nack is Switch.OFF:
            return True
        limit_bytes = self._path.bound_bytes
        restarts = self._recovery.restarts_soon(codec=codec, rtt_us=rtt_us, now_us=now_us)
        if restarts:
            # What leaves before the next frame, and does not delay it, shows those in between too.
            limit_bytes = limit_bytes * QUICK_REPAIR_US // MAX_WAIT_US
        numbers = [
            number
            for number in dict.fromkeys(lost)
            if self._stream.repairable(number) is not None
            and not self._holds(number, rtt_us=rtt_us, now_us=now_us)
        ]
        answered = self._answer(
            numbers, target_bps=target_bps, limit_bytes=limit_bytes, rtt_us=rtt_us, now_us=now_us
        )
        return answered or restarts

    def _holds(self, number: int, *, rtt_us: int | None, now_us: int) -> bool:
        """Whether to wait for FEC that may not have been there when this was asked."""
        if number in self._held:
            return True
        if len(self._held) >= MAX_HELD or not self._recovery.protection.covers(number):
            return False
        left_us = self._recovery.protection.fec_left_us(number)
        round_us = DEFAULT_RTT_US if rtt_us is None else rtt_us
        until_us = (now_us if left_us is None else left_us) + round_us + HOLD_MARGIN_US
        if until_us <= now_us:
            return False
        self._held[number] = until_us
        self._counters.nacksHeld += 1
        self._recovery.note(Action.HOLD, Reason.FEC_COVERS, now_us=now_us, value=number)
        return True

    def _answer(
        self,
        numbers: list[int],
        *,
        target_bps: int,
        limit_bytes: int,
        rtt_us: int | None,
        now_us: int,
    ) -> bool:
        allowed_bytes = self._budget.available_bytes(target_bps=target_bps, now_us=now_us)
        packets = self._stream.retransmissions(
            numbers,
            budget_bytes=min(allowed_bytes, self._path.repair_bytes(now_us=now_us)),
            limit_bytes=limit_bytes,
            now_us=now_us,
            rtt_us=DEFAULT_RTT_US if rtt_us is None else rtt_us,
            upper_too=self._recovery.policy.repairs_upper(rtt_us),
        )
        if packets is None:
            return False
        self._budget.spend(sum(packet.size_bytes for packet in packets))
        self._path.enqueue(packets, now_us=now_us)
        return True
