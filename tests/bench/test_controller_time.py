from __future__ import annotations

import time

import numpy as np

from tests.bench.controller_time import measure

LOOP = 1000


def _loop_us() -> float:
    """CPU time of a plain Python loop: what this machine's interpreter takes for a known work."""
    began_ns = time.thread_time_ns()
    total = 0.0
    for index in range(LOOP):
        total += index * 0.5
    assert total > 0
    return (time.thread_time_ns() - began_ns) / 1000


def test_the_controller_takes_less_than_a_tenth_of_a_millisecond_a_picture() -> None:
    """Against a loop that takes 35 us on the machine where the 100 us are wanted, so noise cancels."""
    rng = np.random.default_rng(1)
    lumas = [rng.integers(0, 255, (720, 1280), dtype=np.uint8) for _ in range(8)]
    ratios = []
    for _ in range(5):
        loop_us = min(_loop_us() for _ in range(20))
        times = measure(pictures=200, width=1280, height=720, lumas=lumas)
        ratios.append(float(np.median(times)) / loop_us)
    assert 0.2 < min(ratios) < 100 / 35
