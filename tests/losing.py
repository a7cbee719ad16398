"""Losses on the way between one of our transports and the wire."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any


class Loss:
    """Decides over each RTP packet on its way through one of our transports."""

    def __init__(self) -> None:
        self.is_lost: Callable[[bytes], bool] = lambda data: False
        self.lost = 0

    def on_the_way_out(self, transport: Any) -> None:
        """Put it between our senders and the wire."""
        send = transport._send_rtp

        async def lossy(data: bytes) -> None:
            if not self._drops(data):
                await send(data)

        transport._send_rtp = lossy

    def on_the_way_in(self, transport: Any) -> None:
        """Put it between the wire and our receivers."""
        handle: Callable[..., Awaitable[None]] = transport._handle_rtp_data

        async def lossy(data: bytes, arrival_time_ms: int) -> None:
            if not self._drops(data):
                await handle(data, arrival_time_ms=arrival_time_ms)

        transport._handle_rtp_data = lossy

    def _drops(self, data: bytes) -> bool:
        is_rtcp = 192 <= data[1] <= 223  # RFC 5761 section 4
        if is_rtcp or not self.is_lost(data):
            return False
        self.lost += 1
        return True
