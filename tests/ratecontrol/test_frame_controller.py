from __future__ import annotations

import itertools
import statistics
from fractions import Fraction

import pytest

from codecpilot.codecs.errors import LocalError
from codecpilot.ratecontrol.frame_controller import FrameController
from codecpilot.ratecontrol.messages import Drop, DropReason, FrameKind, FramePlan, Retry, Send
from codecpilot.ratecontrol.settings import ControllerSettings

from .driver import MICRO, SCHEDULE, Run, Scenario, run
from .synthetic import SyntheticCodec

BOUND_US = 200_000
STANDARD = Scenario(keys_s=(5, 10.5))


def _assert_bounded(result: Run) -> None:
    """No sent frame above the bound, but one that found the bucket empty and cannot be smaller."""
    for row in result.sent:
        alone = row.before_us == 0 and not row.fits(BOUND_US)
        assert row.delay_us <= BOUND_US or alone, row


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("complexity", "noise"), [(2.0, 0.05), (3.0, 0.05), (2.5, 0.1)])
def test_schedule_holds_bound_and_rate(seed: int, complexity: float, noise: float) -> None:
    result = run(SyntheticCodec(seed=seed, complexity=complexity, noise=noise), STANDARD)
    assert all(row.delay_us <= BOUND_US for row in result.sent)
    assert 50 <= result.p95_ms() <= 112
    for ratio in result.rate_ratios(SCHEDULE):
        assert 0.95 <= ratio <= 1.04


@pytest.mark.parametrize("seed", range(6))
def test_schedule_drops_little_but_what_finds_no_room(seed: int) -> None:
    result = run(SyntheticCodec(seed=seed, complexity=2.5, noise=0.1), STANDARD)
    assert result.dropped_ratio() <= 0.02
    assert result.longest_needless_gap() <= 1
    # After a fall to a sixth, 97 ms of backlog take 190 ms more than the bound to drain.
    gaps = [b.now_us - a.now_us for a, b in itertools.pairwise(result.sent)]
    assert max(gaps) <= 13 * MICRO // 30


@pytest.mark.parametrize("seed", range(4))
def test_wild_content_keeps_the_bound_and_never_exceeds_the_rate(seed: int) -> None:
    result = run(SyntheticCodec(seed=seed, complexity=3.0, noise=0.25), STANDARD)
    _assert_bounded(result)
    assert result.p95_ms() <= 130
    assert result.longest_needless_gap() <= 3
    assert all(0.5 <= ratio <= 1.05 for ratio in result.rate_ratios(SCHEDULE))


@pytest.mark.parametrize("seed", range(4))
def test_scene_cuts_keep_the_bound(seed: int) -> None:
    codec = SyntheticCodec(seed=seed, complexity=2.5, noise=0.05, cut_every=67)
    result = run(codec, STANDARD)
    assert all(row.delay_us <= BOUND_US for row in result.sent)
    assert result.p95_ms() <= 120
    assert result.longest_needless_gap() <= 1
    assert all(0.9 <= ratio <= 1.05 for ratio in result.rate_ratios(SCHEDULE))
    assert all(row.tries <= ControllerSettings().max_tries for row in result.rows)


@pytest.mark.parametrize("kbps", [20, 50, 100])
@pytest.mark.parametrize("seed", [1, 2])
def test_low_rates_with_a_key_frame_every_three_seconds(kbps: int, seed: int) -> None:
    schedule = ((0, kbps),)
    scenario = Scenario(
        schedule=schedule, keys_s=range(3, 30, 3), seconds=30, width=320, height=180
    )
    result = run(SyntheticCodec(seed=seed, complexity=2.5), scenario)
    assert sum(row.kind is FrameKind.KEY for row in result.sent) == 10
    assert all(row.delay_us <= BOUND_US for row in result.sent)
    assert 50 <= result.p95_ms() <= 115
    assert result.dropped_ratio() <= 0.02
    assert result.longest_needless_gap() <= 1
    assert 0.95 <= result.rate_ratios(schedule)[0] <= 1.02


def test_a_dropped_picture_never_makes_two_key_frames_in_a_row() -> None:
    """A key request while the bucket is full waits; one key frame answers it."""
    for seed in range(4):
        scenario = Scenario(schedule=((0, 400), (2, 40)), keys_s=(2.0, 2.1, 4.0), seconds=6)
        result = run(SyntheticCodec(seed=seed, complexity=3.0), scenario)
        assert sum(row.kind is FrameKind.KEY for row in result.sent) in (3, 4)
        for a, b in itertools.pairwise(result.sent):
            asked = any(a.now_us < at * MICRO <= b.now_us for at in scenario.keys_s)
            assert b.kind is not FrameKind.KEY or asked


def test_key_frames_use_more_delay_than_others_but_not_all() -> None:
    keys: list[int] = []
    others: list[int] = []
    for seed in range(3):
        scenario = Scenario(schedule=((0, 300),), keys_s=range(2, 16, 2), seconds=16)
        for row in run(SyntheticCodec(seed=seed, noise=0.05), scenario).sent[30:]:
            (keys if row.kind is FrameKind.KEY else others).append(row.delay_us)
    assert 0 < max(keys) <= BOUND_US
    assert statistics.mean(keys) > 1.5 * statistics.mean(others)


def test_same_sizes_make_the_same_decisions() -> None:
    first, second, other = (
        run(SyntheticCodec(seed=seed), STANDARD).decisions for seed in (7, 7, 8)
    )
    assert first == second
    assert first != other


@pytest.mark.parametrize("fps", [15, 20, 60])
def test_control_is_by_time_and_not_by_count(fps: int) -> None:
    """At another frame rate the same seconds pass with the same rate, delay bound and recovery."""
    schedule = ((0, 300), (4, 100), (8, 300))
    for seed in (1, 2):
        results = [
            run(
                SyntheticCodec(seed=seed, complexity=2.5, noise=0.05 * (30 / rate) ** 0.5),
                Scenario(schedule=schedule, seconds=12, gap_us=lambda _, rate=rate: MICRO // rate),
            )
            for rate in (fps, 30)
        ]
        for a, b in zip(*(result.rate_ratios(schedule) for result in results), strict=True):
            assert a == pytest.approx(b, abs=0.06)
        settled = [_settled_us(result) for result in results]
        assert settled[0] == pytest.approx(settled[1], abs=250_000)


@pytest.mark.parametrize("fps", [8, 10, 12])
def test_few_pictures_a_second_use_the_rate_too(fps: int) -> None:
    """An even share of one picture exceeds the soft bound then, and is within the hard one."""
    schedule = ((0, 300), (4, 100), (8, 300))
    codec = SyntheticCodec(seed=1, complexity=2.5, noise=0.05 * (30 / fps) ** 0.5)
    scenario = Scenario(schedule=schedule, seconds=12, gap_us=lambda _: MICRO // fps)
    result = run(codec, scenario)
    assert all(0.9 <= ratio <= 1.05 for ratio in result.rate_ratios(schedule))
    assert result.worst_ms() <= 200


def _settled_us(result: Run) -> int:
    """Time from the fall at 4 s until the delay is below 100 ms for good."""
    late = [row.now_us for row in result.sent if row.now_us < 8 * MICRO and row.delay_us > 110_000]
    return max([at for at in late if at >= 4 * MICRO], default=4 * MICRO) - 4 * MICRO


def test_irregular_captures_keep_bound_and_rate() -> None:
    gaps = (5_000, 95_000, 20_000, 33_333, 12_000, 60_000)
    scenario = Scenario(schedule=((0, 200),), seconds=20, gap_us=lambda index: gaps[index % 6])
    result = run(SyntheticCodec(complexity=2.5, noise=0.05), scenario)
    assert all(row.delay_us <= BOUND_US for row in result.sent)
    assert 0.95 <= result.rate_ratios(scenario.schedule)[0] <= 1.04
    assert result.longest_needless_gap() <= 1


def test_kinds_differ_in_quantizer_as_set() -> None:
    kinds = {0: FrameKind.LTR, 10: FrameKind.ENHANCEMENT}
    scenario = Scenario(
        schedule=((0, 300),),
        seconds=20,
        kind_of=lambda index: kinds.get(index % 20, FrameKind.DELTA),
    )
    sent = [r for r in run(SyntheticCodec(noise=0.02), scenario).sent if r.now_us > 3 * MICRO]
    means = {
        kind: statistics.mean(row.quantizer for row in sent if row.kind is kind)
        for kind in (FrameKind.LTR, FrameKind.DELTA, FrameKind.ENHANCEMENT)
    }
    settings = ControllerSettings()
    finer = means[FrameKind.DELTA] - means[FrameKind.LTR]
    coarser = means[FrameKind.ENHANCEMENT] - means[FrameKind.DELTA]
    assert finer == pytest.approx(settings.ltr_steps, abs=2)
    assert coarser == pytest.approx(settings.enhancement_steps, abs=2)


def test_an_encoder_that_cannot_retry_is_counted_and_waited_for() -> None:
    """It overshoots as it likes: the bucket follows exactly, and pictures are skipped until it fits."""
    scenario = Scenario(schedule=((0, 100),), seconds=10, can_retry=False)

    class Deaf(SyntheticCodec):
        def bits(self, *, quantizer: int, scale: Fraction, pixels: int, key: bool) -> int:
            return 30_000 if key else 7_000

    result = run(Deaf(), scenario)
    assert all(row.tries <= 1 for row in result.rows)
    skipped = [row for row in result.rows if row.bits is None]
    assert 0.4 < len(skipped) / len(result.rows) < 0.65
    assert 0.95 <= result.rate_ratios(scenario.schedule)[0] <= 1.05
    # One frame may go beyond the bound by its own size, and no more.
    assert result.worst_ms() <= 370


def test_encoders_with_their_own_control_are_told_the_target_corrected_by_the_backlog() -> None:
    controller = FrameController(target_bps=200_000)
    targets = []
    for index in range(60):
        plan = _delta(controller, now_us=index * 33_333, can_retry=False)
        if isinstance(plan, FramePlan):
            targets.append((controller.vbv_delay_us(index * 33_333), plan.target_bps))
            controller.judge(plan.target_bps * 33_333 // MICRO + 600, can_retry=False)
    assert all(100_000 <= target <= 230_000 for _, target in targets)
    by_delay = sorted(targets)
    assert by_delay[0][1] > by_delay[-1][1]


def _delta(controller: FrameController, *, now_us: int, can_retry: bool = True) -> FramePlan | Drop:
    return controller.plan(
        now_us=now_us,
        kind=FrameKind.DELTA,
        width=320,
        height=180,
        held_sizes=[(320, 180)],
        can_retry=can_retry,
    )


def test_a_full_bucket_drops_before_encoding() -> None:
    controller = FrameController(target_bps=100_000)
    assert isinstance(_delta(controller, now_us=0), FramePlan)
    assert controller.judge(50_000, can_retry=False) == Send(vbv_delay_us=500_000)
    assert _delta(controller, now_us=33_333) == Drop(reason=DropReason.BACKLOG)
    assert controller.vbv_delay_us(33_333) == 466_667
    assert isinstance(_delta(controller, now_us=450_000), FramePlan)


def test_what_fits_at_no_setting_is_dropped_only_if_waiting_helps() -> None:
    controller = FrameController(target_bps=100_000)
    for now_us, last in ((0, Send), (200_000, Drop)):
        assert isinstance(_delta(controller, now_us=now_us), FramePlan)
        quantizers, verdict = [], controller.judge(30_000)
        while isinstance(verdict, Retry):
            quantizers.append(verdict.quantizer)
            verdict = controller.judge(30_000)
        assert isinstance(verdict, last)
        assert max(quantizers, default=63) == 63
        assert len(quantizers) < ControllerSettings().max_tries
    assert controller.vbv_delay_us(200_000) == 100_000


def test_misuse_is_a_local_error() -> None:
    with pytest.raises(LocalError, match="target_bps"):
        FrameController(target_bps=0)
    controller = FrameController()
    with pytest.raises(LocalError, match="target_bps"):
        controller.set_target(0, now_us=0)
    assert controller.target_bps == 300_000
    with pytest.raises(LocalError, match="plan"):
        controller.judge(1_000)
    assert isinstance(_delta(controller, now_us=0), FramePlan)
    assert isinstance(controller.judge(1_000), Send)
    with pytest.raises(LocalError, match="plan"):
        controller.judge(1_000)


def test_sizes_that_suit_no_reference_are_a_local_error() -> None:
    controller = FrameController()
    with pytest.raises(LocalError, match="100x100"):
        controller.plan(
            now_us=0, kind=FrameKind.DELTA, width=100, height=100, held_sizes=[(640, 360)]
        )


def test_floor_is_reached_by_content_that_cannot_use_the_rate() -> None:
    still, busy = FrameController(), FrameController(target_bps=50_000)
    for index in range(90):
        for controller, bits in ((still, 200), (busy, 1_660)):
            if isinstance(_delta(controller, now_us=index * 33_333), FramePlan):
                controller.judge(bits)
    assert still.floor_reached
    assert not busy.floor_reached


@pytest.mark.parametrize("kind", [FrameKind.DELTA, FrameKind.KEY])
def test_what_was_asked_to_be_small_is_large_again_at_once_when_that_is_over(kind) -> None:
    controller, scales = FrameController(target_bps=300_000), []
    for index in range(40):
        # Before that was so, key frames left it at the smaller size, which then had to thrive first.
        largest = Fraction(1, 2) if 10 <= index < 30 else Fraction(1)
        plan = controller.plan(
            now_us=index * 33_333,
            kind=kind if index in (0, 15) else FrameKind.DELTA,
            width=640,
            height=360,
            largest_scale=largest,
        )
        assert isinstance(plan, FramePlan)
        assert isinstance(controller.judge(9_000), Send)
        scales.append(plan.scale)
    assert scales == [1] * 10 + [Fraction(1, 2)] * 20 + [1] * 10
