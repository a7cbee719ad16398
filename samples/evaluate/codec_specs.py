"""The codecs of the command line: their names, presets, and how an encoder of each is opened."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ...codecs.av1_encoder import Av1Encoder
from ...codecs.av1_presets import PRESETS
from ...codecs.errors import LocalError
from ...codecs.h264_encoder import X264_PRESETS, H264Encoder, OpenH264Encoder
from ...codecs.libaom_cbr import SPEEDS, LibaomCbrEncoder
from ...codecs.types import Codec, VideoEncoder
from .rates import Rates

NO_DROPS = "-nodrop"
_SPEED_PRESETS = tuple(f"{speed}{variant}" for speed in SPEEDS for variant in ("", NO_DROPS))
# Ours: one second at the highest target, the usual buffer of low-delay CBR.
VBV_US = 1_000_000

_PRESETS: dict[str, tuple[str, ...]] = {
    "av1": tuple(PRESETS),
    "h264": X264_PRESETS,
    "h264-controlled": X264_PRESETS,
    "libaom-cbr": _SPEED_PRESETS,
    "openh264": (),
}
_DEFAULTS = {
    "av1": "default",
    "h264": "superfast",
    "h264-controlled": "superfast",
    "libaom-cbr": "10",
    "openh264": "",
}
_ANCHORS = ("h264", "openh264", "libaom-cbr")
_CONTROLLED = ("av1", "h264-controlled")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodecSpec:
    """One codec to evaluate. preset is empty for openh264, which has none."""

    name: str
    preset: str

    @property
    def label(self) -> str:
        """As on the command line, such as "av1:default"."""
        return f"{self.name}:{self.preset}" if self.preset else self.name

    @property
    def slug(self) -> str:
        """For folder names, such as "av1-default"."""
        return self.label.replace(":", "-")

    @property
    def is_anchor(self) -> bool:
        """Whether others are compared with it."""
        return self.name in _ANCHORS

    @property
    def is_controlled(self) -> bool:
        """Whether codecpilot's frame controller steers it; the others hold rates by themselves."""
        return self.name in _CONTROLLED

    @property
    def codec(self) -> Codec:
        """What decodes its bitstream."""
        return Codec.AV1 if self.name in ("av1", "libaom-cbr") else Codec.H264

    @property
    def suffix(self) -> str:
        """Of its bitstream files."""
        return ".ivf" if self.codec is Codec.AV1 else ".h264"


def parse_codec(text: str) -> CodecSpec:
    """A codec from NAME or NAME:PRESET. Raises LocalError that lists what there is."""
    name, separator, preset = text.strip().partition(":")
    if name not in _PRESETS:
        raise LocalError(f"codec {name!r} is none of {', '.join(_PRESETS)}")
    if not separator:
        return CodecSpec(name=name, preset=_DEFAULTS[name])
    presets = _PRESETS[name]
    if not presets:
        raise LocalError(f"{name} has no presets, got {preset!r}")
    if preset not in presets:
        raise LocalError(f"preset {preset!r} of {name} is none of {', '.join(presets)}")
    return CodecSpec(name=name, preset=preset)


def open_spec_encoder(
    spec: CodecSpec, *, width: int, height: int, fps: Fraction, rates: Rates
) -> VideoEncoder:
    """An encoder of one thread. Raises LocalError when its library is missing or refuses the size.

    "h264" is x264 in low-delay CBR: its rate and maxrate are the target, its VBV buffer holds one
    second of the highest target.
    """
    if spec.name == "av1":
        return Av1Encoder(width=width, height=height)
    if spec.name == "h264":
        return H264Encoder(
            width=width,
            height=height,
            fps=fps,
            preset=spec.preset,
            ceiling_bps=rates.highest_bps,
            vbv_bits=rates.highest_bps * VBV_US // 1_000_000,
        )
    if spec.name == "h264-controlled":
        return H264Encoder(width=width, height=height, fps=fps, preset=spec.preset)
    if spec.name == "openh264":
        return OpenH264Encoder(width=width, height=height, fps=fps)
    speed = int(spec.preset.removesuffix(NO_DROPS))
    drops = not spec.preset.endswith(NO_DROPS)
    return LibaomCbrEncoder(width=width, height=height, fps=fps, speed=speed, drops=drops)
