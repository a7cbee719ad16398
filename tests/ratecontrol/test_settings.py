from __future__ import annotations

import pytest

from codecpilot.codecs.errors import LocalError
from codecpilot.ratecontrol.settings import ControllerSettings


@pytest.mark.parametrize(
    "changes",
    [
        {"min_quantizer": -1},
        {"max_quantizer": 64},
        {"min_quantizer": 40, "max_quantizer": 39},
        {"residual_us": 0},
        {"residual_us": 100_000, "soft_bound_us": 100_000},
        {"soft_bound_us": 200_001},
        {"bound_us": 1_000},
        {"key_delay_us": 0},
        {"horizon_us": -1},
        {"max_tries": 0},
    ],
)
def test_refuses_what_contradicts_itself_and_says_the_value(changes: dict[str, int]) -> None:
    with pytest.raises(LocalError) as error:
        ControllerSettings(**changes)
    assert any(str(value) in str(error.value) for value in changes.values())


@pytest.mark.parametrize(
    "changes",
    [
        {"min_quantizer": 0, "max_quantizer": 63},
        {"min_quantizer": 30, "max_quantizer": 30},
        {"soft_bound_us": 200_000},
        {"max_tries": 1},
    ],
)
def test_takes_the_ends_of_each_range(changes: dict[str, int]) -> None:
    settings = ControllerSettings(**changes)
    assert {name: getattr(settings, name) for name in changes} == changes
