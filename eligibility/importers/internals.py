"""What chrome://webrtc-internals saves: one JSON object, each metric of each report a series.

{"PeerConnections": {id: {"stats": {"<report>-<metric>": {"startTime", "endTime", "statsType",
"values"}}}}, "UserAgent": …}, checked against what Chromium 156 saves. `values` is text that holds
a JSON array, in some versions the array; points lie evenly between the times unless the report has
a series of its timestamps. The file is read as a stream of tokens, so of a file that ends too early
everything before is used.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from codecpilot.codecs.errors import RemoteError

from .reading import Bounded
from .reports import MEMBERS
from .rtcstats import JSON_ERRORS, MAX_REPORTS
from .samples import Facts, Sample, finite, time_us
from .user_agent import device_facts

# Ours: the format nests 5 deep; a file of brackets alone nests without end.
MAX_DEPTH = 32
# Ours: a day at a point a second.
MAX_POINTS = 100_000
# Ours: an hour of 2 700 series at a point a second, in 1 GB.
MAX_CONNECTION_POINTS = 10_000_000
# Ours: MAX_POINTS of 100 characters; the parser takes the square of a text's length.
MAX_TEXT_BYTES = 10 << 20
# A text's end, or what looks like it.
QUOTE = re.compile(rb'(?<!\\)"')
# A member of a series, or one value of an array of them.
STATS_DEPTHS = (5, 6)
# Computed metrics stand in brackets; these two say what no other metric does.
BRACKETED = {"[codec]": "mimeType"}

Path = tuple[str, ...]

# What each place of the file tells, as a page's navigator would.
FACTS: dict[Path, Callable[[Any], dict[str, Any]]] = {
    ("UserAgent",): lambda value: {"userAgent": value},
    ("hardwareConcurrency",): lambda value: {"hardwareConcurrency": value},
    ("deviceMemory",): lambda value: {"deviceMemory": value},
    ("UserAgentData", "platform"): lambda value: {"userAgentData": {"platform": value}},
    ("UserAgentData", "platformVersion"): lambda value: {
        "userAgentData": {"platformVersion": value}
    },
    ("UserAgentData", "model"): lambda value: {"userAgentData": {"model": value}},
}


@dataclass(slots=True)
class Series:
    """One metric of one report, as it is written."""

    start: object = None
    end: object = None
    kind: object = None
    values: list[Any] = field(default_factory=list)


def read_internals(file: Bounded, counts: Counter[str]) -> Iterator[Sample | Facts]:
    """Samples, connection by connection, and facts. Raises RemoteError where it nests too deep."""
    series: dict[str, Series] = {}
    left = MAX_CONNECTION_POINTS
    for path, value, ended in _leaves(_Pieces(file, counts), counts):
        if ended:
            # A connection is over: what it held is let go.
            if len(path) == 2 and path[0] == "PeerConnections":
                yield from _samples(path[1], series, counts)
                series, left = {}, MAX_CONNECTION_POINTS
        elif path in FACTS:
            yield Facts(columns=device_facts(FACTS[path](value)))
        elif len(path) in STATS_DEPTHS and path[0] == "PeerConnections" and path[2] == "stats":
            left -= _take(series, path[3], path[4], value, counts, left=left)
    if series:
        # The file ended within a connection.
        yield from _samples("last", series, counts)


class _Pieces:
    """The file up to the first text of more than MAX_TEXT_BYTES, as its parser reads it."""

    def __init__(self, file: Bounded, counts: Counter[str]) -> None:
        self._file = file
        self._counts = counts
        self._since_quote = 0
        self._last = b""

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; nothing at the end."""
        if self._since_quote > MAX_TEXT_BYTES:
            self._counts["stopped_at_size_limit"] = 1
            return b""
        data = self._file.read(size)
        # With the byte before, which may take a quote's meaning.
        seen = self._last + data
        quoted = max((quote.end() for quote in QUOTE.finditer(seen, len(self._last))), default=0)
        self._since_quote = len(seen) - quoted if quoted else self._since_quote + len(data)
        self._last = data[-1:]
        return data


def _leaves(file: _Pieces, counts: Counter[str]) -> Iterator[tuple[Path, Any, bool]]:
    """(path, value, False) for each value, and (path, None, True) where an object ends."""
    import ijson

    path: list[str] = []
    try:
        for event, value in ijson.basic_parse(file):
            if event in ("start_map", "start_array"):
                path.append("")
            elif event == "map_key":
                path[-1] = value
            elif event in ("end_map", "end_array"):
                path.pop()
                yield tuple(path), None, True
            else:
                # Floats come as decimals, to lose nothing.
                yield tuple(path), float(value) if isinstance(value, Decimal) else value, False
            if len(path) > MAX_DEPTH:
                raise RemoteError(f"a dump nests at most {MAX_DEPTH} deep, this one deeper")
    except (ijson.JSONError, ValueError, ArithmeticError) as error:
        if isinstance(error, RemoteError):
            raise
        counts["truncated_file"] = 1


def _take(
    series: dict[str, Series],
    name: str,
    member: str,
    value: Any,
    counts: Counter[str],
    *,
    left: int,
) -> int:
    """Keep what is of use; how many points of a series it was, `left` at most."""
    metric = name.rpartition("-")[2]
    if metric not in MEMBERS and metric not in BRACKETED:
        return 0
    if name not in series and len(series) >= MAX_REPORTS:
        counts["reports_refused"] += 1
        return 0
    one = series.setdefault(name, Series())
    if member == "startTime":
        one.start = value
    elif member == "endTime":
        one.end = value
    elif member == "statsType":
        one.kind = value
    elif member == "values":
        return _take_values(one, value, counts, left=left)
    return 0


def _take_values(one: Series, value: Any, counts: Counter[str], *, left: int) -> int:
    """A text with the whole array, or one value of an array; how many were taken, `left` at most."""
    points = [value]
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            points = json.loads(value)
        except JSON_ERRORS:
            counts["values_refused"] += 1
            return 0
    room = max(0, min(MAX_POINTS - len(one.values), left))
    counts["points_refused"] += max(0, len(points) - room)
    one.values.extend(points[:room])
    return min(len(points), room)


def _samples(connection: str, series: dict[str, Series], counts: Counter[str]) -> Iterator[Sample]:
    """The series of a connection turned into a sample for each of its moments."""
    timed = {name: (one, _times_us(name, one, series)) for name, one in series.items()}
    longest = max((times for _, times in timed.values()), key=len, default=[])
    if len(longest) < 2:
        counts["connections_without_series"] += 1
        return
    step_us = max(1, (longest[-1] - longest[0]) // (len(longest) - 1))
    reports: list[dict[str, dict[str, Any]]] = [{} for _ in longest]
    for name, (one, times) in timed.items():
        report, _, metric = name.rpartition("-")
        member = BRACKETED.get(metric, metric)
        for when, value in zip(times, one.values, strict=False):
            index = round((when - longest[0]) / step_us)
            if 0 <= index < len(reports):
                members = reports[index].setdefault(report, {"type": one.kind})
                members[member] = value
    for when, found in zip(longest, reports, strict=True):
        yield Sample(connection=connection, time_us=when, reports=_complete(found))


def _times_us(name: str, one: Series, series: dict[str, Series]) -> list[int]:
    """When each value was read; empty where that cannot be told."""
    report = name.rpartition("-")[0]
    stamps = series.get(f"{report}-timestamp")
    if stamps and len(stamps.values) == len(one.values):
        known = [time_us(value) for value in stamps.values]
        times = [when for when in known if when is not None]
        if len(times) == len(known):
            return times
    start, end, n = _iso_us(one.start), _iso_us(one.end), len(one.values)
    if start is None or end is None or end < start or not n:
        return []
    return [start + (end - start) * i // max(1, n - 1) for i in range(n)]


def _iso_us(text: object) -> int | None:
    """A time such as 2024-05-01T12:00:00.000Z."""
    number = finite(text)
    if number is not None:
        return time_us(number)
    try:
        when = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    if when is None:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return time_us(when.timestamp() * 1000)


def _complete(found: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Reports with what the format leaves out: the kind of medium, and codecs as their own."""
    for members in found.values():
        mime = members.get("mimeType")
        if members["type"] in ("outbound-rtp", "inbound-rtp"):
            # A picture has a size or is counted, sound has neither.
            if "kind" not in members and {"framesEncoded", "framesDecoded"} & set(members):
                members["kind"] = "video"
            if isinstance(mime, str):
                # "VP8 (96, …)" beside the report itself.
                members["googCodecName"] = mime.partition(" ")[0]
        elif any(member.startswith("googFrame") for member in members):
            members["mediaType"] = "video"
    return found
