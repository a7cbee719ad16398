"""The receiver's part of long-term references (LTR): the newest one decoded, and its acknowledgement.

A key frame refreshes every reference, so it ends those before it. The acknowledgement travels on our own
media where there is some, and otherwise in RTCP, again until a frame shows that the sender has it.
"""

from __future__ import annotations

# ours: our own media, where there is any, leaves every 33 ms at 30 fps and every 50 ms at 20.
ACK_WAIT_US = 50_000
# ours: with 20 % loss all five are lost once in 3000.
MAX_ACKS = 5

_FRAME_ID_MASK = 0xFFFF


class LtrReceiver:
    """Knows which LTR the decoder holds and whether its acknowledgement has to go out; ids have 16 bits.

    Ids are whatever the sender says: newest means decoded last, and nothing is compared or kept
    but that one.
    """

    def __init__(self) -> None:
        self.newest: int | None = None
        """The LTR decoded last, which the sender may predict from."""
        self._due_us: int | None = None
        self._asked: int = 0
        self._last_us: int | None = None

    def forget(self) -> None:
        """A key frame was decoded, or a frame failed: no older reference can be relied upon."""
        self.newest = None
        self._due_us = None

    def decoded_ltr(self, frame_id: int, *, now_us: int) -> None:
        """An LTR was decoded: it is what is acknowledged from now on."""
        if frame_id == self.newest:
            return
        self.newest = frame_id
        due_us = now_us + ACK_WAIT_US
        # A newer one in place of one that was not acknowledged yet does not put off the acknowledgement.
        if self._due_us is None or self._asked:
            self._due_us = due_us
        self._asked = 0
        if self._last_us is not None:
            self._due_us = max(self._due_us, self._last_us + ACK_WAIT_US)

    def decoded_recovery(self, dependencies: tuple[int, ...] | None) -> None:
        """A frame that goes on from an LTR was decoded: if from the newest, its acknowledgement arrived.

        dependencies are frame numbers; None when they are unknown.
        """
        if dependencies is None or any(d & _FRAME_ID_MASK == self.newest for d in dependencies):
            self._due_us = None

    def carried(self, frame_id: int, *, now_us: int, rtt_us: int) -> None:
        """Own media left with this acknowledgement: RTCP has time until that ends."""
        if frame_id == self.newest and self._due_us is not None:
            self._due_us = now_us + max(ACK_WAIT_US, rtt_us)

    def poll(self, *, now_us: int, rtt_us: int) -> int | None:
        """The LTR to acknowledge by RTCP now."""
        if self._due_us is None or now_us < self._due_us:
            return None
        self._asked += 1
        self._last_us = now_us
        self._due_us = now_us + max(ACK_WAIT_US, rtt_us) if self._asked < MAX_ACKS else None
        return self.newest

    def poll_timeout(self) -> int | None:
        """When poll() next has something to acknowledge."""
        return self._due_us


class PeerAcks:
    """Acknowledgements that arrive on the peer's media, which repeats each one frame after frame."""

    # ours: as many as there are pins, codecs.slot_book.PINS; the newest of them is what counts.
    _MAX_WAITING = 4

    def __init__(self) -> None:
        self._waiting: list[int] = []
        self._last: int | None = None

    def received(self, frame_id: int) -> None:
        """Note a 16-bit id."""
        if frame_id != self._last:
            self._last = frame_id
            self._waiting = [*self._waiting, frame_id][-self._MAX_WAITING :]

    def take(self) -> list[int]:
        """Those that came since the last call, oldest first."""
        waiting, self._waiting = self._waiting, []
        return waiting
