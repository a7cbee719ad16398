"""What both estimators make of links drawn at random, of steps, and of company: the figures of the README.

python -m tests.bench.bandwidth_links
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

from codecpilot.ratecontrol.bandwidth.codesign import CodesignEstimator
from codecpilot.ratecontrol.bandwidth.gcc import GccEstimator
from codecpilot.ratecontrol.bandwidth.messages import BandwidthEstimator
from codecpilot.rtc.simulation.aimd_flow import AimdFlow
from codecpilot.rtc.simulation.rate import StepRate

from tests.ratecontrol.bandwidth.caller import Caller, Seen
from tests.ratecontrol.bandwidth.links_drawn import falling, walking
from tests.ratecontrol.bandwidth.network import SECOND_US, Network, rate_steps

SECONDS = 60
SEEDS = range(8)
SLICE_S = 0.1
DEMAND_BPS = 2_500_000
ESTIMATORS: dict[str, Callable[[], BandwidthEstimator]] = {
    "codesign": CodesignEstimator,
    "gcc": GccEstimator,
}


def main() -> None:
    """Print a row a link and estimator."""
    print(f"{'link':16} {'estimator':9} {'used':>6} {'p95 ms':>7} {'lost %':>7} {'frozen s':>8}")
    for name, open_estimator in ESTIMATORS.items():
        for kbps in (100, 300, 1_000, 2_000):
            row(f"{kbps} kbps", name, *alone(open_estimator(), rate_steps((0, kbps))))
        steps = rate_steps((0, 600), (10, 150), (20, 600))
        row("600-150-600", name, *alone(open_estimator(), steps, seconds=30, queue_us=300_000))
        for seed in SEEDS:
            rate = falling(seed, seconds=SECONDS)
            row(f"falling {seed}", name, *alone(open_estimator(), rate))
        for seed in SEEDS:
            rate = walking(seed, seconds=SECONDS)
            row(f"walking {seed}", name, *alone(open_estimator(), rate))
        for count in (2, 3):
            shares = [together(open_estimator, count, seed=seed) for seed in SEEDS]
            print(f"{count} calls, 1000 kbps {name}: Jain {numbers(shares)}")
        print(f"a flow beside, 1000 kbps {name}: {numbers(beside(open_estimator))}")


def row(link: str, name: str, used: float, seen: Seen, seconds: float) -> None:
    """One line of the table."""
    wait_ms, lost = seen.wait_us(0, seconds) / 1_000, 100 * seen.full_ratio(0, seconds)
    frozen_s = seen.frozen_s(0, seconds)
    print(f"{link:16} {name:9} {used:6.3f} {wait_ms:7.0f} {lost:7.2f} {frozen_s:8.2f}")


def alone(
    estimator: BandwidthEstimator,
    rate: StepRate,
    *,
    seconds: float = SECONDS,
    queue_us: int = 600_000,
) -> tuple[float, Seen, float]:
    """What was used of what was carried and needed, and all that was seen."""
    network = Network(rate, queue_us=queue_us)
    caller = Caller(network, estimator, demand_bps=DEMAND_BPS)
    network.run(seconds)
    slices = round(seconds / SLICE_S)
    starts = [index * SLICE_S for index in range(slices)]
    carried = [min(network.capacity_bps(at, at + SLICE_S), DEMAND_BPS) for at in starts]
    return caller.seen.arrived_bps(0, seconds) * slices / sum(carried), caller.seen, seconds


def together(open_estimator: Callable[[], BandwidthEstimator], count: int, *, seed: int) -> float:
    """Jain's index of calls that begin within five seconds, from 20 to 35 s."""
    random, network = Random(seed), Network(rate_steps((0, 1_000)), seed=seed)
    callers = [
        Caller(network, open_estimator(), start_s=random.uniform(0, 5), seed=random.randint(0, 999))
        for _ in range(count)
    ]
    network.run(35)
    rates = [caller.seen.arrived_bps(20, 35) for caller in callers]
    return sum(rates) ** 2 / (count * sum(rate * rate for rate in rates))


def beside(open_estimator: Callable[[], BandwidthEstimator]) -> list[float]:
    """The share kept from 20 to 60 s beside a flow that begins at 8 s, with queues of 100 to 600 ms."""
    shares = []
    for queue_us in (100_000, 150_000, 300_000, 600_000):
        network = Network(rate_steps((0, 1_000)), queue_us=queue_us)
        caller = Caller(network, open_estimator())
        network.at(8 * SECOND_US, partial(network.compete, AimdFlow()))
        network.run(60)
        shares.append(caller.seen.arrived_bps(20, 60) / 1_000_000)
    return shares


def numbers(values: list[float]) -> str:
    """Two digits of each."""
    return " ".join(f"{value:.2f}" for value in values)


if __name__ == "__main__":
    main()
