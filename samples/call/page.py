"""The page of a call: static files, and a WebSocket that carries figures (text) and pictures (binary)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Protocol

from aiohttp import WSMsgType, web

from .board import Board

FOLDER = Path(__file__).resolve().parent.parent / "page"
FIGURES_PERIOD_S = 0.25
# The page loads nothing from elsewhere, and no other site's page may read the call.
SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'self'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}


class Watch(Protocol):
    """Told whether anyone looks."""

    def __call__(self, *, on: bool) -> None:
        """Start or stop sending pictures."""
        ...


class Viewer:
    """One open page. Each side's newest picture waits for it; older ones are dropped."""

    def __init__(self, connection: web.WebSocketResponse) -> None:
        self._connection = connection
        self._pictures: dict[str, bytes] = {}
        self._wake = asyncio.Event()

    def show(self, side: str, jpeg: bytes) -> None:
        """Hand over a picture that the side sees."""
        self._pictures[side] = jpeg
        self._wake.set()

    async def send_pictures(self) -> None:
        """Send pictures as fast as the page takes them: a byte for the side, then the JPEG."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._pictures:
                side = next(iter(self._pictures))
                jpeg = self._pictures.pop(side)
                await self._connection.send_bytes(side.encode() + jpeg)

    async def send_figures(self, board: Board) -> None:
        """Send the figures whenever they changed."""
        sent = 0
        while True:
            if board.rounds != sent:
                sent = board.rounds
                await self._connection.send_str(
                    json.dumps({"kind": "figures", "directions": board.directions()})
                )
            await asyncio.sleep(FIGURES_PERIOD_S)


class Page:
    """Serves the page of one call."""

    def __init__(self, board: Board, *, settings: dict[str, Any], on_watched: Watch) -> None:
        self.url = ""
        self._board = board
        self._settings = settings
        self._on_watched = on_watched
        self._viewers: set[Viewer] = set()
        self._connections: set[web.WebSocketResponse] = set()

    def show(self, side: str, jpeg: bytes) -> None:
        """A picture that this side sees."""
        for viewer in self._viewers:
            viewer.show(side, jpeg)

    @contextlib.asynccontextmanager
    async def serve(self, listener: socket.socket) -> AsyncIterator[None]:
        """Serve on the listening socket until the end."""
        runner = web.AppRunner(self._application(), access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        await web.SockSite(runner, listener).start()
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        try:
            yield
        finally:
            for connection in tuple(self._connections):
                await connection.close()
            await runner.cleanup()

    def _application(self) -> web.Application:
        application = web.Application(middlewares=[_guard])
        application.router.add_get("/", _index)
        application.router.add_get("/live", self._live)
        application.router.add_static("/page", FOLDER)
        return application

    async def _live(self, request: web.Request) -> web.WebSocketResponse:
        connection = web.WebSocketResponse(heartbeat=10.0)
        await connection.prepare(request)
        await connection.send_str(json.dumps({"kind": "settings", "settings": self._settings}))
        viewer = Viewer(connection)
        sending = [
            asyncio.create_task(viewer.send_pictures()),
            asyncio.create_task(viewer.send_figures(self._board)),
        ]
        self._join(viewer, connection)
        try:
            async for message in connection:
                if message.type is WSMsgType.ERROR:
                    break
        finally:
            self._leave(viewer, connection)
            for task in sending:
                task.cancel()
            await asyncio.gather(*sending, return_exceptions=True)
        return connection

    def _join(self, viewer: Viewer, connection: web.WebSocketResponse) -> None:
        self._viewers.add(viewer)
        self._connections.add(connection)
        self._on_watched(on=True)

    def _leave(self, viewer: Viewer, connection: web.WebSocketResponse) -> None:
        self._viewers.discard(viewer)
        self._connections.discard(connection)
        self._on_watched(on=bool(self._viewers))


async def _index(request: web.Request) -> web.FileResponse:
    return web.FileResponse(FOLDER / "index.html")


@web.middleware
async def _guard(request: web.Request, handler: Callable[[web.Request], Any]) -> web.StreamResponse:
    """Refuse other sites' pages, also those whose name was pointed at this machine."""
    host = request.host.rpartition(":")[0] or request.host
    origin = request.headers.get("Origin")
    if host not in ("127.0.0.1", "localhost") or origin not in (None, f"http://{request.host}"):
        raise web.HTTPForbidden(text="this page is for this machine only")
    response: web.StreamResponse = await handler(request)
    if not response.prepared:
        response.headers.update(SECURITY_HEADERS)
    return response
