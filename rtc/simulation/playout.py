"""Where decoded pictures wait before they are shown."""

from __future__ import annotations

from typing import Protocol

from ..playout.playout import DecodedPicture


class PlayoutStage(Protocol):
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
        """See PlayoutStage."""
        self._due.append(decoded)

    def poll(self, *, now_us: int) -> DecodedPicture | None:
        """See PlayoutStage."""
        return self._due.pop(0) if self._due else None

    def poll_timeout(self) -> int | None:
        """See PlayoutStage."""
        return None
