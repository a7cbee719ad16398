"""Joins a scenario's two peers by its links and runs them in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..playout.av_sync import AvSync
from .audio import AudioSink
from .event_loop import EventLoop
from .link import Delivered, Link
from .link_setup import open_link
from .party import Party, agree, party
from .peer import Peer, PeerParts
from .recorder import Recorder
from .records import EventLog
from .scenario import Scenario
from .screen import PairSink, Screen
from .tools import Tools
from .wire import Wire, wire_bytes

MICRO = 1_000_000
OTHER = {"a": "b", "b": "a"}

OpenSink = Callable[[str], PairSink | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Direction:
    """What one direction came to; parts are those of the peer that sends, far those of the other."""

    name: str
    link: Link
    recorder: Recorder
    parts: PeerParts
    far: PeerParts


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A finished run; directions are "a->b" and "b->a"."""

    scenario: Scenario
    directions: Mapping[str, Direction]
    events: EventLog


def simulate(
    scenario: Scenario,
    tools: Tools,
    *,
    open_sink: OpenSink = lambda direction: None,
    progress: Callable[[int], None] = lambda now_us: None,
) -> Run:
    """Run a scenario to its end. Raises LocalError for what a codec or the device model refuses.

    open_sink gives each direction its sink of compared pictures; progress is told the time after
    each virtual second.
    """
    call = _Call(scenario, tools, open_sink)
    try:
        call.run(progress)
    finally:
        for peer in call.peers.values():
            peer.close()
    return Run(
        scenario=scenario,
        directions={d.name: d for d in map(call.direction, OTHER)},
        events=call.events,
    )


class _Call:
    """Everything of one run; what belongs to one way goes by the peer that sends."""

    def __init__(self, scenario: Scenario, tools: Tools, open_sink: OpenSink) -> None:
        self.events = EventLog()
        self._scenario, self._tools, self._open_sink = scenario, tools, open_sink
        self._loop = EventLoop()
        self._agreement = agree(scenario)
        self._parties = {
            name: party(scenario, name, tools=tools, loop=self._loop) for name in OTHER
        }
        self._links = {
            name: open_link(
                scenario.links[name + OTHER[name]], sender=name, generator=tools.generator
            )
            for name in OTHER
        }
        self._recorders = {name: self._recorder(self._parties[name]) for name in OTHER}
        self._parts = {name: self._peer_parts(self._parties[name]) for name in OTHER}
        self.peers = {name: self._peer(name) for name in OTHER}

    def run(self, progress: Callable[[int], None]) -> None:
        for name, peer in self.peers.items():
            peer.start(self._tools.pictures(name))
        end_us = self._scenario.duration_us
        while self._loop.now_us < end_us:
            self._loop.run_until(min(self._loop.now_us + MICRO, end_us))
            progress(self._loop.now_us)
        for recorder in self._recorders.values():
            recorder.finish(end_us)

    def direction(self, sender: str) -> Direction:
        return Direction(
            name=self._recorders[sender].direction,
            link=self._links[sender],
            recorder=self._recorders[sender],
            parts=self._parts[sender],
            far=self._parts[OTHER[sender]],
        )

    def _recorder(self, sender: Party) -> Recorder:
        direction = f"{sender.name}->{OTHER[sender.name]}"
        screen = Screen(
            frame_us=int(MICRO / sender.scenario.fps), on_pair=self._open_sink(direction)
        )
        return Recorder(
            direction=direction,
            sender=sender.name,
            receiver=OTHER[sender.name],
            first_timestamp=sender.identity.first_timestamp,
            wire=Wire(self._agreement.codecs),
            screen=screen,
            events=self.events,
        )

    def _peer_parts(self, mine: Party) -> PeerParts:
        other, av_sync = self._parties[OTHER[mine.name]], AvSync()
        return PeerParts(
            clock=mine.clock,
            device=mine.device,
            sender=mine.sender(self._agreement),
            receiver=mine.receiver(self._agreement, remote=other),
            playout=mine.playout(av_sync),
            audio=mine.audio,
            sound=AudioSink(av_sync),
            open_decoder=mine.open_decoder,
            remote_preset=other.scenario.preset,
            outgoing=self._recorders[mine.name],
            incoming=self._recorders[other.name],
        )

    def _peer(self, name: str) -> Peer:
        link, recorder, loop = self._links[name], self._recorders[name], self._loop

        def send(data: bytes) -> None:
            fate = link.offer(wire_bytes(data), now_us=loop.now_us)
            recorder.sent(data, fate, now_us=loop.now_us)
            if isinstance(fate, Delivered):
                loop.at(fate.arrival_us, lambda: self.peers[OTHER[name]].handle_datagram(data))

        return Peer(self._parts[name], loop=loop, send=send)
