"""Measures the controller alone: CPU time of one plan with its judge, probing of the picture included.

python -m tests.bench.controller_time [--pictures 2000] [--size 640x360]

Wanted: below 100 us, since encoding takes milliseconds.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from codecpilot.ratecontrol.frame_controller import FrameController
from codecpilot.ratecontrol.messages import FrameKind, FramePlan, Retry, Send
from codecpilot.ratecontrol.probe import Luma

from tests.ratecontrol.synthetic import SyntheticCodec

FRAME_US = 33_333
TARGET_BPS = 300_000


def measure(*, pictures: int, width: int, height: int, lumas: list[Luma | None]) -> list[float]:
    """CPU time of each picture's plan and verdicts, in us."""
    controller, codec = FrameController(target_bps=TARGET_BPS), SyntheticCodec(noise=0.05)
    times = []
    for index in range(pictures):
        codec.next()
        key = index == 0
        began_ns = time.thread_time_ns()
        plan = controller.plan(
            now_us=index * FRAME_US,
            kind=FrameKind.KEY if key else FrameKind.DELTA,
            width=width,
            height=height,
            luma=lumas[index % len(lumas)],
            frame_id=index,
            held_sizes=() if key else [(width, height)],
        )
        spent_ns = time.thread_time_ns() - began_ns
        if isinstance(plan, FramePlan):
            spent_ns += _judged(controller, codec, plan, pixels=width * height)
        times.append(spent_ns / 1000)
    return times


def _judged(
    controller: FrameController, codec: SyntheticCodec, plan: FramePlan, *, pixels: int
) -> int:
    """Time of the verdicts in ns, without the codec's own."""
    quantizer, scale, spent_ns = plan.quantizer, plan.scale, 0
    while True:
        key = plan.kind is FrameKind.KEY
        bits = codec.bits(quantizer=quantizer, scale=scale, pixels=pixels, key=key)
        began_ns = time.thread_time_ns()
        verdict = controller.judge(bits)
        spent_ns += time.thread_time_ns() - began_ns
        if isinstance(verdict, Retry):
            quantizer, scale = verdict.quantizer, verdict.scale
            continue
        if isinstance(verdict, Send):
            codec.sent(quantizer=quantizer, scale=scale)
        return spent_ns


def _pictures(width: int, height: int) -> list[Luma | None]:
    rng = np.random.default_rng(1)
    return [rng.integers(0, 255, (height, width), dtype=np.uint8) for _ in range(8)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=2000)
    parser.add_argument("--size", default="640x360")
    options = parser.parse_args()
    width, height = (int(side) for side in options.size.split("x"))
    for name, lumas in (("with luma", _pictures(width, height)), ("without", [None])):
        times = measure(pictures=options.pictures, width=width, height=height, lumas=lumas)
        p50, p95 = np.percentile(times, (50, 95))
        print(f"{name:10} mean {np.mean(times):5.1f}  p50 {p50:5.1f}  p95 {p95:5.1f} us a picture")


if __name__ == "__main__":
    main()
