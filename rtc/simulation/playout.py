"""Where decoded pictures wait before they are shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ...codecs.types import Picture
from ..messages import ReceivedFrame


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecodedPicture:
    """A picture that left the decoder, and the frame it came from. Times are the receiver's clock."""

    picture: Picture
    frame: ReceivedFrame
    decoded_us: int


class Playout(Protocol):
    """Decides when a decoded picture is shown, or that it is not."""

    def insert(self, decoded: DecodedPicture, *, now_us: int) -> None:
        """Take a picture from the decoder."""
        ...

    def poll(self, *, now_us: int) -> DecodedPicture | None:
        """The next picture to show now; call until None."""
        ...

    def poll_timeout(self) -> int | None:
        """When poll() has a picture if none is inserted before."""
        ...


class ImmediatePlayout:
    """Shows each picture as soon as it is decoded."""

    def __init__(self) -> None:
        self._due: list[DecodedPicture] = []

    def insert(self, decoded: DecodedPicture, *, now_us: int) -> None:
        """See Playout."""
        self._due.append(decoded)

    def poll(self, *, now_us: int) -> DecodedPicture | None:
        """See Playout."""
        return self._due.pop(0) if self._due else None

    def poll_timeout(self) -> int | None:
        """See Playout."""
        return None
