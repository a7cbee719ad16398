from __future__ import annotations

from codecpilot.ratecontrol.bandwidth.delay_based import DelayBasedEstimator
from codecpilot.ratecontrol.bandwidth.messages import SentPacket
from codecpilot.ratecontrol.bandwidth.trendline import Usage


class Path:
    """A packet every 20 ms; each feedback tells of one."""

    def __init__(self) -> None:
        self.estimator = DelayBasedEstimator(start_bps=500_000, min_bps=10_000)
        self.number = 0
        self.delay_us = 50_000

    def send(self, count: int, *, growth_us: int = 0) -> list[tuple[Usage, bool]]:
        told = []
        for _ in range(count):
            self.number += 1
            self.delay_us += growth_us
            sent_us = self.number * 20_000
            packet = SentPacket(number=self.number, sent_us=sent_us, size_bytes=1_250)
            arrival_us = sent_us + self.delay_us
            recovered = self.estimator.handle_arrivals([(arrival_us, packet)], now_us=arrival_us)
            told.append((self.estimator.usage, recovered))
        return told

    def update(self, *, probe_bps: int | None = None, acknowledged_bps: int = 400_000) -> bool:
        return self.estimator.update(
            acknowledged_bps=acknowledged_bps,
            probe_bps=probe_bps,
            now_us=self.number * 20_000 + self.delay_us,
        )


def test_a_growing_queue_takes_the_rate_below_what_arrives() -> None:
    path = Path()
    path.send(60)
    path.update()
    path.send(30, growth_us=2_000)
    assert not path.update(probe_bps=900_000)
    assert path.estimator.rate_bps == 340_000


def test_a_queue_that_has_drained_is_told_once() -> None:
    path = Path()
    path.send(60)
    assert not any(recovered for _, recovered in path.send(30, growth_us=2_000))
    told = path.send(20, growth_us=-3_000) + path.send(60)
    assert Usage.UNDERUSE in [usage for usage, _ in told]
    assert [recovered for _, recovered in told].count(True) == 1
    assert told[-1] == (Usage.NORMAL, False)


def test_a_probe_sets_the_rate() -> None:
    path = Path()
    path.send(60)
    assert path.update(probe_bps=1_400_000)
    assert path.estimator.rate_bps == 1_400_000
    assert path.update(probe_bps=350_000)
    assert path.estimator.rate_bps == 350_000


def test_another_step_down_waits_until_the_last_can_show() -> None:
    path = Path()
    path.estimator.set_rtt(100_000)
    path.send(90, growth_us=2_000)
    path.update(acknowledged_bps=500_000)
    assert path.estimator.rate_bps == 425_000
    path.send(2, growth_us=2_000)
    path.update(acknowledged_bps=400_000)
    assert path.estimator.rate_bps == 425_000
    path.send(8, growth_us=2_000)
    path.update(acknowledged_bps=400_000)
    assert path.estimator.rate_bps == 340_000


def test_after_two_seconds_of_silence_delays_are_compared_anew() -> None:
    for pause, expected in ((90, Usage.OVERUSE), (110, Usage.NORMAL)):
        path = Path()
        path.send(90, growth_us=2_000)
        path.number += pause
        path.delay_us += 2_000
        ((usage, _),) = path.send(1)
        assert usage is expected
