"""report.html of an evaluation: one file that needs nothing else, neither scripts nor other files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from string import Template

import numpy as np

from ...codecs.errors import LocalError
from ...eligibility.models.calls import Bools, Floats, Ints
from ...eligibility.models.curves import calibration, coverage_curve, precision_recall, roc
from ...eligibility.models.evaluation import Evaluation, ModelResult
from ...eligibility.models.metrics import Figures
from ..evaluate.charts import Axis, Series, color_class, line_chart

SHOWN_FEATURES, SHOWN_DEVICES = 12, 15
LEAST_CALLS = 5
BANNER = (
    '<section class="failures"><h2>SIMULATED</h2><p>These calls come from a simulated fleet of devices. The figures '
    "say how well models learn such a fleet, not how real devices behave.</p></section>"
)
Curve = Callable[[Ints, Floats], list[tuple[float, float]]]


def write_report(path: Path, evaluation: Evaluation) -> None:
    """Raises LocalError where the file cannot be written."""
    try:
        # Names of folders need not be UTF-8.
        path.write_text(report_html(evaluation), encoding="utf-8", errors="replace")
    except OSError as error:
        raise LocalError(f"--report {path}: {error.strerror}") from error


def report_html(evaluation: Evaluation) -> str:
    """The whole page."""
    style = resources.files("codecpilot.samples.evaluate").joinpath("report.css").read_text("utf-8")
    page = resources.files(__package__).joinpath("report.html").read_text("utf-8")
    last = evaluation.results[-1]
    return Template(page).substitute(
        style=style,
        legend="".join(_key(place, each.name) for place, each in enumerate(evaluation.results)),
        banner=BANNER if evaluation.calls.simulated else "",
        population=_population(evaluation),
        figures=_figures(evaluation.results),
        whole="".join(_charts(evaluation, np.ones(len(evaluation.is_low), dtype=bool), "")),
        tiers="".join(
            [
                *_charts(evaluation, evaluation.is_low, "low tier: "),
                *_charts(evaluation, ~evaluation.is_low, "high tier: "),
            ]
        ),
        importance=_importance(evaluation.results),
        worst_by=escape(last.name),
        worst=_worst(evaluation, last),
    )


def _key(place: int, name: str) -> str:
    return f'<span class="key"><i class="{color_class(place)}"></i>{escape(name)}</span>'


def _population(evaluation: Evaluation) -> str:
    good = evaluation.examples.good
    models = len(np.unique(evaluation.examples.model))
    return (
        f"{len(good)} calls of {models} device models that no model was trained on, {good.mean():.1%} of them "
        f"good, {evaluation.is_low.mean():.1%} of the low tier; judged by what their earlier calls tell."
    )


def _figures(results: Sequence[ModelResult]) -> str:
    head = "<tr><th></th><th>calls</th><th>AUC</th><th>calibration error</th><th>on AV1 at 2 % bad</th></tr>"
    bodies = []
    for place, result in enumerate(results):
        mark = f'<i class="{color_class(place)}"></i>{escape(result.name)}'
        rows = {mark: result.whole}
        rows |= {f"{tier} tier": of for tier, of in result.tiers.items()}
        rows |= {f"unseen, by {start}": of for start, of in result.starts.items()}
        lines = [_line(title, of) for title, of in rows.items()]
        share = result.low_coverage_at_2pct_bad_of_all
        lines.append(f"<tr><th>low tier, 2 % of all</th>{'<td></td>' * 3}<td>{share:.1%}</td></tr>")
        bodies.append(f"<tbody>{''.join(lines)}</tbody>")
    return f"<table><thead>{head}</thead>{''.join(bodies)}</table>"


def _line(title: str, of: Figures) -> str:
    auc = "–" if of.auc is None else f"{of.auc:.4f}"
    cells = (str(of.calls), auc, f"{of.ece:.4f}", f"{of.coverage_at_2pct_bad:.1%}")
    return f"<tr><th>{title}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _charts(evaluation: Evaluation, rows: Bools, title: str) -> list[str]:
    if not rows.any():
        return []
    good, results = evaluation.examples.good[rows], evaluation.results
    scores = [result.score[rows] for result in results]

    def chart(curve: Curve, name: str, x: str, y: str, limit: float | None = None) -> str:
        lines = [
            Series(points=curve(good, score), color=place, has_dots=False)
            for place, score in enumerate(scores)
        ]
        top = min(1.0, max(0.1, 1.1 * (1 - float(good.mean())))) if limit is not None else 1.0
        axes = Axis(label=x, low=0, high=1), Axis(label=y, low=0, high=top)
        return line_chart(lines, title=title + name, x=axes[0], y=axes[1], limit=limit)

    return [
        chart(roc, "ROC", "bad calls on AV1", "good calls on AV1"),
        chart(
            precision_recall, "precision and recall", "good calls on AV1", "good of those on AV1"
        ),
        chart(coverage_curve, "coverage", "calls on AV1", "bad of those on AV1", limit=0.02),
        _calibration(good, scores, title),
    ]


def _calibration(good: Ints, scores: Sequence[Floats], title: str) -> str:
    series = [Series(points=[(0, 0), (1, 1)], color=None, has_dots=False)]
    for place, score in enumerate(scores):
        bins = calibration(good, score)
        titles = [
            f"score {mean:.2f}: {share:.1%} of {calls} calls good" for mean, share, calls in bins
        ]
        points = [(mean, share) for mean, share, _ in bins]
        series.append(Series(points=points, color=place, titles=titles))
    axes = Axis(label="score", low=0, high=1), Axis(label="good calls", low=0, high=1)
    return line_chart(series, title=f"{title}calibration", x=axes[0], y=axes[1])


def _importance(results: Sequence[ModelResult]) -> str:
    names = list(dict.fromkeys(name for result in reversed(results) for name in result.importance))
    head = "".join(f"<th>{escape(result.name)}</th>" for result in results)
    rows = "".join(
        f"<tr><th>{name}</th>"
        + "".join(f"<td>{result.importance.get(name, 0):.4f}</td>" for result in results)
        + "</tr>"
        for name in names[:SHOWN_FEATURES]
    )
    return f"<table><thead><tr><th></th>{head}</tr></thead>{rows}</table>"


def _worst(evaluation: Evaluation, result: ModelResult) -> str:
    good, model = evaluation.examples.good, evaluation.examples.model
    calls = np.bincount(model)
    with np.errstate(invalid="ignore"):
        shares = np.bincount(model, good) / calls
        means = np.bincount(model, result.score) / calls
    gaps = np.where(calls >= LEAST_CALLS, np.abs(shares - means) * np.sqrt(calls), 0)
    rows = "".join(
        f"<tr><th>{escape(evaluation.calls.models[place])}</th><td>{calls[place]}</td>"
        f"<td>{means[place]:.2f}</td><td>{shares[place]:.2f}</td></tr>"
        for place in np.argsort(-gaps)[:SHOWN_DEVICES]
        if gaps[place] > 0
    )
    head = "<tr><th></th><th>calls</th><th>score, mean</th><th>good calls</th></tr>"
    return f"<table><thead>{head}</thead>{rows}</table>"
