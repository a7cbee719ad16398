"""What a decode report may say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError
from codecpilot.codecs.types import Codec
from codecpilot.rtc.adaptation.decode_report import DecodeReport

VALUES: dict[str, Any] = {
    "interval_us": 1_000_000,
    "decode_p50_us": 2_000,
    "decode_p95_us": 3_000,
    "frames_decoded": 30,
    "frames_dropped": 0,
    "waiting_frames": 0,
    "playout_lag_us": 4_000,
    "width": 640,
    "height": 360,
    "av1_decode_us": 5_000,
}


@pytest.mark.parametrize("name", list(VALUES))
@pytest.mark.parametrize("value", [-1, 1 << 40])
def test_a_value_out_of_range_is_refused_with_its_range(name, value):
    with pytest.raises(LocalError, match=rf"{name} {value} .* \d+\.\.\d+"):
        DecodeReport(codec=Codec.AV1, **(VALUES | {name: value}))


def test_a_p95_below_the_p50_is_refused():
    with pytest.raises(LocalError, match="1999 is below decode_p50_us 2000"):
        DecodeReport(codec=Codec.AV1, **(VALUES | {"decode_p95_us": 1_999}))


def test_clamping_changes_nothing_that_may_be():
    assert DecodeReport.clamped(codec=Codec.H264, **VALUES) == DecodeReport(
        codec=Codec.H264, **VALUES
    )


@given(st.fixed_dictionaries({name: st.integers() for name in VALUES}))
def test_anything_can_be_clamped(values):
    report = DecodeReport.clamped(codec=Codec.AV1, **values)
    for name, value in values.items():
        # Only towards the range, never past what was said.
        assert (getattr(report, name) - value) * (VALUES[name] - value) >= 0 or name in (
            "decode_p50_us",
            "decode_p95_us",
        )
