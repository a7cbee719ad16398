"""The emulated link between the peers of a live call: its ports, its start and its figures.

The call is set up over the link's delay and first rate, so that what follows the path has settled;
losses and changes of rate begin with what is measured.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ...rtc.simulation.link import Link
from ...rtc.simulation.link_setup import open_link
from ...rtc.simulation.rate import StepRate
from ...rtc.simulation.scenario import LinkScenario, scenario
from ...rtc.simulation.steps import Steps
from ..relay import OTHER, Relay
from ..seeds import seeded
from ..text_file import read_text
from .link_meter import LinkMeter
from .series import US_PER_S

# Ours: over less, sound and the first key frame take longer than a call's beginning may.
MIN_START_KBPS = 500

_CANDIDATE_PORT = re.compile(r"^(a=candidate:\S+ \d+ \S+ \d+ \S+ )\d+", re.MULTILINE)
_MEDIA_PORT = re.compile(r"^(m=\S+ )(?!0 )\d+", re.MULTILINE)


def check_link(values: Mapping[str, str]) -> Mapping[str, LinkScenario]:
    """The link of each direction, "ab" and "ba". Raises LocalError for what no link can be."""
    return scenario(dict(values), read_text=read_text, default_bps=lambda size, fps: 0).links


def open_path(values: Mapping[str, str], *, seed: int) -> LinkPath:
    """The path that the options' values describe; raises as check_link does."""
    scenarios, generator = check_link(values), seeded(seed)
    links, before = {}, {}
    for name, other in OTHER.items():
        link = scenarios[name + other]
        links[name] = open_link(link, sender=name, generator=generator)
        before[name] = open_link(_unhurt(link), sender=name, generator=generator)
    return LinkPath(links, before=before)


def _unhurt(link: LinkScenario) -> LinkScenario:
    """The link as it begins, without losses, and wide enough for a call to begin."""
    first_bytes = link.rate.offered(US_PER_S) // link.rate.units_per_byte
    kbps = max(Fraction(MIN_START_KBPS), Fraction(8 * first_bytes, 1000))
    return replace(link, rate=StepRate(Steps.constant(kbps)), loss=Steps.constant(0.0))


class LinkPath:
    """A relay with a link each way. Sides are called A and B, as in the call."""

    def __init__(self, links: dict[str, Link], *, before: dict[str, Link]) -> None:
        """before are the links until arm()."""
        self._relay = Relay(links, before=before)
        self._meters = {name: LinkMeter(link) for name, link in links.items()}

    async def start(self) -> None:
        """Open the ports."""
        await self._relay.start()

    def close(self) -> None:
        """Close the ports."""
        self._relay.close()

    def arm(self) -> None:
        """Let the links' time begin."""
        self._relay.arm()

    def lead(self, description: Mapping[str, str], *, to: str) -> dict[str, str]:
        """A description for side `to`, whose candidates are the port that this side sends to.

        All of them: the sides are on this machine, and media is bundled.
        """
        port = self._relay.ports[to.lower()]
        sdp = _CANDIDATE_PORT.sub(rf"\g<1>{port}", description["sdp"])
        return {**description, "sdp": _MEDIA_PORT.sub(rf"\g<1>{port}", sdp)}

    def live(self, side: str) -> dict[str, Any] | None:
        """Figures of what a side sent since they were last asked for; None before arm()."""
        link_us = self._relay.link_us()
        return None if link_us is None else self._meters[side.lower()].live(link_us)

    def summary(self, side: str) -> dict[str, Any] | None:
        """Figures of what a side sent since arm(); None before."""
        link_us = self._relay.link_us()
        return None if link_us is None else self._meters[side.lower()].summary(link_us)
