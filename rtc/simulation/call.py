"""One call of a run: its two peers on links that it may share with other calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..playout.av_sync import AvSync
from .audio import AudioSink
from .event_loop import EventLoop
from .health import HealthMeter
from .link import Delivered, Link
from .party import agree, party
from .peer import Peer, PeerParts
from .recorder import Recorder
from .records import EventLog, Sample
from .scenario import Scenario
from .screen import PairSink, Screen
from .tools import Tools
from .wire import Wire, wire_bytes

MICRO = 1_000_000
OTHER = {"a": "b", "b": "a"}
# ours: three frames of 30 fps; an estimate moves on that scale.
SAMPLE_INTERVAL_US = 100_000

OpenSink = Callable[[str], PairSink | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Direction:
    """What one direction came to; parts are those of the peer that sends, far those of the other.

    start_us is when its call began, target_bps what its encoder may take at most, interval_us the time
    from picture to picture. A sample is taken every SAMPLE_INTERVAL_US.
    """

    name: str
    link: Link
    start_us: int
    target_bps: int
    interval_us: int
    recorder: Recorder
    samples: list[Sample]
    parts: PeerParts
    far: PeerParts


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What the calls of a run have in common; links go by the peer that sends."""

    scenario: Scenario
    tools: Tools
    loop: EventLoop
    links: Mapping[str, Link]
    events: EventLog
    open_sink: OpenSink


class Call:
    """Built when it begins. What belongs to one way goes by the peer that sends, "a" or "b"."""

    def __init__(self, ground: Ground, *, number: int) -> None:
        """number counts a run's calls from 1."""
        self._ground = ground
        self._loop = ground.loop
        self._start_us = ground.loop.now_us
        self._agreements = {role: agree(ground.scenario, sender=role) for role in OTHER}
        self._parties = {
            role: party(ground.scenario, role, call=number, tools=ground.tools, loop=ground.loop)
            for role in OTHER
        }
        self._recorders = {role: self._recorder(role) for role in OTHER}
        self._parts = {role: self._peer_parts(role) for role in OTHER}
        self._peers = {role: self._peer(role) for role in OTHER}
        self._samples: dict[str, list[Sample]] = {role: [] for role in OTHER}

    def start(self) -> None:
        """Begin to capture."""
        for role, peer in self._peers.items():
            peer.start(self._ground.tools.pictures(role))
        self._sample()

    def finish(self) -> None:
        """Take what has no end yet as lasting until now."""
        for recorder in self._recorders.values():
            recorder.finish(self._loop.now_us)

    def close(self) -> None:
        """Free the codecs."""
        for peer in self._peers.values():
            peer.close()

    def directions(self) -> list[Direction]:
        """Both ways, a's first."""
        return [
            Direction(
                name=self._recorders[role].direction,
                link=self._ground.links[role],
                start_us=self._start_us,
                target_bps=self._ground.scenario.peers[role].target_bps,
                interval_us=int(MICRO / self._ground.scenario.peers[role].fps),
                recorder=self._recorders[role],
                samples=self._samples[role],
                parts=self._parts[role],
                far=self._parts[OTHER[role]],
            )
            for role in OTHER
        ]

    def _sample(self) -> None:
        now_us = self._loop.now_us
        for role, parts in self._parts.items():
            sender = parts.sender
            self._samples[role].append(
                Sample(
                    time_us=now_us,
                    queue_us=self._ground.links[role].wait_us(now_us),
                    target_bps=sender.target_bps,
                    estimate_bps=sender.estimate_bps or self._recorders[role].estimate_bps,
                )
            )
        self._loop.at(now_us + SAMPLE_INTERVAL_US, self._sample)

    def _recorder(self, role: str) -> Recorder:
        mine, other = self._parties[role], self._parties[OTHER[role]]
        direction = f"{mine.name}->{other.name}"
        screen = Screen(
            frame_us=int(MICRO / mine.scenario.fps),
            on_pair=self._ground.open_sink(direction),
            compares=self._ground.scenario.compares,
        )
        return Recorder(
            direction=direction,
            sender=mine.name,
            receiver=other.name,
            first_timestamp=mine.identity.first_timestamp,
            wire=Wire(self._agreements[role].codecs),
            screen=screen,
            events=self._ground.events,
        )

    def _peer_parts(self, role: str) -> PeerParts:
        mine, other, av_sync = self._parties[role], self._parties[OTHER[role]], AvSync()
        return PeerParts(
            clock=mine.clock,
            device=mine.device,
            sender=mine.sender(self._agreements[role]),
            receiver=mine.receiver(self._agreements[OTHER[role]], remote=other),
            playout=mine.playout(av_sync),
            audio=mine.audio,
            sound=AudioSink(av_sync),
            open_decoder=mine.open_decoder,
            health=HealthMeter(mine.scenario.battery_percent),
            outgoing=self._recorders[role],
            incoming=self._recorders[OTHER[role]],
        )

    def _peer(self, role: str) -> Peer:
        link, recorder, loop = self._ground.links[role], self._recorders[role], self._loop

        def send(data: bytes) -> None:
            fate = link.offer(wire_bytes(data), now_us=loop.now_us)
            recorder.sent(data, fate, now_us=loop.now_us)
            if isinstance(fate, Delivered):
                loop.at(fate.arrival_us, lambda: self._peers[OTHER[role]].handle_datagram(data))

        return Peer(self._parts[role], loop=loop, send=send)
