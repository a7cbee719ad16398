"""Whether a Chromium peer plays well what we send."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.browser.chromium import ChromiumPeer
from tests.live_call import eventually, stats

# A busy machine stalls sender and browser alike; a fault of the stream shows in every window.
WINDOWS = 4
WINDOW_S = 1.5
MIN_PLAYED_RATIO = 0.85


async def plays_smoothly(pc: Any, peer: ChromiumPeer) -> dict[str, Any]:
    """Watch until a window has (nearly) all that was sent and no freeze; Chromium's statistics then."""
    await eventually(lambda: decoded(peer), "Chromium decodes a picture", within_s=15)
    before, sent_before = await _inbound(peer), await _sent(pc)
    for _ in range(WINDOWS):
        await asyncio.sleep(WINDOW_S)
        now, sent_now = await _inbound(peer), await _sent(pc)
        played = now["framesDecoded"] - before["framesDecoded"]
        sent = sent_now - sent_before
        frozen = now["freezeCount"] - before["freezeCount"]
        before, sent_before = now, sent_now
        if sent >= 10 * WINDOW_S and played >= MIN_PLAYED_RATIO * sent and not frozen:
            assert now["framesDecoded"] <= sent_now, "more was played than was sent"
            return now
    raise AssertionError(f"{played} of {sent} frames played and {frozen} freezes in {WINDOW_S} s")


async def decoded(peer: ChromiumPeer) -> int:
    """How many frames Chromium has decoded."""
    inbound = await peer.stats("inbound-rtp")
    return int(inbound["framesDecoded"]) if inbound else 0


async def shows_moving_pictures(peer: ChromiumPeer) -> None:
    """The video element's own pixels: of many shades, and changing."""
    first = await peer.look()
    assert max(first) - min(first) > 40, "a single colour is shown"
    assert sum(first) / len(first) > 40, "black is shown"

    async def differs() -> bool:
        now = await peer.look()
        return sum(abs(a - b) for a, b in zip(first, now, strict=True)) / len(now) > 3

    await eventually(differs, "the shown picture changes", within_s=3)


async def _inbound(peer: ChromiumPeer) -> dict[str, Any]:
    inbound = await peer.stats("inbound-rtp")
    assert inbound is not None
    return inbound


async def _sent(pc: Any) -> int:
    return int((await stats(pc, "outbound-rtp")).framesSent)
