"""The telemetry schema: one row a call side and interval of the call.

No column holds an address, a name of a person or free text: text is either one of a few words or
an identifier of a product (a device, a codec, an operating system), of at most 64 plain characters.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from codecpilot.codecs.errors import LocalError

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_VERSION = 1
# Ours: long enough for a p95 over 300 pictures, short enough to see a phone throttle within a call.
INTERVAL_US = 10_000_000
# Ours: the longest `ro.product.model` and encoderImplementation seen have under 50 characters.
MAX_TEXT_CHARACTERS = 64
# What product names are made of; an address or a path has signs that are not among them.
PLAIN_TEXT = r"[\w .,+\-()/&]*"
CALL_ID = r"^[0-9a-f]{8,64}$"

Value = str | int | float | bool | None


class Kind(StrEnum):
    """Column types, as Arrow spells them."""

    INT = "int64"
    FLOAT = "double"
    TEXT = "string"
    BOOL = "bool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: its unit stands in its name where it has one, and in words here."""

    name: str
    kind: Kind
    unit: str
    meaning: str
    nullable: bool = True
    least: float = 0.0
    most: float = math.inf
    words: tuple[str, ...] = ()
    """The only texts it may hold; empty where any plain text may stand."""


def _int(name: str, unit: str, meaning: str, **more: Any) -> Column:
    return Column(name=name, kind=Kind.INT, unit=unit, meaning=meaning, **more)


def _float(name: str, unit: str, meaning: str, **more: Any) -> Column:
    return Column(name=name, kind=Kind.FLOAT, unit=unit, meaning=meaning, **more)


def _text(name: str, meaning: str, **more: Any) -> Column:
    return Column(name=name, kind=Kind.TEXT, unit="", meaning=meaning, **more)


def _ratio(name: str, meaning: str) -> Column:
    return _float(name, "0..1", meaning, most=1.0)


SOURCES = ("call", "rtcstats", "webrtc-internals", "csv", "simulated")
IDENTITY = (
    _int("schema_version", "", "Version of this schema", nullable=False, least=1),
    _text("call_id", "Random or digest hex, the same on all rows of a call", nullable=False),
    _text("side", "Which end of the call", nullable=False, words=("a", "b")),
    _int("interval_index", "", "Place of the interval in the call, from 0", nullable=False),
    _int("time_us", "us UTC", "Start of the interval", nullable=False, most=1e16),
    _text("source", "What wrote the row", nullable=False, words=SOURCES),
)
DEVICE = (
    _text("device_brand", "Brand, lower case"),
    _text("device_model", "Model as the device names itself; null where the dump does not tell"),
    _text("soc", "System on chip or processor"),
    _int("cores", "", "Logical processors", least=1, most=4096),
    _int("memory_bytes", "bytes", "Main memory"),
    _text("os", "android, ios, macos, windows, linux, chromeos"),
    _text("os_version", "Version, numbers and points"),
    _int("release_year", "year", "Year the model came out", least=1980, most=2200),
)
CODING = (
    _text("codec", "Codec sent (received where nothing is sent), as in SDP's rtpmap"),
    _text("encoder", "W3C encoderImplementation, without parameters"),
    _text("preset", "Encoder preset or null"),
    _int(
        "width",
        "px",
        "Width of the pictures sent (received where none are sent)",
        least=1,
        most=65536,
    ),
    _int(
        "height",
        "px",
        "Height of the pictures sent (received where none are sent)",
        least=1,
        most=65536,
    ),
    _float("fps", "1/s", "Pictures a second sent (received where none are sent)", most=1000.0),
    _int("encode_p50_us", "us", "Encode latency a picture, median (mean where counters give it)"),
    _int("encode_p95_us", "us", "Encode latency a picture, 95th percentile; null from counters"),
    _int("decode_p50_us", "us", "Decode latency a picture, median (mean where counters give it)"),
    _int("decode_p95_us", "us", "Decode latency a picture, 95th percentile; null from counters"),
    _int("encode_cpu_us", "us", "CPU time of encoding, mean a picture"),
)
COUNTS = (
    _int("frames_captured", "pictures", "From camera or screen, in the interval"),
    _int("frames_encoded", "pictures", "Encoded in the interval"),
    _int("frames_dropped", "pictures", "Captured and not sent in the interval"),
    _int("frames_shown_late", "pictures", "Received and dropped or shown late in the interval"),
    _int("limited_cpu_us", "us", "qualityLimitationDurations cpu, within the interval"),
    _int("limited_bandwidth_us", "us", "qualityLimitationDurations bandwidth, within the interval"),
    _int("limited_other_us", "us", "qualityLimitationDurations other, within the interval"),
    _int("av_offset_p95_us", "us", "Audio against video, 95th percentile of the magnitude"),
    _int("freeze_count", "", "W3C freezeCount, within the interval"),
    _int("freeze_us", "us", "W3C totalFreezesDuration, within the interval"),
)
HEALTH = (
    _ratio("cpu_pressure_ratio", "Share of time that tasks waited for the CPU"),
    _ratio("frequency_ratio", "CPU frequency against its maximum; falls when throttled"),
    _ratio("battery_ratio", "Battery charge"),
    Column(name="on_power", kind=Kind.BOOL, unit="", meaning="Plugged in"),
    _text("outcome", "Real-time AV1 call of good quality held or not", words=("good", "bad")),
    Column(
        name="simulated", kind=Kind.BOOL, unit="", meaning="From a simulated fleet", nullable=False
    ),
)
TELEMETRY: tuple[Column, ...] = IDENTITY + DEVICE + CODING + COUNTS + HEALTH
COLUMNS: dict[str, Column] = {column.name: column for column in TELEMETRY}


def empty_row() -> dict[str, Value]:
    """A row with nothing in it but the schema's version and that it is not simulated."""
    row: dict[str, Value] = dict.fromkeys(COLUMNS)
    row.update(schema_version=SCHEMA_VERSION, simulated=False)
    return row


def arrow_schema() -> pa.Schema:
    """The schema as Arrow types. Needs the eligibility extra."""
    import pyarrow as pa

    types = {Kind.INT: pa.int64(), Kind.FLOAT: pa.float64(), Kind.TEXT: pa.string()}
    return pa.schema(
        [pa.field(c.name, types.get(c.kind, pa.bool_()), nullable=c.nullable) for c in TELEMETRY]
    )


def table_of(rows: Sequence[Mapping[str, Value]]) -> pa.Table:
    """Rows as a checked table. Raises LocalError as check_table does."""
    import pyarrow as pa

    unknown = sorted({name for row in rows for name in row} - set(COLUMNS))
    if unknown:
        raise LocalError(f"columns that are not in the telemetry schema: {_some(unknown)}")
    columns = {name: [row.get(name) for row in rows] for name in COLUMNS}
    try:
        # Built by the types alone: check_table says more clearly which column lacks a value.
        table = pa.table({c.name: pa.array(columns[c.name], c.type) for c in arrow_schema()})
    except (pa.ArrowException, OverflowError) as error:
        raise LocalError(f"a value of the wrong type in a telemetry row: {error}") from error
    return check_table(table)


def check_table(table: pa.Table) -> pa.Table:
    """The table in the schema's column order and types, when all of it keeps to the schema.

    Raises LocalError naming the column, what stands in it and what is legal: columns missing or
    unknown, another or several schema versions, a type that does not fit, null where a value must
    stand, numbers out of range or not finite, words that are not among the column's.
    """
    _check_names(table.column_names)
    _check_version(table["schema_version"])
    import pyarrow as pa

    arrays = []
    for column, field in zip(TELEMETRY, arrow_schema(), strict=True):
        try:
            values = table[column.name].cast(field.type)
        except pa.ArrowException as error:
            raise LocalError(f"column {column.name} does not hold {column.kind}") from error
        _check_values(column, values)
        arrays.append(values)
    return pa.table(arrays, schema=arrow_schema())


def _check_names(names: list[str]) -> None:
    missing = [name for name in COLUMNS if name not in names]
    unknown = sorted(set(names) - set(COLUMNS))
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    problems = {"missing": missing, "unknown": unknown, "twice": twice}
    if any(problems.values()):
        said = "; ".join(f"{what}: {_some(names)}" for what, names in problems.items() if names)
        raise LocalError(f"not the telemetry schema version {SCHEMA_VERSION}: columns {said}")


def _check_version(column: pa.ChunkedArray) -> None:
    import pyarrow as pa

    try:
        found = sorted(column.cast(pa.int64()).unique().to_pylist(), key=str)
    except pa.ArrowException as error:
        raise LocalError(f"schema version of the type {column.type}: it is a number") from error
    if any(version != SCHEMA_VERSION for version in found):
        said = "mixed schema versions" if len(found) > 1 else "schema version"
        raise LocalError(f"{said} {_some(found)}: this build reads version {SCHEMA_VERSION} alone")


def _check_values(column: Column, values: pa.ChunkedArray) -> None:
    import pyarrow.compute as pc

    if not column.nullable and values.null_count:
        raise LocalError(f"column {column.name} must hold a value in every row")
    if column.kind is Kind.TEXT:
        _check_text(column, values)
    elif column.kind is not Kind.BOOL and len(values) > values.null_count:
        # min_max passes over NaN, so that is asked apart.
        finite = pc.all(pc.is_finite(values)).as_py()
        span = pc.min_max(values).as_py()
        if not finite or span["min"] < column.least or span["max"] > column.most:
            raise LocalError(
                f"column {column.name} holds {span['min']}..{span['max']}"
                f"{'' if finite else ' and values that are not finite'};"
                f" legal is {column.least:g}..{column.most:g}"
            )


def _check_text(column: Column, values: pa.ChunkedArray) -> None:
    # Few texts occur, each on many rows.
    for text in values.unique().to_pylist() if column.name != "call_id" else []:
        if text is None:
            continue
        if column.words and text not in column.words:
            raise LocalError(f"column {column.name} holds {text[:80]!r}, legal: {column.words}")
        if len(text) > MAX_TEXT_CHARACTERS or not re.fullmatch(PLAIN_TEXT, text):
            raise LocalError(
                f"column {column.name} holds {text[:80]!r}: product names have at most"
                f" {MAX_TEXT_CHARACTERS} letters, digits, spaces and .,+-()/&"
            )
    if column.name == "call_id":
        import pyarrow.compute as pc

        if not pc.all(pc.match_substring_regex(values, CALL_ID)).as_py() and len(values):
            raise LocalError(f"column call_id holds something else than {CALL_ID}")


def _some(names: list[Any]) -> str:
    """The first few of a list that may be long."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(str(name)[:40] for name in names[:5]) + more
