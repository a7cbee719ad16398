"""H.264 finds back to its pace after a processor that was busy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from codecpilot.codecs.factory import open_encoder
from codecpilot.codecs.pictures import new_picture
from codecpilot.codecs.types import Codec, Content, EncodedFrame, Picture
from codecpilot.ratecontrol.frame_controller import FrameController
from codecpilot.rtc.encoder_session import EncodeJob, EncoderSession

FPS, TARGET_BPS = 30, 300_000
WIDTH, HEIGHT = 320, 180
BUSY_FRAME_US = 400_000


def _pictures(count: int) -> list[Picture]:
    """A textured wall that moves past."""
    wall = np.random.default_rng(1).integers(60, 160, (HEIGHT + 40, WIDTH + 40)).astype(np.uint8)
    pictures = []
    for index in range(count):
        at = round(20 + 19 * np.sin(index / 9))
        picture = new_picture(WIDTH, HEIGHT)
        picture.y[...] = wall[at : at + HEIGHT, at : at + WIDTH]
        pictures.append(replace(picture, capture_us=index * 1_000_000 // FPS))
    return pictures


def test_the_pace_is_back_within_seconds_of_a_busy_time() -> None:
    session = EncoderSession(
        open_encoder=lambda codec, w, h: open_encoder(codec, width=w, height=h),
        controller=FrameController(),
    )
    frames: list[tuple[int, int]] = []
    free_us = 0
    for picture in _pictures(11 * FPS):
        now_us = picture.capture_us
        if now_us < free_us:
            continue
        job = EncodeJob(
            picture=picture,
            codec=Codec.H264,
            frame_id=len(frames),
            key=not frames,
            ltr=False,
            target_bps=TARGET_BPS,
            preset="default",
            content=Content.CAMERA,
            now_us=now_us,
        )
        result = session.run(job)
        if isinstance(result, EncodedFrame):
            frames.append((now_us, 8 * len(result.data)))
            # From 2 to 6 s each frame keeps the encoder for long.
            free_us = now_us + BUSY_FRAME_US * (2_000_000 <= now_us < 6_000_000)
    session.close()
    assert 8 <= len(_within(frames, 2, 6)) <= 12
    after = _within(frames, 9, 11)
    assert 55 <= len(after) <= 60
    assert 0.85 * TARGET_BPS < sum(after) / 2 < 1.1 * TARGET_BPS


def _within(frames: list[tuple[int, int]], start_s: int, end_s: int) -> list[int]:
    """The bits of the frames of these seconds."""
    return [bits for at_us, bits in frames if start_s * 1_000_000 <= at_us < end_s * 1_000_000]
