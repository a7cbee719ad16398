"""Decodes a frame for the time that it takes alone, beside the stream's own decoder."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from ...codecs.errors import CodecpilotError
from ...codecs.factory import open_decoder
from ..messages import ReceivedFrame

logger = logging.getLogger("codecpilot.rtc")


class DecodeProber:
    """One frame at a time, each in a thread and with a decoder that are there only for it."""

    def __init__(self, probed: Callable[[int | None], None]) -> None:
        """probed is told on the event loop what the frame took; None where it could not be decoded."""
        self._probed = probed
        self._running: asyncio.Future[int | None] | None = None

    def start(self, frame: ReceivedFrame) -> None:
        """Begin to decode a key frame."""
        thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="decode-probe")
        loop = asyncio.get_running_loop()
        self._running = loop.run_in_executor(thread, _decode_us, frame)
        self._running.add_done_callback(self._done)
        thread.shutdown(wait=False)

    def stop(self) -> None:
        """Tell nothing any more; a frame under way ends by itself."""
        if self._running is not None:
            self._running.cancel()

    def _done(self, done: asyncio.Future[int | None]) -> None:
        if not done.cancelled():
            self._probed(done.result())


def _decode_us(frame: ReceivedFrame) -> int | None:
    try:
        decoder = open_decoder(frame.codec)
        started_ns = time.perf_counter_ns()
        try:
            decoder.decode(frame.data)
        finally:
            decoder.close()
        return (time.perf_counter_ns() - started_ns) // 1000
    except CodecpilotError as error:
        logger.info("a key frame could not be decoded again: %s", error)
        return None
