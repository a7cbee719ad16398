"""What Android devices measured of their own codecs: media_codecs_performance XML.

The files stand under /vendor/etc of a device and in its open device tree. They say for each codec
and size between which frame rates it ran; android.media.MediaCodecInfo calls these the achievable
frame rates. The name of the device is not in them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from codecpilot.codecs.errors import LocalError, RemoteError

# Ours: the largest of those seen has 19 kB.
MAX_FILE_BYTES = 1 << 20
# Ours: the format nests 5 deep, with Variant 6.
MAX_DEPTH = 16
MIME_CODECS = {
    "video/av01": "AV1",
    "video/avc": "H264",
    "video/hevc": "H265",
    "video/x-vnd.on2.vp8": "VP8",
    "video/x-vnd.on2.vp9": "VP9",
}
# AOSP's own components run on the CPU (android.media.MediaCodecInfo.isSoftwareOnly).
SOFTWARE = ("c2.android.", "omx.google.")
LIMIT = re.compile(r"measured-frame-rate-(\d{1,5})x(\d{1,5})")
RANGE = re.compile(r"\s*(\d{1,6}(?:\.\d{1,6})?)\s*(?:-\s*(\d{1,6}(?:\.\d{1,6})?)\s*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodecPrior:
    """One codec at one size: it ran between fps_low and fps_high pictures a second."""

    codec: str
    """As in SDP's rtpmap."""
    component: str
    """The codec's name on the device, such as c2.android.av1.encoder."""
    encodes: bool
    hardware: bool
    width: int
    height: int
    fps_low: float
    fps_high: float

    @property
    def ns_px(self) -> float:
        """Time a pixel at the middle of the range, in ns."""
        return 2e9 / ((self.fps_low + self.fps_high) * self.width * self.height)


@dataclass(slots=True)
class _Reader:
    """Where in the file the parser is, and what it found."""

    priors: list[CodecPrior] = field(default_factory=list)
    depth: int = 0
    encodes: bool = False
    component: str = ""
    mime: str = ""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise RemoteError(f"a codec file nests at most {MAX_DEPTH} deep, this one deeper")
        if tag in ("Encoders", "Decoders"):
            self.encodes = tag == "Encoders"
        elif tag == "MediaCodec":
            self.component = attributes.get("name", "")
            self.mime = attributes.get("type", "")
        elif tag == "Type":
            self.mime = attributes.get("name", "")
        elif tag == "Limit":
            self._limit(attributes)

    def end(self, tag: str) -> None:
        self.depth -= 1
        if tag == "MediaCodec":
            self.component = self.mime = ""

    def _limit(self, attributes: dict[str, str]) -> None:
        size = LIMIT.fullmatch(attributes.get("name", ""))
        rates = RANGE.fullmatch(attributes.get("range", ""))
        codec = MIME_CODECS.get(self.mime)
        # Protected playback runs the same silicon and no call needs it.
        if not size or not rates or not codec or self.component.endswith(".secure"):
            return
        low = float(rates[1])
        high = float(rates[2] or low)
        width, height = int(size[1]), int(size[2])
        if not 0 < low <= high or not width or not height:
            raise RemoteError(
                f"{self.component[:80]} at {width}x{height}: range {attributes['range'][:40]}"
                " is none of positive frame rates, lower first"
            )
        self.priors.append(
            CodecPrior(
                codec=codec,
                component=self.component,
                encodes=self.encodes,
                hardware=not self.component.lower().startswith(SOFTWARE),
                width=width,
                height=height,
                fps_low=low,
                fps_high=high,
            )
        )


def read_device_xml(path: Path) -> tuple[CodecPrior, ...]:
    """The codecs' measured frame rates, in the file's order; protected variants are left out.

    Raises LocalError where the file cannot be read, RemoteError where it is no such file.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise LocalError(f"cannot read {path}: {error.strerror or error}") from error
    if len(data) > MAX_FILE_BYTES:
        raise RemoteError(f"{path} is over {MAX_FILE_BYTES} bytes, no codec file is")
    return parse_device_xml(data)


def parse_device_xml(data: bytes) -> tuple[CodecPrior, ...]:
    """As read_device_xml, of the file's content. Raises RemoteError and nothing else."""
    reader = _Reader()
    parser = expat.ParserCreate()
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    # Entities are declared there: without any, none can be blown up and no other file is read.
    parser.StartDoctypeDeclHandler = _refuse_doctype
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        if isinstance(error, RemoteError):
            raise
        raise RemoteError(f"no well-formed XML: {error}") from error
    if not reader.priors:
        raise RemoteError("no measured-frame-rate limit of a video codec in this XML")
    return tuple(reader.priors)


def _refuse_doctype(*_: object) -> None:
    raise RemoteError("a codec file has no DOCTYPE; entities are refused")
