"""What a run leaves behind of each frame, each packet and each decision."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

BUSY = "encoder busy"
PACER_FULL = "pacer full"
THE_END = "the end"


class PacketKind(StrEnum):
    """What a datagram carries."""

    MEDIA = "media"
    RTX = "rtx"
    PADDING = "padding"
    """A packet sent again that nobody missed, to fill a probe."""
    FEC = "fec"
    AUDIO = "audio"
    RTCP = "rtcp"


@dataclass(slots=True, kw_only=True)
class FrameRecord:
    """One captured picture and what became of it. Times are virtual, in us; None: it never came to that.

    index counts the captured pictures. encode_us is when encoding began, encoded_us when it ended.
    skipped says why it was not sent. preset, scale (coded at most at this part of each side) and every
    (one of so many captured pictures is sent) are what was decided for it. bytes is the encoded
    frame's, vbv_delay_us the delay after it at the target rate. on_screen is the index of what the
    screen showed when this picture was due (see Screen), psnr_y its likeness to this one.
    """

    direction: str
    index: int
    capture_us: int
    encode_us: int | None = None
    encoded_us: int | None = None
    skipped: str = BUSY
    codec: str = ""
    preset: str = ""
    scale: float | None = None
    every: int = 1
    frame_id: int | None = None
    key: bool = False
    ltr: bool = False
    ltrp: bool = False
    quantizer: int | None = None
    temporal_id: int | None = None
    width: int | None = None
    height: int | None = None
    tries: int | None = None
    bytes: int | None = None
    packets: int = 0
    packets_lost: int = 0
    target_bps: int | None = None
    vbv_delay_us: int | None = None
    received_us: int | None = None
    decoded_us: int | None = None
    decode_failed: bool = False
    shown_us: int | None = None
    on_screen: int | None = None
    psnr_y: float | None = None


@dataclass(slots=True, kw_only=True)
class PacketRecord:
    """One datagram offered to a link; size_bytes is on the wire.

    sequence is the media packet's, for RTX that of the packet it repeats. fate is "" for one that
    arrives; queue_us is how long it waited where it was served.
    """

    direction: str
    sent_us: int
    size_bytes: int
    kind: PacketKind
    sequence: int | None = None
    frame_index: int | None = None
    arrival_us: int | None = None
    queue_us: int | None = None
    fate: str = ""


class EventLog:
    """Every decision and its reason, in order."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def add(self, time_us: int, peer: str, event: str, **details: Any) -> None:
        """Note that a peer (or a link, "a->b") decided something."""
        self.events.append({"time_us": time_us, "peer": peer, "event": event, **details})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """How a direction stands at a time: what a packet would wait now, and the rates in force.

    target_bps is the encoder's, estimate_bps what the path is thought to carry.
    """

    time_us: int
    queue_us: int
    target_bps: int
    estimate_bps: int | None
