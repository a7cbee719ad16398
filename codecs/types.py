"""What passes between the call and the codecs: pictures, requests and encoded frames."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from .errors import LocalError

Plane = npt.NDArray[np.uint8]

FULL_SIZE = Fraction(1)
KEY_REFERENCES: tuple[int, ...] = ()


class Codec(StrEnum):
    """Codec names as they stand in SDP's rtpmap."""

    AV1 = "AV1"
    H264 = "H264"


class Content(StrEnum):
    """What a picture shows; encoders choose their tools by it."""

    CAMERA = "camera"
    SCREEN = "screen"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Picture:
    """An 8-bit 4:2:0 picture: y is (height, width), u and v are ((height + 1) // 2, (width + 1) // 2).

    The planes may be strided views (no copy is made of a decoder's or a camera's buffer) but each
    row is contiguous. capture_us is the capture time on the clock of the side that captured it.
    """

    y: Plane
    u: Plane
    v: Plane
    capture_us: int = 0

    def __post_init__(self) -> None:
        chroma = ((self.y.shape[0] + 1) // 2, (self.y.shape[1] + 1) // 2)
        if self.y.ndim != 2 or self.u.shape != chroma or self.v.shape != chroma:
            raise LocalError(
                f"4:2:0 planes expected, got y {self.y.shape}, u {self.u.shape}, v {self.v.shape}"
            )
        if any(p.dtype != np.uint8 or p.strides[1] != 1 for p in (self.y, self.u, self.v)):
            raise LocalError("planes must be uint8 with contiguous rows")

    @property
    def width(self) -> int:
        """Luma width in pixels."""
        return int(self.y.shape[1])

    @property
    def height(self) -> int:
        """Luma height in pixels."""
        return int(self.y.shape[0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EncodeRequest:
    """One try at one frame. Encoders execute it and decide nothing.

    quantizer is 0..63 (libaom's scale) and is obeyed by encoders with a quantizer of their own;
    target_bps is obeyed by those that run their own rate control (H.264). reads and writes are
    reference slots 0..7: what the frame may predict from, nearest first, and what it overwrites.
    A key frame reads nothing and overwrites every slot. scale codes this one frame at a fraction
    of the picture's size. preset names a row of the encoder's preset table. temporal_id,
    dependencies (frame ids) and ltr_slot pass on to the EncodedFrame; an LTR may be coded otherwise.
    """

    picture: Picture
    frame_id: int
    quantizer: int
    target_bps: int
    key: bool = False
    reads: tuple[int, ...] = KEY_REFERENCES
    writes: tuple[int, ...] = ()
    temporal_id: int = 0
    dependencies: tuple[int, ...] = ()
    ltr_slot: int | None = None
    scale: Fraction = FULL_SIZE
    preset: str = "default"
    content: Content = Content.CAMERA

    def __post_init__(self) -> None:
        if not 0 <= self.quantizer <= 63:
            raise LocalError(f"quantizer {self.quantizer} is outside 0..63")
        if any(not 0 <= slot <= 7 for slot in (*self.reads, *self.writes)):
            raise LocalError(f"slots are 0..7, got reads {self.reads}, writes {self.writes}")
        if self.key == bool(self.reads):
            raise LocalError("a key frame reads no slot, any other frame reads at least one")
        if not 0 < self.scale <= 1:
            raise LocalError(f"scale {self.scale} is outside (0, 1]")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EncodedFrame:
    """One coded frame: an AV1 temporal unit, or an H.264 access unit in Annex B.

    dependencies are the frame ids it predicts from directly. width and height are the coded size.
    encode_us is the wall time of all tries, encode_cpu_us their CPU time.
    """

    data: bytes
    codec: Codec
    frame_id: int
    capture_us: int
    key: bool
    quantizer: int
    temporal_id: int
    dependencies: tuple[int, ...]
    ltr_slot: int | None
    width: int
    height: int
    encode_us: int
    encode_cpu_us: int
    tries: int = 1


class VideoEncoder(Protocol):
    """What the call needs of an encoder."""

    codec: Codec
    implementation: str
    """W3C encoderImplementation, such as "libaom 3.13.1"."""
    can_retry: bool
    """Whether a picture may be encoded again so that only the last try is sent."""

    def encode(self, request: EncodeRequest) -> EncodedFrame:
        """Encode one try. Raises LocalError for a request that the codec cannot execute."""
        ...

    def close(self) -> None:
        """Free the codec's memory. May be called twice."""
        ...


class VideoDecoder(Protocol):
    """What the call needs of a decoder."""

    codec: Codec
    implementation: str

    def decode(self, data: bytes, *, capture_us: int = 0) -> Picture | None:
        """Decode one temporal or access unit without delay. Raises RemoteError for a bad one.

        The picture has the unit's coded size and carries capture_us; None when the unit shows none.
        """
        ...

    def close(self) -> None:
        """Free the codec's memory. May be called twice."""
        ...
