"""The limit that live tests set on a process is a real one."""

from __future__ import annotations

import subprocess
import sys

from tests.cpu_limit import cpu_limit

BUSY = """
import sys, time
print(flush=True)
sys.stdin.readline()
wall_s, cpu_s = time.monotonic(), time.process_time()
while time.process_time() - cpu_s < 0.1: pass
print(0.1 / (time.monotonic() - wall_s))
"""


def test_a_limited_process_gets_its_share_and_no_more() -> None:
    with (
        cpu_limit() as limit,
        subprocess.Popen(
            [sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        limit.add(process.pid)
        limit.set(0.25)
        process.stdin.write("\n")
        process.stdin.flush()
        share = float(process.stdout.readline())
        process.wait(10)
    assert 0.02 < share < 0.32
