"""The codecs of the command line: each name and preset opens what it says."""

from __future__ import annotations

from fractions import Fraction

import pytest

from codecpilot.codecs.av1_presets import PRESETS
from codecpilot.codecs.errors import LocalError
from codecpilot.codecs.types import Codec
from codecpilot.samples.evaluate.codec_specs import open_spec_encoder, parse_codec
from codecpilot.samples.evaluate.rates import constant


@pytest.mark.parametrize(
    ("text", "label", "implementation", "suffix", "anchor", "controlled"),
    [
        ("av1:ultralow", "av1:ultralow", "libaom", ".ivf", False, True),
        ("av1", "av1:default", "libaom", ".ivf", False, True),
        ("h264:veryfast", "h264:veryfast", "libx264", ".h264", True, False),
        ("h264-controlled", "h264-controlled:superfast", "libx264", ".h264", False, True),
        ("libaom-cbr:9", "libaom-cbr:9", "libaom", ".ivf", True, False),
        ("libaom-cbr:10-nodrop", "libaom-cbr:10-nodrop", "libaom", ".ivf", True, False),
        ("openh264", "openh264", "libopenh264", ".h264", True, False),
    ],
)
def test_a_codec_opens_by_its_name(
    text: str, label: str, implementation: str, suffix: str, anchor: bool, controlled: bool
) -> None:
    spec = parse_codec(text)
    assert (spec.label, spec.suffix) == (label, suffix)
    assert (spec.is_anchor, spec.is_controlled) == (anchor, controlled)
    assert spec.codec is (Codec.AV1 if suffix == ".ivf" else Codec.H264)
    encoder = open_spec_encoder(spec, width=64, height=48, fps=Fraction(30), rates=constant(100))
    assert encoder.implementation.startswith(implementation)
    assert encoder.codec is spec.codec
    encoder.close()


def test_every_av1_preset_can_be_named() -> None:
    assert [parse_codec(f"av1:{name}").preset for name in PRESETS] == list(PRESETS)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("vp9", "codec 'vp9' is none of av1, h264, h264-controlled, libaom-cbr, openh264"),
        ("", "codec '' is none of"),
        ("av1:turbo", "preset 'turbo' of av1 is none of ultralow"),
        ("av1:", "preset '' of av1 is none of"),
        ("h264:default", "preset 'default' of h264 is none of ultrafast"),
        ("libaom-cbr:13", "preset '13' of libaom-cbr is none of 5, 5-nodrop"),
        ("openh264:fast", "openh264 has no presets, got 'fast'"),
    ],
)
def test_an_unknown_codec_or_preset_is_refused_with_what_there_is(text: str, words: str) -> None:
    with pytest.raises(LocalError) as refused:
        parse_codec(text)
    assert words in str(refused.value)
