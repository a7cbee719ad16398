"""Dumps of call statistics for tests, in the shapes that browsers and rtcstats write."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from codecpilot.eligibility.importers import Imported, read_dump

START_MS = 1_700_000_000_000
FPS = 30
Reports = dict[str, dict[str, Any]]


def sending(second: int) -> Reports:
    """A healthy AV1 sender after so many seconds: 5 ms a picture, one in thirty dropped."""
    encoded = 29 * second
    return {
        "OT1": {
            "type": "outbound-rtp",
            "kind": "video",
            "timestamp": START_MS + 1000 * second,
            "codecId": "C1",
            "mediaSourceId": "S1",
            "framesEncoded": encoded,
            "totalEncodeTime": encoded * 0.005,
            "frameWidth": 640,
            "frameHeight": 360,
            "framesPerSecond": 29,
            "encoderImplementation": "libaom",
            "qualityLimitationDurations": {
                "cpu": 0.2 * second,
                "bandwidth": 0.1 * second,
                "none": 0.7 * second,
                "other": 0,
            },
        },
        "S1": {"type": "media-source", "kind": "video", "frames": FPS * second},
        "C1": {"type": "codec", "mimeType": "video/AV1"},
    }


def receiving(second: int, *, name: str = "IT1") -> Reports:
    """A receiver that decodes in 2 ms, drops one picture a second, freezes 100 ms every 10 s."""
    return {
        name: {
            "type": "inbound-rtp",
            "kind": "video",
            "timestamp": START_MS + 1000 * second,
            "codecId": "C2",
            "framesDecoded": 25 * second,
            "totalDecodeTime": 25 * second * 0.002,
            "framesDropped": second,
            "freezeCount": second // 10,
            "totalFreezesDuration": second // 10 * 0.1,
            "frameWidth": 320,
            "frameHeight": 180,
            "decoderImplementation": "dav1d",
        },
        "C2": {"type": "codec", "mimeType": "video/VP9"},
    }


def stats_line(reports: Reports, *, connection: str = "PC_0", time_ms: int) -> str:
    """One rtcstats line."""
    return json.dumps(["getstats", connection, {**reports, "timestamp": time_ms}, time_ms])


def rtcstats(
    make: Callable[[int], Reports] = sending, *, seconds: int = 31, connection: str = "PC_0"
) -> list[str]:
    """The lines of a dump with a report a second."""
    return [
        stats_line(make(s), connection=connection, time_ms=START_MS + 1000 * s)
        for s in range(seconds)
    ]


def internals(
    make: Callable[[int], Reports] = sending,
    *,
    seconds: int = 31,
    as_text: bool = True,
    connections: tuple[str, ...] = ("8-1",),
) -> dict[str, Any]:
    """What chrome://webrtc-internals would save of the same reports."""
    stats: dict[str, Any] = {}
    for second in range(seconds):
        for name, report in make(second).items():
            for member, value in report.items():
                series = stats.setdefault(f"{name}-{member}", {"values": []})
                series["values"].append(value)
                series["statsType"] = report["type"]
    times = [_iso(START_MS), _iso(START_MS + 1000 * (seconds - 1))]
    for series in stats.values():
        series |= {"startTime": times[0], "endTime": times[1]}
        if as_text:
            series["values"] = json.dumps(series["values"])
    return {
        "getUserMedia": [],
        "PeerConnections": {name: {"url": "x", "stats": stats} for name in connections},
        "UserAgent": "Mozilla/5.0 (Linux; Android 12; Pixel 6) AppleWebKit/537.36 Chrome/110.0",
    }


def read_text(tmp_path: Path, text: str | bytes, *, name: str = "dump") -> Imported:
    """Read what a file with this content holds."""
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_dump(path)


def read_lines(tmp_path: Path, lines: list[str]) -> Imported:
    """Read a dump of these lines."""
    return read_text(tmp_path, "\n".join(lines) + "\n")


def _iso(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat().replace("+00:00", "Z")
