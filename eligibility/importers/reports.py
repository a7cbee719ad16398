"""Video streams out of a connection's reports: W3C names of several years, and Chrome's legacy ones.

Counters only grow (until they are reset); gauges hold at their moment. Both are named alike for all
shapes of reports, times in us.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .samples import Report, finite

US = 1_000_000.0
MS = 1_000.0

# (member, name of ours, factor). W3C webrtc-stats: RTCOutboundRtpStreamStats and its media source.
SENT_COUNTERS = (
    ("framesEncoded", "frames_encoded", 1.0),
    ("totalEncodeTime", "encode_us", US),
    # Firefox's own, until it had the W3C ones.
    ("droppedFrames", "frames_dropped", 1.0),
)
SOURCE_COUNTERS = (("frames", "frames_captured", 1.0),)
# RTCInboundRtpStreamStats, and the track reports that held some of it until 2022.
RECEIVED_COUNTERS = (
    ("framesDecoded", "frames_decoded", 1.0),
    ("totalDecodeTime", "decode_us", US),
    ("framesDropped", "frames_shown_late", 1.0),
    ("freezeCount", "freeze_count", 1.0),
    ("totalFreezesDuration", "freeze_us", US),
)
SIZE_GAUGES = (
    ("frameWidth", "width", 1.0),
    ("frameHeight", "height", 1.0),
    ("framesPerSecond", "fps", 1.0),
    ("framerateMean", "fps", 1.0),
)
SOURCE_GAUGES = (("framesPerSecond", "captured_fps", 1.0),)
LIMITS = ("cpu", "bandwidth", "other")
# Chrome before 2022, constraint-less getStats: everything is text.
LEGACY_SENT = (
    ("googFrameWidthSent", "width", 1.0),
    ("googFrameHeightSent", "height", 1.0),
    ("googFrameRateSent", "fps", 1.0),
    ("googFrameRateInput", "captured_fps", 1.0),
    ("googAvgEncodeMs", "mean_encode_us", MS),
)
LEGACY_RECEIVED = (
    ("googFrameWidthReceived", "width", 1.0),
    ("googFrameHeightReceived", "height", 1.0),
    ("googFrameRateOutput", "fps", 1.0),
    ("googDecodeMs", "mean_decode_us", MS),
)
LEGACY_LIMITS = (
    ("googCpuLimitedResolution", "is_limited_cpu"),
    ("googBandwidthLimitedResolution", "is_limited_bandwidth"),
)
TEXT_MEMBERS = (
    "type",
    "kind",
    "mediaType",
    "timestamp",
    "codecId",
    "mimeType",
    "trackId",
    "mediaSourceId",
    "encoderImplementation",
    "decoderImplementation",
    "qualityLimitationReason",
    "qualityLimitationDurations",
    "googCodecName",
    "codecImplementationName",
    "isRemote",
    "estimatedPlayoutTimestamp",
    *(member for member, _ in LEGACY_LIMITS),
)
_TABLES = (SENT_COUNTERS, SOURCE_COUNTERS, RECEIVED_COUNTERS, SIZE_GAUGES, LEGACY_SENT)
MEMBERS = frozenset(
    [member for table in (*_TABLES, LEGACY_RECEIVED) for member, _, _ in table] + [*TEXT_MEMBERS]
)
"""Members that are of use; a reader need keep no others."""

Numbers = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """One video stream (one simulcast layer where sent) at one moment."""

    name: str
    sends: bool
    counters: Mapping[str, float]
    gauges: Mapping[str, float]
    codec: str | None = None
    implementation: str | None = None


def video_streams(reports: Mapping[str, Report], counts: Counter[str]) -> Iterator[Stream]:
    """The video streams among the reports; values of the wrong type are counted and left out."""
    for name, report in reports.items():
        kind = report.get("type")
        if kind == "ssrc" and report.get("mediaType") == "video":
            yield _legacy(name, report, counts)
        elif report.get("isRemote") is True or not _is_video(report):
            continue
        elif kind == "outbound-rtp":
            yield _sent(name, report, reports, counts)
        elif kind == "inbound-rtp":
            yield _received(name, report, reports, counts)


def playout_offset_us(reports: Mapping[str, Report]) -> float | None:
    """How far sound and picture that are played now lie apart; None unless there is one of each.

    W3C estimatedPlayoutTimestamp, the sender's NTP time in ms of what is being played: with several
    senders there is no telling which belong together.
    """
    times: dict[bool, list[float]] = {True: [], False: []}
    for report in reports.values():
        played = finite(report.get("estimatedPlayoutTimestamp"))
        if report.get("type") == "inbound-rtp" and played:
            times[_is_video(report)].append(played)
    if len(times[True]) != 1 or len(times[False]) != 1:
        return None
    return abs(times[True][0] - times[False][0]) * MS


def _is_video(report: Report) -> bool:
    return "video" in (report.get("kind"), report.get("mediaType"))


def _sent(name: str, report: Report, reports: Mapping[str, Report], counts: Counter[str]) -> Stream:
    source = _linked(report, "mediaSourceId", reports)
    counters = _numbers(report, SENT_COUNTERS, counts)
    counters |= _numbers(source, SOURCE_COUNTERS, counts)
    gauges = _numbers(_linked(report, "trackId", reports), SIZE_GAUGES, counts)
    gauges |= _numbers(report, SIZE_GAUGES, counts) | _numbers(source, SOURCE_GAUGES, counts)
    durations = _durations(report.get("qualityLimitationDurations"))
    for limit in LIMITS:
        seconds = finite(durations.get(limit))
        if seconds is not None:
            counters[f"limited_{limit}_us"] = seconds * US
        elif isinstance(report.get("qualityLimitationReason"), str):
            gauges[f"is_limited_{limit}"] = float(report["qualityLimitationReason"] == limit)
    return Stream(
        name=name,
        sends=True,
        counters=counters,
        gauges=gauges,
        codec=_codec(report, reports),
        implementation=_text(report.get("encoderImplementation")),
    )


def _received(
    name: str, report: Report, reports: Mapping[str, Report], counts: Counter[str]
) -> Stream:
    track = _linked(report, "trackId", reports)
    both = [_numbers(of, RECEIVED_COUNTERS, counts) for of in (track, report)]
    sizes = [_numbers(of, SIZE_GAUGES, counts) for of in (track, report)]
    return Stream(
        name=name,
        sends=False,
        counters=both[0] | both[1],
        gauges=sizes[0] | sizes[1],
        codec=_codec(report, reports),
        implementation=_text(report.get("decoderImplementation")),
    )


def _legacy(name: str, report: Report, counts: Counter[str]) -> Stream:
    sends = name.endswith("_send")
    gauges = _numbers(report, LEGACY_SENT if sends else LEGACY_RECEIVED, counts)
    for member, flag in LEGACY_LIMITS if sends else ():
        if member in report:
            gauges[flag] = float(report[member] in (True, "true"))
    return Stream(
        name=name,
        sends=sends,
        counters=_numbers(report, SENT_COUNTERS[:1] if sends else RECEIVED_COUNTERS[:1], counts),
        gauges=gauges,
        codec=_text(report.get("googCodecName")),
        implementation=_text(report.get("codecImplementationName")),
    )


def _linked(report: Report, member: str, reports: Mapping[str, Report]) -> Report:
    name = report.get(member)
    return reports.get(name, {}) if isinstance(name, str) else {}


def _codec(report: Report, reports: Mapping[str, Report]) -> str | None:
    """The codec's name as in SDP's rtpmap, out of a MIME type such as video/H264."""
    mime = _linked(report, "codecId", reports).get("mimeType")
    return _text(mime.partition("/")[2] or mime) if isinstance(mime, str) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value and value != "unknown" else None


def _durations(value: object) -> Mapping[str, Any]:
    """qualityLimitationDurations, which webrtc-internals writes as text."""
    if isinstance(value, str) and len(value) < 1000:
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


def _numbers(
    report: Report, table: tuple[tuple[str, str, float], ...], counts: Counter[str]
) -> Numbers:
    """What the report has of the table, named as the table says, in its units."""
    found: Numbers = {}
    for member, name, factor in table:
        if member not in report:
            continue
        number = finite(report[member])
        if number is None or number < 0:
            counts["values_refused"] += 1
        else:
            found[name] = number * factor
    return found
