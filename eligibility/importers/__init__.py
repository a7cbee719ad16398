"""What people have already: dumps of call statistics, read into telemetry rows.

Whatever a dump holds, read_dump answers with rows and counts or raises RemoteError.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from codecpilot.codecs.errors import RemoteError

from ..extra import require_extra
from ..outcome import with_outcomes
from ..schema import Value, arrow_schema, table_of
from .internals import read_internals
from .intervals import Connection
from .reading import Bounded, digest, opened
from .rtcstats import MAX_CONNECTIONS, read_rtcstats
from .samples import Facts, Sample
from .tables import read_csv, read_parquet

if TYPE_CHECKING:
    import pyarrow as pa

CALL_ID_CHARACTERS = 32
# Ours: rows that are held as Python objects at a time.
CHUNK_ROWS = 5_000
SNIFFED_BYTES = 4096
PARQUET_MAGIC = b"PAR1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """Rows in the schema, and what was met on the way, by name: lines, counter_resets, gaps, …"""

    table: pa.Table
    counts: dict[str, int]


def read_dump(path: Path) -> Imported:
    """Read a dump of any known kind; the kind is told by its content, gzip is unpacked.

    Raises RemoteError for a file that is no dump or not in the schema, LocalError for one that
    cannot be read, and where the eligibility extra is not installed. A dump without any video
    yields no rows, and its counts say so.
    """
    require_extra()
    path = Path(path)
    counts: Counter[str] = Counter()
    kind = _kind(path)
    if kind == "parquet":
        table = read_parquet(path, counts)
    elif kind == "csv":
        table = read_csv(path, counts)
    else:
        table = _read_samples(path, kind, counts)
    return Imported(table=table, counts={name: n for name, n in sorted(counts.items()) if n})


def _kind(path: Path) -> str:
    """rtcstats, webrtc-internals, csv or parquet."""
    with opened(path) as file:
        head = Bounded(file, Counter()).read(SNIFFED_BYTES)
    if head.startswith(PARQUET_MAGIC):
        return "parquet"
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if b"schema_version" in text.partition(b"\n")[0] and not text.startswith((b"{", b"[")):
        if len(head) == SNIFFED_BYTES and len(text.splitlines()) < 2:
            raise RemoteError(f"{path} has a longer header than the telemetry schema has columns")
        return "csv"
    if not text.startswith((b"{", b"[")) and not text.startswith(b"RTCStatsDump"):
        raise RemoteError(
            f"{path} is none of: rtcstats lines, a webrtc-internals dump, CSV or Parquet with the"
            " telemetry schema's columns"
        )
    whole = text.startswith(b"{") and any(
        name in text for name in (b'"PeerConnections"', b'"getUserMedia"', b'"UserAgent"')
    )
    return "webrtc-internals" if whole else "rtcstats"


def _read_samples(path: Path, kind: str, counts: Counter[str]) -> pa.Table:
    """Rows of a dump of reports, with the device's facts, which may stand at its end."""
    import pyarrow as pa

    facts: dict[str, str | int] = {}
    tables = list(_tables(path, kind, facts, counts))
    table = pa.concat_tables(tables) if tables else arrow_schema().empty_table()
    for name, value in facts.items():
        place = table.schema.get_field_index(name)
        field = table.schema.field(name)
        table = table.set_column(place, field, pa.array([value] * table.num_rows, field.type))
    counts["rows"] = table.num_rows
    return with_outcomes(table) if table.num_rows else table


def _tables(
    path: Path, kind: str, facts: dict[str, str | int], counts: Counter[str]
) -> Iterator[pa.Table]:
    rows: list[dict[str, Value]] = []
    for row in _rows(path, kind, facts, counts):
        rows.append(row)
        if len(rows) >= CHUNK_ROWS:
            yield table_of(rows)
            rows = []
    if rows:
        yield table_of(rows)


def _rows(
    path: Path, kind: str, facts: dict[str, str | int], counts: Counter[str]
) -> Iterator[dict[str, Value]]:
    whole = digest(path)
    connections: dict[str, Connection] = {}
    with opened(path) as file:
        read = read_internals if kind == "webrtc-internals" else read_rtcstats
        for found in read(Bounded(file, counts), counts):
            if isinstance(found, Facts):
                facts.update(found.columns)
                continue
            counts["samples"] += 1
            connection = _connection(found, kind, whole, connections, counts)
            if connection:
                yield from connection.feed(found)
    for connection in connections.values():
        yield from connection.close()
    _summarise(path, connections, counts)


def _connection(
    sample: Sample,
    kind: str,
    whole: str,
    connections: dict[str, Connection],
    counts: Counter[str],
) -> Connection | None:
    """The connection of a sample; its call_id tells nothing but is the same at each reading."""
    if sample.connection not in connections:
        if len(connections) >= MAX_CONNECTIONS:
            counts["connections_refused"] += 1
            return None
        name = f"{whole}\n{sample.connection}".encode("utf-8", "replace")
        call_id = sha256(name).hexdigest()[:CALL_ID_CHARACTERS]
        connections[sample.connection] = Connection(call_id=call_id, source=kind, counts=counts)
    return connections[sample.connection]


def _summarise(path: Path, connections: dict[str, Connection], counts: Counter[str]) -> None:
    silent = not counts["samples"] and not counts["connections_without_series"]
    if silent and counts["lines_not_json"] + counts["truncated_last_line"] == counts["lines"]:
        raise RemoteError(f"{path} holds no call statistics: {dict(counts) or 'nothing'}")
    counts["connections"] = len(connections)
    counts["connections_without_video"] = sum(not c.had_video for c in connections.values())
