"""What the README says is true: its example runs, its commands and fields exist, its folders are there."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from codecpilot.codecs.av1_presets import PRESETS
from codecpilot.samples.call.figures import SentLog, ShownLog, direction_figures
from codecpilot.samples.call.series import Window
from codecpilot.samples.cli import build_parser

from tests.live_call import call, in_call

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.S)


def test_the_example_runs_and_receives_a_picture() -> None:
    code = EXAMPLES[0]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "yuv420p 640x480" in done.stdout


async def test_the_example_of_decisions_taken_over_is_legal() -> None:
    code = EXAMPLES[1]
    async with in_call(call()) as (pc,):
        sender = pc.addTransceiver("video").sender
        exec(code, {"pc": pc, "sender": sender})
        assert len(pc.listeners("adaptation")) == 1


@pytest.mark.parametrize("line", re.findall(r'make demo ARGS="([^"]+)"', README))
def test_the_arguments_of_each_shown_call_are_legal(line: str) -> None:
    assert build_parser().parse_args(["call", *shlex.split(line)]).run is not None


def test_each_field_of_the_report_is_explained() -> None:
    window = Window(start_us=0, end_us=1_000_000, tick_us=33_333)
    figures = direction_figures(
        "A", "B", sent=SentLog().summary(window), shown=ShownLog().summary(window, now_us=0)
    )
    table = README.split("| field | meaning |")[1].split("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", table)) == figures.keys()


def test_the_presets_are_named() -> None:
    named = re.findall(r"preset \((.*?)\)", README, re.S)[0]
    assert re.findall(r"`(\w+)`", named) == list(PRESETS)


def test_the_folders_and_files_that_it_names_are_there() -> None:
    layout = README.split("## Layout")[1].split("\n\n")[1]
    for name in [*re.findall(r"^\| `(\w+/)`", layout, re.M), "CHANGELOG.md", "LICENSE"]:
        assert (ROOT / name).exists()
