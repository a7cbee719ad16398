"""Puts an emulated link between two live peers: UDP in, through the simulator's Link, UDP out.

Each peer sends to a port of its own, and what comes there leaves for the other peer, whose address
is learnt from what it sends. Before arm() other links hold, or everything passes at once, so that a
call can be set up.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Callable
from functools import partial
from typing import cast

from ..rtc.datagram import IP_UDP_BYTES
from ..rtc.simulation.link import Delivered, Link

Address = tuple[str, int]

OTHER = {"a": "b", "b": "a"}
# RFC 7983: what begins with a byte below this is STUN, and may come from any candidate's address.
FIRST_MEDIA_BYTE = 20


def monotonic_us() -> int:
    """The clock of the live call."""
    return time.monotonic_ns() // 1000


class Relay:
    """Two ports on the loopback interface. links are those of what a peer sends, by its name.

    before are the links until arm().
    """

    def __init__(
        self,
        links: dict[str, Link],
        *,
        before: dict[str, Link] | None = None,
        now_us: Callable[[], int] = monotonic_us,
    ) -> None:
        self.ports: dict[str, int] = {}
        """Where each peer has to send to, once start() is through."""
        self._links = links
        self._before = before
        self._now_us = now_us
        self._started_us = now_us()
        self._armed_us: int | None = None
        self._sides: dict[str, _Side] = {}

    async def start(self, host: str = "127.0.0.1") -> None:
        """Open the ports."""
        loop = asyncio.get_running_loop()
        for name in OTHER:
            side = self._sides[name] = _Side(loop, partial(self._received, name))
            await loop.create_datagram_endpoint(
                partial(self._sides.__getitem__, name), local_addr=(host, 0)
            )
            self.ports[name] = side.port

    def arm(self) -> None:
        """Let the links' time begin: from now on they delay and lose."""
        self._armed_us = self._now_us()

    def link_us(self) -> int | None:
        """The links' time; None before arm()."""
        return None if self._armed_us is None else self._now_us() - self._armed_us

    def close(self) -> None:
        """Close the ports; what is under way is gone."""
        for side in self._sides.values():
            side.close()

    def _received(self, name: str, data: bytes) -> None:
        out, now_us = self._sides[OTHER[name]], self._now_us()
        links, start_us = self._before, self._started_us
        if self._armed_us is not None:
            links, start_us = self._links, self._armed_us
        if links is None:
            out.send(data)
            return
        fate = links[name].offer(len(data) + IP_UDP_BYTES, now_us=now_us - start_us)
        if isinstance(fate, Delivered):
            due_us = start_us + fate.arrival_us
            out.send_in(due_us - now_us, data, due_us=due_us)


class _Side(asyncio.DatagramProtocol):
    """One peer's port: learns the peer's address, and sends to it in the order of due times."""

    def __init__(self, loop: asyncio.AbstractEventLoop, received: Callable[[bytes], None]) -> None:
        self._loop = loop
        self._received = received
        self._transport: asyncio.DatagramTransport | None = None
        self._address: Address | None = None
        self._is_pinned = False
        self._due: list[tuple[int, int, bytes]] = []
        self._order = 0

    @property
    def port(self) -> int:
        assert self._transport is not None
        return cast(Address, self._transport.get_extra_info("sockname"))[1]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: Address) -> None:
        """An ICE check from a second candidate may not divert media, so media pins the address."""
        if data and data[0] >= FIRST_MEDIA_BYTE:
            self._address, self._is_pinned = addr, True
        elif not self._is_pinned:
            self._address = addr
        elif addr != self._address:
            return
        self._received(data)

    def send(self, data: bytes) -> None:
        """Send now; dropped while the peer has not been heard of."""
        if self._transport is not None and self._address is not None:
            self._transport.sendto(data, self._address)

    def send_in(self, delay_us: int, data: bytes, *, due_us: int) -> None:
        """Send after a delay. due_us orders packets, equal ones as they came."""
        self._order += 1
        heapq.heappush(self._due, (due_us, self._order, data))
        # Timers of equal times fire in any order, but each sends the packet that is due first.
        self._loop.call_later(max(0, delay_us) / 1e6, self._send_first)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
            self._transport = None

    def _send_first(self) -> None:
        self.send(heapq.heappop(self._due)[2])
