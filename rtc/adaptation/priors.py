"""How a stream begins by what both devices' rtc_score promise: the chance that AV1 is held in real time."""

from __future__ import annotations

from collections.abc import Sequence

from ...codecs.types import Codec, Content
from .operation import DEFAULT_PRESET, Operation
from .operations import AUTO, ROWS, as_set
from .settings import AdaptationSettings

# Ours: below an even chance by a margin the start, which everybody sees, is H.264's.
DOUBTED_SCORE = 0.35
# Ours: and up to here AV1 begins with the preset that takes the least, beyond here with a better one.
FAIR_SCORE = 0.65
STRONG_SCORE = 0.9
STRONG_PRESET = "high"


def is_doubted(score: float | None) -> bool:
    """Whether a device is not expected to carry AV1; None is neutral."""
    return score is not None and score < DOUBTED_SCORE


def first_operation(
    codecs: Sequence[Codec], *, preset: str, content: Content, settings: AdaptationSettings
) -> Operation:
    """What a stream begins with; preset is the best that may be used, or "auto"."""
    if not settings.enabled:
        return as_set(codecs[0], preset, content=content)
    codec, own = codecs[0], settings.own_score
    doubted = is_doubted(own) or is_doubted(settings.peer_score)
    if doubted and Codec.H264 in codecs:
        codec = Codec.H264
    if codec is Codec.AV1 and own is not None:
        preset = _preset(own, preset)
    return as_set(codec, preset, content=content)


def _preset(score: float, preset: str) -> str:
    if score < FAIR_SCORE:
        return ROWS[0]
    if preset != AUTO:
        return preset
    return STRONG_PRESET if score >= STRONG_SCORE else DEFAULT_PRESET
