"""What a side tells of its device: one line, read back, and refused where it is anything else."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import RemoteError
from codecpilot.eligibility.policy import STEPS, SideReport
from codecpilot.eligibility.side_text import parse_side, side_text

MARGINS = st.floats(-1, 1).map(lambda margin: round(margin, 4))
REPORTS = st.builds(
    lambda tier, slowness, margins: SideReport(
        rtc_score=0.5,
        tier=tier,
        send=dict(zip(PACES, margins[0], strict=True)),
        receive=dict(zip(PACES, margins[1], strict=True)),
        slowness=slowness,
    ),
    st.sampled_from(["low", "high"]),
    st.none() | st.floats(0.01, 9999).map(lambda slowness: round(slowness, 4)),
    st.tuples(*[st.lists(MARGINS, min_size=5, max_size=5)] * 2),
)
PACES = list(dict.fromkeys((step.width * step.height, step.fps) for step in STEPS))
GOOD = "high 1.4200 921600/30:0.1000:-0.2000 57600/15:0.3000:0.3000"


@given(REPORTS)
def test_a_report_comes_back_as_it_was(report: SideReport):
    text = side_text(report)
    assert parse_side(text, rtc_score=0.5) == report
    # What a description takes.
    assert re.fullmatch(r"[!-~][ -~]{0,398}[!-~]", text)


def test_the_example_of_the_documentation():
    report = parse_side(GOOD, rtc_score=0.8)
    assert (report.rtc_score, report.tier, report.slowness) == (0.8, "high", 1.42)
    assert report.send == {(921_600, 30): 0.1, (57_600, 15): 0.3}
    assert report.receive == {(921_600, 30): -0.2, (57_600, 15): 0.3}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "high",
        "middle 1.0",
        "high 0.0",
        "high nan",
        "high 1e3",
        "high 1.0 ",
        "high  1.0",
        "high 1.0 921600/30:0.1",
        "high 1.0 921600/30:1.1:0.0",
        "high 1.0 0/30:0.1:0.1",
        "high 1.0 921600/0:0.1:0.1",
        "high 1.0 921600/30:0.1:0.1 921600/30:0.1:0.1",
        "high 1.0 \u0661/30:0.1:0.1",
        "high 1.0" + "".join(f" {n}/30:0.1:0.1" for n in range(1, 18)),
    ],
)
def test_anything_else_is_refused(text: str):
    with pytest.raises(RemoteError):
        parse_side(text, rtc_score=0.5)


@given(st.text(max_size=80) | st.text("0123456789./:- highlow", max_size=80))
def test_any_text_is_a_report_or_refused(text: str):
    try:
        report = parse_side(text, rtc_score=0.5)
    except RemoteError:
        return
    assert report.tier in ("low", "high")
