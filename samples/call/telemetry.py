"""Keeps telemetry of one side of a call: a row each ten seconds, on disk when its interval is over."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ...codecs.errors import LocalError
from ...codecs.types import EncodedFrame
from ...eligibility.outcome import with_outcomes
from ...eligibility.schema import Value, table_of
from ...eligibility.store import Store
from ...rtc.adaptation.decisions import AdaptationDecision
from ...rtc.adaptation.health import DeviceHealth
from ...rtc.connection import CallPeerConnection
from ...rtc.connection.device_health import DeviceMeter
from ...rtc.messages import DecodedFrame
from ..this_device import device_columns
from .clocks import wall_us
from .figures import ShownLog
from .series import US_PER_S
from .telemetry_rows import IntervalMeter, read_statistics

# As often as a call itself looks at its device.
HEALTH_PERIOD_US = US_PER_S
# Ours: ten minutes; a day of single rows would be 8640 files.
MAX_PARTS = 60

logger = logging.getLogger(__name__)


def check_telemetry(folder: Path) -> None:
    """Raise LocalError for a folder that a call cannot keep its telemetry in, and make it otherwise."""
    Store(folder).prepare()


class CallTelemetry:
    """Follows a connection until close(): what it encodes and decodes, and what shown says of sound.

    The disk never holds up the call. Making it takes about a second, for the libraries that judge and
    write rows, so it comes before the call. Raises LocalError where the eligibility extra is missing.
    """

    def __init__(
        self, folder: Path, *, call_id: str, side: str, pc: CallPeerConnection, shown: ShownLog
    ) -> None:
        identity = {"call_id": call_id, "side": side.lower(), "source": "call"}
        self._meter = IntervalMeter({**identity, **device_columns()})
        self._writer = RowWriter(Store(folder))
        # Compiles the rule; with the first row it would hold up pictures.
        with_outcomes(table_of([]))
        self._device = DeviceMeter()
        self._pc, self._shown = pc, shown
        self._offsets_since_us = wall_us()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="telemetry")
        self._task = asyncio.create_task(self._run())
        pc.on("frameencoded", self._note_encoded)
        pc.on("framedecoded", self._note_decoded)
        pc.on("adaptation", self._note_adapted)

    def captured(self) -> None:
        """The source's clock offered a picture."""
        self._meter.captured()

    async def close(self) -> None:
        """Write what is left; half an interval is a row, less is not."""
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        await self._end_interval()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._writer.close)
        self._thread.shutdown()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            left_us = self._meter.left_us(now_us=_now_us())
            await asyncio.sleep(min(left_us, HEALTH_PERIOD_US) / US_PER_S)
            self._meter.looked(await loop.run_in_executor(self._thread, self._look))
            if self._meter.left_us(now_us=_now_us()) == 0:
                await self._end_interval()

    async def _end_interval(self) -> None:
        statistics = read_statistics((await self._pc.getStats()).values())
        now_us = wall_us()
        offsets_us = self._shown.offsets_us(now_us=now_us, since_us=self._offsets_since_us)
        self._offsets_since_us = now_us
        row = self._meter.close(statistics, offsets_us=offsets_us, now_us=_now_us(), wall_us=now_us)
        if row is not None:
            self._thread.submit(self._writer.write, row)

    def _look(self) -> DeviceHealth:
        return self._device.read(now_us=_now_us())

    def _note_encoded(self, frame: EncodedFrame) -> None:
        self._meter.encoded(frame, now_us=_now_us())

    def _note_decoded(self, frame: DecodedFrame) -> None:
        self._meter.decoded(frame, now_us=_now_us())

    def _note_adapted(self, decision: AdaptationDecision) -> None:
        self._meter.adapted(decision.operation.preset)


class RowWriter:
    """Writes the rows of one side: each by itself at once, and all in one part now and then.

    A row's outcome is that of the call up to it until the parts are merged, then it is the call's.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._rows: list[Mapping[str, Value]] = []
        self._parts: list[Path] = []
        self._has_failed = False

    def write(self, row: Mapping[str, Value]) -> None:
        """The row is on the disk when this returns, unless that failed, which is logged once."""
        self._rows.append(row)
        self._try(merges=len(self._parts) >= MAX_PARTS)

    def close(self) -> None:
        """Merge what there is."""
        if len(self._parts) > 1:
            self._try(merges=True)

    def _try(self, *, merges: bool) -> None:
        if self._has_failed:
            return
        try:
            table = with_outcomes(table_of(self._rows))
            if merges:
                self._parts = [self._store.merge(table, parts=self._parts)]
            else:
                self._parts.append(self._store.append(table.slice(table.num_rows - 1)))
        except LocalError as error:
            # The disk is full, say: it will be at the next row, too.
            self._has_failed = True
            logger.error("the telemetry ends here: %s", error)


def _now_us() -> int:
    return time.monotonic_ns() // 1000
