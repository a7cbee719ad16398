"""Messages between the command and its peers: a line of JSON, then as many bytes as it announces.

Only peers send such bytes.
A peer reads in one thread and writes in another, so a slow pipe stalls neither its call nor its end:
when the command dies, however it dies, its end of the pipe closes and the peer ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import queue
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import IO, Any

LINE_LIMIT_BYTES = 1 << 20
READ_BYTES = 1 << 16
# How long a peer may take to end in order after the command is gone.
LAST_WORDS_S = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """kind says what it is; values must be JSON."""

    kind: str
    values: dict[str, Any] = field(default_factory=dict)
    blob: bytes = b""

    def encode(self) -> bytes:
        """The bytes for the pipe."""
        header = {"kind": self.kind, "values": self.values, "blob_bytes": len(self.blob)}
        return json.dumps(header, separators=(",", ":")).encode() + b"\n" + self.blob


def decode_header(line: bytes) -> tuple[str, dict[str, Any], int]:
    """A header line as kind, values and the size of the blob that follows."""
    header = json.loads(line)
    return header["kind"], header["values"], header["blob_bytes"]


async def read_messages(reader: asyncio.StreamReader) -> AsyncIterator[Message]:
    """The command's view of a peer: its messages until its end of the pipe closes."""
    while True:
        try:
            line = await reader.readuntil(b"\n")
            kind, values, blob_bytes = decode_header(line)
            blob = await reader.readexactly(blob_bytes) if blob_bytes else b""
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        yield Message(kind=kind, values=values, blob=blob)


class PeerPipes:
    """A peer's view of the command: source is the descriptor it reads, sink what it writes to."""

    def __init__(self, source: int, sink: IO[bytes]) -> None:
        self._source, self._sink = source, sink
        self._outgoing: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._incoming: asyncio.Queue[Message | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._writer = threading.Thread(target=self._write, daemon=True)
        self._writer.start()
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, kind: str, *, blob: bytes = b"", **values: Any) -> None:
        """Queue a message."""
        self._outgoing.put(Message(kind=kind, values=values, blob=blob))

    @property
    def is_idle(self) -> bool:
        """Whether all that was sent is in the pipe, so that another picture may go."""
        return self._outgoing.empty()

    async def receive(self) -> Message | None:
        """The next message; None once the command is gone."""
        return await self._incoming.get()

    def flush(self) -> None:
        """Wait, not for ever, until everything is written."""
        self._outgoing.put(None)
        self._writer.join(LAST_WORDS_S)

    def _read(self) -> None:
        # The bare descriptor: a buffered file that a thread still reads would abort the exit.
        held = b""
        while data := os.read(self._source, READ_BYTES):
            *lines, held = (held + data).split(b"\n")
            for line in lines:
                kind, values, _ = decode_header(line)
                self._hand_over(Message(kind=kind, values=values))
        deadline = threading.Timer(LAST_WORDS_S, os._exit, args=(1,))
        deadline.daemon = True
        deadline.start()
        self._hand_over(None)

    def _hand_over(self, message: Message | None) -> None:
        with contextlib.suppress(RuntimeError):  # The loop is closed: the peer is on its way out.
            self._loop.call_soon_threadsafe(self._incoming.put_nowait, message)

    def _write(self) -> None:
        while (message := self._outgoing.get()) is not None:
            try:
                self._sink.write(message.encode())
                self._sink.flush()
            except OSError:
                return
