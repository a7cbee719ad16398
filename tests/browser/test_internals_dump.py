"""The dumps that this Chromium saves of a call of its own are read, both kinds alike."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from codecpilot.eligibility.importers import read_dump

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.asyncio(loop_scope="session")]

CALL = """async () => {
    const stream = await navigator.mediaDevices.getUserMedia({
        video: {width: 640, height: 360, frameRate: 30}, audio: true});
    const [one, other] = [new RTCPeerConnection(), new RTCPeerConnection()];
    one.onicecandidate = e => e.candidate && other.addIceCandidate(e.candidate);
    other.onicecandidate = e => e.candidate && one.addIceCandidate(e.candidate);
    stream.getTracks().forEach(track => one.addTrack(track, stream));
    const codecs = RTCRtpReceiver.getCapabilities('video').codecs;
    codecs.sort((a, b) => (b.mimeType === 'video/AV1') - (a.mimeType === 'video/AV1'));
    one.getTransceivers()[1].setCodecPreferences(codecs);
    await one.setLocalDescription();
    await other.setRemoteDescription(one.localDescription);
    await other.setLocalDescription();
    await one.setRemoteDescription(other.localDescription);
    window.connections = [one, other];
}"""
BUTTONS = ("dump-click-target", "dump-click-target-rtcstats")
CALL_S = 24


async def test_both_dumps_of_a_call_give_its_rows(browser: Any, page_url: str, tmp_path: Path):
    context = await browser.new_context(accept_downloads=True)
    internals, page = await context.new_page(), await context.new_page()
    await internals.goto("chrome://webrtc-internals")
    await page.goto(page_url)
    await page.evaluate(CALL)
    await asyncio.sleep(CALL_S)
    for button in BUTTONS:
        async with internals.expect_download() as download:
            await internals.evaluate(f"document.getElementById('{button}').click()")
        await (await download.value).save_as(tmp_path / button)
    await context.close()

    tables = [read_dump(tmp_path / button).table for button in BUTTONS]

    for table in tables:
        rows = table.to_pylist()
        sent = [row for row in rows if row["encoder"]]
        assert len(sent) == 2
        assert len(rows) == 4
        for row in sent:
            assert (row["codec"], row["encoder"]) == ("AV1", "libaom")
            assert (row["width"], row["height"]) == (640, 360)
            assert 10 < row["fps"] < 31
            assert 200 < row["encode_p50_us"] < 100_000
            assert 0 <= row["frames_dropped"] <= row["frames_captured"] <= 310
    encoded = [sorted(n for n in t["frames_encoded"].to_pylist() if n) for t in tables]
    assert encoded[0] == pytest.approx(encoded[1], abs=2)
