"""What a side tells of its device at set-up, as one line of text, and back. docs/wire-format.md describes it."""

from __future__ import annotations

import re

from ..codecs.errors import RemoteError
from .policy import TIERS, Pace, SideReport

# Ours: far more than the policy's table has.
MAX_PACES = 16
MAX_SLOWNESS = 9999.0
_HEAD = re.compile(r"([a-z]{1,8}) (-|\d{1,4}\.\d{1,4})", re.ASCII)
_PACE = re.compile(r"(\d{1,9})/(\d{1,3}):(-?[01]\.\d{1,4}):(-?[01]\.\d{1,4})", re.ASCII)


def side_text(report: SideReport) -> str:
    """`high 1.4200 921600/30:0.1200:0.3100 …`; the score itself is told elsewhere."""
    slowness = "-" if report.slowness is None else f"{min(report.slowness, MAX_SLOWNESS):.4f}"
    paces = [
        f"{px}/{fps}:{report.send[px, fps]:.4f}:{report.receive[px, fps]:.4f}"
        for px, fps in report.send
    ]
    return " ".join([report.tier, slowness, *paces])


def parse_side(text: str, *, rtc_score: float) -> SideReport:
    """What side_text wrote. Raises RemoteError for anything else."""
    words = text.split(" ")
    head = _HEAD.fullmatch(" ".join(words[:2]))
    if head is None or head[1] not in TIERS:
        raise RemoteError("a device's text does not begin with a tier and a slowness")
    slowness = None if head[2] == "-" else float(head[2])
    if slowness == 0 or len(words) > MAX_PACES + 2:
        raise RemoteError(f"a device's text has a slowness of 0, or more than {MAX_PACES} paces")
    send: dict[Pace, float] = {}
    receive: dict[Pace, float] = {}
    for word in words[2:]:
        pace, margins = _pace(word)
        if pace in send:
            raise RemoteError("a device's text names a pace twice")
        send[pace], receive[pace] = margins
    return SideReport(
        rtc_score=rtc_score,
        tier=head[1],
        send=send,
        receive=receive,
        slowness=slowness,
    )


def _pace(word: str) -> tuple[Pace, tuple[float, float]]:
    match = _PACE.fullmatch(word)
    if match is None:
        raise RemoteError("a device's text has a pace that is none")
    px, fps = int(match[1]), int(match[2])
    margins = float(match[3]), float(match[4])
    if not (px and fps and all(-1 <= margin <= 1 for margin in margins)):
        raise RemoteError("a device's text has a pace or a margin outside its range")
    return (px, fps), margins
