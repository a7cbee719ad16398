"""What a driver does after each call into a core; the live call and the simulator use the same functions."""

from __future__ import annotations

from dataclasses import dataclass

from .encoder_session import EncodeJob
from .messages import ReceivedFrame
from .receiver import ReceiverCore
from .sender import SenderCore


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderOutput:
    """What a sender wants done now, and when it wants to be asked again at the latest."""

    job: EncodeJob | None
    rtp: list[bytes]
    rtcp: list[bytes]
    wake_us: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverOutput:
    """What a receiver wants done now, and when it wants to be asked again at the latest.

    probe is a frame to decode once, by a decoder and in a thread of its own, for the time it takes.
    """

    frame: ReceivedFrame | None
    rtcp: list[bytes]
    wake_us: int | None
    probe: ReceivedFrame | None = None


def drain_sender(core: SenderCore, *, now_us: int) -> SenderOutput:
    """Everything that a sender and its path have ready.

    The packets are those of all streams that share the path, so after feedback to the path any of its cores
    may be drained. They come first: what the passing of time tells the path's estimator reaches the job. That
    comes last: until its result is in there is no other, so nothing that fails here may lose it.
    """
    rtp = [packet.serialize() for packet in core.poll_packets(now_us=now_us)]
    rtcp = core.poll_rtcp(now_us=now_us)
    job = core.poll_encode(now_us=now_us)
    return SenderOutput(job=job, rtp=rtp, rtcp=rtcp, wake_us=core.poll_timeout())


def drain_receiver(core: ReceiverCore, *, now_us: int) -> ReceiverOutput:
    """Everything that a receiver has ready."""
    return ReceiverOutput(
        frame=core.poll_decode(now_us=now_us),
        probe=core.poll_probe(now_us=now_us),
        rtcp=core.poll_rtcp(now_us=now_us),
        wake_us=core.poll_timeout(),
    )
