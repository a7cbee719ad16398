"""rtcstats dumps: a JSON array [event, connection, data, time in ms] a line.

`getstats` lines hold what changed since the connection's last one; rtcstats' deltaCompression drops
members that are the same, drops reports with nothing new, and writes the timestamp 0 for the newest
of a line, which stands beside the reports. Chrome's own "rtcstats dump" (file format 3) begins with
two lines of header and stamps each report; its lines' times are relative. A line may also be one
full getStats() result.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from .reading import Bounded, lines
from .reports import MEMBERS
from .samples import Facts, Report, Sample, time_us
from .user_agent import device_facts

HEADER = b"RTCStatsDump"
STATS_EVENTS = ("getstats", "stats")
# Ours: the dumps seen have up to 130 reports and 2 connections; beyond it somebody fills memory.
MAX_REPORTS = 20_000
MAX_CONNECTIONS = 1_000
# Ours: MAX_CONNECTIONS of what was seen, in 0.2 GB.
MAX_FILE_REPORTS = 200_000
# Ours: names and texts that are of use have under 100.
MAX_TEXT_CHARACTERS = 1_000
# Ours: device facts lie at the top of these events, or one below.
DEVICE_MEMBERS = ("userAgent", "userAgentData", "hardwareConcurrency", "deviceMemory")

# A stack of brackets as long as a line takes json's recursion to its end.
JSON_ERRORS = (ValueError, RecursionError)


def read_rtcstats(file: Bounded, counts: Counter[str]) -> Iterator[Sample | Facts]:
    """Samples and facts in the file's order. What cannot be read is counted and passed over."""
    connections: dict[str, dict[str, dict[str, Any]]] = {}
    for line in lines(file, counts):
        text = line.strip()
        if not text or text == HEADER:
            continue
        counts["lines"] += 1
        try:
            event = json.loads(text)
        except JSON_ERRORS:
            # Only the last line can lack its end.
            whole = line.endswith(b"\n")
            counts["lines_not_json" if whole else "truncated_last_line"] += 1
            continue
        yield from _read_event(event, connections, counts)


def _read_event(
    event: object, connections: dict[str, dict[str, dict[str, Any]]], counts: Counter[str]
) -> Iterator[Sample | Facts]:
    if isinstance(event, dict) and "fileFormat" in event:
        return
    if not _is_event(event):
        yield from _read_plain(event, counts)
        return
    assert isinstance(event, list)
    name, connection, data, *rest = event
    if name.lower() in STATS_EVENTS:
        sample = _read_stats(connection, data, rest, connections, counts)
        if sample:
            yield sample
    elif isinstance(data, dict) and any(member in data for member in DEVICE_MEMBERS):
        yield Facts(columns=device_facts(data))


def _is_event(event: object) -> bool:
    return isinstance(event, list) and len(event) >= 3 and isinstance(event[0], str)


def _read_stats(
    connection: object,
    data: object,
    rest: list[object],
    connections: dict[str, dict[str, dict[str, Any]]],
    counts: Counter[str],
) -> Sample | None:
    if not isinstance(data, dict) or not isinstance(connection, str | int):
        counts["lines_odd"] += 1
        return None
    name = str(connection)
    if len(name) > MAX_TEXT_CHARACTERS:
        counts["lines_odd"] += 1
        return None
    if name not in connections and len(connections) >= MAX_CONNECTIONS:
        counts["connections_refused"] += 1
        return None
    reports = connections.setdefault(name, {})
    others = sum(len(of) for of in connections.values()) - len(reports)
    _apply(data, reports, counts, most=min(MAX_REPORTS, MAX_FILE_REPORTS - others))
    when = _newest_us(data) or time_us(rest[0] if rest else None)
    if when is None:
        counts["samples_without_time"] += 1
        return None
    return Sample(connection=name, time_us=when, reports=reports)


def _newest_us(data: dict[str, Any]) -> int | None:
    """When the reports were made, by their own clock: lines are stamped when they are written."""
    newest = time_us(data.get("timestamp"))
    if newest is not None:
        return newest
    stamps = [report.get("timestamp") for report in data.values() if isinstance(report, dict)]
    return max((when for stamp in stamps if (when := time_us(stamp))), default=None)


def _apply(
    data: dict[str, Any], reports: dict[str, dict[str, Any]], counts: Counter[str], *, most: int
) -> None:
    """Merge what changed into what is known; only members that are of use are kept."""
    for name, changed in data.items():
        if not isinstance(changed, dict) or len(name) > MAX_TEXT_CHARACTERS:
            counts["reports_odd"] += name != "timestamp"
        elif name not in reports and len(reports) >= most:
            counts["reports_refused"] += 1
        else:
            known = reports.setdefault(name, {})
            for member, value in changed.items():
                if member not in MEMBERS:
                    continue
                if isinstance(value, str | list | dict) and not _is_short(value):
                    counts["values_refused"] += 1
                    known.pop(member, None)
                else:
                    known[member] = value


def _is_short(value: str | list[Any] | dict[str, Any]) -> bool:
    """A text, or a few numbers by short names as qualityLimitationDurations has them."""
    if isinstance(value, str):
        return len(value) <= MAX_TEXT_CHARACTERS
    if isinstance(value, list) or len(value) > MAX_TEXT_CHARACTERS:
        return False
    return not any(
        len(name) > MAX_TEXT_CHARACTERS or isinstance(number, str | list | dict)
        for name, number in value.items()
    )


def _read_plain(event: object, counts: Counter[str]) -> Iterator[Sample]:
    """A line that is one getStats() result: a list of reports, or reports by their ids."""
    reports: dict[str, Report] = {}
    if isinstance(event, list):
        reports = {str(r.get("id")): r for r in event if isinstance(r, dict) and "type" in r}
    elif isinstance(event, dict):
        reports = {k: r for k, r in event.items() if isinstance(r, dict) and "type" in r}
    when = _newest_us(dict(reports))
    if when is None:
        counts["lines_odd"] += 1
        return
    yield Sample(connection="plain", time_us=when, reports=reports)
