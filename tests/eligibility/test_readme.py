"""The README's schema is the schema, and it explains every count."""

from __future__ import annotations

import re
from pathlib import Path

from codecpilot.eligibility.schema import TELEMETRY, Column

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "eligibility" / "README.md").read_text()


def line_of(column: Column) -> str:
    words = f" ({', '.join(column.words)})" if column.words else ""
    empty = "yes" if column.nullable else "no"
    unit = column.unit or "–"
    return f"| `{column.name}` | {column.kind} | {unit} | {empty} | {column.meaning}{words} |"


def test_the_schema_table_is_the_schema():
    table = README.split("| column | type |")[1].split("\n\n")[0]

    assert table.splitlines()[2:] == [line_of(column) for column in TELEMETRY]


def test_every_count_is_explained():
    sources = (ROOT / "eligibility" / "importers").glob("*.py")
    named = {
        name
        for source in sources
        for name in re.findall(r'counts\["(\w+)"\]|"(\w+)" if whole', source.read_text())
        for name in name
        if name
    }

    assert len(named) > 15
    assert {name for name in named if f"`{name}`" not in README} == set()
