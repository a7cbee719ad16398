from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from codecpilot.codecs.errors import LocalError
from codecpilot.ratecontrol.frame_controller import FrameController
from codecpilot.ratecontrol.ladder import SCALES
from codecpilot.ratecontrol.messages import Drop, FrameKind, FramePlan, Retry, Send
from codecpilot.ratecontrol.settings import ControllerSettings

from .driver import Recount, Scenario, run
from .synthetic import SyntheticCodec

BOUND_US = 200_000


@pytest.mark.parametrize("seed", range(4))
def test_a_thousand_random_targets_break_no_bound_that_can_be_kept(seed: int) -> None:
    """Captures come 0 to 300 ms apart; run() compares the bucket with a recount at each picture."""
    rng = random.Random(seed)
    schedule = [
        (0.0, 300.0),
        *sorted((rng.uniform(0, 60), rng.uniform(20, 2000)) for _ in range(999)),
    ]
    gaps = [rng.randint(0, 300_000) if rng.random() < 0.3 else 33_333 for _ in range(60_000)]
    scenario = Scenario(
        schedule=schedule,
        keys_s=sorted(rng.uniform(0, 60) for _ in range(10)),
        seconds=60,
        gap_us=gaps.__getitem__,
    )
    result = run(SyntheticCodec(seed=seed, complexity=2.5, cut_every=97), scenario)
    assert len({row.target_bps for row in result.rows}) > 400
    for row in result.sent:
        assert row.delay_us <= BOUND_US or (row.before_us == 0 and not row.fits(BOUND_US)), row
    assert result.longest_needless_gap() <= 3
    assert len(result.needless_drops()) <= 0.02 * len(result.rows)
    assert len(result.sent) > 0.5 * len(result.rows)


def test_pictures_captured_at_one_time_share_one_bound() -> None:
    scenario = Scenario(schedule=((0, 200),), seconds=5, gap_us=lambda i: (i % 4 == 3) * 133_333)
    result = run(SyntheticCodec(complexity=2.5), scenario)
    assert all(row.delay_us <= BOUND_US for row in result.sent)
    # 100 ms of soft bound in each 133 ms: what one burst may leave in the bucket.
    assert 0.7 <= result.rate_ratios(scenario.schedule)[0] <= 1.05


class ControllerMachine(RuleBasedStateMachine):
    """Any order of calls, any sizes: the bucket follows, and only misuse raises."""

    @initialize(target_bps=st.integers(1, 5_000_000), max_tries=st.integers(1, 5))
    def start(self, target_bps: int, max_tries: int) -> None:
        self.settings = ControllerSettings(max_tries=max_tries)
        self.controller = FrameController(target_bps=target_bps, settings=self.settings)
        self.recount = Recount(target_bps)
        self.now_us = 0
        self.plan: FramePlan | None = None
        self.before_us = 0
        self.retargeted = False
        self.tries = 0

    @rule(gap_us=st.integers(0, 2_000_000))
    def wait(self, gap_us: int) -> None:
        self.now_us += gap_us
        self.recount.add(0, now_us=self.now_us)

    @rule(target_bps=st.integers(1, 10_000_000))
    def set_target(self, target_bps: int) -> None:
        self.controller.set_target(target_bps, now_us=self.now_us)
        self.recount.set_target(target_bps, now_us=self.now_us)
        self.retargeted = True

    @rule(
        kind=st.sampled_from(FrameKind),
        size=st.tuples(st.integers(1, 2000), st.integers(1, 2000)),
        shade=st.one_of(st.none(), st.integers(0, 255)),
        frame_id=st.integers(0, 40),
        reference_id=st.one_of(st.none(), st.integers(0, 40)),
    )
    def make_plan(
        self,
        kind: FrameKind,
        size: tuple[int, int],
        shade: int | None,
        frame_id: int,
        reference_id: int | None,
    ) -> None:
        width, height = size
        self.before_us = self.controller.vbv_delay_us(self.now_us)
        plan = self.controller.plan(
            now_us=self.now_us,
            kind=kind,
            width=width,
            height=height,
            luma=None if shade is None else np.full((height, width), shade, np.uint8),
            frame_id=frame_id,
            reference_id=reference_id,
            held_sizes=() if kind is FrameKind.KEY else [size],
        )
        self.tries, self.retargeted = 0, False
        self.plan = None if isinstance(plan, Drop) else plan
        if isinstance(plan, Drop):
            assert self.before_us > 0
            return
        assert self.settings.min_quantizer <= plan.quantizer <= self.settings.max_quantizer
        assert plan.scale in SCALES
        assert 0 <= plan.cap_bits <= plan.hard_cap_bits
        assert plan.target_bits >= 0
        assert plan.target_bps >= 0

    @precondition(lambda self: self.plan is not None)
    @rule(
        size_bits=st.one_of(st.integers(0, 3_000), st.integers(0, 20_000_000)),
        can_retry=st.booleans(),
    )
    def judge(self, size_bits: int, can_retry: bool) -> None:
        assert self.plan is not None
        verdict = self.controller.judge(size_bits, can_retry=can_retry)
        self.tries += 1
        if isinstance(verdict, Retry):
            assert can_retry
            assert self.tries < self.settings.max_tries
            assert 0 <= verdict.quantizer <= 63
            assert verdict.scale <= self.plan.scale
            return
        if isinstance(verdict, Send):
            self.recount.add(size_bits, now_us=self.now_us)
            assert verdict.vbv_delay_us == self.recount.delay_us
            kept = verdict.vbv_delay_us <= BOUND_US
            # A plan's caps are for the target that it was made under.
            assert kept or not can_retry or self.before_us == 0 or self.retargeted
        self.plan = None

    @precondition(lambda self: self.plan is None)
    @rule(size_bits=st.integers(0, 100_000))
    def judge_without_a_plan(self, size_bits: int) -> None:
        with pytest.raises(LocalError):
            self.controller.judge(size_bits)

    @rule(target_bps=st.integers(-5, 0))
    def refuse_a_target(self, target_bps: int) -> None:
        with pytest.raises(LocalError):
            self.controller.set_target(target_bps, now_us=self.now_us)

    @invariant()
    def agrees_with_the_recount(self) -> None:
        delay_us = self.controller.vbv_delay_us(self.now_us)
        assert delay_us == self.recount.delay_us >= 0


ControllerMachine.TestCase.settings = hypothesis_settings(
    max_examples=80, stateful_step_count=40, deadline=None
)
TestControllerMachine = ControllerMachine.TestCase
