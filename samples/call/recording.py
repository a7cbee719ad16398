"""Writes the recording in one thread, so that the disk never holds up the call."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ...codecs.errors import CodecpilotError
from ...codecs.recorder import Recorder
from ...rtc.messages import ReceivedFrame
from .clocks import unix_us, wall_us

logger = logging.getLogger(__name__)


class RecordingThread:
    """A Recorder that is fed without waiting. Frames of unknown capture time count as captured now."""

    def __init__(self, folder: Path, *, name: str) -> None:
        self._recorder = Recorder(folder, name=name)
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
        """Keep a decoded packet of sound; those before the first known capture time are not kept."""
        if capture_us is not None:
            self._submit(lambda: self._recorder.sound(frame, capture_us=capture_us))

    def close(self) -> list[Path]:
        """Write what is left. Returns the files."""
        self._thread.shutdown(wait=True)
        return self._recorder.close()

    def _submit(self, write: Callable[[], None]) -> None:
        self._thread.submit(_logged, write)


def _logged(write: Callable[[], None]) -> None:
    try:
        write()
    except (CodecpilotError, OSError) as error:
        logger.warning("not recorded: %s", error)
