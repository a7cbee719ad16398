"""The recording thread: sound before its capture time is known, and a disk that refuses."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codecpilot.codecs.errors import LocalError, RemoteError
from codecpilot.codecs.recorder import Recorder
from codecpilot.codecs.sound import frame_from_samples
from codecpilot.samples.call.recording import RecordingThread


def sound(pts: int) -> Any:
    return frame_from_samples(np.zeros(960, np.int16), rate_hz=48_000, pts=pts)


def test_early_sound_is_placed_by_the_first_known_capture_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[tuple[int, int]] = []
    monkeypatch.setattr(
        Recorder, "sound", lambda self, frame, *, capture_us: kept.append((frame.pts, capture_us))
    )
    recording = RecordingThread(tmp_path, name="A")
    for pts in (0, 960, 1920):
        recording.sound(sound(pts), capture_us=None)
    recording.sound(sound(2880), capture_us=1_060_000)
    recording.sound(sound(3840), capture_us=1_080_000)
    recording.close()
    assert kept == [(960 * n, 1_000_000 + 20_000 * n) for n in range(5)]


def test_a_disk_that_refuses_ends_the_recording_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tries: list[int] = []

    def refuse(self: Recorder, frame: Any, *, capture_us: int) -> None:
        tries.append(capture_us)
        raise RemoteError("damaged") if len(tries) == 1 else LocalError("the disk is full")

    monkeypatch.setattr(Recorder, "sound", refuse)
    recording = RecordingThread(tmp_path, name="A")
    with caplog.at_level(logging.WARNING):
        for number in range(5):
            recording.sound(sound(0), capture_us=number)
        recording.close()
    assert tries == [0, 1]
    assert [record.levelname for record in caplog.records] == ["WARNING", "ERROR"]
