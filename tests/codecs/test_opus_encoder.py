"""Opus packets of the rate asked for, through changes of rate and source."""

from __future__ import annotations

from itertools import pairwise

import av
import numpy as np
import pytest

from codecpilot.codecs.errors import LocalError
from codecpilot.codecs.opus_encoder import OpusEncoder

RATE_HZ = 48_000
# RFC 6716 3.1: the bit of the first byte that says stereo.
STEREO_BIT = 0x04


def voice(seconds: float, *, rate_hz: int = RATE_HZ, channels: int = 1) -> np.ndarray:
    """A swelling, gliding tone with overtones and breath, (count, channels)."""
    at = np.arange(int(seconds * rate_hz)) / rate_hz
    pitch = 2 * np.pi * (150 * at + 10 * np.sin(2 * np.pi * 0.7 * at))
    wave = sum(np.sin(n * pitch) / n for n in range(1, 12))
    breath = np.random.default_rng(1).normal(0, 0.2, (len(at), channels))
    swell = 0.6 + 0.4 * np.sin(2 * np.pi * 3 * at)
    return (4000 * swell[:, None] * (wave[:, None] + breath)).astype(np.int16)


def blocks(samples: np.ndarray, *, rate_hz: int = RATE_HZ) -> list[av.AudioFrame]:
    size = rate_hz // 50
    layout = "mono" if samples.shape[1] == 1 else "stereo"
    frames = []
    for start in range(0, len(samples) - size + 1, size):
        packed = np.ascontiguousarray(samples[start : start + size]).reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(packed, format="s16", layout=layout)
        frame.sample_rate, frame.pts = rate_hz, start
        frames.append(frame)
    return frames


def kbps(packets: list[tuple[int, bytes]]) -> float:
    return sum(len(data) for _, data in packets) * 8 * 50 / len(packets) / 1000


def decoded(packets: list[tuple[int, bytes]]) -> np.ndarray:
    """The first channel."""
    codec = av.CodecContext.create("libopus", "r")
    codec.sample_rate, codec.layout, codec.format = RATE_HZ, "stereo", "s16"
    frames = [f for _, data in packets for f in codec.decode(av.Packet(data))]
    return np.concatenate([f.to_ndarray().reshape(-1, 2)[:, 0] for f in frames]).astype(float)


@pytest.mark.parametrize("bitrate_bps", [16_000, 24_000, 32_000, 96_000])
def test_the_rate_is_held_in_every_second(bitrate_bps: int) -> None:
    encoder = OpusEncoder()
    packets = [p for b in blocks(voice(4)) for p in encoder.encode(b, bitrate_bps=bitrate_bps)]
    assert len(packets) in (199, 200)
    for start in range(0, len(packets) - 50, 10):
        held = kbps(packets[start : start + 50]) * 1000 / bitrate_bps
        assert 0.8 <= held <= 1.1


def test_a_change_of_rate_takes_effect_with_the_next_packet_and_loses_no_sound() -> None:
    samples = voice(4)
    frames = blocks(samples)
    encoder = OpusEncoder()
    rates = [32_000] * 100 + [16_000] * 100
    packets = [
        p for b, bps in zip(frames, rates, strict=True) for p in encoder.encode(b, bitrate_bps=bps)
    ]
    times = [time for time, _ in packets]
    assert {b - a for a, b in pairwise(times)} == {960}
    assert kbps(packets[40:98]) == pytest.approx(32, rel=0.12)
    assert 12 <= kbps(packets[102:]) <= 18
    heard = decoded(packets)
    around = slice(98 * 960, 103 * 960)
    delays = range(700)
    steady = slice(50 * 960, 55 * 960)

    def likeness(part: slice, delay: int) -> float:
        played = heard[part.start + delay : part.stop + delay]
        return float(np.corrcoef(samples[part, 0], played)[0, 1])

    delay = max(delays, key=lambda d: likeness(steady, d))
    assert likeness(steady, delay) > 0.85
    # Neither shifted nor silent where the encoder is another.
    assert max(delays, key=lambda d: likeness(around, d)) == pytest.approx(delay, abs=24)
    assert likeness(around, delay) > 0.7
    level = np.abs(heard[around]).reshape(-1, 480).mean(axis=1)
    assert level.min() > 0.2 * level.mean()


def test_mono_stays_mono_and_stereo_stereo_also_when_the_source_changes() -> None:
    encoder = OpusEncoder()
    for channels, rate_hz in ((1, RATE_HZ), (2, RATE_HZ), (2, 44_100), (1, 16_000)):
        frames = blocks(voice(0.6, rate_hz=rate_hz, channels=channels), rate_hz=rate_hz)
        packets = [p for b in frames for p in encoder.encode(b, bitrate_bps=64_000)]
        assert 27 <= len(packets) <= 30
        assert {bool(data[0] & STEREO_BIT) for _, data in packets} == {channels == 2}


@pytest.mark.parametrize("bitrate_bps", [0, 5_999, 256_001])
def test_a_rate_that_libopus_does_not_take_is_refused(bitrate_bps: int) -> None:
    with pytest.raises(LocalError, match=r"6000\.\.256000"):
        OpusEncoder().encode(blocks(voice(0.02))[0], bitrate_bps=bitrate_bps)


@pytest.mark.parametrize("bitrate_bps", [6_000, 256_000])
def test_the_ends_of_the_range_work_in_mono(bitrate_bps: int) -> None:
    encoder = OpusEncoder()
    packets = [p for b in blocks(voice(1)) for p in encoder.encode(b, bitrate_bps=bitrate_bps)]
    assert 0.75 <= kbps(packets) * 1000 / bitrate_bps <= 1.1
