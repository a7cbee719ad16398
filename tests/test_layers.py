"""The layers of the design: who may import what, and which parts are pure."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("codecs", "ratecontrol", "rtc", "eligibility", "samples")
# What each package may use of the others; nothing points back.
MAY_USE = {
    "codecs": set(),
    "ratecontrol": {"codecs"},
    "rtc": {"codecs", "ratecontrol"},
    "eligibility": {"codecs", "ratecontrol"},
    "samples": {"codecs", "ratecontrol", "rtc", "eligibility"},
}
# The pure packages know the errors and types of codecs alone, no codec.
NEUTRAL_OF_CODECS = {"errors", "types"}
CLOCKS = {"time", "datetime"}
IO = {"asyncio", "aiortc", "socket", "threading", "concurrent", "subprocess", "os"}


def modules() -> list[Path]:
    return sorted(p for package in PACKAGES for p in (ROOT / package).rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Absolute names of what a module imports; our own begin with `codecpilot.`."""
    package = ["codecpilot", *path.relative_to(ROOT).parent.parts]
    names: set[str] = set()
    tree = ast.parse(path.read_text())
    # What the type checker alone reads is not imported.
    tree.body = [node for node in tree.body if not _for_types(node)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *filter(None, [node.module])])
            names |= {f"{module}.{alias.name}" for alias in node.names}
    return names


def _for_types(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def tops(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imported(path)}


def is_adapter(path: Path) -> bool:
    parts = path.relative_to(ROOT).parts
    return parts[0] == "samples" or parts[:2] == ("rtc", "connection")


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_imports_only_what_its_layer_may(path: Path):
    package = path.relative_to(ROOT).parts[0]
    if package != "codecs":
        assert not tops(path) & {"av", "cffi"}, "only codecs/ imports av or cffi"
    if not is_adapter(path):
        assert not tops(path) & {"asyncio", "aiortc"}, "only the adapters import asyncio or aiortc"
    for name in imported(path):
        head, _, rest = name.partition(".")
        other = rest.split(".")[0]
        if head == "codecpilot" and other in MAY_USE and other != package:
            assert other in MAY_USE[package], f"{package} imports {name}"
            if package == "ratecontrol":
                assert rest.split(".")[1] in NEUTRAL_OF_CODECS, f"ratecontrol imports {name}"


@pytest.mark.parametrize(
    "path",
    [
        p
        for p in modules()
        if p.relative_to(ROOT).parts[0] in ("ratecontrol", "rtc") and not is_adapter(p)
    ],
    ids=lambda p: str(p.relative_to(ROOT)),
)
def test_the_pure_part_has_no_clock_no_socket_and_no_randomness_of_its_own(path: Path):
    assert not tops(path) & (CLOCKS | IO)
    text = path.read_text()
    # A seeded generator is passed in; only its type may be named.
    assert "random.random(" not in text
    assert "random.Random(" not in text
