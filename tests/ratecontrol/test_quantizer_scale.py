from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.ratecontrol.quantizer_scale import QUANTIZER_MAX, coarseness, quantizer_at


def test_coarseness_rises_with_every_step_from_4_to_1828() -> None:
    values = [coarseness(quantizer) for quantizer in range(QUANTIZER_MAX + 1)]
    assert all(low < high for low, high in itertools.pairwise(values))
    assert values[0] == math.log2(4)
    assert values[-1] == math.log2(1828)


@pytest.mark.parametrize("quantizer", range(64))
def test_quantizer_at_is_the_inverse(quantizer: int) -> None:
    assert quantizer_at(coarseness(quantizer)) == pytest.approx(quantizer)


@given(st.floats(-20, 40))
def test_quantizer_at_is_clamped_and_lies_between_its_neighbours(wanted: float) -> None:
    quantizer = quantizer_at(wanted)
    assert 0 <= quantizer <= 63
    if 0 < quantizer < 63:
        assert coarseness(math.floor(quantizer)) <= wanted <= coarseness(math.ceil(quantizer))
