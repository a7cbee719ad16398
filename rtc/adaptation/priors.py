"""How a stream begins by what is known of both devices: a start worked out for them, or the rtc_score of each."""

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


def is_peer_doubted(settings: AdaptationSettings) -> bool:
    """Whether the peer's device is not expected to carry AV1."""
    if settings.start is not None:
        return settings.start.is_peers and settings.start.codec is Codec.H264
    return _is_doubted(settings.peer_score)


def first_operation(
    codecs: Sequence[Codec], *, preset: str, content: Content, settings: AdaptationSettings
) -> Operation:
    """What a stream begins with; preset is the best that may be used, or "auto"."""
    if not settings.enabled:
        return as_set(codecs[0], preset, content=content)
    codec, own, start = codecs[0], settings.own_score, settings.start
    doubted = _is_doubted(own) or is_peer_doubted(settings)
    if start is not None:
        doubted = start.codec is Codec.H264
    if doubted and Codec.H264 in codecs:
        codec = Codec.H264
    if start is not None:
        preset = _no_better(start.preset, best=preset)
    elif codec is Codec.AV1 and own is not None:
        preset = _preset(own, preset)
    return as_set(codec, preset, content=content)


def _is_doubted(score: float | None) -> bool:
    """Whether a device is not expected to carry AV1; None is neutral."""
    return score is not None and score < DOUBTED_SCORE


def _no_better(preset: str, *, best: str) -> str:
    return preset if best == AUTO else min(preset, best, key=ROWS.index)


def _preset(score: float, preset: str) -> str:
    if score < FAIR_SCORE:
        return ROWS[0]
    if preset != AUTO:
        return preset
    return STRONG_PRESET if score >= STRONG_SCORE else DEFAULT_PRESET
