"""A camera, an encoder that takes its time, and OperationControl between them, in virtual time and without codecs."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from codecpilot.codecs.types import Codec, Content
from codecpilot.ratecontrol.ladder import coded_size
from codecpilot.rtc.adaptation.costs import table_cost
from codecpilot.rtc.adaptation.decode_report import DecodeReport
from codecpilot.rtc.adaptation.encode_time import CodedFrame
from codecpilot.rtc.adaptation.operation import Operation
from codecpilot.rtc.adaptation.operation_control import OperationControl
from codecpilot.rtc.adaptation.operations import codable_scale
from codecpilot.rtc.adaptation.quality import expected_db
from codecpilot.rtc.adaptation.selector import Choice
from codecpilot.rtc.adaptation.settings import AdaptationSettings
from codecpilot.rtc.adaptation.situation import Situation

GAP_US = 33_333
MICRO = 1_000_000
SIZES = {"360": ((640, 360), 600_000), "720": ((1280, 720), 1_200_000)}
LTR_EVERY = 30


@dataclass
class VirtualDevice:
    """Encodes pictures of one stream. factor(now_us) is how much slower than the table it is.

    true_ratios multiply the table's cost of single presets; noise is the deviation of a frame's
    logarithm, spikes the share of frames that take four times as long.
    """

    size: tuple[int, int] = (640, 360)
    target_bps: int = 600_000
    preset: str = "auto"
    codecs: tuple[Codec, ...] = (Codec.AV1, Codec.H264)
    factor: Callable[[int], float] = lambda now_us: 1.0
    true_ratios: Mapping[tuple[Codec, str], float] = field(default_factory=dict)
    noise: float = 0.0
    spikes: float = 0.0
    seed: int = 1
    settings: AdaptationSettings = field(default_factory=AdaptationSettings)
    report: Callable[[VirtualDevice], DecodeReport | None] = lambda device: None
    report_each_us: int = MICRO

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.now_us = MICRO
        self.control = OperationControl(
            self.codecs,
            preset=self.preset,
            content=Content.CAMERA,
            settings=self.settings,
            now_us=self.now_us,
        )
        self.choices: list[tuple[int, Operation, Choice]] = []
        """When, the operation before, and the choice."""
        self.late_us: list[int] = []
        """When pictures were captured whose frame took more than the interval, or that were replaced."""
        self._busy_until_us = 0
        self._waiting = False
        self._captured = self._frames = 0
        self._report_us = self.now_us

    @property
    def used(self) -> Operation:
        return self.control.used

    def expected_db(self, operation: Operation) -> float:
        """What it looks like at the stream's rate."""
        situation = Situation(
            now_us=self.now_us,
            used=self.used,
            size=self.size,
            gap_us=GAP_US,
            target_bps=self.target_bps,
        )
        return expected_db(operation, situation)

    def run(self, seconds: float) -> VirtualDevice:
        end_us = self.now_us + round(seconds * MICRO)
        while self.now_us < end_us:
            self.now_us += GAP_US
            self._capture()
            if self.now_us >= self._report_us:
                self._report_us += self.report_each_us
                report = self.report(self)
                if report is not None:
                    self.control.handle_report(report, now_us=self.now_us)
        return self

    def switches(
        self, *, since_s: float = 0.0, codec: bool = False
    ) -> list[tuple[float, Operation]]:
        """Times in s since the start, and what was chosen; codec: of the codec alone."""
        return [
            ((at_us - MICRO) / MICRO, choice.operation)
            for at_us, before, choice in self.choices
            if at_us - MICRO >= since_s * MICRO
            and (not codec or choice.operation.codec is not before.codec)
        ]

    def late_s(self, *, since_s: float = 0.0) -> float:
        late = sum(at_us - MICRO >= since_s * MICRO for at_us in self.late_us)
        return late * GAP_US / MICRO

    def _capture(self) -> None:
        """One picture waits for the encoder at most."""
        self._captured += 1
        if self._captured % self.used.every:
            return
        if self._busy_until_us > self.now_us:
            if self._waiting:
                self.late_us.append(self.now_us)
            self._waiting = True
            return
        start_us = self.now_us
        if self._waiting:
            # The one that waited began when the encoder was free.
            self._waiting = False
            start_us = self._busy_until_us
            self._encode(start_us)
            if self._busy_until_us > self.now_us:
                self._waiting = True
                return
        self._encode(max(start_us, self.now_us))

    def _encode(self, start_us: int) -> None:
        before = self.used
        choice = self.control.decide(
            size=self.size, gap_us=GAP_US, every=1, target_bps=self.target_bps, now_us=start_us
        )
        if choice is not None:
            self.choices.append((start_us, before, choice))
        scale = codable_scale(self.used.codec, self.used.scale, size=self.size)
        size = coded_size(*self.size, scale)
        took_us = self._took_us(size, start_us)
        self._frames += 1
        is_anchor = self._frames % LTR_EVERY == 1
        if took_us > GAP_US * self.used.every:
            self.late_us.append(start_us)
        self._busy_until_us = start_us + took_us
        frame = CodedFrame(
            took_us=took_us,
            encode_us=took_us,
            tries=1,
            scale=scale,
            pixels=math.prod(size),
            is_anchor=is_anchor,
        )
        self.control.coded(frame, now_us=self._busy_until_us)

    def _took_us(self, size: tuple[int, int], start_us: int) -> int:
        codec, preset = self.used.codec, self.used.preset
        ns = table_cost(codec, preset).encode_ns * self.true_ratios.get((codec, preset), 1.0)
        ns *= self.factor(start_us) * math.exp(self.rng.gauss(0, self.noise))
        if self.rng.random() < self.spikes:
            ns *= 4
        return max(1, round(ns * math.prod(size) / 1000))


def random_ratios(seed: int, *, most: float = 2.0) -> dict[tuple[Codec, str], float]:
    """Each preset's cost off by up to this factor, either way."""
    rng = random.Random(seed)
    names = [(Codec.AV1, n) for n in ("ultralow", "low", "default", "high", "best")]
    return {name: most ** rng.uniform(-1, 1) for name in [*names, (Codec.H264, "default")]}
