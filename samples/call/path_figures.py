"""What a side knows of the path that it sends over, from its own statistics. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .figures import Figures


class PathFigures:
    """The live figures of what one side sends; None for what it does not know (yet)."""

    def __init__(self) -> None:
        self._sent = 0
        self._waited_s = 0.0

    def live(self, entries: Iterable[Any]) -> Figures:
        """The figures now, and since the last call; entries are those of getStats()."""
        by_kind = {(entry.type, getattr(entry, "kind", None)): entry for entry in entries}
        pair = by_kind.get(("candidate-pair", None))
        stream = by_kind.get(("outbound-rtp", "video"))
        return {
            "estimate_kbps": None if pair is None else _kbps(pair.availableOutgoingBitrate),
            "target_kbps": None if stream is None else _kbps(stream.targetBitrate),
            "pacer_ms": None if stream is None else self._wait_ms(stream),
            "limited_by": None if stream is None else str(stream.qualityLimitationReason),
        }

    def _wait_ms(self, stream: Any) -> float | None:
        """The mean of what each packet waited to be sent."""
        packets, waited_s = stream.packetsSent - self._sent, stream.totalPacketSendDelay
        wait_s, self._waited_s = waited_s - self._waited_s, waited_s
        self._sent = stream.packetsSent
        return round(1000 * wait_s / packets, 1) if packets else None


def _kbps(bps: int | None) -> float | None:
    return None if bps is None else round(bps / 1000, 1)
