"""Acknowledgements of long-term references between the two cores of a transceiver."""

from __future__ import annotations

from .receiver import ReceiverCore
from .rtp.extensions import LTR_ACK
from .sender import SenderCore


class LtrExchange:
    """Has the sender's media carry what the receiver decoded, and tells the sender what the peer's carries."""

    def __init__(self) -> None:
        self._frame_id: int | None = None
        self._frames_sent = 0

    def exchange(self, *, sender: SenderCore, receiver: ReceiverCore, now_us: int) -> None:
        """Hand on what is new; for the driver, before it drains the receiver."""
        sender.handle_ltr_acks(receiver.take_peer_acks())
        frame_id, frames_sent = receiver.ltr_ack, sender.counters.framesSent
        if frame_id is None or LTR_ACK not in sender.settings.extensions:
            return
        if frame_id != self._frame_id:
            sender.set_ltr_ack(frame_id)
        elif frames_sent > self._frames_sent:
            # A frame that was on its way to the pacer before is followed by one that carries it.
            receiver.handle_ltr_ack_sent(frame_id, now_us=now_us)
        self._frame_id, self._frames_sent = frame_id, frames_sent
