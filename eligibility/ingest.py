"""Dumps into a store: each file by itself, so that a bad one costs only itself."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from codecpilot.codecs.errors import CodecpilotError, LocalError

from .importers import read_dump
from .store import Store

# Suffixes taken from a folder that is named; a file that is named is read whatever its suffix.
SUFFIXES = {".csv", ".gz", ".json", ".jsonl", ".parquet", ".txt"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What became of one file: rows stored and what was met in it, or why it was refused."""

    path: Path
    rows: int = 0
    counts: dict[str, int]
    refusal: str | None = None
    known: bool = False
    """All of it was in the store already."""


def ingest(
    paths: Sequence[Path],
    *,
    store: Store,
    on_file: Callable[[Ingested], None] | None = None,
) -> list[Ingested]:
    """Read every file (folders are searched) and append its rows to the store.

    on_file is told of each file when it is done. A file that is refused is reported and the next
    one read; the same file again changes nothing. Raises LocalError where there is no file at all,
    where the store cannot be written, and before any is read where it is of another schema.
    """
    files = expand(paths)
    if not files:
        raise LocalError(f"no dump in {', '.join(map(str, paths)) or 'nothing'}")
    store.check_versions()
    done = []
    stored = set(store.parts())
    for path in files:
        done.append(_ingest_one(path, store, stored))
        if on_file:
            on_file(done[-1])
    return done


def expand(paths: Iterable[Path]) -> list[Path]:
    """The files named and those in the folders named, each once, in order of their names."""
    return list(dict.fromkeys(file for path in paths for file in _files(Path(path))))


def totals(done: Iterable[Ingested]) -> dict[str, int]:
    """The counts of all files added up, with files, files_refused, files_known and rows."""
    total: Counter[str] = Counter()
    for one in done:
        total.update(one.counts)
        total["files"] += 1
        total["files_refused"] += one.refusal is not None
        total["files_known"] += one.known
    return dict(sorted(total.items()))


def _files(path: Path) -> Iterator[Path]:
    """What cannot be read is among them, so that it is refused and not passed over."""
    if not os.path.isdir(path):  # As Path.is_dir, but for names that the system refuses.
        yield path
        return
    found: list[Path] = []

    def on_error(error: OSError) -> None:
        found.append(Path(error.filename))

    for folder, _, names in os.walk(path, onerror=on_error):
        files = [Path(folder, name) for name in names]
        found += [file for file in files if file.suffix.lower() in SUFFIXES]
    yield from sorted(found)


def _ingest_one(path: Path, store: Store, stored: set[Path]) -> Ingested:
    try:
        imported = read_dump(path)
    except CodecpilotError as error:
        return Ingested(path=path, counts={}, refusal=str(error))
    rows = imported.table.num_rows
    part = store.append(imported.table) if rows else None
    known = part in stored
    stored |= {part} if part else set()
    return Ingested(path=path, rows=rows, counts=imported.counts, known=known)
