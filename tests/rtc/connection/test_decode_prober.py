"""A frame decoded for the time it takes, in real time."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

from codecpilot.codecs.factory import open_encoder
from codecpilot.codecs.types import Codec, EncodeRequest
from codecpilot.rtc.connection.decode_prober import DecodeProber
from codecpilot.rtc.messages import ReceivedFrame

from tests.rtc.fakes import picture


def key_frame() -> ReceivedFrame:
    encoder = open_encoder(Codec.AV1, width=64, height=48)
    request = EncodeRequest(
        picture=picture(0), frame_id=0, quantizer=30, target_bps=100_000, key=True
    )
    data = encoder.encode(request).data
    encoder.close()
    return ReceivedFrame(
        data=data,
        codec=Codec.AV1,
        key=True,
        frame_id=0,
        temporal_id=0,
        dependencies=(),
        first_sequence=0,
        last_sequence=0,
        rtp_timestamp=0,
        capture_wall_us=None,
        first_us=0,
        complete_us=0,
    )


async def probe(frame: ReceivedFrame) -> int | None:
    told: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
    DecodeProber(told.set_result).start(frame)
    return await asyncio.wait_for(told, timeout=10)


def threads() -> int:
    return sum("decode-probe" in thread.name for thread in threading.enumerate())


async def test_a_frame_is_timed_and_leaves_no_thread_behind() -> None:
    took_us = await probe(key_frame())
    assert took_us is not None
    assert 10 <= took_us < 10_000_000
    for _ in range(100):
        if not threads():
            break
        await asyncio.sleep(0.01)
    assert threads() == 0


async def test_a_frame_that_cannot_be_decoded_has_no_time() -> None:
    assert await probe(replace(key_frame(), data=b"\x12\x00\x32\x02ab")) is None


async def test_nothing_is_told_after_the_end() -> None:
    told: list[int | None] = []
    prober = DecodeProber(told.append)
    prober.start(key_frame())
    prober.stop()
    await asyncio.sleep(0.2)
    assert told == []
