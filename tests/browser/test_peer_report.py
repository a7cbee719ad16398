"""The page's script that tells us what a browser's decoder takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codecpilot.codecs.types import Codec
from codecpilot.rtc.adaptation.browser_report import CHANNEL_LABEL, read_browser_report

from tests.browser.playing import plays_smoothly
from tests.live_call import DrawnTrack, call, eventually, in_call

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
SCRIPT = Path(__file__).parents[2] / "samples" / "page" / "peer_report.js"


async def test_chromium_reports_each_second_what_it_decodes(chromium_peer: Any) -> None:
    peer = chromium_peer()
    await peer._page.add_script_tag(path=SCRIPT)
    await peer.open()
    said: list[str] = []
    async with in_call(call()) as (pc,):
        sender = pc.addTransceiver(DrawnTrack(width=640, height=360), direction="sendonly").sender
        channel = pc.createDataChannel(CHANNEL_LABEL)
        channel.on("message", said.append)
        await peer._page.evaluate(
            "() => { pc.ondatachannel = ({channel}) => reportDecoding(pc, channel); }"
        )
        await peer.answer(pc)
        await plays_smoothly(pc, peer)
        await eventually(lambda: len(said) >= 3, "three reports", within_s=10)
        mid = next(t.mid for t in pc.getTransceivers() if t.sender is sender)
    last = read_browser_report(said[-1])
    assert last is not None
    assert last.mid == mid
    report = last.report
    assert (report.codec, report.width, report.height) == (Codec.AV1, 640, 360)
    assert 900_000 <= report.interval_us <= 3_000_000
    assert 15 <= report.frames_decoded * 1_000_000 / report.interval_us <= 45
    assert 100 <= report.decode_p50_us <= 33_333
    assert 0 < report.playout_lag_us < 2_000_000
