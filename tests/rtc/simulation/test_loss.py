"""Loss processes against their closed-form shares and burst lengths."""

from __future__ import annotations

import itertools
import random

import pytest

from codecpilot.codecs.errors import LocalError
from codecpilot.rtc.simulation.loss import loss_process
from codecpilot.rtc.simulation.steps import Steps, parse_steps

PACKETS = 50_000


def losses(ratio: float, burst: float, *, seed: int = 1, packets: int = PACKETS) -> list[bool]:
    process = loss_process(
        parse_steps(str(ratio), name="loss", low=0, high=1), burst=burst, rng=random.Random(seed)
    )
    return [process.lost(now_us=0) for _ in range(packets)]


def mean_run(lost: list[bool]) -> float:
    runs = [len(list(group)) for is_lost, group in itertools.groupby(lost) if is_lost]
    return sum(runs) / len(runs)


@pytest.mark.parametrize("ratio", [0.02, 0.3])
@pytest.mark.parametrize("burst", [1, 2, 4, 10])
def test_share_and_mean_burst_length_are_those_asked_for(ratio, burst):
    lost = losses(ratio, burst)
    # Independent losses join into runs of 1 / (1 - ratio).
    expected_run = 1 / (1 - ratio) if burst == 1 else burst
    # Three standard errors: a burst counts as one draw.
    error = 3 * (ratio * 2 * burst / PACKETS) ** 0.5
    assert ratio - error <= sum(lost) / PACKETS <= ratio + error
    assert 0.9 * expected_run <= mean_run(lost) <= 1.1 * expected_run


@pytest.mark.parametrize("burst", [1, 4])
def test_no_packet_is_lost_at_zero(burst):
    assert not any(losses(0, burst))


def test_every_packet_is_lost_at_one():
    assert all(losses(1, 1))


def test_the_same_seed_loses_the_same_packets():
    assert losses(0.1, 3, seed=7) == losses(0.1, 3, seed=7) != losses(0.1, 3, seed=8)


def test_the_share_follows_its_steps():
    steps = parse_steps("0:0,1:1,2:0", name="loss", low=0, high=1)
    process = loss_process(steps, burst=1, rng=random.Random(1))
    lost = [process.lost(now_us=t * 1000) for t in range(3000)]
    assert lost == [1000 <= t < 2000 for t in range(3000)]


def test_a_share_that_no_burst_length_allows_is_refused():
    with pytest.raises(LocalError, match=r"loss 0\.9 in bursts of 4 is above 0\.8"):
        loss_process(Steps.constant(0.9), burst=4, rng=random.Random(1))
    with pytest.raises(LocalError, match=r"burst 0\.5 is below 1"):
        loss_process(Steps.constant(0), burst=0.5, rng=random.Random(1))
