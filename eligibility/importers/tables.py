"""CSV and Parquet that are in the telemetry schema already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from codecpilot.codecs.errors import LocalError, RemoteError

from ..schema import COLUMNS, SCHEMA_VERSION, TELEMETRY, arrow_schema, check_table
from .reading import DAMAGED, opened

if TYPE_CHECKING:
    import pyarrow as pa

# Ours: about 2 GB while they are checked.
MAX_ROWS = 5_000_000


def read_csv(path: Path, counts: Counter[str]) -> pa.Table:
    """A CSV file with a header in the schema's names, columns in any order.

    Columns that may be null may be absent; source becomes "csv" where it is. Raises RemoteError
    saying which column or line does not fit.
    """
    import pyarrow as pa
    import pyarrow.csv as csv

    types = {field.name: field.type for field in arrow_schema()}
    convert = csv.ConvertOptions(column_types=types, strings_can_be_null=True)
    try:
        # By its content, whatever its name says of packing.
        with opened(path) as file, csv.open_csv(file, convert_options=convert) as reader:
            table = pa.Table.from_batches(_at_most(path, reader), reader.schema)
    except (pa.ArrowException, UnicodeDecodeError, *DAMAGED) as error:
        raise RemoteError(f"{path} is no CSV in the telemetry schema: {error}") from error
    return _completed(path, table, counts)


def read_parquet(path: Path, counts: Counter[str]) -> pa.Table:
    """A Parquet file in the schema. Raises RemoteError saying what does not fit."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # As a file, not a data set: a folder called year=2024 is to add no column.
        with pq.ParquetFile(path) as file:
            batches = _at_most(path, file.iter_batches())
            table = pa.Table.from_batches(batches, file.schema_arrow)
    except (pa.ArrowException, OSError) as error:
        raise RemoteError(f"{path} is no Parquet file: {error}") from error
    return _completed(path, table, counts)


def _at_most(path: Path, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches; a file of few bytes can unpack to rows without end. Raises RemoteError."""
    rows = 0
    for batch in batches:
        rows += batch.num_rows
        if rows > MAX_ROWS:
            raise RemoteError(f"{path} has over {MAX_ROWS} rows, the most that one file may have")
        yield batch


def _completed(path: Path, table: pa.Table, counts: Counter[str]) -> pa.Table:
    """The table with the absent columns that may be absent, checked."""
    import pyarrow as pa

    if "schema_version" not in table.column_names:
        raise RemoteError(
            f"{path} has no column schema_version, so it is no telemetry;"
            f" this build reads version {SCHEMA_VERSION}"
        )
    for column, field in zip(TELEMETRY, arrow_schema(), strict=True):
        if column.name in table.column_names:
            continue
        value = {"source": "csv", "simulated": False}.get(column.name)
        if column.nullable or value is not None:
            counts["columns_absent"] += 1
            absent = pa.array([value] * table.num_rows, field.type)
            table = table.append_column(column.name, absent)
    try:
        checked = check_table(table)
    except LocalError as error:
        raise RemoteError(f"{path}: {error}") from error
    counts["rows"] = checked.num_rows
    return checked.select(list(COLUMNS))
