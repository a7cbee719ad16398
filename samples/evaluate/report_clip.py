"""A clip's section of the report, and its charts: quality, CPU, delay and rate over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape

from .charts import Axis, Point, Series, axis_over, line_chart
from .codec_specs import CodecSpec
from .compare import FIELDS
from .rates import US_PER_S
from .report_tables import pictures_of, runs_table, segments_table
from .results import FinishedRun

AXIS_NAMES = {"vmaf": "VMAF", "psnr": "PSNR-Y, dB", "ssim": "SSIM"}
# The bound of every sent frame's delay (ratecontrol/settings.py's default).
BOUND_MS = 200.0
LEAST_MS = 1.0
RATE_WINDOW_US = 500_000


def clip_section(
    clip: str,
    runs: Sequence[FinishedRun],
    *,
    codecs: Sequence[CodecSpec],
    metrics: Sequence[str],
) -> str:
    """All that is shown of one clip."""
    constant = [run for run in runs if run.job.rates.is_constant]
    scheduled = [run for run in runs if not run.job.rates.is_constant]
    charts = [_quality_chart(constant, metric, codecs) for metric in metrics if constant]
    if constant:
        charts.append(_cpu_chart(constant, codecs))
        at_lowest = _at_lowest_shared(constant)
        charts.append(_delay_chart(at_lowest, codecs, at=at_lowest[0].job.rates.label))
    if scheduled:
        charts += [
            _delay_chart(scheduled, codecs, at="the schedule"),
            _rate_chart(scheduled, codecs),
        ]
    info = runs[0].job.clip
    about = f"{info.width}×{info.height}, {float(info.fps):g} fps, {info.pictures} pictures"
    return (
        f"<section><h2>{escape(clip)} <small>{about}</small></h2>"
        f'<div class="charts">{"".join(charts)}</div>{pictures_of(runs, codecs)}'
        f"{segments_table(scheduled, codecs)}{runs_table(runs, codecs)}</section>"
    )


def _at_lowest_shared(runs: Sequence[FinishedRun]) -> list[FinishedRun]:
    """The runs at the lowest of the rates that most codecs ran at."""
    counts = Counter(run.job.rates for run in runs)
    most = max(counts.values())
    lowest = min((r for r in counts if counts[r] == most), key=lambda r: r.highest_bps)
    return [run for run in runs if run.job.rates == lowest]


def _quality_chart(runs: Sequence[FinishedRun], metric: str, codecs: Sequence[CodecSpec]) -> str:
    field = FIELDS[metric]
    series = []
    for color, codec in enumerate(codecs):
        figures = [run.figures for run in runs if run.job.codec == codec]
        points = sorted((f["kbps"], f[field], f["target_kbps"]) for f in figures if f["kbps"])
        series.append(
            Series(
                points=[(kbps, quality) for kbps, quality, _ in points],
                color=color,
                titles=[
                    f"{codec.label} at {target:g}: {kbps:.1f} kbps, {quality:.4g}"
                    for kbps, quality, target in points
                ],
            )
        )
    held = [point for each in series for point in each.points]
    return line_chart(
        series,
        title=f"Quality: {AXIS_NAMES[metric]}",
        x=axis_over([p[0] for p in held], "kbps sent", is_log=True),
        y=axis_over([p[1] for p in held], ""),
    )


def _cpu_chart(runs: Sequence[FinishedRun], codecs: Sequence[CodecSpec]) -> str:
    series = [
        Series(
            points=sorted(
                (run.figures["target_kbps"], run.figures["encode_cpu_ms"])
                for run in runs
                if run.job.codec == codec
            ),
            color=color,
        )
        for color, codec in enumerate(codecs)
    ]
    held = [point for each in series for point in each.points]
    return line_chart(
        series,
        title="Encoding, CPU time a picture",
        x=axis_over([p[0] for p in held], "target kbps", is_log=True),
        y=axis_over([p[1] for p in held], "ms", least=0.0),
    )


def _delay_chart(runs: Sequence[FinishedRun], codecs: Sequence[CodecSpec], *, at: str) -> str:
    """The VBV delay at each sent frame."""
    series = [
        Series(
            points=[
                (row.pts_us / US_PER_S, max(LEAST_MS, row.vbv_us / 1000))
                for row in run.output.rows
                if not row.dropped
            ],
            color=list(codecs).index(run.job.codec),
            has_dots=False,
        )
        for run in runs
    ]
    delays = [point[1] for each in series for point in each.points]
    return line_chart(
        series,
        title=f"VBV delay at {at}",
        x=_time_axis(runs),
        y=axis_over(delays, "ms", is_log=True, least=LEAST_MS, include=[BOUND_MS * 1.5]),
        limit=BOUND_MS,
    )


def _rate_chart(runs: Sequence[FinishedRun], codecs: Sequence[CodecSpec]) -> str:
    """What was sent, as a mean over windows, against the target."""
    series = [_target(runs[0])]
    for run in runs:
        color = list(codecs).index(run.job.codec)
        series.append(Series(points=_sent_kbps(run), color=color, has_dots=False))
    held = [point[1] for each in series for point in each.points]
    return line_chart(
        series,
        title=f"Sent under the schedule, over {RATE_WINDOW_US // 1000} ms",
        x=_time_axis(runs),
        y=axis_over(held, "kbps", least=0.0),
    )


def _target(run: FinishedRun) -> Series:
    end_s = run.output.rows[-1].pts_us / US_PER_S
    steps = [(start / US_PER_S, target / 1000) for start, target in run.job.rates.steps]
    points = [(start, kbps) for start, kbps in steps if start <= end_s]
    points.append((end_s, points[-1][1]))
    return Series(points=points, color=None, has_dots=False, is_step=True)


def _sent_kbps(run: FinishedRun) -> list[Point]:
    windows: dict[int, int] = {}
    last = run.output.rows[-1].pts_us // RATE_WINDOW_US
    for row in run.output.rows:
        window = row.pts_us // RATE_WINDOW_US
        windows[window] = windows.get(window, 0) + 8 * row.size_bytes
    # The last window may be cut short.
    return [
        ((index + 0.5) * RATE_WINDOW_US / US_PER_S, windows.get(index, 0) * 1000 / RATE_WINDOW_US)
        for index in range(last)
    ]


def _time_axis(runs: Sequence[FinishedRun]) -> Axis:
    end_us = max(run.output.rows[-1].pts_us for run in runs)
    return Axis(label="s", low=0.0, high=max(end_us, 1) / US_PER_S)
