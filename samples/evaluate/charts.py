"""Line charts as inline SVG. Colours come from the page's style: class s0, s1, … a series."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

Point = tuple[float, float]

COLORS = 8  # s0 … s7 of report.css
WIDTH, HEIGHT = 460, 300
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 30, 42
MAX_TICKS = 7
# Ours: what a chart of this width can show; longer series keep the highest of neighbours.
MAX_POINTS = 1200


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A scale from low to high. Values beyond it are drawn at its ends."""

    label: str
    low: float
    high: float
    is_log: bool = False

    def place(self, value: float) -> float:
        """Where a value lies between the ends, 0..1."""
        value = min(max(value, self.low), self.high)
        if self.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        """Round numbers inside the ends."""
        return _log_ticks(self.low, self.high) if self.is_log else _ticks(self.low, self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Points in the order of x. color is the number of its colour; None draws a guide in grey.

    titles appear where the pointer rests on a dot.
    """

    points: Sequence[Point]
    color: int | None
    titles: Sequence[str] = ()
    has_line: bool = True
    has_dots: bool = True
    is_step: bool = False


def axis_over(
    values: Iterable[float],
    label: str,
    *,
    is_log: bool = False,
    least: float | None = None,
    include: Iterable[float] = (),
) -> Axis:
    """An axis that holds all values with a little room; least replaces the lower end."""
    held = [*values, *include] or [1.0]
    low, high = min(held), max(held)
    if is_log:
        low = max(low, 1e-9) if least is None else least
        return Axis(label=label, low=low / 1.1, high=max(high, low * 1.5) * 1.1, is_log=True)
    room = (high - low or abs(high) or 1.0) * 0.06
    low = low - room if least is None else least
    return Axis(label=label, low=low, high=max(high + room, low + room))


def line_chart(
    series: Sequence[Series], *, title: str, x: Axis, y: Axis, limit: float | None = None
) -> str:
    """The chart as one svg element. limit is drawn as a dashed line across at that y."""
    parts = [_frame(title, x, y)]
    if limit is not None and y.low <= limit <= y.high:
        at = _top(y, limit)
        parts.append(f'<path class="limit" d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}"/>')
    parts += [_drawn(each, x, y) for each in series]
    label = escape(title, quote=True)
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
        + "".join(parts)
        + "</svg>"
    )


def color_class(number: int) -> str:
    """The style's class of a colour; beyond COLORS they repeat."""
    return f"s{number % COLORS}"


def _frame(title: str, x: Axis, y: Axis) -> str:
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    parts = [f'<text class="title" x="{LEFT}" y="17">{escape(title)}</text>']
    for tick in y.ticks():
        at = _top(y, tick)
        parts.append(f'<path class="grid" d="M{LEFT} {at:.1f}H{right}"/>')
        parts.append(f'<text class="tick y" x="{LEFT - 6}" y="{at + 4:.1f}">{_number(tick)}</text>')
    for tick in x.ticks():
        at = _left(x, tick)
        parts.append(f'<path class="grid" d="M{at:.1f} {TOP}V{bottom}"/>')
        parts.append(f'<text class="tick x" x="{at:.1f}" y="{bottom + 16}">{_number(tick)}</text>')
    parts.append(f'<path class="edge" d="M{LEFT} {TOP}V{bottom}H{right}"/>')
    parts.append(
        f'<text class="axis" x="{(LEFT + right) / 2:.0f}" y="{HEIGHT - 8}">{escape(x.label)}</text>'
    )
    parts.append(f'<text class="unit" x="{right}" y="17">{escape(y.label)}</text>')
    return "".join(parts)


def _drawn(series: Series, x: Axis, y: Axis) -> str:
    color = "guide" if series.color is None else color_class(series.color)
    placed = [(_left(x, px), _top(y, py)) for px, py in _thinned(series.points)]
    parts = []
    if series.has_line and placed:
        parts.append(f'<path class="line" d="{_path(placed, is_step=series.is_step)}"/>')
    if series.has_dots:
        titles = [*series.titles, *[""] * (len(placed) - len(series.titles))]
        parts += [
            f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3.5"><title>{escape(title)}</title></circle>'
            for (px, py), title in zip(placed, titles, strict=False)
        ]
    return f'<g class="{color}">{"".join(parts)}</g>'


def _path(placed: Sequence[Point], *, is_step: bool) -> str:
    start = f"M{placed[0][0]:.1f} {placed[0][1]:.1f}"
    if is_step:
        return start + "".join(f"H{px:.1f}V{py:.1f}" for px, py in placed[1:])
    return start + "".join(f"L{px:.1f} {py:.1f}" for px, py in placed[1:])


def _thinned(points: Sequence[Point]) -> list[Point]:
    size = math.ceil(len(points) / MAX_POINTS) or 1
    groups = (points[i : i + size] for i in range(0, len(points), size))
    return [max(group, key=lambda point: point[1]) for group in groups]


def _left(x: Axis, value: float) -> float:
    return LEFT + x.place(value) * (WIDTH - LEFT - RIGHT)


def _top(y: Axis, value: float) -> float:
    return HEIGHT - BOTTOM - y.place(value) * (HEIGHT - BOTTOM - TOP)


def _ticks(low: float, high: float) -> list[float]:
    raw = (high - low) / MAX_TICKS
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw)
    first = math.ceil(low / step)
    return [n * step for n in range(first, math.floor(high / step + 1e-9) + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [f * 10.0**p for p in powers for f in (1, 2, 5) if low <= f * 10.0**p <= high]
    if len(ticks) > MAX_TICKS + 1:
        return [tick for tick in ticks if math.log10(tick).is_integer()]
    return ticks


def _number(value: float) -> str:
    return f"{value:.10g}" if abs(value) > 1e-9 else "0"
