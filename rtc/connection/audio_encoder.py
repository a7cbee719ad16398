"""The Opus encoder that aiortc's sender of sound uses in a call of ours."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from aiortc.codecs.base import Encoder
from aiortc.mediastreams import convert_timebase

from ...codecs.opus_encoder import SAMPLE_RATE_HZ, OpusEncoder
from ..audio_rate import AudioRate
from ..send_path import SendPath


class CallOpusEncoder(Encoder):
    """aiortc's has 96 kbps whatever the path carries; this one has what was set, or less (AudioRate)."""

    def __init__(self, *, audio_bps: int, video_bps: int) -> None:
        """video_bps is the most that pictures of the same connection take."""
        self._opus = OpusEncoder()
        self._rate = AudioRate(audio_bps)
        self._video_bps = video_bps
        self._first_time: int | None = None

    @property
    def target_bps(self) -> int:
        """What packets are made for now."""
        return self._rate.bps

    def follow(self, path: SendPath | None, *, now_us: int) -> None:
        """Look at what the path carries; None while no pictures are sent over it."""
        available_bps = None if path is None else path.available_outgoing_bps
        self._rate.update(available_bps, wanted_bps=self._video_bps, now_us=now_us)

    def encode(self, frame: Any, force_keyframe: bool = False) -> tuple[list[bytes], int]:
        """Packets that are complete now, and the first one's time in samples; runs in a worker thread."""
        packets = self._opus.encode(frame, bitrate_bps=self.target_bps)
        if not packets:
            return [], 0
        if self._first_time is None:
            self._first_time = packets[0][0]
        return [data for _, data in packets], packets[0][0] - self._first_time

    def pack(self, packet: Any) -> tuple[list[bytes], int]:
        """A packet that was encoded elsewhere."""
        time = convert_timebase(packet.pts, packet.time_base, Fraction(1, SAMPLE_RATE_HZ))
        return [bytes(packet)], time
