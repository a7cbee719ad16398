"""report.html: one file that needs nothing else; its charts are drawn by the vendored uPlot."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from string import Template
from typing import Any

from ...rtc.simulation.run import Run
from .adaptation_table import adaptation_table
from .series import direction_series
from .stills import Still

VENDOR = ("page", "vendor", "uplot")


def report_html(
    run: Run, summary: Mapping[str, Any], *, stills: Mapping[str, Sequence[Still]]
) -> str:
    """The whole page. stills are those of each direction."""
    files, vendor = resources.files(__package__), resources.files("codecpilot.samples")
    data = {name: direction_series(run, way) for name, way in run.directions.items()}
    return Template(files.joinpath("report.html").read_text("utf-8")).substitute(
        uplot_css=vendor.joinpath(*VENDOR, "uPlot.min.css").read_text("utf-8"),
        uplot_js=vendor.joinpath(*VENDOR, "uPlot.iife.min.js").read_text("utf-8"),
        style=files.joinpath("report.css").read_text("utf-8"),
        script=files.joinpath("report.js").read_text("utf-8"),
        headline=f"{summary['virtual_s']:g} s, seed {run.scenario.seed}",
        directions="".join(
            _direction(
                name,
                summary["directions"][name],
                stills.get(name, ()),
                adaptation_table(way.recorder.adaptations),
            )
            for name, way in run.directions.items()
        ),
        settings=_settings(run.scenario.values),
        # A source's name may hold any text; "</script" would end the element.
        data=json.dumps(data).replace("<", "\\u003c"),
    )


def _direction(
    name: str, figures: Mapping[str, Any], stills: Sequence[Still], adaptations: str
) -> str:
    tiles = "".join(
        f'<div class="{"bad" if is_bad else ""}"><dt>{escape(label)}</dt><dd>{escape(text)}</dd></div>'
        for label, text, is_bad in _tiles(figures)
    )
    pictures = "".join(
        f'<figure><div><img src="{still.wanted}" alt="what was due"><img src="{still.shown}" '
        f'alt="what was shown"></div><figcaption>picture {still.number}: due, and shown '
        f"({still.psnr_y:g} dB)</figcaption></figure>"
        for still in stills
    )
    return (
        f'<section data-direction="{escape(name)}"><h2>{escape(name.replace("->", " → "))}</h2>'
        f'<dl class="tiles">{tiles}</dl><div class="charts"></div>{adaptations}'
        f'<div class="stills">{pictures}</div></section>'
    )


def _tiles(figures: Mapping[str, Any]) -> list[tuple[str, str, bool]]:
    frames = figures["frames"]
    return [
        (
            "freezes",
            f"{figures['freeze_count']}, {figures['freeze_s']:g} s",
            bool(figures["freeze_count"]),
        ),
        ("latency, ms", spread(figures["e2e_ms"]), False),
        ("queue delay, ms", spread(figures["queue_delay_ms"]), False),
        ("recovery, ms", spread(figures["recovery_ms"]), False),
        ("PSNR-Y shown", number(figures["psnr_y_shown"], " dB"), False),
        ("VMAF shown", number(figures["vmaf_shown"]), False),
        ("video", number(figures["kbps"], " kbps"), False),
        (
            "utilisation",
            "–" if figures["utilisation"] is None else f"{figures['utilisation']:.0%}",
            False,
        ),
        ("captured / shown", f"{frames['captured']} / {frames['shown']}", False),
        ("key frames, LTRPs", f"{figures['key_frames']}, {figures['ltrp_frames']}", False),
        ("sent again", f"{figures['retransmitted_bytes'] / 1000:.1f} kB", False),
        ("FEC", f"{figures['fec_bytes'] / 1000:.1f} kB", False),
        ("encoding, ms", spread(figures["encode_ms"]), False),
        (
            "late pictures",
            f"{figures['late_frames']}, {figures['late_s']:g} s",
            bool(figures["late_frames"]),
        ),
        (
            "codec, preset, size switches",
            ", ".join(str(figures[f"{of}_switches"]) for of in ("codec", "preset", "size")),
            False,
        ),
    ]


def spread(values: Mapping[str, float | None]) -> str:
    """Percentiles, in their order."""
    return " / ".join("–" if value is None else f"{value:g}" for value in values.values())


def number(value: float | None, unit: str = "") -> str:
    """A value, or a dash for none."""
    return "–" if value is None else f"{value:g}{unit}"


def _settings(values: Mapping[str, Any]) -> str:
    rows = {**{k: v for k, v in values.items() if not isinstance(v, dict)}}
    for scope, table in values.items():
        if isinstance(table, dict):
            rows |= {f"{scope}.{key}": value for key, value in table.items()}
    return (
        "".join(
            f"<dt>{escape(key)}</dt><dd>{escape(str(value))}</dd>" for key, value in rows.items()
        )
        or "<dt>all</dt><dd>defaults</dd>"
    )
