"""The rate follows the path, both ways at once: Chromium's feedback steers us, ours steers Chromium."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from tests.browser.linked import linked
from tests.live_call import DrawnTrack, Viewer, call, eventually, in_call, stats

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

DROP_S, RISE_S, END_S = 3.0, 7.0, 12.0
LINK = {"rate": f"0:600,{DROP_S:g}:150,{RISE_S:g}:600", "delay_ms": "25", "queue_ms": "300"}
STEP_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What holds of one direction at a time after the link's start; the rate is its sender's target."""

    at_s: float
    target_kbps: float
    freeze_count: int
    frozen_s: float


async def test_each_side_s_feedback_steers_the_other(chromium_peer: Any) -> None:
    peer = chromium_peer(codec="AV1")
    await peer.open(camera=True)
    async with linked(LINK) as path, in_call(call(target_bps=600_000)) as (pc,):
        viewer = Viewer(pc)
        pc.addTrack(DrawnTrack(width=640, height=360))
        await peer.offer(pc, path=path)
        await eventually(lambda: viewer.count > 5, "Chromium's pictures arrive", within_s=15)
        path.arm()
        ours, theirs = await _watch(pc, peer)
        pair = await stats(pc, "candidate-pair")
        # Chromium sends its feedback every 43 to 82 ms, less often at low rates.
        assert 4 * END_S < pair.transportFeedbackReceived < 40 * END_S
        assert pair.transportFeedbackIgnored <= 0.02 * pair.transportFeedbackReceived
        for samples in (ours, theirs):
            _follows_the_link(samples)


def _follows_the_link(samples: list[Sample]) -> None:
    before = max(s.target_kbps for s in samples if s.at_s < DROP_S)
    assert before > 220
    fell_s = min(s.at_s for s in samples if s.at_s > DROP_S and s.target_kbps < 200)
    assert fell_s < DROP_S + 2
    low = min(s.target_kbps for s in samples if DROP_S < s.at_s < RISE_S)
    assert samples[-1].target_kbps > 1.3 * low
    assert _longest_freeze_s(samples) < 1


def _longest_freeze_s(samples: list[Sample]) -> float:
    """A freeze is counted when it ends, and samples are closer together than two ends."""
    return max(
        (b.frozen_s - a.frozen_s) / max(1, b.freeze_count - a.freeze_count)
        for a, b in pairwise(samples)
    )


async def _watch(pc: Any, peer: Any) -> tuple[list[Sample], list[Sample]]:
    """Both directions from the link's start to its end: what we send, what Chromium sends."""
    started_s = time.monotonic()
    ours: list[Sample] = []
    theirs: list[Sample] = []
    while (at_s := time.monotonic() - started_s) < END_S:
        out, shown_there = await stats(pc, "outbound-rtp"), await peer.stats("inbound-rtp")
        ours.append(
            Sample(
                at_s=at_s,
                target_kbps=out.targetBitrate / 1000,
                freeze_count=shown_there["freezeCount"],
                frozen_s=shown_there["totalFreezesDuration"],
            )
        )
        out_there, shown = await peer.stats("outbound-rtp"), await stats(pc, "inbound-rtp")
        theirs.append(
            Sample(
                at_s=at_s,
                target_kbps=out_there.get("targetBitrate", 0) / 1000,
                freeze_count=shown.freezeCount,
                frozen_s=shown.totalFreezesDuration,
            )
        )
        await asyncio.sleep(STEP_S)
    return ours, theirs
