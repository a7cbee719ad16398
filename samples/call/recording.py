"""Writes the recording in one thread, so that the disk never holds up the call."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ...codecs.errors import LocalError, RemoteError
from ...codecs.recorder import SOUND_RATE_HZ, Recorder
from ...rtc.messages import ReceivedFrame
from .clocks import unix_us, wall_us

US_PER_S = 1_000_000
# A sender report, which tells sound's capture time, comes within 1.5 s; this is 10 s.
EARLY_SOUNDS = 500

logger = logging.getLogger(__name__)


class RecordingThread:
    """A Recorder that is fed without waiting. Frames of unknown capture time count as captured now."""

    def __init__(self, folder: Path, *, name: str) -> None:
        self._recorder = Recorder(folder, name=name)
        self._early: deque[Any] = deque(maxlen=EARLY_SOUNDS)
        self._has_failed = False
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="recorder")

    def video(self, frame: ReceivedFrame) -> None:
        """Keep a received frame."""
        capture_us = unix_us(frame.capture_wall_us)
        self._submit(
            lambda: self._recorder.video(
                frame.data,
                codec=frame.codec,
                key=frame.key,
                rtp_timestamp=frame.rtp_timestamp,
                capture_us=wall_us() if capture_us is None else capture_us,
            )
        )

    def sound(self, frame: Any, *, capture_us: int | None) -> None:
        """Keep a decoded packet of sound. The first ones wait for a capture time to be placed by."""
        if capture_us is None:
            self._early.append(frame)
            return
        for early in self._early:
            self._keep_sound(
                early, capture_us - (frame.pts - early.pts) * US_PER_S // SOUND_RATE_HZ
            )
        self._early.clear()
        self._keep_sound(frame, capture_us)

    def close(self) -> None:
        """Write what is left."""
        self._submit(self._recorder.close)
        self._thread.shutdown(wait=True)

    def _keep_sound(self, frame: Any, capture_us: int) -> None:
        self._submit(lambda: self._recorder.sound(frame, capture_us=capture_us))

    def _submit(self, write: Callable[[], object]) -> None:
        self._thread.submit(self._write, write)

    def _write(self, write: Callable[[], object]) -> None:
        if self._has_failed:
            return
        try:
            write()
        except LocalError as error:
            # The disk is full, say: it will be at the next frame, too.
            self._has_failed = True
            logger.error("the recording ends here: %s", error)
        except RemoteError as error:
            logger.warning("not recorded: %s", error)
