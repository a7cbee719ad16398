"""What a browser's page says of its decoder over a data channel, as a decode report. Pure.

The page sends what RTCInboundRtpStreamStats (W3C webrtc-stats) counted since it sent last; docs/wire-format.md has the
fields. Counters tell means alone, so they stand for the median and for the 95th percentile.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ...codecs.errors import RemoteError
from ...codecs.types import Codec
from .decode_report import MAX_INTERVAL_US, MAX_US, DecodeReport

CHANNEL_LABEL = "codecpilot-decode"
# ours: a report has 300 characters; more than this is none.
MAX_CHARACTERS = 2_000
# ours: what is said at most of a decoder that keeps up. One that works on several frames at once, as those in hardware
# do, takes longer for each than from one to the next; below this the sender leaves it as it is.
KEEPING_UP_RATIO = 0.85

_LARGEST = 1e12


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserReport:
    """A report about the stream of one media section; mid is None where the page does not say."""

    mid: str | None
    report: DecodeReport


def read_browser_report(text: str) -> BrowserReport | None:
    """The report in a message; None where nothing was received, or of a codec that is none of ours.

    Raises RemoteError for a message that is no report. Absurd numbers are clamped.
    """
    values = _object(text)
    mid = values.get("mid")
    if mid is not None and not isinstance(mid, str):
        raise RemoteError("a decode report's mid is no text")
    report = _report(values)
    return None if report is None else BrowserReport(mid=mid, report=report)


def _report(values: dict[str, Any]) -> DecodeReport | None:
    name = values.get("codec")
    if not isinstance(name, str):
        raise RemoteError("a decode report names no codec")
    interval_us = min(round(_number(values, "interval") * 1_000_000), MAX_INTERVAL_US)
    received = _count(values, "framesReceived")
    decoded = _count(values, "framesDecoded")
    dropped = _count(values, "framesDropped")
    waiting = max(0, received - decoded - dropped)
    if name not in set(Codec) or not (received or decoded):
        return None
    decode_us = _mean_us(values, "totalDecodeTime", decoded)
    if decoded and not dropped and waiting <= 1:
        decode_us = min(decode_us, int(KEEPING_UP_RATIO * interval_us / decoded))
    if not decoded:
        # Frames came and none of them is through: each has taken this long already.
        decode_us = interval_us
    return DecodeReport.clamped(
        codec=Codec(name),
        interval_us=interval_us,
        decode_p50_us=decode_us,
        decode_p95_us=decode_us,
        frames_decoded=decoded,
        frames_dropped=dropped,
        waiting_frames=waiting,
        playout_lag_us=_mean_us(values, "totalProcessingDelay", decoded),
        width=_count(values, "frameWidth"),
        height=_count(values, "frameHeight"),
    )


def _object(text: str) -> dict[str, Any]:
    if len(text) > MAX_CHARACTERS:
        raise RemoteError(f"a decode report of {len(text)} characters")
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RemoteError(f"a decode report is no JSON: {error}") from error
    if not isinstance(values, dict):
        raise RemoteError("a decode report is no object")
    return values


def _number(values: dict[str, Any], name: str) -> float:
    """A number that is there, at least 0; what no counter reaches is clamped."""
    value = values.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise RemoteError(f"a decode report's {name} is no number")
    return float(min(max(value, 0), _LARGEST))


def _count(values: dict[str, Any], name: str) -> int:
    return int(_number(values, name))


def _mean_us(values: dict[str, Any], name: str, count: int) -> int:
    """Microseconds a frame of a sum in seconds."""
    return min(round(_number(values, name) * 1_000_000 / max(1, count)), MAX_US)
