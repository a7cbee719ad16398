"""Which means against loss a stream may use, for experiments: each one never, always, or where it pays."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Switch(StrEnum):
    """How a means is used."""

    OFF = "off"
    """Never."""
    ON = "on"
    """Whatever the loss, where the peer takes part."""
    AUTO = "auto"
    """While loss, its bursts and the round-trip time ask for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResilienceSettings:
    """The means, each with its switch.

    temporal_layers: every second frame is one that no other reads. fec: packets that carry what a lost
    one held. nack: lost packets are asked for and sent again; where it is auto also unasked, as soon as
    transport-wide feedback reports them. ltr: long-term references that a stream
    goes on from after a loss. ltr_proactive: going on from one before a loss is known.
    """

    temporal_layers: Switch = Switch.AUTO
    fec: Switch = Switch.AUTO
    nack: Switch = Switch.AUTO
    ltr: Switch = Switch.AUTO
    ltr_proactive: Switch = Switch.AUTO
