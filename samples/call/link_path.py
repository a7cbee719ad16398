"""The emulated link between the peers of a live call: its ports, its start and its figures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...rtc.simulation.link import Link
from ...rtc.simulation.link_setup import open_link
from ...rtc.simulation.scenario import LinkScenario, scenario
from ..relay import OTHER, Relay
from ..seeds import seeded
from ..text_file import read_text
from .link_meter import LinkMeter

_CANDIDATE_PORT = re.compile(r"^(a=candidate:\S+ \d+ \S+ \d+ \S+ )\d+", re.MULTILINE)
_MEDIA_PORT = re.compile(r"^(m=\S+ )(?!0 )\d+", re.MULTILINE)


def check_link(values: Mapping[str, str]) -> Mapping[str, LinkScenario]:
    """The link of each direction, "ab" and "ba". Raises LocalError for what no link can be."""
    return scenario(dict(values), read_text=read_text, default_bps=lambda size, fps: 0).links


def open_path(values: Mapping[str, str], *, seed: int) -> LinkPath:
    """The path that the options' values describe; raises as check_link does."""
    links, generator = check_link(values), seeded(seed)
    return LinkPath(
        {
            name: open_link(links[name + other], sender=name, generator=generator)
            for name, other in OTHER.items()
        }
    )


class LinkPath:
    """A relay with a link each way. Sides are called A and B, as in the call."""

    def __init__(self, links: dict[str, Link]) -> None:
        self._relay = Relay(links)
        self._meters = {name: LinkMeter(link) for name, link in links.items()}

    async def start(self) -> None:
        """Open the ports."""
        await self._relay.start()

    def close(self) -> None:
        """Close the ports."""
        self._relay.close()

    def arm(self) -> None:
        """From now on the links delay and lose."""
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
