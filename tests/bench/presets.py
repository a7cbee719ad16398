"""Measures the AV1 presets: bits at equal quality and CPU time, against x264 and OpenH264.

    python -m tests.bench.presets CLIP... [--presets low,default] [--bitrates 50,100,200,400]

Each clip is PATH, or scene for the project's own scene, with options after commas: skip=N, size=WxH,
seed=N (scene). AV1 runs in the call's own loop (rtc/encode_loop.py) with an LTR a second. The anchors
are libx264 superfast, constrained baseline, zero latency, rate = maxrate = the target with a VBV of one
second, and libopenh264 at the same bitrate.

All encoders of one bitrate take turns, a chunk of pictures each, in one process, so that what else the
machine does falls on all alike. CPU time is the thread's: for AV1 of all tries of Av1Encoder.encode, for
the anchors of the codec alone, without the copy into PyAV's frames.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Protocol

import av
import numpy as np
from av.video.codeccontext import VideoCodecContext
from av.video.frame import PictureType

from codecpilot.codecs.av1_decoder import Av1Decoder
from codecpilot.codecs.av1_encoder import Av1Encoder
from codecpilot.codecs.av1_presets import PRESETS
from codecpilot.codecs.bd_rate import bd_rate
from codecpilot.codecs.errors import LocalError
from codecpilot.codecs.h264_decoder import H264Decoder
from codecpilot.codecs.h264_encoder import NEVER_PERIODIC
from codecpilot.codecs.media import open_video
from codecpilot.codecs.pictures import crop_even, frame_from_picture, new_picture, scale_picture
from codecpilot.codecs.slot_book import SlotBook
from codecpilot.codecs.types import Content, EncodedFrame, Picture, VideoDecoder
from codecpilot.codecs.vmaf import vmaf
from codecpilot.ratecontrol.frame_controller import FrameController
from codecpilot.rtc.encode_loop import encode_picture
from codecpilot.samples.scene import Scene

FPS = 30
CHUNK = 10
ANCHORS = {"x264": "libx264", "openh264": "libopenh264"}
X264 = {"preset": "superfast", "tune": "zerolatency", "profile": "baseline", "sc_threshold": "0"}
OPENH264 = {"rc_mode": "bitrate", "profile": "constrained_baseline", "allow_skip_frames": "0"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One encoder at one bitrate: CPU time is the mean of a picture, control what the loop adds."""

    kbps: float
    vmaf: float
    cpu_ms: float
    control_ms: float
    dropped: int
    tries: int


class Runner(Protocol):
    """An encoder at one bitrate that is fed in chunks."""

    units: list[bytes | None]
    cpu_ns: int
    control_ns: int
    tries: int

    def encode(self, picture: Picture) -> None: ...

    def decoder(self) -> VideoDecoder: ...


@dataclass(slots=True)
class Anchor:
    """An H.264 encoder under its own rate control."""

    context: VideoCodecContext
    units: list[bytes | None] = field(default_factory=list)
    cpu_ns: int = 0
    control_ns: int = 0
    tries: int = 0

    def encode(self, picture: Picture) -> None:
        index = len(self.units)
        frame = frame_from_picture(picture, pts=index, time_base=Fraction(1, FPS))
        frame.pict_type = PictureType.NONE if index else PictureType.I
        began = time.thread_time_ns()
        packets = self.context.encode(frame)
        self.cpu_ns += time.thread_time_ns() - began
        self.tries += 1
        self.units.append(b"".join(map(bytes, packets)))

    def decoder(self) -> VideoDecoder:
        return H264Decoder()


class Av1:
    """One preset in the call's own loop over a picture."""

    def __init__(self, picture: Picture, *, preset: str, target_bps: int, content: Content) -> None:
        self._encoder = Av1Encoder(width=picture.width, height=picture.height)
        self._controller = FrameController(target_bps=target_bps)
        self._book = SlotBook()
        self._preset, self._content = preset, content
        self.units: list[bytes | None] = []
        self.cpu_ns = self.control_ns = self.tries = 0

    def encode(self, picture: Picture) -> None:
        index = len(self.units)
        began = time.thread_time_ns()
        result = encode_picture(
            picture,
            encoder=self._encoder,
            controller=self._controller,
            book=self._book,
            frame_id=index,
            now_us=index * 1_000_000 // FPS,
            key=index == 0,
            ltr=index > 0 and index % FPS == 0,
            preset=self._preset,
            content=self._content,
        )
        self.cpu_ns += result.encode_cpu_us * 1000
        self.control_ns += time.thread_time_ns() - began - result.encode_cpu_us * 1000
        self.tries += result.tries
        self.units.append(result.data if isinstance(result, EncodedFrame) else None)

    def decoder(self) -> VideoDecoder:
        return Av1Decoder()


def open_runner(name: str, picture: Picture, *, kbps: int, content: Content) -> Runner:
    """An anchor or, for any other name, an AV1 preset."""
    if name not in ANCHORS:
        return Av1(picture, preset=name, target_bps=kbps * 1000, content=content)
    context = av.CodecContext.create(ANCHORS[name], "w")
    assert isinstance(context, VideoCodecContext)
    context.width, context.height, context.pix_fmt = picture.width, picture.height, "yuv420p"
    context.framerate, context.time_base = Fraction(FPS), Fraction(1, FPS)
    context.bit_rate, context.gop_size, context.thread_count = kbps * 1000, NEVER_PERIODIC, 1
    rate = str(kbps * 1000)
    context.options = OPENH264 if name == "openh264" else X264 | {"maxrate": rate, "bufsize": rate}
    context.open()
    return Anchor(context)


def measure_clip(
    pictures: Sequence[Picture],
    *,
    names: Sequence[str],
    bitrates: Sequence[int],
    content: Content,
    subsample: int,
) -> dict[str, list[Point]]:
    """All encoders at all bitrates; those of one bitrate take turns."""
    points: dict[str, list[Point]] = {name: [] for name in names}
    for kbps in bitrates:
        runners = {n: open_runner(n, pictures[0], kbps=kbps, content=content) for n in names}
        for start in range(0, len(pictures), CHUNK):
            for runner in runners.values():
                for picture in pictures[start : start + CHUNK]:
                    runner.encode(picture)
        for name, runner in runners.items():
            points[name].append(_point(runner, pictures, subsample=subsample))
    return points


def _point(runner: Runner, pictures: Sequence[Picture], *, subsample: int) -> Point:
    sizes = [len(unit) for unit in runner.units if unit]
    return Point(
        kbps=sum(sizes) * 8 * FPS / len(pictures) / 1000,
        vmaf=vmaf(pictures, _shown(runner, pictures[0]), fps=FPS, subsample=subsample).mean,
        cpu_ms=runner.cpu_ns / len(pictures) / 1e6,
        control_ms=runner.control_ns / len(pictures) / 1e6,
        dropped=len(pictures) - len(sizes),
        tries=runner.tries,
    )


def _shown(runner: Runner, first: Picture) -> Iterator[Picture]:
    """What a viewer sees at the clip's size; a dropped picture leaves the one before."""
    decoder, shown = runner.decoder(), new_picture(first.width, first.height)
    for unit in runner.units:
        picture = decoder.decode(unit) if unit else None
        if picture is not None:
            shown = scale_picture(picture, width=first.width, height=first.height)
        yield shown
    decoder.close()


def saving(points: dict[str, list[Point]], name: str, anchor: str) -> tuple[float, float]:
    """BD-rate in percent (VMAF; nan without common quality) and CPU time over the anchor's."""
    curves = [[(p.kbps * 1000, p.vmaf) for p in points[n]] for n in (anchor, name)]
    try:
        percent = bd_rate(*curves).percent
    except LocalError:
        percent = math.nan
    cpu_ms = [sum(p.cpu_ms for p in points[n]) for n in (name, anchor)]
    return percent, cpu_ms[0] / cpu_ms[1]


def read_clip(text: str, *, frames: int) -> list[Picture]:
    """The pictures of PATH[,skip=N][,size=WxH] or scene[,seed=N][,size=WxH].

    A file with fewer is played backwards and forwards in turn, so that no cut arises.
    """
    path, *options = text.split(",")
    given = dict(option.split("=", 1) for option in options)
    size = tuple(map(int, given["size"].split("x"))) if "size" in given else None
    skip = int(given.get("skip", 0))
    if path == "scene":
        width, height = size or (640, 360)
        scene = Scene(width=width, height=height, fps=FPS, seed=int(given.get("seed", 0)))
        return [scene.picture(index) for index in range(skip, skip + frames)]
    shape = None if size is None else (size[0], size[1])
    read = [crop_even(p) for p in open_video(path, size=shape, frames=skip + frames)][skip:]
    return list(itertools.islice(itertools.cycle([*read, *read[-2:0:-1]]), frames))


def print_clip(text: str, points: dict[str, list[Point]]) -> None:
    print(f"\n{Path(text.split(',')[0]).stem}{text[len(text.split(',')[0]) :]}")
    for name, row in points.items():
        cells = (f"{p.kbps:6.1f} kbps {p.vmaf:5.1f} {p.cpu_ms:5.2f} ms" for p in row)
        tries, dropped = sum(p.tries for p in row), sum(p.dropped for p in row)
        control = f"control {np.mean([p.control_ms for p in row]):.2f} ms"
        print(f"  {name:10}", " | ".join(cells), f" tries {tries} dropped {dropped} {control}")


def print_summary(results: dict[str, dict[str, list[Point]]], names: Sequence[str]) -> None:
    """Per anchor and encoder: the mean over clips, then each clip, as BD-rate @ CPU ratio."""
    for anchor in (name for name in names if name in ANCHORS):
        print(f"\nagainst {anchor}: mean BD-rate (VMAF) @ mean CPU ratio | each clip")
        for name in (name for name in names if name != anchor):
            cells = [saving(points, name, anchor) for points in results.values()]
            percent, ratio = (float(np.mean(column)) for column in zip(*cells, strict=True))
            mean = f"{percent:6.1f} % @ {ratio:4.2f}x"
            print(f"  {name:10} {mean} |", "  ".join(f"{b:6.1f} @ {c:4.2f}" for b, c in cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", nargs="+")
    parser.add_argument("--presets", default=",".join(PRESETS))
    parser.add_argument("--anchors", default=",".join(ANCHORS))
    parser.add_argument("--bitrates", default="50,100,200,400")
    parser.add_argument("--frames", type=int, default=150)
    parser.add_argument("--subsample", type=int, default=3)
    parser.add_argument("--content", type=Content, default=Content.CAMERA, choices=list(Content))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    names = [*options.anchors.split(","), *options.presets.split(",")]
    results = {}
    for text in options.clips:
        results[text] = measure_clip(
            read_clip(text, frames=options.frames),
            names=names,
            bitrates=[int(kbps) for kbps in options.bitrates.split(",")],
            content=options.content,
            subsample=options.subsample,
        )
        print_clip(text, results[text])
    print_summary(results, names)
    if options.json:
        rows = {clip: _plain(points) for clip, points in results.items()}
        options.json.write_text(json.dumps(rows, indent=1))


def _plain(points: dict[str, list[Point]]) -> dict[str, list[dict[str, float]]]:
    return {name: [asdict(point) for point in row] for name, row in points.items()}


if __name__ == "__main__":
    main()
