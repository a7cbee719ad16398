"""How a browser's decoder keeps up, which its page tells over a data channel."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ...codecs.errors import RemoteError
from ..adaptation.browser_report import CHANNEL_LABEL, BrowserReport, read_browser_report
from .clock import now_us

logger = logging.getLogger("codecpilot.rtc")

# Ours: a page reports each stream once a second; what comes faster on average is not read.
REPORTS_PER_S = 20
_BURST = 20


class PeerReports:
    """Reads the channels of that label, and hands on what they say."""

    def __init__(self, take: Callable[[BrowserReport], None]) -> None:
        self._take = take
        self._may_read = float(_BURST)
        self._read_us = now_us()
        self._has_complained = False

    def listen(self, channel: Any) -> None:
        """Read a channel, whoever opened it; one with another label is none of ours."""
        if channel.label == CHANNEL_LABEL:
            channel.on("message", self.handle_message)

    def handle_message(self, message: str | bytes) -> None:
        """One report; what is none is left out."""
        time_us = now_us()
        refill = (time_us - self._read_us) * REPORTS_PER_S / 1_000_000
        self._may_read = min(_BURST, self._may_read + refill)
        self._read_us = time_us
        if self._may_read < 1:
            return
        self._may_read -= 1
        try:
            if isinstance(message, bytes):
                raise RemoteError("a decode report is no text")
            report = read_browser_report(message)
        except RemoteError as error:
            # The first tells enough; a peer must not fill the log.
            if not self._has_complained:
                self._has_complained = True
                logger.info("a message was not understood: %s", error)
            return
        if report is not None:
            self._take(report)
