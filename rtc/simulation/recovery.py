"""Means against loss by name, and each one's switch over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from types import MappingProxyType

from ..resilience.settings import ResilienceSettings, Switch

SWITCHES = tuple(field.name for field in fields(ResilienceSettings))

_NONE = ResilienceSettings(**dict.fromkeys(SWITCHES, Switch.OFF))

RECOVERIES: Mapping[str, ResilienceSettings] = MappingProxyType(
    {
        "codecpilot": ResilienceSettings(),
        "nack": replace(_NONE, nack=Switch.ON),
        "key": _NONE,
    }
)
"""All means; retransmission, in the end a key frame, as libwebrtc has it for AV1; key frames alone."""


def resilience(recovery: str, switches: Mapping[str, str | None]) -> ResilienceSettings:
    """A name's means with what the switches say of single ones; None says nothing."""
    said = {name: Switch(value) for name, value in switches.items() if value is not None}
    return replace(RECOVERIES[recovery], **said)
