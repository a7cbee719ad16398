"""The track of what a receiver receives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aiortc.rtcrtpreceiver import RemoteStreamTrack


class CallRemoteStreamTrack(RemoteStreamTrack):
    """aiortc's, and tells when a frame is taken to be played."""

    def __init__(self, kind: str, id: str | None = None) -> None:
        super().__init__(kind=kind, id=id)
        self.on_taken: Callable[[Any], None] = lambda frame: None

    async def recv(self) -> Any:
        """Receive the next frame."""
        frame = await super().recv()
        self.on_taken(frame)
        return frame
