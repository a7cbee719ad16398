"""Runs a core in real time: drains it whenever something happened or is due, in one task."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from .clock import now_us

logger = logging.getLogger("codecpilot.rtc")

EventSink = Callable[[str, object], None]
"""Takes an event's name and value: what CallPeerConnection emits."""


def outlived(emit: EventSink) -> EventSink:
    """The same, whatever the application's listeners raise: pyee hands that to whoever emits."""

    def tell(name: str, value: object) -> None:
        try:
            emit(name, value)
        except Exception:
            logger.exception("a listener of %r failed; the call goes on", name)

    return tell


class Pump(ABC):
    """A task that drains a core, and a worker thread for its codec. One order of sending results.

    It wakes up to 1 ms late for what is due, since epoll counts whole milliseconds; on a machine with
    twice as much to do as it can, 1 ms in the median and 3 ms in the 95th percentile.
    """

    def __init__(self, *, name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._task = asyncio.ensure_future(self._run())

    @abstractmethod
    async def drain(self) -> int | None:
        """Do what the core has ready; when to come again on now_us()'s clock, None for never."""

    @abstractmethod
    def close_codec(self) -> None:
        """Free the codec; called in the worker."""

    def wake(self) -> None:
        """Drain soon: something came in."""
        self._wake.set()

    async def stop(self) -> None:
        """End the task, wait for the codec's last frame and free it."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._loop.run_in_executor(self._worker, self.close_codec)
        self._worker.shutdown(wait=False)

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            try:
                wake_us = await self.drain()
            except ConnectionError:
                # The transport is closed; the connection's own close() ends this task.
                wake_us = None
            except Exception:
                logger.exception("a call's driver failed; it goes on with the next event")
                wake_us = None
            timer = None
            if wake_us is not None and not self._wake.is_set():
                delay_s = max(0, wake_us - now_us()) / 1_000_000
                timer = self._loop.call_later(delay_s, self._wake.set)
            await self._wake.wait()
            if timer is not None:
                timer.cancel()
