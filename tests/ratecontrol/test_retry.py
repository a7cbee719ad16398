from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.ratecontrol.ladder import FULL, HALF, QUARTER, SCALES, coded_size
from codecpilot.ratecontrol.messages import FrameKind, FramePlan, Retry
from codecpilot.ratecontrol.rate_model import RateModel
from codecpilot.ratecontrol.retry import Attempt, next_try
from codecpilot.ratecontrol.settings import ControllerSettings

from .test_rate_model import scene

SETTINGS = ControllerSettings()


def attempt(
    *,
    kind: FrameKind = FrameKind.DELTA,
    quantizer: int = 30,
    scales: tuple[Fraction, ...] = (FULL,),
    scale: Fraction = FULL,
    cap_bits: int = 10_000,
    tries: int = 1,
) -> Attempt:
    plan = FramePlan(
        kind=kind,
        quantizer=quantizer,
        scale=scale,
        target_bps=100_000,
        target_bits=3_000,
        cap_bits=cap_bits,
        hard_cap_bits=2 * cap_bits,
    )
    return Attempt(
        now_us=0,
        frame_id=1,
        plan=plan,
        sizes={legal: coded_size(640, 360, legal) for legal in scales},
        samples=None,
        scene=scene(change=None if kind is FrameKind.KEY else 1.0, pixels=640 * 360),
        tries=tries,
    )


def _next(one: Attempt, size_bits: int) -> Retry | None:
    return next_try(one, size_bits, model=RateModel(), settings=SETTINGS)


def test_the_further_it_exceeds_the_coarser_is_the_next_try() -> None:
    tries = [_next(attempt(), bits) for bits in (10_500, 15_000, 30_000)]
    quantizers = [one.quantizer for one in tries if one is not None]
    assert len(quantizers) == 3
    assert 31 <= quantizers[0] < quantizers[1] < quantizers[2] <= 63


def test_a_delta_frame_becomes_coarser_before_it_becomes_smaller() -> None:
    far = _next(attempt(scales=SCALES), 10_000_000)
    assert far == Retry(quantizer=63, scale=FULL)
    smaller = _next(attempt(scales=SCALES, quantizer=63), 20_000)
    assert smaller is not None
    assert smaller.scale == HALF


def test_a_key_frame_may_skip_a_size() -> None:
    key = attempt(kind=FrameKind.KEY, scales=SCALES, quantizer=50)
    smallest = _next(key, 1_000_000)
    assert smallest is not None
    assert smallest.scale == QUARTER


def test_nothing_follows_the_coarsest_try_at_the_smallest_size() -> None:
    assert _next(attempt(quantizer=63), 1_000_000) is None
    last = attempt(scales=SCALES, scale=QUARTER, quantizer=63)
    assert _next(last, 1_000_000) is None


def test_the_last_try_allowed_is_the_coarsest() -> None:
    last = _next(attempt(tries=SETTINGS.max_tries - 1), 10_500)
    assert last is not None
    assert last.quantizer == SETTINGS.max_quantizer


def test_the_first_try_has_the_soft_cap_and_later_ones_the_hard_one() -> None:
    assert attempt(tries=1).within(SETTINGS) == 10_000
    assert attempt(tries=SETTINGS.max_tries).within(SETTINGS) == 20_000
    assert attempt(tries=1, quantizer=63).within(SETTINGS) == 20_000


def test_a_smaller_scale_is_seen_with_its_own_pixels() -> None:
    one = attempt(scales=SCALES)
    full = one.scene.log_pixels
    one.begin(Retry(quantizer=40, scale=HALF))
    assert (one.quantizer, one.scale) == (40, HALF)
    assert one.scene.log_pixels == pytest.approx(full - 2)


@given(
    st.sampled_from(FrameKind),
    st.integers(4, 63),
    st.sampled_from([s[i:] for s in (SCALES,) for i in range(3)]),
    st.integers(0, 100_000),
    st.integers(1, 10_000_000),
)
def test_tries_always_end_and_each_is_coarser_or_smaller(
    kind: FrameKind, quantizer: int, scales: tuple[Fraction, ...], cap_bits: int, size_bits: int
) -> None:
    one = attempt(
        kind=kind, quantizer=quantizer, scales=scales, scale=scales[0], cap_bits=cap_bits, tries=0
    )
    steps = [(one.scale, one.quantizer)]
    for one.tries in itertools.count(1):
        retry = _next(one, max(size_bits, cap_bits + 1))
        if retry is None:
            break
        assert retry.scale in scales
        assert retry.scale < one.scale or retry.quantizer > one.quantizer
        assert SETTINGS.min_quantizer <= retry.quantizer <= 63
        one.begin(retry)
        steps.append((one.scale, one.quantizer))
    assert len(steps) <= 3 * 60
    assert steps[-1] == (scales[-1], 63) or kind is not FrameKind.KEY
