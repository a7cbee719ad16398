"""Compares a live call of ours with Chromium calling itself, over the same emulated links and clip.

    python -m tests.bench.chromium_links CLIP --tool CHROMIUM_CALL [--links NAME,…] [--seconds N]
        [--seed N] [--trace FILE] [--json FILE]

CHROMIUM_CALL is a script that takes --rate --delay --loss --burst --queue --seed --seconds --y4m and
prints one JSON line of Chromium's statistics and its link's; each run happens alone, one after the
other. Ours sends the clip both ways, Chromium one way; neither sends sound.
Figures of ours are those of side A's pictures.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codecpilot.codecs.media import open_video

SIZE = (640, 360)
FPS = 30
Y4M_FRAMES = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class EmulatedLink:
    """Options of both programs; rate as "s:kbps,…"."""

    rate: str
    delay_ms: int
    loss: float = 0.0
    burst: float = 1
    queue_ms: int = 300

    def options(self) -> list[str]:
        """On the command line."""
        return [
            *("--rate", self.rate, "--delay", str(self.delay_ms), "--loss", str(self.loss)),
            *("--burst", str(self.burst), "--queue", str(self.queue_ms)),
        ]


LINKS = {
    "600": EmulatedLink(rate="0:600", delay_ms=25),
    "600-150-600": EmulatedLink(rate="0:600,10:150,25:600", delay_ms=25),
    "800 5 %": EmulatedLink(rate="0:800", delay_ms=50, loss=0.05),
    "800 5 % of 4": EmulatedLink(rate="0:800", delay_ms=50, loss=0.05, burst=4),
    "800 10 % of 4": EmulatedLink(rate="0:800", delay_ms=50, loss=0.1, burst=4),
    "100": EmulatedLink(rate="0:100", delay_ms=50),
}


def ours(clip: Path, link: EmulatedLink, *, seconds: int, seed: int) -> dict[str, Any]:
    """Run our two peers; the figures of one direction."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "call.json"
        command = [
            *(str(Path(sys.executable).with_name("codecpilot")), "call", "--headless"),
            *("--source", str(clip), "--size", "{}x{}".format(*SIZE), "--fps", str(FPS)),
            *("--bitrate", "800", "--seconds", str(seconds), "--seed", str(seed)),
            # What is compared is how the link is used, whatever else the machine does.
            *("--adaptation", "off"),
            *("--audio", "0", "--json", str(report), *link.options()),
        ]
        subprocess.run(command, check=True, capture_output=True)
        figures = json.loads(report.read_text())["directions"][0]
    delay_ms = link.delay_ms + figures["link"]["queue_delay_ms"]["p95"]
    return {
        "freezes": figures["freeze_count"],
        "freeze_s": figures["freeze_s"],
        "kbps": figures["kbps"],
        "link_p95_ms": round(delay_ms, 1),
        "latency_ms": figures["latency_ms"],
    }


def chromium(
    y4m: Path, link: EmulatedLink, *, tool: Path, seconds: int, seed: int
) -> dict[str, Any]:
    """Run Chromium's call; the same figures, latency none."""
    command = [
        *(sys.executable, str(tool), "--seconds", str(seconds), "--seed", str(seed)),
        *("--y4m", str(y4m), *link.options()),
    ]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    figures = json.loads(done.stdout.splitlines()[-1])
    return {
        "freezes": figures["rx_freezeCount"],
        "freeze_s": round(figures["rx_totalFreezesDuration"], 2),
        "kbps": round(figures["bytesSent"] * 8 / seconds / 1000, 1),
        "link_p95_ms": round(figures["link"]["delay_ms"]["p95"], 1),
        "latency_ms": None,
    }


def write_y4m(clip: Path, y4m: Path) -> None:
    """The clip as Chromium's fake camera takes it, as often as it takes."""
    with y4m.open("wb") as file:
        file.write("YUV4MPEG2 W{} H{} F{}:1 Ip A1:1 C420jpeg\n".format(*SIZE, FPS).encode())
        for picture in open_video(clip, size=SIZE, fps=FPS, loop=True, frames=Y4M_FRAMES):
            file.write(b"FRAME\n")
            for plane in (picture.y, picture.u, picture.v):
                file.write(plane.tobytes())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clip", type=Path)
    parser.add_argument("--tool", type=Path, required=True)
    parser.add_argument("--links", default=",".join(LINKS))
    parser.add_argument("--seconds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        y4m = Path(folder) / "clip.y4m"
        write_y4m(options.clip, y4m)
        for name in options.links.split(","):
            run = {"seconds": options.seconds, "seed": options.seed}
            for who in ("ours", "chromium"):
                figures = (
                    ours(options.clip, LINKS[name], **run)
                    if who == "ours"
                    else chromium(y4m, LINKS[name], tool=options.tool, **run)
                )
                rows.append({"link": name, "who": who, **figures})
                print(json.dumps(rows[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
