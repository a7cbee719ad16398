"""One of two live peers loses most of its processor for a while, by a real limit, and gets it back."""

from __future__ import annotations

import asyncio
from fractions import Fraction
from typing import Any

import psutil
import pytest

from codecpilot.codecs.types import Codec
from codecpilot.samples.call.host import Call
from codecpilot.samples.call.options import CallOptions, Source

from tests.cpu_limit import CpuLimit, cpu_limit
from tests.live_call import eventually

pytestmark = pytest.mark.slow

OPTIONS = CallOptions(
    source=Source(kind="synthetic"),
    width=640,
    height=360,
    fps=Fraction(30),
    bitrate_bps=600_000,
    codec=Codec.AV1,
    preset="auto",
    seed=0,
)
# How good what is sent can be: presets of AV1 at full size from fast to slow. H.264, or less than all
# pictures at full size, counts for less than the first.
PRESETS = ("low", "default", "high", "best")
SETTLE_S = 12
LIMITED_S = 20
# The issue: one that slows four times.
LIMIT_RATIO = 0.25


async def test_a_throttled_peer_gives_up_quality_in_time_and_gets_it_back() -> None:
    with cpu_limit() as limit:
        stop = asyncio.Event()
        call = Call(OPTIONS, stop=stop, path=None)
        task = asyncio.create_task(call.run())
        try:
            await eventually(lambda: call.board.directions(), "the call is held", within_s=60)
            await asyncio.sleep(SETTLE_S)
            peers = _peers()
            former = _rank(_sent_by_a(call))
            await _throttle(limit, peers[0])
            await eventually(lambda: _rank(_sent_by_a(call)) < former, "it steps down", within_s=10)
            await asyncio.sleep(LIMITED_S)
            limit.set(None)
            await eventually(
                lambda: _rank(_sent_by_a(call)) >= former, "it is as before", within_s=40
            )
            await asyncio.sleep(3)
            stop.set()
            measured = await task
        finally:
            task.cancel()
            await call.end()
    _check(measured.directions[0])


def _check(sent: dict[str, Any]) -> None:
    print(sent)


async def _throttle(limit: CpuLimit, peer: psutil.Process) -> None:
    """Give the peer a quarter of what it used."""
    before_s = _cpu_s(peer)
    await asyncio.sleep(3)
    used = (_cpu_s(peer) - before_s) / 3
    limit.add(peer.pid)
    limit.set(used * LIMIT_RATIO)


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _peers() -> list[psutil.Process]:
    """A's process, and B's."""
    peers = [
        p for p in psutil.Process().children() if "codecpilot.samples.call.peer" in p.cmdline()
    ]
    return sorted(peers, key=lambda p: p.create_time())


def _sent_by_a(call: Call) -> dict[str, Any]:
    return call.board.directions()[0]


def _rank(figures: dict[str, Any]) -> int:
    is_whole = figures["coded"] == [OPTIONS.width, OPTIONS.height] and figures["every"] == 1
    if figures["codec"] != "AV1" or not is_whole:
        return -1
    return PRESETS.index(figures["preset"]) if figures["preset"] in PRESETS else -1
