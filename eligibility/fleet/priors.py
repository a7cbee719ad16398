"""Processors of known speed, from Android's media_codecs_performance files."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SocPrior:
    """A processor: its speed against the reference machine, and whether it has an AV1 decoder of its own."""

    name: str
    speed: float
    decodes_av1: bool
