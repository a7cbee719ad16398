"""Without the eligibility extra everything is importable, and what needs it says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from codecpilot.codecs.errors import LocalError
from codecpilot.eligibility import extra
from codecpilot.eligibility.importers import read_dump
from codecpilot.eligibility.store import Store

MODULES = "device_xml, features, importers, ingest, outcome, schema, store"


def test_the_modules_are_importable_without_the_libraries():
    names = (*extra.LIBRARIES, "skops")
    code = f"import sys; sys.modules.update(dict.fromkeys({names}))\n"
    code += f"from codecpilot.eligibility import {MODULES}\nprint(len(schema.empty_row()))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (run.stdout.strip(), run.stderr) == ("41", "")


def test_what_needs_them_says_what_to_install(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(extra, "find_spec", lambda name: None if name == "duckdb" else name)

    with pytest.raises(LocalError, match=r"needs duckdb: .*pip install -e '.\[eligibility\]'"):
        Store(tmp_path)
    with pytest.raises(LocalError, match="duckdb"):
        read_dump(tmp_path / "dump")
