"""report.html: one file that needs nothing else, neither scripts nor other files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from .charts import Series, axis_over, color_class, line_chart
from .codec_specs import CodecSpec
from .report_clip import clip_section
from .summary import Evaluation, made

METRIC_NAMES = {"vmaf": "VMAF", "psnr": "PSNR", "ssim": "SSIM"}


def write_report(evaluation: Evaluation) -> Path:
    """Write the report into the output folder; returns its path."""
    path = evaluation.request.out / "report.html"
    path.write_text(report_html(evaluation), encoding="utf-8")
    return path


def report_html(evaluation: Evaluation) -> str:
    """The whole page."""
    files = resources.files(__package__)
    codecs = list(evaluation.request.codecs)
    clips = list(dict.fromkeys(run.job.clip.name for run in evaluation.runs))
    sections = [
        clip_section(
            clip,
            [run for run in evaluation.runs if run.job.clip.name == clip],
            codecs=codecs,
            metrics=evaluation.request.metrics,
        )
        for clip in clips
    ]
    return Template(files.joinpath("report.html").read_text("utf-8")).substitute(
        style=files.joinpath("report.css").read_text("utf-8"),
        legend=_legend(codecs),
        failures=_failures(evaluation),
        summary=_summary(evaluation, codecs),
        clips="".join(sections),
        details=_details(evaluation),
        made=_made(evaluation),
    )


def _legend(codecs: Sequence[CodecSpec]) -> str:
    return "".join(
        f'<span class="key"><i class="{color_class(index)}"></i>{escape(codec.label)}</span>'
        for index, codec in enumerate(codecs)
    )


def _failures(evaluation: Evaluation) -> str:
    if not evaluation.failures:
        return ""
    rows = "".join(
        f"<li>{escape(failed.job.label)}: {escape(failed.reason)}</li>"
        for failed in evaluation.failures
    )
    return f'<section class="failures"><h2>Runs that failed</h2><ul>{rows}</ul></section>'


def _summary(evaluation: Evaluation, codecs: Sequence[CodecSpec]) -> str:
    """The means over clips, one table an anchor, each beside its chart of bits against CPU."""
    anchors = [codec for codec in codecs if codec.is_anchor]
    parts = [_against(evaluation, anchor, codecs) for anchor in anchors]
    if not any(parts):
        return ""
    note = (
        "<p>Bits for the same quality, over what the anchor takes (BD-rate, mean over clips; "
        "fewer is better), and encoding time over the anchor's at the same targets.</p>"
    )
    return f"<section><h2>Against the baselines</h2>{note}{''.join(parts)}</section>"


def _against(evaluation: Evaluation, anchor: CodecSpec, codecs: Sequence[CodecSpec]) -> str:
    comparison, metrics = evaluation.comparison, evaluation.request.metrics
    means = {
        (entry["codec"], entry["metric"]): entry
        for entry in comparison.bd_rate_mean
        if entry["anchor"] == anchor.label
    }
    ratios = {
        entry["codec"]: entry["ratio"]
        for entry in comparison.cpu_ratio_mean
        if entry["anchor"] == anchor.label
    }
    if not means:
        return ""
    head = "".join(f"<th>{METRIC_NAMES[metric]}</th>" for metric in metrics)
    rows = "".join(
        f'<tr><th><i class="{color_class(index)}"></i>{escape(codec.label)}</th>'
        + "".join(_percent_cell(means.get((codec.label, metric))) for metric in metrics)
        + _ratio_cell(ratios.get(codec.label))
        + "</tr>"
        for index, codec in enumerate(codecs)
        if codec != anchor
    )
    table = (
        f"<table><caption>against {escape(anchor.label)}</caption>"
        f"<thead><tr><th>codec</th>{head}<th>CPU</th></tr></thead>{rows}</table>"
    )
    chart = _trade_off(means, ratios, anchor, codecs, metrics[0])
    return f'<div class="pair"><div class="wide">{table}</div>{chart}</div>'


def _trade_off(
    means: dict[tuple[str, str], dict[str, Any]],
    ratios: dict[str, float],
    anchor: CodecSpec,
    codecs: Sequence[CodecSpec],
    metric: str,
) -> str:
    """Bits against CPU; the anchor itself stands at 1 and 0."""
    points = [(1.0, 0.0, list(codecs).index(anchor), anchor.label)]
    for index, codec in enumerate(codecs):
        mean, ratio = means.get((codec.label, metric)), ratios.get(codec.label)
        if mean is not None and ratio is not None:
            points.append((ratio, mean["percent"], index, codec.label))
    series = [
        Series(
            points=[(x, y)],
            color=color,
            has_line=False,
            titles=[f"{label}: {y:+.1f} % at {x:.2f}x CPU"],
        )
        for x, y, color, label in points
    ]
    return line_chart(
        series,
        title=f"Bits against CPU, {METRIC_NAMES[metric]}",
        x=axis_over([p[0] for p in points], "encoding time, × anchor", least=0.0),
        y=axis_over([p[1] for p in points], "BD-rate %", include=[0.0]),
        limit=0.0,
    )


def _percent_cell(entry: dict[str, Any] | None) -> str:
    if entry is None:
        return "<td>–</td>"
    mood = "good" if entry["percent"] < 0 else "bad"
    return f'<td class="{mood}">{entry["percent"]:+.1f} %</td>'


def _ratio_cell(ratio: float | None) -> str:
    return "<td>–</td>" if ratio is None else f"<td>{ratio:.2f}×</td>"


def _details(evaluation: Evaluation) -> str:
    """Every BD-rate, and those that are missing."""
    comparison = evaluation.comparison
    if not comparison.bd_rate and not comparison.refused:
        return ""
    rows = "".join(
        f"<tr><th>{escape(entry['clip'])}</th><td>{escape(entry['anchor'])}</td>"
        f"<td>{escape(entry['codec'])}</td><td>{METRIC_NAMES[entry['metric']]}</td>"
        f"{_percent_cell(entry)}<td>{entry['overlap']:.0%}</td></tr>"
        for entry in comparison.bd_rate
    )
    head = "<tr><th>clip</th><th>anchor</th><th>codec</th><th>metric</th><th>BD-rate</th><th>overlap</th></tr>"
    refused = "".join(f"<li>{escape(reason)}</li>" for reason in comparison.refused)
    missing = f"<p>Could not be computed:</p><ul>{refused}</ul>" if refused else ""
    return (
        "<section><h2>BD-rates, clip by clip</h2><p>Overlap is the part of both curves’ quality "
        "range that both reach; below 75 % a mean over it says little.</p>"
        f'<div class="wide"><table><thead>{head}</thead>{rows}</table></div>{missing}</section>'
    )


def _made(evaluation: Evaluation) -> str:
    facts = made(evaluation.request)
    rows = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(value if isinstance(value, str) else json.dumps(value))}</dd>"
        for name, value in facts.items()
    )
    return f"<dl>{rows}</dl>"
