"""One peer of a call, in a process of its own, steered over its standard input and output."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import signal
import sys
from typing import IO, Any

from aioice import ice
from aiortc import RTCSessionDescription

from ...codecs.errors import CodecpilotError
from ...codecs.types import EncodedFrame
from ...rtc.adaptation.decisions import AdaptationDecision
from ...rtc.messages import DecodedFrame, ReceivedFrame
from .clocks import unix_us, wall_from_monotonic_us, wall_us
from .figures import SentLog, ShownLog
from .options import CallOptions
from .path_figures import PathFigures
from .peer_parts import call_connection, call_recording, call_start, call_telemetry
from .pipes import Message, PeerPipes
from .player import Player
from .series import US_PER_S, Window
from .source_tracks import SourceTracks, open_tracks

FIGURES_PERIOD_S = 1.0
# The measured window begins this much after it was asked for, so that both sides know it before.
WINDOW_DELAY_US = 200_000
# How long after a window its last pictures are waited for.
GRACE_S = 1.0
# Sound gets its capture times with the first sender report, 0.5 to 1.5 s after the start (aiortc).
SOUND_WAIT_S = 3.0
NO_END_US = 1 << 62
_REPORTED = ("outbound-rtp", "inbound-rtp", "remote-inbound-rtp", "candidate-pair")


class Peer:
    """A peer connection, its sources, its player and its figures."""

    def __init__(self, pipes: PeerPipes, *, name: str, options: CallOptions) -> None:
        self._pipes = pipes
        self._options = options
        self._sent, self._shown = SentLog(), ShownLog()
        self._path = PathFigures()
        self._sent_window: Window | None = None
        self._shown_window: Window | None = None
        self._recording = call_recording(options, side=name)
        self._start = call_start(options)
        self._pc = call_connection(options, side=name, start=self._start)
        self._telemetry = call_telemetry(options, side=name, pc=self._pc, shown=self._shown)
        self._sources: SourceTracks = open_tracks(
            options.source,
            side=name,
            width=options.width,
            height=options.height,
            fps=options.fps,
            seed=options.seed,
            on_due=self._note_due,
        )
        self._player = Player(
            self._pc, log=self._shown, on_jpeg=self._send_jpeg, on_sound=self._keep_sound
        )
        self._tasks: list[asyncio.Task[None]] = []
        self._listen()

    async def offer(self) -> None:
        """Begin the call: tell our description."""
        self._add_tracks()
        await self._pc.setLocalDescription(await self._pc.createOffer())
        self._tell_description()

    async def take_description(self, values: dict[str, Any]) -> None:
        """The other side's description; an offer is answered."""
        await self._pc.setRemoteDescription(RTCSessionDescription(**values))
        if values["type"] == "offer":
            self._add_tracks()
            await self._pc.setLocalDescription(await self._pc.createAnswer())
            self._tell_description()
        self._tasks.append(asyncio.create_task(self._tell_showing()))
        self._tasks.append(asyncio.create_task(self._tell_figures()))

    def watch(self, *, on: bool) -> None:
        """Whether somebody looks at the page."""
        self._player.watched = on

    def measure(self, seconds: int | None) -> None:
        """Choose the window of what we send, from a picture of ours on, and tell it."""
        tick_us = int(US_PER_S / self._options.fps)
        start_us = self._sources.next_due_us(wall_us() + WINDOW_DELAY_US)
        end_us = NO_END_US if seconds is None else start_us + seconds * US_PER_S
        self._sent_window = Window(start_us=start_us, end_us=end_us, tick_us=tick_us)
        self._pipes.send("window", start_us=start_us, end_us=end_us, tick_us=tick_us)

    def expect(self, window: Window) -> None:
        """The window of what the other side sends."""
        self._shown_window = window

    async def report(self, end_us: int) -> None:
        """Close the windows at end_us at the latest, await their last pictures, tell the figures."""
        sent, shown = _closed(self._sent_window, end_us), _closed(self._shown_window, end_us)
        await self._await_pictures(shown)
        now_us = wall_us()
        self._pipes.send(
            "report",
            sent={**self._sent.summary(sent), "start": self._began()},
            shown=self._shown.summary(shown, now_us=now_us),
            seconds=sent.seconds,
            stats=await self._stats(),
        )

    async def close(self) -> None:
        """End everything."""
        if self._telemetry is not None:
            await self._telemetry.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._player.stop()
        await self._pc.close()
        self._sources.close()
        if self._recording is not None:
            self._recording.close()

    def _add_tracks(self) -> None:
        if self._options.audio_bps:
            self._pc.addTrack(self._sources.sound)
        self._pc.addTrack(self._sources.pictures)

    def _listen(self) -> None:
        @self._pc.on("track")
        def on_track(track: Any) -> None:
            receiver = next(r for r in self._pc.getReceivers() if r.track is track)
            self._player.play(receiver, track)

        for source in (self._sources.pictures, self._sources.sound):
            source.on("ended", self._tell_source_error)
        self._pc.on("frameencoded", self._note_encoded)
        self._pc.on("adaptation", self._note_adapted)
        self._pc.on("framedecoded", self._note_decoded)
        if self._recording is not None:
            self._pc.on("framereceived", self._keep_frame)

    def _tell_source_error(self) -> None:
        if self._sources.error is not None:
            self._pipes.send("failed", text=str(self._sources.error))

    def _note_due(self, due_us: int) -> None:
        self._sent.captured(wall_from_monotonic_us(due_us))
        if self._telemetry is not None:
            self._telemetry.captured()

    def _note_encoded(self, frame: EncodedFrame) -> None:
        self._sent.codec = frame.codec.value
        self._sent.encoded(
            wall_from_monotonic_us(frame.capture_us),
            now_us=wall_us(),
            encode_us=frame.encode_us,
            cpu_us=frame.encode_cpu_us,
            bits=8 * len(frame.data),
            quantizer=frame.quantizer,
            key=frame.key,
        )

    def _note_adapted(self, decision: AdaptationDecision) -> None:
        self._sent.adapted(decision, now_us=wall_from_monotonic_us(decision.time_us))

    def _note_decoded(self, frame: DecodedFrame) -> None:
        now_us = wall_us()
        capture_us = unix_us(frame.capture_wall_us)
        if capture_us is None:
            capture_us = now_us
        self._shown.decoded(capture_us, now_us=now_us, decode_us=frame.decode_us)

    def _keep_frame(self, frame: ReceivedFrame) -> None:
        if self._recording is not None:
            self._recording.video(frame)

    def _keep_sound(self, frame: Any, capture_us: int | None) -> None:
        if self._recording is not None:
            self._recording.sound(frame, capture_us=capture_us)

    def _send_jpeg(self, data: bytes) -> None:
        if self._pipes.is_idle:
            self._pipes.send("picture", blob=data)

    def _tell_description(self) -> None:
        local = self._pc.localDescription
        self._pipes.send("description", sdp=local.sdp, type=local.type)

    async def _tell_showing(self) -> None:
        await self._player.has_pictures.wait()
        if self._options.audio_bps:
            with contextlib.suppress(TimeoutError):  # Then the call has no figures of sound yet.
                await asyncio.wait_for(self._player.has_timed_sound.wait(), SOUND_WAIT_S)
        self._pipes.send("showing")

    async def _tell_figures(self) -> None:
        while True:
            await asyncio.sleep(FIGURES_PERIOD_S)
            path = self._path.live((await self._pc.getStats()).values())
            now_us = wall_us()
            self._pipes.send(
                "figures",
                sent={**self._sent.live(now_us), **path, "start": self._began()},
                shown=self._shown.live(now_us),
            )

    def _began(self) -> dict[str, Any] | None:
        return None if self._start is None else self._start.figures()

    async def _await_pictures(self, window: Window) -> None:
        deadline_us = window.end_us + int(GRACE_S * US_PER_S)
        while wall_us() < deadline_us:
            last_us = self._shown.last_capture_us
            if last_us is not None and last_us >= window.edges_us[1]:
                return
            await asyncio.sleep(0.02)

    async def _stats(self) -> list[dict[str, Any]]:
        entries = (await self._pc.getStats()).values()
        return [_plain(entry) for entry in entries if entry.type in _REPORTED]


def _plain(entry: Any) -> dict[str, Any]:
    """A statistics entry as JSON."""
    values = dataclasses.asdict(entry)
    return {name: v for name, v in values.items() if isinstance(v, int | float | str | dict)}


def _closed(window: Window | None, end_us: int) -> Window:
    if window is None:
        return Window(start_us=end_us, end_us=end_us, tick_us=0)
    end_us = max(window.start_us, min(window.end_us, end_us))
    return dataclasses.replace(window, end_us=end_us)


async def _serve(pipes: PeerPipes) -> None:
    """Do what the command says until it says stop, or is gone."""
    peer: Peer | None = None
    try:
        while (message := await pipes.receive()) is not None and message.kind != "stop":
            if message.kind == "start":
                options = CallOptions.from_json(message.values["options"])
                peer = Peer(pipes, name=message.values["name"], options=options)
            elif peer is not None:
                await _obey(peer, message)
    except CodecpilotError as error:
        pipes.send("failed", text=str(error))
    finally:
        if peer is not None:
            await peer.close()


async def _obey(peer: Peer, message: Message) -> None:
    match message.kind:
        case "offer":
            await peer.offer()
        case "description":
            await peer.take_description(message.values)
        case "watch":
            peer.watch(**message.values)
        case "measure":
            peer.measure(message.values["seconds"])
        case "window":
            peer.expect(Window(**message.values))
        case "report":
            await peer.report(message.values["end_us"])


async def _main(sink: IO[bytes]) -> None:
    pipes = PeerPipes(0, sink)
    await _serve(pipes)
    pipes.flush()


def main() -> None:
    """The process: messages go out on the standard output, whatever else is printed on the error output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The command tells when to end.
    # aioice leaves the loopback interface out; here the call is to stay on it, and needs no other.
    ice.get_host_addresses = lambda use_ipv4, use_ipv6: ["127.0.0.1"]
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    asyncio.run(_main(sink))
    # All is written and closed, but a source's thread may still be at a picture, and a thread that
    # Python stops inside a library aborts the process.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
