"""The page: served whole from this machine, live over its WebSocket, closed to other sites."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from codecpilot.samples.call.board import Board
from codecpilot.samples.call.figures import SentLog, ShownLog
from codecpilot.samples.call.page import FOLDER, Page

LIVE = {"sent": SentLog().live(0), "shown": ShownLog().live(0)}


class Served:
    def __init__(self, page: Page, board: Board, watched: list[bool]) -> None:
        self.page, self.board, self.watched = page, board, watched


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    board, watched = Board(("A", "B")), list[bool]()

    def on_watched(*, on: bool) -> None:
        watched.append(on)

    listener = socket.create_server(("127.0.0.1", 0))
    page = Page(board, settings={"preset": "default"}, on_watched=on_watched)
    async with page.serve(listener):
        yield Served(page, board, watched)


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20)) as session:
        yield session


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.005)


async def test_the_page_and_all_it_names_are_served(
    served: Served, client: aiohttp.ClientSession
) -> None:
    async with client.get(served.page.url) as answer:
        assert answer.status == 200
        assert answer.headers["Content-Security-Policy"] == "default-src 'self'"
        html = await answer.text()
    names = re.findall(r'(?:src|href)="([^"]+)"', html)
    assert len(names) == 5
    for name in names:
        assert name.startswith("/page/")
        async with client.get(served.page.url.rstrip("/") + name) as answer:
            assert answer.status == 200


def test_the_page_asks_nothing_of_other_hosts() -> None:
    for path in (*FOLDER.glob("*.html"), *FOLDER.glob("*.css"), *FOLDER.glob("page.js")):
        assert "https://" not in path.read_text(encoding="utf-8")


def test_vendored_files_are_those_that_the_version_file_says() -> None:
    folder = FOLDER / "vendor" / "uplot"
    told = re.findall(r"^([0-9a-f]{64})  (\S+)$", (folder / "VERSION.txt").read_text(), re.M)
    assert {name for _, name in told} == {p.name for p in folder.iterdir()} - {"VERSION.txt"}
    for digest, name in told:
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest


async def test_a_viewer_gets_settings_figures_and_the_newest_pictures(
    served: Served, client: aiohttp.ClientSession
) -> None:
    async with client.ws_connect(served.page.url + "live") as viewer:
        assert json.loads(await viewer.receive_str())["settings"] == {"preset": "default"}
        await until(lambda: served.watched == [True])
        served.board.take("A", LIVE)
        served.board.take("B", LIVE)
        figures = json.loads(await viewer.receive_str())
        assert [(d["from"], d["to"]) for d in figures["directions"]] == [("A", "B"), ("B", "A")]
        for number in range(50):
            served.page.show("A", b"old %d" % number)
        served.page.show("B", b"jpeg of B")
        got = {await viewer.receive_bytes(), await viewer.receive_bytes()}
        assert got == {b"Aold 49", b"Bjpeg of B"}
    await until(lambda: served.watched == [True, False])


async def test_pictures_are_wanted_until_the_last_viewer_leaves(
    served: Served, client: aiohttp.ClientSession
) -> None:
    first = await client.ws_connect(served.page.url + "live")
    second = await client.ws_connect(served.page.url + "live")
    await until(lambda: served.watched == [True, True])
    await first.close()
    await until(lambda: len(served.watched) == 3)
    await second.close()
    await until(lambda: served.watched == [True, True, True, False])


@pytest.mark.parametrize(
    "headers", [{"Host": "example.org"}, {"Origin": "http://example.org"}, {"Origin": "null"}]
)
async def test_other_sites_are_refused(
    served: Served, client: aiohttp.ClientSession, headers: dict[str, str]
) -> None:
    for path in ("", "live"):
        async with client.get(served.page.url + path, headers=headers) as answer:
            assert answer.status == 403


async def test_files_outside_the_page_are_not_served(
    served: Served, client: aiohttp.ClientSession
) -> None:
    for path in ("page/../cli.py", "page/%2e%2e/cli.py", "page/nothing.js"):
        async with client.get(served.page.url + path) as answer:
            assert answer.status in (403, 404)


async def test_the_page_ends_while_somebody_looks(client: aiohttp.ClientSession) -> None:
    page = Page(Board(("A", "B")), settings={}, on_watched=lambda *, on: None)
    listener = socket.create_server(("127.0.0.1", 0))
    async with page.serve(listener):
        viewer = await client.ws_connect(page.url + "live")
        await viewer.receive()
    closed: Any = await asyncio.wait_for(viewer.receive(), 20)
    assert closed.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED)


def test_the_page_folder_has_what_a_wheel_must_carry() -> None:
    names = {path.relative_to(FOLDER) for path in FOLDER.rglob("*") if path.is_file()}
    assert Path("index.html") in names
    assert Path("vendor/uplot/LICENSE.txt") in names
