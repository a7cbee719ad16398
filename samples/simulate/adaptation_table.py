"""The report's table of what a sender decided about codec, preset and size, and why."""

from __future__ import annotations

from html import escape

from ...rtc.adaptation.decisions import AdaptationDecision
from ...rtc.simulation.adaptations import AdaptationLog, operation_name

# ours: who decides more often than that is not read line by line; events.jsonl has them all.
MAX_ROWS = 60
HEADINGS = ("s", "codec, preset", "at most", "layers", "reason", "refused")


def adaptation_table(log: AdaptationLog) -> str:
    """HTML; empty for a stack that decides nothing."""
    if not log.decisions:
        return ""
    rows = "".join(_row(at_us, decision) for at_us, decision in log.decisions[:MAX_ROWS])
    more = len(log.decisions) - MAX_ROWS
    note = f"<p>{more} more are in events.jsonl.</p>" if more > 0 else ""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in HEADINGS)
    return f'<h3>Adaptation</h3><table class="decisions"><tr>{head}</tr>{rows}</table>{note}'


def _row(at_us: int, decision: AdaptationDecision) -> str:
    value = "" if decision.value is None else f" ({decision.value:.2f})"
    refused = (f"{operation_name(r.operation)}: {r.constraint}" for r in decision.refused)
    cells = (
        f"{at_us / 1e6:.2f}",
        operation_name(decision.operation),
        f"{decision.size[0]}x{decision.size[1]}",
        str(decision.layers),
        f"{decision.reason}{value}",
        "; ".join(refused),
    )
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
