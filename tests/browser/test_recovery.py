"""Chromium goes on after losses without a key frame: from a long-term reference, and by FEC."""

from __future__ import annotations

import asyncio
import statistics
from typing import Any

import pytest

from codecpilot.rtc.resilience.settings import ResilienceSettings, Switch
from codecpilot.samples.call.link_path import LinkPath

from tests.browser.linked import linked
from tests.browser.playing import decoded
from tests.live_call import DrawnTrack, call, eventually, in_call, stats
from tests.losing import Loss

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

LINK = {"rate": "1500", "delay_ms": "30", "queue_ms": "300"}
LONG_LINK = {**LINK, "rate": "3000", "delay_ms": "110"}
WITHHELD_FRAMES = 5
LOSSES = 4
# Between losses, so that each is judged alone.
QUIET_S = 2.0
MAX_FREEZE_S = 0.4
FEC_ALONE = ResilienceSettings(fec=Switch.ON, ltr=Switch.OFF, temporal_layers=Switch.OFF)
PACKETS_BETWEEN_LOSSES = 40
SETTLED_S = 3.0
BURSTS_S = 15.0


class Withheld:
    """Whole frames that never arrive, whatever carries them: media, retransmissions or FEC."""

    def __init__(self, media_payload_type: int) -> None:
        self._media_payload_type = media_payload_type
        self._timestamps: list[bytes] = []
        self._left = 0

    def begin(self, frames: int) -> None:
        """Lose the next frames."""
        self._left = frames

    def is_lost(self, data: bytes) -> bool:
        """For Loss."""
        timestamp = data[4:8]
        is_media = data[1] & 0x7F == self._media_payload_type
        if is_media and self._left and timestamp not in self._timestamps:
            self._timestamps.append(timestamp)
            self._left -= 1
        return timestamp in self._timestamps


class OneAtATime:
    """Every so many packets of one type one is lost, and whatever is sent again."""

    def __init__(self, payload_type: int, *, rtx_payload_types: set[int | None]) -> None:
        self._payload_type = payload_type
        self._rtx_payload_types = rtx_payload_types
        self._packets = 0

    def is_lost(self, data: bytes) -> bool:
        """For Loss."""
        payload_type = data[1] & 0x7F
        if payload_type != self._payload_type:
            return payload_type in self._rtx_payload_types
        self._packets += 1
        return self._packets % PACKETS_BETWEEN_LOSSES == 0


async def test_chromium_goes_on_from_a_reference_when_frames_never_arrive(
    chromium_peer: Any,
) -> None:
    """Five frames in a row, four times, 30 ms each way."""
    peer, loss = chromium_peer(), Loss()
    await peer.open()
    async with linked(LINK) as path, in_call(call(target_bps=500_000)) as (pc,):
        sender = await _sends(pc, peer, path)
        withheld = Withheld(sender.core.codec.payload_type)
        loss.is_lost = withheld.is_lost
        loss.on_the_way_out(sender.transport)
        freezes_s = []
        for _ in range(LOSSES):
            before = await peer.stats("inbound-rtp")
            withheld.begin(WITHHELD_FRAMES)
            await asyncio.sleep(QUIET_S)
            after = await peer.stats("inbound-rtp")
            freezes_s.append(after["totalFreezesDuration"] - before["totalFreezesDuration"])
        outbound = await stats(pc, "outbound-rtp")
        assert loss.lost >= LOSSES * WITHHELD_FRAMES
        assert (after["keyFramesDecoded"], outbound.keyFramesEncoded) == (1, 1)
        assert (after["pliCount"], outbound.pliCount) == (0, 0)
        assert LOSSES <= outbound.recoveryFramesSent <= 4 * LOSSES
        # A busy machine adds to them; without recovery each would be of 3.1 s.
        assert min(freezes_s) <= MAX_FREEZE_S
        assert statistics.median(freezes_s) < 2 * MAX_FREEZE_S


@pytest.mark.parametrize("kind", ["FlexFEC", pytest.param("ULPFEC", marks=pytest.mark.slow)])
async def test_chromium_recovers_by_fec_what_is_never_sent_again(
    kind: str, chromium_peer: Any
) -> None:
    """On a long path, where FEC protects every frame. ULPFEC is used where FlexFEC is left out."""
    peer, loss = chromium_peer(), Loss()
    await peer.open()
    # So that three frames have packets enough for one of FEC.
    pc = call(target_bps=1_000_000, resilience=FEC_ALONE)
    async with linked(LONG_LINK) as path, in_call(pc):
        sender = await _sends(pc, peer, path, flexfec=kind == "FlexFEC")
        codec, red = sender.core.codec, sender.core.settings.red
        assert (sender.core.settings.flexfec is not None) == (kind == "FlexFEC")
        losing = OneAtATime(
            codec.payload_type if kind == "FlexFEC" else red.red,
            rtx_payload_types={codec.rtx_payload_type, red.rtx},
        )
        loss.is_lost = losing.is_lost
        loss.on_the_way_out(sender.transport)
        before = await peer.stats("inbound-rtp")
        await asyncio.sleep(8)
        inbound, outbound = await peer.stats("inbound-rtp"), await stats(pc, "outbound-rtp")
        assert loss.lost > 5
        assert outbound.fecPacketsSent > 20
        assert (inbound["keyFramesDecoded"], inbound["pliCount"]) == (1, 0)
        assert inbound.get("retransmittedPacketsReceived", 0) == 0
        assert inbound["totalFreezesDuration"] - before["totalFreezesDuration"] < 0.5
        assert outbound.framesSent - inbound["framesDecoded"] < 20


async def test_bursts_cost_chromium_no_key_frame_and_little_time(chromium_peer: Any) -> None:
    """5 % of all packets in bursts of 4, both ways."""
    peer = chromium_peer()
    await peer.open()
    link = {"rate": "800", "delay_ms": "50", "queue_ms": "300", "loss": "0.05", "burst": "4"}
    async with linked(link) as path, in_call(call(target_bps=500_000)) as (pc,):
        await _sends(pc, peer, path)
        await asyncio.sleep(BURSTS_S)
        inbound, outbound = await peer.stats("inbound-rtp"), await stats(pc, "outbound-rtp")
        assert inbound["packetsLost"] > 10
        assert (inbound["keyFramesDecoded"], outbound.keyFramesEncoded) == (1, 1)
        # Some 10 % on a machine with nothing else to do; without recovery each burst would freeze 3 s.
        assert inbound["totalFreezesDuration"] < 0.4 * BURSTS_S


async def _sends(pc: Any, peer: Any, path: LinkPath, *, flexfec: bool = True) -> Any:
    """Begin to send to Chromium over the path; our sender, once all has settled."""
    track = DrawnTrack(width=640, height=360)
    transceiver = pc.addTransceiver(track, direction="sendonly")
    if not flexfec:
        known = transceiver.sender.getCapabilities("video").codecs
        kept = [c for c in known if c.mimeType != "video/flexfec-03"]
        transceiver.setCodecPreferences(kept)
    answer = await peer.answer(pc, path=path)
    assert "dependency-descriptor" in answer
    await eventually(lambda: decoded(peer), "Chromium decodes a picture", within_s=15)
    await asyncio.sleep(SETTLED_S)
    path.arm()
    return transceiver.sender
