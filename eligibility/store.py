"""Telemetry on disk: a folder of Parquet parts, each named by the digest of what is in it."""

from __future__ import annotations

import glob
import hashlib
import os
import tempfile
from collections.abc import Iterable
from io import BufferedRandom, BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING

from codecpilot.codecs.errors import LocalError

from .extra import require_extra
from .schema import SCHEMA_VERSION, arrow_schema, check_table

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

DIGEST_CHARACTERS = 32
# Ours: features of 5 million rows take 0.4 GB of it; beyond this DuckDB goes to disk.
MEMORY_LIMIT = "1500MB"
VERSION_KEY = b"codecpilot.telemetry"
# Ours: what has more is no version, and int() refuses thousands of them.
MAX_VERSION_DIGITS = 9


class Store:
    """A folder of telemetry. Several writers may append at once; no part is ever changed.

    Raises LocalError where the eligibility extra is not installed, and for a name that is not UTF-8.
    """

    def __init__(self, folder: Path) -> None:
        require_extra()
        self.folder = Path(folder)
        try:
            str(self.folder).encode()
        except UnicodeEncodeError as error:
            # Neither Arrow nor DuckDB open such.
            raise LocalError(f"{str(folder)!a}: the name of a store is UTF-8") from error

    def append(self, table: pa.Table) -> Path:
        """Write the rows as a new part and return its path; the same rows again change nothing.

        Raises LocalError for rows that check_table refuses, for no rows at all, and where the
        folder cannot be written.
        """
        import pyarrow.parquet as pq

        table = check_table(table)
        if not table.num_rows:
            raise LocalError("no rows to append")
        version = {VERSION_KEY: str(SCHEMA_VERSION).encode()}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.folder, prefix=".", suffix=".tmp")
            try:
                with os.fdopen(handle, "w+b") as file:
                    pq.write_table(table.replace_schema_metadata(version), file, compression="zstd")
                    path = self.folder / f"{_digest(file)}.parquet"
                    os.fsync(file.fileno())
                # Whole or not at all, whoever reads meanwhile.
                Path(name).replace(path)
            finally:
                Path(name).unlink(missing_ok=True)
        except OSError as error:
            raise LocalError(f"cannot write telemetry to {self.folder}: {error}") from error
        return path

    def merge(self, table: pa.Table, *, parts: Iterable[Path]) -> Path:
        """Append the rows, then remove the parts that they stand for; a writer's own alone.

        Whoever called connect() before has to do so again. Raises LocalError as append does, when
        nothing was removed, and where a part cannot be removed.
        """
        merged = self.append(table)
        try:
            for path in set(parts) - {merged}:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise LocalError(f"cannot remove {path}, which {merged} stands for: {error}") from error
        return merged

    def prepare(self) -> None:
        """Make the folder where there is none.

        Raises LocalError where it cannot be written, and where it holds what connect refuses.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=self.folder).close()
        except OSError as error:
            raise LocalError(
                f"cannot write telemetry to {self.folder}: {error.strerror}; name a folder"
            ) from error
        self.check_versions()

    def parts(self) -> list[Path]:
        """The parts, in the order of their names."""
        return sorted(self.folder.glob("*.parquet"))

    def digest(self) -> str:
        """One digest of all rows; the order in which they came makes no difference."""
        names = "\n".join(path.stem for path in self.parts())
        return hashlib.sha256(names.encode()).hexdigest()

    def verify(self) -> None:
        """Raise LocalError for a part whose content is not what its name says."""
        for path in self.parts():
            try:
                with path.open("rb") as file:
                    found = _digest(file)
            except OSError as error:
                raise LocalError(f"cannot read {path}: {error.strerror}") from error
            if found != path.stem:
                raise LocalError(f"{path} was changed or damaged: its digest is another")

    def connect(self) -> ir.Table:
        """All rows as an Ibis table on DuckDB.

        Raises LocalError where there is no part, and for a part that is no telemetry, of another
        version of the schema than SCHEMA_VERSION, or damaged; all parts are looked at before any
        is read.
        """
        import ibis

        parts = self.parts()
        if not parts:
            raise LocalError(f"no telemetry in {self.folder}")
        self.check_versions()
        self.verify()
        connection = ibis.duckdb.connect(
            memory_limit=MEMORY_LIMIT, temp_directory=tempfile.gettempdir()
        )
        # DuckDB takes each path for a pattern.
        paths = [glob.escape(str(path)) for path in parts]
        # A folder called codec=AV1 is to add or change no column.
        return connection.read_parquet(paths, table_name="telemetry", hive_partitioning=False)

    def check_versions(self) -> None:
        """Raise one LocalError for all parts that this build does not read, if there are any."""
        found = {path.name: _version(path) for path in self.parts()}
        versions = sorted({str(version) for version in found.values()})
        if not versions or versions == [str(SCHEMA_VERSION)]:
            return
        others = [name for name, version in found.items() if version != SCHEMA_VERSION]
        said = "mixed schema versions" if len(versions) > 1 else "schema version"
        raise LocalError(
            f"{self.folder} holds {said} {', '.join(versions)}; this build reads version"
            f" {SCHEMA_VERSION} alone: {', '.join(others[:3])}{' …' if len(others) > 3 else ''}"
        )


def _version(path: Path) -> int | str:
    """The schema version of a part, or what is wrong with it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.is_file():
        # A pipe would be waited for.
        return "none (no file)"
    try:
        schema = pq.read_schema(path)
    except (pa.ArrowException, OSError):
        return "none (not Parquet)"
    written = (schema.metadata or {}).get(VERSION_KEY, b"").decode("ascii", "replace")
    if not written.isdecimal() or len(written) > MAX_VERSION_DIGITS:
        return "none (not written by codecpilot)"
    if int(written) == SCHEMA_VERSION and not schema.equals(arrow_schema()):
        return f"{SCHEMA_VERSION} with other columns"
    return int(written)


def _digest(file: BufferedRandom | BufferedReader) -> str:
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()[:DIGEST_CHARACTERS]
