"""One Chromium for all browser tests, and the page it plays its part on, served on 127.0.0.1."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from aiohttp import web

if TYPE_CHECKING:
    from tests.browser.chromium import ChromiumPeer

PAGE = Path(__file__).parent / "page"


def missing(what: str) -> None:
    """Skip, or fail where a browser is required."""
    if os.environ.get("CODECPILOT_REQUIRE_BROWSER") == "1":
        pytest.fail(f"{what}, and CODECPILOT_REQUIRE_BROWSER=1 requires it", pytrace=False)
    pytest.skip(what)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def page_url() -> AsyncIterator[str]:
    application = web.Application()
    application.router.add_static("/", PAGE)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/index.html"
    await runner.cleanup()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Any]:
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        missing("Debian's chromium is not installed")
    try:
        from playwright.async_api import async_playwright
    except ImportError:
        missing("the playwright package is not installed")
    from tests.browser.chromium import FLAGS

    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield chromium
        await chromium.close()


@pytest_asyncio.fixture(loop_scope="session")
async def chromium_peer(browser: Any, page_url: str) -> AsyncIterator[Callable[..., ChromiumPeer]]:
    """Makes the one Chromium peer of a test, and closes it."""
    from tests.browser.chromium import ChromiumPeer

    async with AsyncExitStack() as stack:
        page = await browser.new_page()
        await page.goto(page_url)

        def make(**choices: Any) -> ChromiumPeer:
            peer = ChromiumPeer(page, **choices)
            stack.push_async_callback(peer.close)
            return peer

        yield make
