"""Tables and pictures of a clip's section in the report."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from html import escape

from ..jpeg import data_url
from .charts import color_class
from .codec_specs import CodecSpec
from .results import FinishedRun

# The project's own bounds: within them a segment is shown as good.
HELD = (0.97, 1.02)
MAX_SEGMENTS = 12
COLUMNS = (
    *("codec", "target", "kbps", "VMAF", "PSNR-Y", "SSIM", "CPU ms", "VBV p50", "p95", "max ms"),
    *("dropped", "in a row", "retries", "key frames"),
)


def pictures_of(runs: Sequence[FinishedRun], codecs: Sequence[CodecSpec]) -> str:
    """Side by side at the lowest rate, each as a viewer sees it."""
    shots = [run for run in runs if run.output.quality.shot]
    if not shots:
        return ""
    shots.sort(key=lambda run: list(codecs).index(run.job.codec))
    figures = [_figure(shots[0].output.quality.source, "as captured", "")]
    for run in shots:
        color = list(codecs).index(run.job.codec)
        caption = f'<i class="{color_class(color)}"></i>{escape(run.job.codec.label)}'
        sent = f"{run.figures['kbps']:.0f} kbps"
        note = sent if run.job.rates == shots[0].job.rates else f"{run.job.rates.label}, {sent}"
        figures.append(_figure(run.output.quality.shot, caption, note))
    rate = shots[0].job.rates
    at = rate.label if rate.is_constant else "the end of the schedule’s lowest step"
    return (
        f'<h3>Picture {shots[0].job.shot} at {at}</h3><div class="shots">{"".join(figures)}</div>'
    )


def segments_table(runs: Sequence[FinishedRun], codecs: Sequence[CodecSpec]) -> str:
    """What was sent of the target in each step of the schedule; empty where there are many steps."""
    if not runs or not 1 < len(runs[0].figures["segments"]) <= MAX_SEGMENTS:
        return ""
    head = "".join(f"<th>{part['target_kbps']:g} kbps</th>" for part in runs[0].figures["segments"])
    rows = "".join(
        f"<tr>{_codec_cell(run, codecs)}"
        + "".join(_held_cell(part["of_target"]) for part in run.figures["segments"])
        + "</tr>"
        for run in runs
    )
    return (
        "<h3>Sent of the target, from 0.5 s after each step</h3>"
        f'<div class="wide"><table><thead><tr><th>codec</th>{head}</tr></thead>{rows}</table></div>'
    )


def runs_table(runs: Sequence[FinishedRun], codecs: Sequence[CodecSpec]) -> str:
    """Every run's figures, those of one target together."""
    head = "".join(f"<th>{name}</th>" for name in COLUMNS)
    bodies = "".join(
        f"<tbody>{''.join(_table_row(run, codecs) for run in group)}</tbody>"
        for _, group in itertools.groupby(runs, key=lambda run: run.job.rates)
    )
    return (
        "<h3>All runs</h3>"
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>{bodies}</table></div>'
    )


def _figure(jpeg: bytes, caption: str, note: str) -> str:
    small = f" <small>{note}</small>" if note else ""
    return f'<figure><img src="{data_url(jpeg)}" alt=""><figcaption>{caption}{small}</figcaption></figure>'


def _table_row(run: FinishedRun, codecs: Sequence[CodecSpec]) -> str:
    f, vbv = run.figures, run.figures["vbv_ms"]
    cells = [
        run.job.rates.label,
        f"{f['kbps']:.1f}",
        _cell(f["vmaf"], 2),
        _cell(f["psnr_y"], 2),
        _cell(f["ssim"], 4),
        f"{f['encode_cpu_ms']:.2f}",
        *(_cell(vbv[name], 0) for name in ("p50", "p95", "max")),
        str(f["dropped"]),
        str(f["longest_drop"]),
        str(f["retries"]),
        str(f["key_frames"]),
    ]
    return f"<tr>{_codec_cell(run, codecs)}{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _codec_cell(run: FinishedRun, codecs: Sequence[CodecSpec]) -> str:
    color = color_class(list(codecs).index(run.job.codec))
    return f'<th><i class="{color}"></i>{escape(run.job.codec.label)}</th>'


def _held_cell(ratio: float | None) -> str:
    if ratio is None:
        return "<td>–</td>"
    mood = "good" if HELD[0] <= ratio <= HELD[1] else "bad"
    return f'<td class="{mood}">{ratio:.1%}</td>'


def _cell(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
