"""How a call begins by what both devices tell: what an application hands in, and what its connections make of it.

codecpilot.eligibility.call_policy.CallPolicy is one; it and this module know nothing of each other.
"""

from __future__ import annotations

import logging
from typing import Protocol

from ...codecs.errors import LocalError, RemoteError
from ...codecs.types import Codec
from ..adaptation.settings import StartPoint

logger = logging.getLogger("codecpilot.rtc")


class Start(Protocol):
    """How what this side sends begins; see StartPoint."""

    @property
    def codec(self) -> str:
        """A codec's name; AV1 leaves it to the application's order."""
        ...

    @property
    def preset(self) -> str:
        """A row of AV1's table."""
        ...

    @property
    def max_width(self) -> int:
        """In px, of a picture that is wider than high."""
        ...

    @property
    def max_height(self) -> int:
        """In px, of the same."""
        ...

    @property
    def max_fps(self) -> float:
        """Pictures a second."""
        ...

    @property
    def is_receivers(self) -> bool:
        """Whether the other device sets it."""
        ...


class StartPolicy(Protocol):
    """Knows this side's device."""

    @property
    def rtc_score(self) -> float:
        """Of this side's device, 0..1; told to the peer."""
        ...

    @property
    def device_text(self) -> str:
        """What else the peer's policy is told: one line of at most 400 printable ASCII characters."""
        ...

    def start(self, *, peer_score: float | None, peer_text: str | None) -> Start:
        """How to begin; None stands for what the peer did not tell. Raises RemoteError for a text that is none."""
        ...


def start_point(
    policy: StartPolicy, *, peer_score: float | None, peer_text: str | None
) -> StartPoint:
    """What the policy says; a peer's text that it refuses counts as none. Raises LocalError for no start."""
    try:
        start = policy.start(peer_score=peer_score, peer_text=peer_text)
    except RemoteError as error:
        logger.warning("what the peer tells of its device is left out of account: %s", error)
        start = policy.start(peer_score=peer_score, peer_text=None)
    if start.codec not in set(Codec):
        raise LocalError(f"a call cannot begin with {start.codec!r}, only {', '.join(Codec)}")
    return StartPoint(
        codec=Codec(start.codec),
        preset=start.preset,
        max_width=start.max_width,
        max_height=start.max_height,
        max_fps=start.max_fps,
        is_peers=start.is_receivers,
    )
