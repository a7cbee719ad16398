"""A peer as the command sees it: a process, what it is told and what it says."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from typing import Any

from ...codecs.errors import CodecpilotError, LocalError
from .pipes import LINE_LIMIT_BYTES, Message, read_messages

PEER_MODULE = "codecpilot.samples.call.peer"
# A peer ends within a second; one that does not is killed.
END_TIMEOUT_S = 5.0


class PeerProcess:
    """Starts with start(); what it says goes to whoever expects it, live messages to on_live."""

    def __init__(self, name: str, *, on_live: Callable[[str, Message], None]) -> None:
        self.name = name
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # Both peers may fail; the failure that is not looked at is no news.
        self.failure.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._on_live = on_live
        self._said: dict[str, asyncio.Queue[Message]] = {}
        self._process: Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._ending = False

    async def start(self, **options: Any) -> None:
        """Start the process. It gets no Ctrl-C of its own: it is in a session of its own."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            PEER_MODULE,
            stdin=PIPE,
            stdout=PIPE,
            limit=LINE_LIMIT_BYTES,
            start_new_session=os.name == "posix",
        )
        self._reading = asyncio.create_task(self._read())
        self.tell("start", name=self.name, **options)

    def tell(self, kind: str, **values: Any) -> None:
        """Send a message; one to a peer that is gone is lost, its failure tells."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(Message(kind=kind, values=values).encode())

    async def expect(self, kind: str) -> dict[str, Any]:
        """The values of the next message of this kind."""
        return (await self._queue(kind).get()).values

    async def end(self) -> None:
        """Stop the process, or kill it when it does not stop."""
        self._ending = True
        self.tell("stop")
        if self._process is None:
            return
        try:
            await asyncio.wait_for(self._process.wait(), END_TIMEOUT_S)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        if self._reading is not None:
            await self._reading

    def _queue(self, kind: str) -> asyncio.Queue[Message]:
        return self._said.setdefault(kind, asyncio.Queue())

    async def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        async for message in read_messages(self._process.stdout):
            if message.kind in ("figures", "picture"):
                self._on_live(self.name, message)
            elif message.kind == "failed":
                self._fail(LocalError(message.values["text"]))
            else:
                self._queue(message.kind).put_nowait(message)
        self._fail(CodecpilotError(f"peer {self.name} ended unexpectedly"))

    def _fail(self, error: CodecpilotError) -> None:
        if not self._ending and not self.failure.done():
            self.failure.set_exception(error)
