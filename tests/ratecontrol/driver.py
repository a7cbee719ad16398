"""Drives a FrameController the way the encode loop does, with a synthetic codec and virtual time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from codecpilot.ratecontrol.frame_controller import FrameController
from codecpilot.ratecontrol.ladder import SCALES, Size, coded_size
from codecpilot.ratecontrol.messages import Drop, FrameKind, Retry, Send
from codecpilot.ratecontrol.settings import ControllerSettings

from .synthetic import SyntheticCodec

MICRO = 1_000_000
SETTLE_US = 500_000
SCHEDULE = ((0, 300), (3, 100), (6, 300), (9, 50), (12, 150), (14, 400))
"""Seconds and kbit/s of the project's standard test of the rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One picture and what became of it; bits is None when it was dropped.

    before_us is the delay that it found, least_bits its size at the coarsest quantizer and the
    smallest size that its slots allow.
    """

    now_us: int
    target_bps: int
    kind: FrameKind
    bits: int | None
    delay_us: int
    quantizer: int
    scale: Fraction
    tries: int
    before_us: int
    least_bits: int

    def fits(self, bound_us: int = 200_000) -> bool:
        """Whether the coarsest frame would have kept the bound."""
        return self.before_us + self.least_bits * MICRO / self.target_bps <= bound_us


@dataclass(slots=True, kw_only=True)
class Run:
    """All pictures of a run, and the exact recount of the bucket from their sizes."""

    rows: list[Row] = field(default_factory=list)
    end_us: int = 0

    @property
    def sent(self) -> list[Row]:
        return [row for row in self.rows if row.bits is not None]

    @property
    def decisions(self) -> list[tuple[int | None, int, Fraction, int]]:
        return [(row.bits, row.quantizer, row.scale, row.tries) for row in self.rows]

    def worst_ms(self) -> float:
        return max(row.delay_us for row in self.sent) / 1000

    def p95_ms(self) -> float:
        delays = sorted(row.delay_us for row in self.sent)
        return delays[int(0.95 * (len(delays) - 1))] / 1000

    def dropped_ratio(self) -> float:
        return 1 - len(self.sent) / len(self.rows)

    def needless_drops(self) -> list[Row]:
        """Dropped although the coarsest frame would have kept the bound."""
        return [row for row in self.rows if row.bits is None and row.fits()]

    def longest_needless_gap(self) -> int:
        """Dropped pictures in a row, without those that found no room (after a fall of the rate)."""
        lost = itertools.groupby(row.bits is None and row.fits() for row in self.rows)
        return max((sum(1 for _ in group) for dropped, group in lost if dropped), default=0)

    def rate_ratios(self, schedule: Sequence[tuple[float, float]]) -> list[float]:
        """Mean rate over target in each segment of seconds and kbit/s, from SETTLE_US on."""
        ratios = []
        for (start, kbps), (stop, _) in itertools.pairwise([*schedule, (self.end_us / MICRO, 0)]):
            begin_us, stop_us = start * MICRO + SETTLE_US, stop * MICRO
            bits = sum(row.bits or 0 for row in self.rows if begin_us <= row.now_us < stop_us)
            ratios.append(bits * 1000 / (kbps * (stop_us - begin_us)))
        return ratios


class Chain:
    """Coded sizes in the four slots of the encode loop's chain, dropped tries included."""

    def __init__(self) -> None:
        self._sizes: list[Size] | None = None
        self._newest = 0

    @property
    def needs_key(self) -> bool:
        return self._sizes is None

    def held(self, *, key: bool) -> list[Size]:
        if key or self._sizes is None:
            return []
        return [self._sizes[self._newest], self._sizes[(self._newest + 1) % 4]]

    def tried(self, size: Size, *, key: bool, sent: bool) -> None:
        if key:
            self._sizes, self._newest = ([size] * 4, 0) if sent else (None, 0)
        elif self._sizes is not None:
            slot = (self._newest + 1) % 4
            self._sizes[slot] = size
            self._newest = slot if sent else self._newest


@dataclass(slots=True, kw_only=True)
class Scenario:
    """What is run: targets in seconds and kbit/s, forced key frames in seconds."""

    schedule: Sequence[tuple[float, float]] = SCHEDULE
    keys_s: Sequence[float] = ()
    seconds: float = 17.0
    width: int = 640
    height: int = 360
    gap_us: Callable[[int], int] = lambda index: (index + 1) * MICRO // 30 - index * MICRO // 30
    kind_of: Callable[[int], FrameKind] = lambda index: FrameKind.DELTA
    can_retry: bool = True


def run(
    codec: SyntheticCodec, scenario: Scenario, *, settings: ControllerSettings | None = None
) -> Run:
    """Run a scenario, recounting the bucket exactly; the recount must agree at every picture."""
    controller = FrameController(
        target_bps=round(scenario.schedule[0][1] * 1000),
        settings=settings or ControllerSettings(),
    )
    recount = Recount(controller.target_bps)
    changes = [(round(at * MICRO), round(kbps * 1000)) for at, kbps in scenario.schedule[1:]]
    keys = [round(at * MICRO) for at in scenario.keys_s]
    result, chain = Run(), Chain()
    now_us = index = 0
    wants_key = True
    while now_us < scenario.seconds * MICRO:
        codec.next()
        while changes and changes[0][0] <= now_us:
            target = changes.pop(0)[1]
            controller.set_target(target, now_us=now_us)
            recount.set_target(target, now_us=now_us)
        if keys and keys[0] <= now_us:
            wants_key = keys.pop(0) >= 0
        key = wants_key or chain.needs_key
        kind = FrameKind.KEY if key else scenario.kind_of(index)
        row = _picture(codec, controller, chain, scenario, kind=kind, index=index, now_us=now_us)
        recount.add(row.bits or 0, now_us=now_us)
        assert row.delay_us == recount.delay_us
        if row.bits is not None:
            wants_key = False
        result.rows.append(row)
        now_us += scenario.gap_us(index)
        index += 1
    result.end_us = now_us
    return result


class Recount:
    """The bucket again, in fractions of a bit, from sizes alone."""

    def __init__(self, target_bps: int) -> None:
        self._target = target_bps
        self._level = Fraction(0)
        self._now_us = 0

    def set_target(self, target_bps: int, *, now_us: int) -> None:
        self.add(0, now_us=now_us)
        self._target = target_bps

    def add(self, bits: int, *, now_us: int) -> None:
        drained = Fraction((now_us - self._now_us) * self._target, MICRO)
        self._level = max(Fraction(0), self._level - drained) + bits
        self._now_us = now_us

    @property
    def delay_us(self) -> int:
        return -(-self._level * MICRO // self._target)


def _picture(
    codec: SyntheticCodec,
    controller: FrameController,
    chain: Chain,
    scenario: Scenario,
    *,
    kind: FrameKind,
    index: int,
    now_us: int,
) -> Row:
    key = kind is FrameKind.KEY
    held, pixels = chain.held(key=key), scenario.width * scenario.height
    before_us = controller.vbv_delay_us(now_us)
    least_bits = min(
        codec.bits(quantizer=63, scale=scale, pixels=pixels, key=key)
        for scale in SCALES
        if all(2 * coded_size(scenario.width, scenario.height, scale)[0] >= w for w, _ in held)
    )
    plan = controller.plan(
        now_us=now_us,
        kind=kind,
        width=scenario.width,
        height=scenario.height,
        frame_id=index,
        held_sizes=held,
        can_retry=scenario.can_retry,
    )
    bits, quantizer, scale, tries = None, -1, Fraction(1), 0
    if not isinstance(plan, Drop):
        quantizer, scale = plan.quantizer, plan.scale
        verdict: object = None
        while not isinstance(verdict, Send | Drop):
            size = codec.bits(quantizer=quantizer, scale=scale, pixels=pixels, key=key)
            tries += 1
            verdict = controller.judge(size, can_retry=scenario.can_retry)
            coded = coded_size(scenario.width, scenario.height, scale)
            chain.tried(coded, key=key, sent=isinstance(verdict, Send))
            if isinstance(verdict, Retry):
                quantizer, scale = verdict.quantizer, verdict.scale
        if isinstance(verdict, Send):
            bits = size
            codec.sent(quantizer=quantizer, scale=scale)
    return Row(
        now_us=now_us,
        target_bps=controller.target_bps,
        kind=kind,
        bits=bits,
        delay_us=controller.vbv_delay_us(now_us),
        quantizer=quantizer,
        scale=scale,
        tries=tries,
        before_us=before_us,
        least_bits=least_bits,
    )
