from __future__ import annotations

import random
from fractions import Fraction

import pytest

from codecpilot.codecs.types import Codec
from codecpilot.rtc.adaptation.costs import table_cost
from codecpilot.rtc.adaptation.encode_cost import EncodeCosts
from codecpilot.rtc.adaptation.operation import Operation

FULL = Fraction(1)
PIXELS = 640 * 360
DEFAULT, BEST = Operation(codec=Codec.AV1), Operation(codec=Codec.AV1, preset="best")
H264 = Operation(codec=Codec.H264)


def table_us(operation: Operation) -> float:
    return table_cost(operation.codec, operation.preset).encode_ns * PIXELS / 1000


def observe(costs: EncodeCosts, operation: Operation, *ratios: float, tries: int = 1) -> None:
    """Frames that take so many times what the table says, each try."""
    for ratio in ratios:
        costs.observe(
            operation,
            scale=FULL,
            encode_us=round(table_us(operation) * ratio * tries),
            tries=tries,
            pixels=PIXELS,
        )


def ratio(costs: EncodeCosts, operation: Operation) -> float:
    return costs.frame_us(operation, scale=FULL, pixels=PIXELS) / table_us(operation)


def test_the_first_frame_tells_how_fast_the_device_is_whatever_it_is_coded_with():
    costs = EncodeCosts()
    assert not costs.is_known
    observe(costs, DEFAULT, 3.0)
    assert costs.is_known
    for operation in (DEFAULT, BEST, H264):
        assert ratio(costs, operation) == pytest.approx(3.0, rel=0.01)


def test_a_device_that_slows_down_is_known_of_by_its_third_frame():
    costs = EncodeCosts()
    observe(costs, DEFAULT, *[1.0] * 60)
    observe(costs, DEFAULT, 4.0, 4.0, 4.0)
    for operation in (DEFAULT, BEST, H264):
        assert ratio(costs, operation) == pytest.approx(4.0, rel=0.1)
    observe(costs, DEFAULT, 1.0, 1.0, 1.0)
    assert ratio(costs, BEST) == pytest.approx(1.0, rel=0.1)


def test_single_slow_frames_say_nothing():
    costs = EncodeCosts()
    observe(costs, DEFAULT, *([1.0] * 9 + [4.0]) * 6)
    assert ratio(costs, DEFAULT) == pytest.approx(1.0, rel=0.03)


def test_noise_is_averaged():
    costs, rng = EncodeCosts(), random.Random(1)
    observe(costs, DEFAULT, *(rng.lognormvariate(0, 0.2) for _ in range(300)))
    estimates = []
    for _ in range(200):
        observe(costs, DEFAULT, rng.lognormvariate(0, 0.2))
        estimates.append(ratio(costs, DEFAULT))
    assert 0.75 < min(estimates) < 1 < max(estimates) < 1.33


def test_what_an_operation_differs_by_is_learned_when_it_comes_into_use_and_kept():
    costs = EncodeCosts()
    observe(costs, DEFAULT, *[1.0] * 60)
    observe(costs, BEST, *[2.0] * 10)
    assert ratio(costs, BEST) == pytest.approx(2.0, rel=0.1)
    assert ratio(costs, DEFAULT) == pytest.approx(1.0, rel=0.1)
    observe(costs, DEFAULT, *[1.0] * 30)
    assert ratio(costs, BEST) == pytest.approx(2.0, rel=0.15)
    # The device, not the operation, has become slower.
    observe(costs, DEFAULT, *[3.0] * 5)
    assert ratio(costs, BEST) == pytest.approx(6.0, rel=0.2)


def test_it_is_the_surer_of_an_operation_the_longer_that_was_in_use():
    costs = EncodeCosts()
    observe(costs, DEFAULT, *[1.0] * 60)
    unknown = costs.deviation(BEST, scale=FULL)
    observe(costs, BEST, *[1.0] * 3)
    tried = costs.deviation(BEST, scale=FULL)
    observe(costs, BEST, *[1.0] * 60)
    assert 0 < costs.deviation(BEST, scale=FULL) < tried < unknown
    half = costs.deviation(BEST, scale=Fraction(1, 2))
    assert costs.deviation(BEST, scale=FULL) < half < unknown


def test_tries_count_and_say_nothing_of_the_speed():
    costs = EncodeCosts()
    observe(costs, DEFAULT, *[1.0] * 200, tries=2)
    assert costs.slowness == pytest.approx(1.0, rel=0.01)
    assert ratio(costs, DEFAULT) == pytest.approx(2.0, rel=0.01)
    assert ratio(costs, H264) == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize("change", [{"encode_us": 0}, {"tries": 0}, {"pixels": 0}])
def test_what_cannot_be_measured_is_passed_over(change):
    costs = EncodeCosts()
    frame = {"encode_us": 1000, "tries": 1, "pixels": PIXELS} | change
    costs.observe(DEFAULT, scale=FULL, **frame)
    assert not costs.is_known
