"""Sound of a live call has the rate that was set, and gives way on a narrow path."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from av import AudioFrame

from codecpilot.codecs.errors import LocalError
from codecpilot.rtc.connection import CallSettings
from codecpilot.rtc.rtp.packet import is_rtcp, parse_rtp

from tests.live_call import AUDIO_SAMPLES, Listener, ToneTrack, call, eventually, in_call, negotiate

# RFC 6716 3.1: the bit of the first byte that says stereo.
STEREO_BIT = 0x04


class NoiseTrack(ToneTrack):
    """Noise, which takes all the bits that it gets."""

    async def recv(self) -> AudioFrame:
        tone = await super().recv()
        noise = np.random.default_rng(tone.pts).normal(0, 3000, (1, AUDIO_SAMPLES))
        frame = AudioFrame.from_ndarray(noise.astype(np.int16), format="s16", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = tone.sample_rate, tone.pts, tone.time_base
        return frame


def _payloads(transport: Any) -> list[bytes]:
    """The RTP payloads that a transport sends from now on."""
    sent: list[bytes] = []
    send = transport._send_rtp

    async def noted(data: bytes) -> None:
        if not is_rtcp(data):
            sent.append(parse_rtp(data).payload)
        await send(data)

    transport._send_rtp = noted
    return sent


def _kbps(payloads: list[bytes]) -> float:
    return sum(map(len, payloads)) * 8 * 50 / len(payloads) / 1000


@pytest.mark.slow
async def test_sound_gives_way_where_the_path_is_narrow_and_comes_back_where_it_is_not() -> None:
    async with in_call(call(), call()) as (a, b):
        listener = Listener(b)
        a.addTrack(NoiseTrack())
        await negotiate(a, b)
        transport = a.getSenders()[0].transport
        sent = _payloads(transport)
        await eventually(lambda: len(sent) > 60, "a second of sound")
        assert _kbps(sent[10:]) == pytest.approx(32, rel=0.1)
        path = SimpleNamespace(available_outgoing_bps=60_000)
        transport._send_path = path
        await eventually(lambda: sent and _kbps(sent[-10:]) < 18, "two steps down")
        low = len(sent)
        await eventually(lambda: len(sent) > low + 40, "a second of less sound")
        assert 12 <= _kbps(sent[low:]) <= 17
        path.available_outgoing_bps = 200_000
        await eventually(lambda: _kbps(sent[-10:]) > 29, "two steps up", within_s=12)
        assert listener.loudest > 1000
        assert not any(payload[0] & STEREO_BIT for payload in sent)
        transport._send_path = None


async def test_each_connection_has_the_rate_of_its_settings() -> None:
    async with in_call(call(audio_bps=24_000), call(audio_bps=64_000)) as (a, b):
        for pc in (a, b):
            pc.addTrack(NoiseTrack())
        await negotiate(a, b)
        sent = [_payloads(pc.getSenders()[0].transport) for pc in (a, b)]
        await eventually(lambda: all(len(s) > 60 for s in sent), "a second of sound each way")
        assert 20 <= _kbps(sent[0][10:]) <= 26
        assert 58 <= _kbps(sent[1][10:]) <= 70


@pytest.mark.parametrize("audio_bps", [0, 5_999, 256_001])
def test_a_rate_that_opus_does_not_take_is_refused(audio_bps: int) -> None:
    with pytest.raises(LocalError, match=r"6000\.\.256000"):
        CallSettings(audio_bps=audio_bps)
