"""Runs clips through the encode loop under a schedule of targets and prints how the rate holds.

python -m tests.bench.rate_hold CLIP... [--schedule 0:300,3:100,6:300] [--keys 5,10.5] [--codec AV1]
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import av
import numpy as np

from codecpilot.codecs.factory import open_encoder
from codecpilot.codecs.pictures import picture_from_frame
from codecpilot.codecs.slot_book import SlotBook
from codecpilot.codecs.types import Codec, Content, EncodedFrame, Picture
from codecpilot.ratecontrol.frame_controller import FrameController
from codecpilot.ratecontrol.settings import ControllerSettings
from codecpilot.rtc.encode_loop import Skipped, encode_picture

SCHEDULE = "0:300,3:100,6:300,9:50,12:150,14:400"
SETTLE_US = 500_000
LTR_PERIOD_US = 1_000_000
MICRO = 1_000_000
PRESETS = {Codec.AV1: "default", Codec.H264: "superfast"}


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


@dataclass(slots=True, kw_only=True)
class Run:
    """All pictures of one clip under one schedule."""

    rows: list[Row] = field(default_factory=list)
    schedule: list[tuple[int, int]] = field(default_factory=list)

    @property
    def sent(self) -> list[Row]:
        return [row for row in self.rows if row.frame is not None]

    @property
    def frames(self) -> list[EncodedFrame]:
        return [row.frame for row in self.rows if row.frame is not None]

    @property
    def retries(self) -> int:
        return sum(max(0, row.tries - 1) for row in self.rows)

    def drops(self) -> tuple[int, int]:
        """Dropped pictures, and the longest series of them."""
        lost = itertools.groupby(row.frame is None for row in self.rows)
        longest = max((sum(1 for _ in group) for dropped, group in lost if dropped), default=0)
        return len(self.rows) - len(self.sent), longest

    def vbv_ms(self) -> tuple[float, float, float]:
        """p50, p95 and maximum at the sent frames."""
        p50, p95, top = np.percentile([row.vbv_ms for row in self.sent], (50, 95, 100))
        return float(p50), float(p95), float(top)

    def rates(self) -> list[float]:
        """Mean rate over target in each segment, from SETTLE_US after its start."""
        bounds = [*self.schedule, (self._end_us(), 0)]
        ratios = []
        for (start_us, target_bps), (stop_us, _) in itertools.pairwise(bounds):
            begin_us = start_us + SETTLE_US
            bits = sum(
                8 * len(row.frame.data)
                for row in self.rows
                if row.frame and begin_us <= row.now_us < stop_us
            )
            if stop_us > begin_us:
                ratios.append(bits * MICRO / (target_bps * (stop_us - begin_us)))
        return ratios

    def kbps(self) -> float:
        """Mean rate of the whole run."""
        return sum(8 * len(frame.data) for frame in self.frames) * 1000 / self._end_us()

    def _end_us(self) -> int:
        """One mean gap after the last picture."""
        first_us, last_us = self.rows[0].now_us, self.rows[-1].now_us
        return last_us + (last_us - first_us) // max(1, len(self.rows) - 1)


def parse_schedule(text: str) -> list[tuple[int, int]]:
    """Pairs of start in us and target in bit/s from "seconds:kbps,…"."""
    pairs = (entry.split(":") for entry in text.split(","))
    return [(round(float(at) * MICRO), round(float(kbps) * 1000)) for at, kbps in pairs]


def read_clip(path: str | Path, *, limit: int = 600) -> list[Picture]:
    """The first pictures of a clip."""
    with av.open(str(path)) as container:
        frames = itertools.islice(container.decode(video=0), limit)
        return [picture_from_frame(frame, capture_us=0) for frame in frames]


def back_and_forth(pictures: Sequence[Picture]) -> Iterator[Picture]:
    """The clip, then backwards, and so on without end."""
    return itertools.cycle([*pictures, *reversed(pictures[1:-1])])


def hold(
    pictures: Iterator[Picture],
    *,
    schedule: list[tuple[int, int]],
    keys_s: Sequence[float] = (),
    seconds: float = 17.0,
    codec: Codec = Codec.AV1,
    preset: str | None = None,
    content: Content = Content.CAMERA,
    settings: ControllerSettings | None = None,
    gaps_us: Callable[[], int] | None = None,
    temporal_ids: Callable[[int], int] = lambda index: 0,
) -> Run:
    """Run pictures for a time under a schedule, with forced key frames at keys_s."""
    controller = FrameController(
        target_bps=schedule[0][1], settings=settings or ControllerSettings()
    )
    first = next(pictures)
    encoder = open_encoder(codec, width=first.width, height=first.height)
    run, book = Run(schedule=schedule), SlotBook()
    changes, keys = list(schedule[1:]), [0, *(round(at * MICRO) for at in keys_s)]
    now_us = ltr_us = 0
    wants_key = False
    for index, picture in enumerate(itertools.chain([first], pictures)):
        if now_us >= seconds * MICRO:
            break
        while changes and changes[0][0] <= now_us:
            controller.set_target(changes.pop(0)[1], now_us=now_us)
        while keys and keys[0] <= now_us:
            wants_key = keys.pop(0) >= 0
        temporal_id = 0 if wants_key or book.needs_key else temporal_ids(index)
        ltr = not wants_key and not temporal_id and now_us - ltr_us >= LTR_PERIOD_US
        began_ns = time.thread_time_ns()
        result = encode_picture(
            picture,
            encoder=encoder,
            controller=controller,
            book=book,
            frame_id=index,
            now_us=now_us,
            key=wants_key,
            ltr=ltr,
            temporal_id=temporal_id,
            preset=preset or PRESETS[codec],
            content=content,
        )
        spent_us = (time.thread_time_ns() - began_ns) / 1000
        run.rows.append(_row(result, controller, now_us=now_us, spent_us=spent_us))
        if not isinstance(result, Skipped):
            wants_key = False
            ltr_us = now_us if ltr or result.key else ltr_us
        now_us = (index + 1) * MICRO // 30 if gaps_us is None else now_us + gaps_us()
    encoder.close()
    return run


def report(name: str, run: Run) -> str:
    """One line of figures."""
    p50, p95, top = run.vbv_ms()
    drops, longest = run.drops()
    quantizers = [frame.quantizer for frame in run.frames]
    moves = [abs(b - a) for a, b in itertools.pairwise(quantizers)]
    cpu_ms = np.mean([row.encode_cpu_us for row in run.rows]) / 1000
    own_us = np.median([row.controller_us for row in run.rows])
    sizes = sorted({(frame.width, frame.height) for frame in run.frames})
    return (
        f"{name:28} vbv {p50:3.0f} {p95:3.0f} {top:3.0f} ms  drops {drops}/{len(run.rows)} "
        f"(<= {longest})  retries {run.retries:3}  q {np.mean(quantizers):4.1f} "
        f"step {np.mean(moves):4.2f}  cpu {cpu_ms:5.2f} ms own {own_us:3.0f} us  "
        f"rates {' '.join(f'{ratio:.3f}' for ratio in run.rates())}"
        + (f"  sizes {sizes}" if len(sizes) > 1 else "")
    )


def _row(
    result: EncodedFrame | Skipped, controller: FrameController, *, now_us: int, spent_us: float
) -> Row:
    return Row(
        now_us=now_us,
        target_bps=controller.target_bps,
        vbv_ms=controller.vbv_delay_us(now_us) / 1000,
        frame=None if isinstance(result, Skipped) else result,
        tries=result.tries,
        encode_cpu_us=result.encode_cpu_us,
        controller_us=spent_us - result.encode_cpu_us,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clips", nargs="+", type=Path)
    parser.add_argument("--schedule", default=SCHEDULE)
    parser.add_argument("--keys", default="5,10.5")
    parser.add_argument("--seconds", type=float, default=17.0)
    parser.add_argument("--codec", type=Codec, choices=list(Codec), default=Codec.AV1)
    parser.add_argument("--preset")
    parser.add_argument("--content", type=Content, choices=list(Content), default=Content.CAMERA)
    options = parser.parse_args()
    for clip in options.clips:
        run = hold(
            back_and_forth(read_clip(clip)),
            schedule=parse_schedule(options.schedule),
            keys_s=[float(at) for at in options.keys.split(",") if at],
            seconds=options.seconds,
            codec=options.codec,
            preset=options.preset,
            content=options.content,
        )
        print(report(clip.stem, run), flush=True)


if __name__ == "__main__":
    main()
