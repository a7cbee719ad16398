"""The sound of a file in blocks of 20 ms, as calls carry it."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
import numpy.typing as npt

from .errors import LocalError
from .media_container import MAX_GAP_US, US_PER_S, begun, decoded_frames, open_container

SAMPLE_RATE_HZ = 48_000  # RFC 7587, section 4.1: the clock of Opus
BLOCK_SAMPLES = SAMPLE_RATE_HZ // 50  # 20 ms, RFC 7587's default

Samples = npt.NDArray[np.int16]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AudioBlock:
    """20 ms of 48 kHz mono: samples is (960,) int16; capture_us is on the pictures' clock."""

    samples: Samples
    capture_us: int


def open_audio(path: str | Path, *, loop: bool = False) -> Generator[AudioBlock, None, None]:
    """The first audio stream of a file from time 0 on, its last block filled up with silence.

    With loop it begins again together with the file's pictures (see open_video). Raises LocalError
    at once for a file that is missing, undecodable, or has no sound.
    """
    with open_container(path) as container:
        if not container.streams.audio:
            raise LocalError(f"{path}: no audio stream")
        length_us = container.duration or 0
    runs = _looped_runs(path, length_us) if loop else _runs(path)
    return begun(_blocks(runs), or_else=f"{path}: no sound can be decoded")


def _blocks(runs: Iterator[Samples]) -> Iterator[AudioBlock]:
    held, index = np.zeros(0, np.int16), 0
    for run in runs:
        held = np.concatenate([held, run])
        while len(held) >= BLOCK_SAMPLES:
            yield _block(held[:BLOCK_SAMPLES], index)
            held, index = held[BLOCK_SAMPLES:], index + 1
    if len(held):
        yield _block(np.pad(held, (0, BLOCK_SAMPLES - len(held))), index)


def _block(samples: Samples, index: int) -> AudioBlock:
    return AudioBlock(
        samples=samples, capture_us=index * BLOCK_SAMPLES * US_PER_S // SAMPLE_RATE_HZ
    )


def _looped_runs(path: str | Path, length_us: int) -> Iterator[Samples]:
    """Pass after pass, each cut or filled with silence to the length of the whole file."""
    length = length_us * SAMPLE_RATE_HZ // US_PER_S
    while True:
        done = 0
        for run in _runs(path):
            part = run[: length - done] if length else run
            done += len(part)
            yield part
        if not done:
            return
        for start in range(done, length, SAMPLE_RATE_HZ):
            yield np.zeros(min(SAMPLE_RATE_HZ, length - start), np.int16)


def _runs(path: str | Path) -> Iterator[Samples]:
    """The decoded samples in runs of any length, after the silence that the file begins with."""
    with open_container(path) as container:
        stream = container.streams.audio[0]
        start_us = container.start_time or 0
        resampler = av.AudioResampler(format="s16", layout="mono", rate=SAMPLE_RATE_HZ)
        is_first = True
        for frame in decoded_frames(container, stream):
            if not isinstance(frame, av.AudioFrame):
                continue
            if is_first:
                is_first = False
                yield _leading_silence(frame, start_us)
            yield from _resampled(resampler, frame)
        if not is_first:
            yield from _resampled(resampler, None)


def _leading_silence(frame: av.AudioFrame, start_us: int) -> Samples:
    if frame.pts is None or frame.time_base is None:
        return np.zeros(0, np.int16)
    late_us = round(frame.pts * frame.time_base * US_PER_S) - start_us
    late_us = late_us if 0 < late_us <= MAX_GAP_US else 0
    return np.zeros(late_us * SAMPLE_RATE_HZ // US_PER_S, np.int16)


def _resampled(resampler: av.AudioResampler, frame: av.AudioFrame | None) -> list[Samples]:
    try:
        frames = resampler.resample(frame)
    except (av.FFmpegError, ValueError):
        # The stream changed its format in the middle; PyAV's resampler keeps the first.
        return []
    return [each.to_ndarray().reshape(-1).astype(np.int16) for each in frames]
