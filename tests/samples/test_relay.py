"""The relay against the link that it carries: same class, real sockets, real time."""

from __future__ import annotations

import asyncio
import random

import pytest

from codecpilot.rtc.datagram import IP_UDP_BYTES
from codecpilot.rtc.simulation.link import Delivered, Link, LinkSettings
from codecpilot.rtc.simulation.loss import loss_process
from codecpilot.rtc.simulation.rate import parse_rate
from codecpilot.rtc.simulation.steps import Steps
from codecpilot.samples.relay import Relay

from tests.live_call import eventually

MEDIA, STUN = b"\x80", b"\x01"
PACKETS, SIZE = 80, 472


def link(*, rate: str = "800", loss: float = 0.2, seed: int = 3) -> Link:
    return Link(
        rate=parse_rate(rate),
        loss=loss_process(Steps.constant(loss), burst=2, rng=random.Random(seed)),
        settings=LinkSettings(delay_us=30_000, queue_us=100_000),
        rng=random.Random(seed),
    )


class Peer(asyncio.DatagramProtocol):
    """A UDP endpoint that notes what comes, and when."""

    def __init__(self) -> None:
        self.received: list[tuple[float, bytes]] = []

    def connection_made(self, transport) -> None:
        self.transport = transport

    def datagram_received(self, data, addr) -> None:
        self.received.append((asyncio.get_running_loop().time(), data))

    def numbers(self) -> list[int]:
        return [int.from_bytes(data[1:3], "big") for _, data in self.received]


async def open_peer() -> Peer:
    loop = asyncio.get_running_loop()
    _, peer = await loop.create_datagram_endpoint(Peer, local_addr=("127.0.0.1", 0))
    return peer


class Call:
    """Two peers and the relay between them."""

    def __init__(self, *, before: dict[str, Link] | None = None) -> None:
        self.links = {"a": link(), "b": link(rate="100000", loss=0)}
        self.relay = Relay(self.links, before=before)

    async def __aenter__(self) -> Call:
        await self.relay.start()
        self.peers = {name: await open_peer() for name in "ab"}
        for name in "ab":
            self.send(name, STUN)
        await asyncio.sleep(0.1)
        for peer in self.peers.values():
            peer.received.clear()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.relay.close()
        for peer in self.peers.values():
            peer.transport.close()

    def send(self, name: str, data: bytes, *, through: Peer | None = None) -> None:
        peer = through or self.peers[name]
        peer.transport.sendto(data, ("127.0.0.1", self.relay.ports[name]))


def packet(number: int) -> bytes:
    return MEDIA + number.to_bytes(2, "big") + bytes(SIZE - 3)


async def test_before_it_is_armed_everything_passes_at_once():
    async with Call() as call:
        for number in range(20):
            call.send("a", packet(number))
        await eventually(lambda: len(call.peers["b"].received) >= 20, "every packet")
        assert call.peers["b"].numbers() == list(range(20))
        assert call.links["a"].counters.offered_packets == 0


async def test_other_links_may_hold_before_it_is_armed():
    async with Call(before={"a": link(loss=0), "b": link(loss=0)}) as call:
        start = asyncio.get_running_loop().time()
        call.send("a", packet(1))
        await asyncio.sleep(0.1)
        ((arrival, data),) = call.peers["b"].received
        assert 0.034 <= arrival - start <= 0.1
        assert data == packet(1)
        call.relay.arm()
        for number in range(2, 12):
            call.send("a", packet(number))
        await asyncio.sleep(0.2)
        assert call.links["a"].counters.offered_packets == 10
        assert 3 <= len(call.peers["b"].received) <= 10


async def test_it_loses_and_delays_as_the_link_says_in_order():
    async with Call() as call:
        call.relay.arm()
        for number in range(PACKETS):
            call.send("a", packet(number))
            await asyncio.sleep(0.005)
        counters, peer = call.links["a"].counters, call.peers["b"]
        await eventually(lambda: counters.offered_packets == PACKETS, "all are offered")
        await eventually(lambda: len(peer.received) >= counters.delivered_packets, "all arrive")
        got = peer.numbers()
        assert counters.offered_bytes == PACKETS * (SIZE + IP_UDP_BYTES)
        assert len(got) == counters.delivered_packets
        assert got == sorted(got)
        # Losses depend on the order of packets alone: a link of the same seed loses the same ones.
        again = link()
        fates = [again.offer(SIZE + IP_UDP_BYTES, now_us=n * 10_000) for n in range(PACKETS)]
        assert got == [n for n, fate in enumerate(fates) if isinstance(fate, Delivered)]


async def test_a_packet_takes_its_service_and_its_delay():
    async with Call() as call:
        call.relay.arm()
        peer, times = call.peers["a"], []
        for number in range(5):
            start = asyncio.get_running_loop().time()
            call.send("b", packet(number))
            await eventually(lambda: peer.received, "the packet")
            arrival, _ = peer.received.pop()
            times.append(arrival - start)
        # A busy machine delays some of them further.
        assert 0.029 <= min(times) <= 0.1


@pytest.mark.parametrize(("first", "diverted"), [(MEDIA, False), (STUN, True)])
async def test_media_pins_the_peers_address(first: bytes, diverted: bool):
    async with Call() as call:
        stranger = await open_peer()
        call.send("b", first)
        await asyncio.sleep(0.02)
        call.send("b", STUN, through=stranger)
        await asyncio.sleep(0.02)
        call.send("a", packet(7))
        await asyncio.sleep(0.05)
        assert (stranger.numbers() == [7]) == diverted
        assert (call.peers["b"].numbers() == [7]) != diverted
        stranger.transport.close()
