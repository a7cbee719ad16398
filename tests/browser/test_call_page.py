"""The page of `codecpilot call` in a real browser: pictures, figures, charts, and its end."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from fractions import Fraction
from typing import Any

import cv2
import numpy as np
import pytest

from codecpilot.codecs.types import Codec
from codecpilot.rtc.adaptation.decisions import AdaptationDecision, AdaptationReason
from codecpilot.rtc.adaptation.operation import Operation
from codecpilot.samples.call.board import Board
from codecpilot.samples.call.figures import SentLog, ShownLog
from codecpilot.samples.call.page import Page

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

SETTINGS = {
    "source": {"kind": "synthetic", "place": ""},
    "width": 64,
    "height": 48,
    "fps": "30",
    "bitrate_bps": 500_000,
    "preset": "default",
}
DECISION = AdaptationDecision(
    time_us=0,
    operation=Operation(codec=Codec.AV1, preset="high", scale=Fraction(1, 2), every=2),
    size=(32, 24),
    layers=1,
    reason=AdaptationReason.SPARE_TIME,
    value=0.41,
)
BLUE, GREEN = (200, 40, 40), (40, 180, 40)
CENTRE_PIXEL = """side => {
    const canvas = document.querySelector(`[data-sees=${side}] canvas`);
    return [...canvas.getContext("2d").getImageData(32, 24, 1, 1).data].slice(0, 3);
}"""


def jpeg(bgr: tuple[int, int, int]) -> bytes:
    picture = np.full((48, 64, 3), bgr, np.uint8)
    return cv2.imencode(".jpg", picture)[1].tobytes()


def live_figures() -> dict[str, Any]:
    sent, shown = SentLog(), ShownLog()
    sent.codec = "AV1"
    sent.adapted(DECISION, now_us=1_000_000)
    shown.width, shown.height = 64, 48
    for number in range(30):
        time_us = 1_000_000 + number * 33_333
        sent.encoded(
            time_us,
            now_us=time_us,
            encode_us=4_200,
            cpu_us=4_000,
            bits=20_000,
            quantizer=24,
            key=False,
        )
        shown.shown(time_us - 17_000, now_us=time_us)
    path = {
        "estimate_kbps": 713.0,
        "target_kbps": 498.0,
        "pacer_ms": 6.5,
        "limited_by": "bandwidth",
    }
    return {"sent": {**sent.live(1_999_000), **path}, "shown": shown.live(1_999_000)}


@contextlib.asynccontextmanager
async def served_call(**settings: Any) -> AsyncIterator[tuple[Page, Board]]:
    board = Board(("A", "B"))
    page = Page(board, settings={**SETTINGS, **settings}, on_watched=lambda *, on: None)
    async with page.serve(socket.create_server(("127.0.0.1", 0))):
        yield page, board


async def opened(browser: Any, url: str) -> tuple[Any, list[str]]:
    """The page, and what goes wrong on it or leaves this machine."""
    tab, wrong = await browser.new_page(), list[str]()
    tab.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("request", lambda r: None if r.url.startswith(url) else wrong.append(r.url))
    await tab.goto(url)
    return tab, wrong


async def test_the_page_shows_pictures_figures_and_charts(browser: Any) -> None:
    async with served_call() as (page, board):
        tab, wrong = await opened(browser, page.url)
        await tab.wait_for_selector(
            "text=drawn scene · 64×48 at 30 fps · 500 kbps · preset default"
        )
        for _ in range(3):
            board.take("A", live_figures())
            board.take("B", live_figures())
            await asyncio.sleep(0.3)
        page.show("A", jpeg(BLUE))
        page.show("B", jpeg(GREEN))
        await tab.wait_for_function(f"side => ({CENTRE_PIXEL})(side)[2] > 150", arg="A")
        await tab.wait_for_function(f"side => ({CENTRE_PIXEL})(side)[1] > 150", arg="B")
        assert await tab.inner_text("#state") == "live"
        for side in ("A", "B"):
            tiles = await tab.inner_text(f"[data-sees={side}] dl")
            for words in ("AV1", "64×48", "600", "24", "17", "713", "498", "6.5", "bandwidth"):
                assert words in tiles
            for words in ("high", "spare time", "32×24", "1 picture of 2"):
                assert words in tiles
            (decision,) = await tab.locator(f"[data-sees={side}] li").all_inner_texts()
            assert decision == "1 s ago: AV1 high at 32×24, 1 picture of 2 (spare time 0.41)"
        assert await tab.locator(".chart canvas").count() == 8
        await tab.close()
    assert wrong == []


async def test_the_page_shows_both_scores_and_how_the_call_began(browser: Any) -> None:
    start = {
        "codec": "AV1",
        "preset": "low",
        "max_size": [960, 540],
        "max_fps": 30,
        "why": "the receiver is +0.02 from its threshold",
        "sender": {"rtc_score": 0.914, "tier": "high", "evidence": "probe"},
        "receiver": {"rtc_score": 0.58, "tier": "low"},
        "simulated": True,
    }
    async with served_call(device={"adaptation": True, "eligibility": "models/v2"}) as (
        page,
        board,
    ):
        tab, wrong = await opened(browser, page.url)
        await tab.wait_for_selector("text=scores of models/v2")
        for side in ("A", "B"):
            figures = live_figures()
            board.take(side, {**figures, "sent": {**figures["sent"], "start": start}})
        await tab.wait_for_selector("text=0.91 → 0.58")
        assert "high → low" in await tab.inner_text("[data-sees=A] dl")
        first = (await tab.locator("[data-sees=A] li").all_inner_texts())[-1]
        assert first.startswith(
            "by the scores: AV1 low, up to 960×540 at 30 fps (the receiver is +0.02"
        )
        assert "SIMULATED" in first
        await tab.close()
    assert wrong == []


async def test_the_page_tells_when_the_call_has_ended(browser: Any) -> None:
    async with served_call() as (page, _):
        tab, _ = await opened(browser, page.url)
        await tab.wait_for_selector("text=drawn scene")
    await tab.wait_for_selector("text=the call has ended")
    await tab.close()
