"""The command from clip to files: what is written, and that it agrees with the bitstreams."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from codecpilot.codecs.ivf import read_ivf_frames, read_ivf_header
from codecpilot.codecs.media import open_video
from codecpilot.codecs.metrics import psnr_y
from codecpilot.ratecontrol.vbv import VbvBuffer
from codecpilot.samples.cli import main
from codecpilot.samples.evaluate.rates import constant, parse_schedule

from .clip_files import write_y4m

SCHEDULE = "0:60,0.51:20,0.8:50"
CODECS = "av1:low,h264:ultrafast,h264-controlled:ultrafast,libaom-cbr:11,openh264"
COLUMNS = (
    "index,pts_ms,bytes,quantizer,key,temporal_id,tries,dropped,width,height,"
    "encode_ms,encode_cpu_ms,vbv_ms,target_bps,psnr_y"
)
RUN_FIELDS = (
    *("clip", "codec", "preset", "target_kbps", "schedule", "kbps", "psnr_y", "ssim", "vmaf"),
    *("encode_ms", "encode_cpu_ms", "vbv_ms", "frames", "dropped", "retries", "bitstream"),
    "frames_csv",
)


@dataclass(frozen=True)
class Made:
    """An evaluation's folder and what it says."""

    clip: Path
    folder: Path
    results: dict[str, Any]

    def run(self, codec: str, target_kbps: float | None) -> dict[str, Any]:
        return next(
            run
            for run in self.results["runs"]
            if (run["codec"], run["target_kbps"]) == (codec, target_kbps)
        )

    def rows(self, run: dict[str, Any]) -> list[dict[str, str]]:
        return list(csv.DictReader((self.folder / run["frames_csv"]).open()))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("evaluation")
    clip = write_y4m(folder / "clip.y4m", 20)
    out = folder / "out"
    options = f"--bitrates 20,40,80 --schedule {SCHEDULE} --key-frames 0.4 --jobs 2 --vmaf-every 5"
    assert (
        main(["evaluate", str(clip), "--codecs", CODECS, *options.split(), "--out", str(out)]) == 0
    )
    return Made(clip=clip, folder=out, results=json.loads((out / "results.json").read_text()))


def test_every_clip_codec_and_rate_is_a_run_with_its_files(made: Made) -> None:
    runs = made.results["runs"]
    labels = [(r["codec"], r["preset"], r["target_kbps"], r["schedule"]) for r in runs]
    specs = [(*spec.split(":"), None)[:2] for spec in CODECS.split(",")]
    assert labels == [
        (*spec, rate, None if rate else SCHEDULE) for rate in (20, 40, 80, None) for spec in specs
    ]
    assert made.results["failures"] == []
    for run in runs:
        assert set(RUN_FIELDS) <= set(run)
        assert set(run["vbv_ms"]) == {"p50", "p95", "max"}
        stream, table = (made.folder / run[name] for name in ("bitstream", "frames_csv"))
        assert stream.suffix == (".ivf" if run["codec"] in ("av1", "libaom-cbr") else ".h264")
        assert table.name == "frames.csv"
        assert table.read_text().splitlines()[0] == COLUMNS
        assert len(made.rows(run)) == run["frames"] == (20 if run["target_kbps"] else 33)


def test_the_figures_of_a_run_are_those_of_its_frames(made: Made) -> None:
    for run in made.results["runs"]:
        rows = made.rows(run)
        sent = [row for row in rows if row["dropped"] == "0"]
        seconds = len(rows) / 30
        bits = 8 * sum(int(row["bytes"]) for row in rows)
        assert run["kbps"] == pytest.approx(bits / seconds / 1000, rel=1e-3)
        assert run["dropped"] == len(rows) - len(sent)
        assert run["psnr_y"] == pytest.approx(np.mean([float(r["psnr_y"]) for r in rows]), abs=1e-3)
        cpu = np.mean([float(row["encode_cpu_ms"]) for row in rows])
        assert run["encode_cpu_ms"] == pytest.approx(cpu, rel=1e-2)
        assert 0.01 < cpu < 50
        delays = [float(row["vbv_ms"]) for row in sent]
        assert run["vbv_ms"]["max"] == max(delays)
        assert 10 < run["psnr_y"] < 60
        assert 0.2 < run["ssim"] < 1
        assert 0 <= run["vmaf"] <= 100


def test_vbv_delay_is_what_a_recount_from_the_bitstream_gives(made: Made) -> None:
    schedule = parse_schedule(SCHEDULE)
    for run in made.results["runs"]:
        rates = constant(run["target_kbps"]) if run["target_kbps"] else schedule
        sent = [row for row in made.rows(run) if row["dropped"] == "0"]
        recount = _recount(made.folder / run["bitstream"], sent, rates.steps)
        assert recount == [float(row["vbv_ms"]) for row in sent], run["bitstream"]


def test_targets_and_key_frames_come_when_they_are_asked_for(made: Made) -> None:
    for codec in ("av1", "h264", "libaom-cbr"):
        run = made.run(codec, None)
        rows = made.rows(run)
        targets = [int(row["target_bps"]) for row in rows]
        assert targets == [60_000] * 16 + [20_000] * 8 + [50_000] * 9
        keys = [int(row["index"]) for row in rows if row["key"] == "1"]
        assert keys[0] == 0
        assert len(keys) == 2
        assert 12 <= keys[1] <= 14
        assert [segment["target_kbps"] for segment in run["segments"]] == [60, 20, 50]


def test_a_viewers_decoder_sees_the_quality_that_is_reported(made: Made) -> None:
    for codec in ("av1", "h264"):
        run = made.run(codec, 80)
        assert run["dropped"] == 0
        shown = open_video(made.folder / run["bitstream"])
        pairs = zip(open_video(made.clip), shown, strict=True)
        assert run["psnr_y"] == pytest.approx(np.mean([psnr_y(*pair) for pair in pairs]), abs=1e-3)


def test_codecs_are_compared_with_every_anchor_by_each_metric(made: Made) -> None:
    anchors = ["h264:ultrafast", "libaom-cbr:11", "openh264"]
    labels = CODECS.split(",")
    for entry in made.results["bd_rate"]:
        assert set(entry) == {"clip", "anchor", "codec", "metric", "percent", "overlap"}
        assert -100 < entry["percent"] < 1000
        assert 0 < entry["overlap"] <= 1
    found = {(e["anchor"], e["codec"], e["metric"]) for e in made.results["bd_rate"]}
    assert ("h264:ultrafast", "av1:low", "psnr") in found
    missing = len(made.results["bd_rate_missing"])
    assert len(found) + missing == len(anchors) * (len(labels) - 1) * 3
    means = {(e["anchor"], e["codec"], e["metric"]): e for e in made.results["bd_rate_mean"]}
    assert found == set(means)
    ratios = {(e["anchor"], e["codec"]) for e in made.results["cpu_ratio"]}
    assert ratios == {(a, c) for a in anchors for c in labels if a != c}


def test_the_same_clip_and_seed_give_the_same_bytes_whatever_the_number_of_workers(
    made: Made, tmp_path: Path
) -> None:
    options = f"--bitrates 40 --schedule {SCHEDULE} --key-frames 0.4 --jobs 1 --metrics psnr"
    command = ["evaluate", str(made.clip), "--codecs", CODECS, *options.split()]
    assert main([*command, "--out", str(tmp_path)]) == 0
    streams = sorted(path.relative_to(tmp_path) for path in tmp_path.glob("runs/**/video.*"))
    assert len(streams) == 10
    for stream in streams:
        first, second = (
            hashlib.sha256((folder / stream).read_bytes()).hexdigest()
            for folder in (made.folder, tmp_path)
        )
        assert first == second, stream


def test_h264_may_run_at_rates_of_its_own(made: Made, tmp_path: Path) -> None:
    options = "--codecs av1:low,openh264 --bitrates 20,40 --h264-bitrates 80,40,160"
    command = ["evaluate", str(made.clip), *options.split(), "--metrics", "psnr", "--frames", "5"]
    assert main([*command, "--out", str(tmp_path)]) == 0
    results = json.loads((tmp_path / "results.json").read_text())
    runs = [(run["codec"], run["target_kbps"]) for run in results["runs"]]
    assert runs == [
        *(("av1", 20), ("av1", 40), ("openh264", 40), ("openh264", 80), ("openh264", 160)),
    ]
    # Pictures and CPU times are compared where both ran.
    assert [entry["ratio"] > 0 for entry in results["cpu_ratio"]] == [True]
    assert "Picture 2 at 40 kbps" in (tmp_path / "report.html").read_text()


class _Page(HTMLParser):
    """Collects what a page would load, and checks that its elements close."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.counts: dict[str, int] = {}
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.loads += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "img", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_report_stands_alone_and_shows_every_part(made: Made) -> None:
    text = (made.folder / "report.html").read_text()
    page = _Page()
    page.feed(text)
    assert page.open == []
    assert page.loads
    assert all(load.startswith("data:image/jpeg;base64,") for load in page.loads)
    assert not re.search(r"https?:|@import|url\(", text)
    assert page.counts["img"] == 1 + len(CODECS.split(","))
    assert "script" not in page.counts
    assert page.counts["svg"] >= 8
    words = ("Quality: VMAF", "Quality: PSNR-Y", "Quality: SSIM", "VBV delay at 20 kbps")
    for word in (*words, "VBV delay at the schedule", "CPU", "against h264:ultrafast"):
        assert word in text
    assert "NaN" not in text


def _recount(
    stream: Path, sent: list[dict[str, str]], steps: tuple[tuple[int, int], ...]
) -> list[float]:
    """VBV delay in ms at each frame, from the file's own sizes (and, in IVF, times) alone."""
    if stream.suffix == ".ivf":
        file = io.BytesIO(stream.read_bytes())
        read_ivf_header(file)
        frames = [(time_us, len(data)) for time_us, data in read_ivf_frames(file)]
    else:
        with av.open(str(stream), format="h264") as container:
            sizes = [packet.size for packet in container.demux() if packet.size]
        times = [round(float(row["pts_ms"]) * 1000) for row in sent]
        frames = list(zip(times, sizes, strict=True))
    bucket, changes, delays = VbvBuffer(steps[0][1]), list(steps[1:]), []
    for time_us, size in frames:
        while changes and changes[0][0] <= time_us:
            at_us, target_bps = changes.pop(0)
            bucket.set_target(target_bps, now_us=at_us)
        bucket.add(8 * size, now_us=time_us)
        delays.append(bucket.delay_us(time_us) / 1000)
    return delays
