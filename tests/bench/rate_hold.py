"""Runs clips through the encode loop under a schedule of targets and prints how the rate holds.

python tests/bench/rate_hold.py CLIP... --schedule 0:300,3:100,6:300,9:50,12:150,14:400 --keys 5,10.5
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import av
import numpy as np

from codecpilot.codecs.av1_encoder import Av1Encoder
from codecpilot.codecs.slot_book import SlotBook
from codecpilot.codecs.types import EncodedFrame, Picture
from codecpilot.ratecontrol.frame_controller import FrameController
from codecpilot.ratecontrol.settings import ControllerSettings
from codecpilot.rtc.encode_loop import Skipped, encode_picture

SCHEDULE = "0:300,3:100,6:300,9:50,12:150,14:400"
SETTLE_US = 500_000
LTR_PERIOD_US = 1_000_000
MICRO = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One picture: when, and what became of it (frame None: dropped)."""

    now_us: int
    target_bps: int
    vbv_ms: float
    frame: EncodedFrame | None
    tries: int
    encode_cpu_us: int
    controller_us: float
    psnr: float


@dataclass(slots=True, kw_only=True)
class Run:
    """All pictures of one clip under one schedule."""

    rows: list[Row] = field(default_factory=list)
    schedule: list[tuple[int, int]] = field(default_factory=list)

    @property
    def sent(self) -> list[Row]:
        return [row for row in self.rows if row.frame is not None]

    def drops(self) -> tuple[int, int]:
        """Dropped pictures, and the longest series of them."""
        longest = max(
            (
                len(list(g))
                for lost, g in itertools.groupby(r.frame is None for r in self.rows)
                if lost
            ),
            default=0,
        )
        return len(self.rows) - len(self.sent), longest

    def vbv_ms(self) -> tuple[float, float, float]:
        """p50, p95 and maximum at the sent frames."""
        p50, p95, top = np.percentile([row.vbv_ms for row in self.sent], (50, 95, 100))
        return float(p50), float(p95), float(top)

    def rates(self) -> list[float]:
        """Mean rate over target in each segment, from SETTLE_US after its start."""
        end = self.rows[-1].now_us + (self.rows[-1].now_us - self.rows[0].now_us) // (
            len(self.rows) - 1
        )
        bounds = [*self.schedule, (end, 0)]
        ratios = []
        for (start, target), (stop, _) in itertools.pairwise(bounds):
            begin = start + SETTLE_US
            bits = sum(
                8 * len(r.frame.data) for r in self.rows if r.frame and begin <= r.now_us < stop
            )
            if stop > begin:
                ratios.append(bits * MICRO / (target * (stop - begin)))
        return ratios

    def kbps(self) -> float:
        """Mean rate of the whole run."""
        bits = sum(8 * len(row.frame.data) for row in self.rows if row.frame)
        return bits * 1000 / (len(self.rows) * (self.rows[-1].now_us / (len(self.rows) - 1)))


def parse_schedule(text: str) -> list[tuple[int, int]]:
    """Pairs of start in us and target in bit/s from "seconds:kbps,…"."""
    pairs = (entry.split(":") for entry in text.split(","))
    return [(round(float(at) * MICRO), round(float(kbps) * 1000)) for at, kbps in pairs]


def read_clip(path: str | Path, *, limit: int = 600) -> list[Picture]:
    """The first pictures of a clip, with its own copy of the planes."""
    pictures = []
    with av.open(str(path)) as container:
        for frame in itertools.islice(container.decode(video=0), limit):
            planes = frame.reformat(format="yuv420p").to_ndarray()
            pictures.append(_picture(planes, frame.width, frame.height))
    return pictures


def back_and_forth(pictures: Sequence[Picture]) -> Iterator[Picture]:
    """The clip, then backwards, and so on without end."""
    return itertools.cycle([*pictures, *reversed(pictures[1:-1])])


def hold(
    pictures: Iterator[Picture],
    *,
    schedule: list[tuple[int, int]],
    keys_s: Sequence[float] = (),
    seconds: float = 17.0,
    preset: str = "default",
    settings: ControllerSettings | None = None,
    gaps_us: Callable[[], int] | None = None,
    temporal_ids: Callable[[int], int] = lambda index: 0,
) -> Run:
    """Run pictures for a time under a schedule, with forced key frames at keys_s."""
    controller = FrameController(
        target_bps=schedule[0][1], settings=settings or ControllerSettings()
    )
    run, book, encoder = Run(schedule=schedule), SlotBook(), None
    changes, keys = list(schedule[1:]), [round(at * MICRO) for at in keys_s]
    now_us = index = ltr_us = 0
    target = schedule[0][1]
    wants_key = True
    while now_us < seconds * MICRO:
        picture = next(pictures)
        encoder = encoder or Av1Encoder(width=picture.width, height=picture.height)
        while changes and changes[0][0] <= now_us:
            target = changes.pop(0)[1]
            controller.set_target(target, now_us=now_us)
        if keys and keys[0] <= now_us:
            wants_key = keys.pop(0) >= 0
        temporal_id = 0 if wants_key else temporal_ids(index)
        ltr = not wants_key and not temporal_id and now_us - ltr_us >= LTR_PERIOD_US
        began_ns = time.thread_time_ns()
        result = encode_picture(
            picture, encoder=encoder, controller=controller, book=book, frame_id=index,
            now_us=now_us, key=wants_key, ltr=ltr, temporal_id=temporal_id, preset=preset,
        )  # fmt: skip
        controller_us = (time.thread_time_ns() - began_ns) / 1000 - result.encode_cpu_us
        frame = None if isinstance(result, Skipped) else result
        run.rows.append(
            Row(
                now_us=now_us,
                target_bps=target,
                vbv_ms=controller.vbv_delay_us(now_us) / 1000,
                frame=frame,
                tries=result.tries,
                encode_cpu_us=result.encode_cpu_us,
                controller_us=controller_us,
                psnr=math.nan,
            )
        )
        if frame:
            wants_key = False
            ltr_us = now_us if ltr or frame.key else ltr_us
        index += 1
        now_us = index * MICRO // 30 if gaps_us is None else now_us + gaps_us()
    if encoder:
        encoder.close()
    return run


def report(name: str, run: Run) -> str:
    """One line of figures."""
    p50, p95, top = run.vbv_ms()
    drops, longest = run.drops()
    quantizers = [row.frame.quantizer for row in run.sent if row.frame]
    moves = [abs(b - a) for a, b in itertools.pairwise(quantizers)]
    retries = sum(max(0, row.tries - 1) for row in run.rows)
    cpu_ms = np.mean([row.encode_cpu_us for row in run.rows]) / 1000
    sizes = sorted({(row.frame.width, row.frame.height) for row in run.sent if row.frame})
    own_us = np.median([row.controller_us for row in run.rows])
    return (
        f"{name:28} vbv {p50:3.0f} {p95:3.0f} {top:3.0f} ms  drops {drops}/{len(run.rows)} "
        f"(<= {longest})  retries {retries:3}  q {np.mean(quantizers):4.1f} "
        f"step {np.mean(moves):4.2f}  cpu {cpu_ms:5.2f} ms own {own_us:3.0f} us  "
        f"rates {' '.join(f'{ratio:.3f}' for ratio in run.rates())}"
        + (f"  sizes {sizes}" if len(sizes) > 1 else "")
    )


def _picture(planes: np.ndarray, width: int, height: int) -> Picture:
    flat = planes.reshape(-1)
    cw, ch = (width + 1) // 2, (height + 1) // 2
    y, u, v = np.split(
        flat[: width * height + 2 * cw * ch], [width * height, width * height + cw * ch]
    )
    return Picture(y=y.reshape(height, width), u=u.reshape(ch, cw), v=v.reshape(ch, cw))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clips", nargs="+", type=Path)
    parser.add_argument("--schedule", default=SCHEDULE)
    parser.add_argument("--keys", default="5,10.5")
    parser.add_argument("--seconds", type=float, default=17.0)
    parser.add_argument("--preset", default="default")
    options = parser.parse_args()
    keys_s = [float(at) for at in options.keys.split(",") if at]
    for clip in options.clips:
        run = hold(
            back_and_forth(read_clip(clip)),
            schedule=parse_schedule(options.schedule),
            keys_s=keys_s,
            seconds=options.seconds,
            preset=options.preset,
        )
        print(report(clip.stem, run), flush=True)


if __name__ == "__main__":
    main()
