"""Holds a call: starts both peers, carries their signalling, measures, shows, and ends everything."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console

from ...codecs.errors import CodecpilotError
from ..json_file import write_json
from .board import Board
from .clocks import wall_us
from .figures import direction_figures
from .link_path import LinkPath, open_path
from .options import CallOptions
from .page import Page
from .peer_process import PeerProcess
from .pipes import Message
from .report import Measured, call_report, print_report
from .series import US_PER_S
from .terminal import live_terminal

SIDES = ("A", "B")
# Generous, for a loaded machine: importing, connecting and the first key frame take about 2 s.
CONNECT_LIMIT_S = 60.0
REPORT_LIMIT_S = 15.0

T = TypeVar("T")


def hold_call(
    options: CallOptions,
    *,
    listener: socket.socket | None,
    json_path: Path | None,
    simulated: bool = False,
) -> int:
    """Hold the call to its end and report. listener is the page's socket, None for no page.

    simulated: hold it in virtual time afterwards, and set both side by side.
    Returns the exit code. Raises CodecpilotError when a peer fails.
    """
    measured = asyncio.run(_hold(options, listener=listener))
    recordings = (
        sorted(options.record_dir.glob(f"{options.record_name}-*.mkv"))
        if options.record_dir
        else []
    )
    report = call_report(options, measured, recordings=recordings)
    try:
        if json_path is not None:
            write_json(json_path, report)
    finally:  # Each comes to its place, whatever becomes of the other.
        print_report(report)
    if simulated:
        report["simulated"] = _simulate(options, report)
        if json_path is not None:
            write_json(json_path, report)
    return 0


def _simulate(options: CallOptions, report: dict[str, Any]) -> list[dict[str, Any]]:
    # Only who asks for it waits for the simulator's imports.
    from .simulated import print_comparison, simulate_call

    with Console().status("the same call in virtual time …"):
        directions = simulate_call(options, report)
    if directions:
        print_comparison(report["directions"], directions)
    return directions


async def _hold(options: CallOptions, *, listener: socket.socket | None) -> Measured:
    stop = asyncio.Event()
    _stop_on_signals(stop)
    path = open_path(options.link, seed=options.seed) if options.link else None
    call = Call(options, stop=stop, path=path)
    async with contextlib.AsyncExitStack() as stack:
        if path is not None:
            await path.start()
            stack.callback(path.close)
        if listener is not None:
            page = Page(call.board, settings=options.to_json(), on_watched=call.watch)
            await stack.enter_async_context(page.serve(listener))
            call.on_picture = page.show
            stack.enter_context(live_terminal(call.board, url=page.url))
        stack.push_async_callback(call.end)
        return await call.run()


class Call:
    """Both peers and the stages of their call."""

    def __init__(self, options: CallOptions, *, stop: asyncio.Event, path: LinkPath | None) -> None:
        self.board = Board(SIDES)
        self.on_picture: Callable[[str, bytes], None] = lambda side, jpeg: None
        self._options = options
        self._stop = stop
        self._path = path
        self._watched = False
        self._peers = [PeerProcess(name, on_live=self._take_live) for name in SIDES]

    def watch(self, *, on: bool) -> None:
        """Whether a page wants pictures."""
        self._watched = on
        for peer in self._peers:
            peer.tell("watch", on=on)

    async def run(self) -> Measured:
        """Connect, measure, and gather the figures; nothing when stopped before measuring."""
        ends_us = await self._stage(self._connect(), limit_s=CONNECT_LIMIT_S, what="connect")
        if ends_us is None:
            return Measured()
        await self._stage(_sleep_until(max(ends_us)), limit_s=None, what="measure")
        self._stop.clear()
        measured = await self._stage(self._gather(), limit_s=REPORT_LIMIT_S, what="report")
        return measured or Measured()

    async def end(self) -> None:
        """End both processes."""
        await asyncio.gather(*(peer.end() for peer in self._peers))

    async def _connect(self) -> list[int]:
        """Until both sides show pictures and know what is measured; when the windows end."""
        for peer in self._peers:
            await peer.start(options=self._options.to_json())
            peer.tell("watch", on=self._watched)
        first, second = self._peers
        first.tell("offer")
        await self._carry_description(first, second)
        await self._carry_description(second, first)
        for peer in self._peers:
            await peer.expect("showing")
        for peer in self._peers:
            peer.tell("measure", seconds=self._options.seconds)
        windows = [await peer.expect("window") for peer in self._peers]
        first.tell("window", **windows[1])
        second.tell("window", **windows[0])
        if self._path is not None:
            await _sleep_until(min(window["start_us"] for window in windows))
            self._path.arm()
        return [window["end_us"] for window in windows]

    async def _carry_description(self, teller: PeerProcess, to: PeerProcess) -> None:
        description = await teller.expect("description")
        if self._path is not None:
            description = self._path.lead(description, to=to.name)
        to.tell("description", **description)

    async def _gather(self) -> Measured:
        end_us = wall_us()
        links = {name: self._path.summary(name) if self._path else None for name in SIDES}
        for peer in self._peers:
            peer.tell("report", end_us=end_us)
        told = [(peer, await peer.expect("report")) for peer in self._peers]
        directions = [
            direction_figures(
                a.name, b.name, sent=told_a["sent"], shown=told_b["shown"], link=links[a.name]
            )
            for (a, told_a), (b, told_b) in (told, told[::-1])
        ]
        return Measured(
            seconds=min(values["seconds"] for _, values in told),
            directions=directions,
            stats={peer.name: values["stats"] for peer, values in told},
        )

    async def _stage(
        self, work: Coroutine[Any, Any, T], *, limit_s: float | None, what: str
    ) -> T | None:
        """Do the work unless it is stopped (then None). Raises what ended a peer, or a timeout."""
        task = asyncio.create_task(work)
        stopping = asyncio.create_task(self._stop.wait())
        failures = [peer.failure for peer in self._peers]
        try:
            done, _ = await asyncio.wait(
                {task, stopping, *failures}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            task.cancel()
            stopping.cancel()
        for failure in failures:
            if failure in done:
                failure.result()
        if not done:
            raise CodecpilotError(f"the peers did not {what} within {limit_s:.0f} s")
        return task.result() if task in done else None

    def _take_live(self, side: str, message: Message) -> None:
        if message.kind == "picture":
            self.on_picture(side, message.blob)
        else:
            link = self._path.live(side) if self._path else None
            self.board.take(side, {**message.values, "link": link})


async def _sleep_until(time_us: int) -> None:
    while (left_us := time_us - wall_us()) > 0:
        await asyncio.sleep(min(left_us / US_PER_S, 60.0))


def _stop_on_signals(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"):
        number = getattr(signal, name, None)
        if number is None or (name == "SIGHUP" and signal.getsignal(number) is signal.SIG_IGN):
            continue  # What nohup started outlives its terminal.
        try:
            loop.add_signal_handler(number, stop.set)
        except NotImplementedError:  # Windows' event loop.
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))
