"""The rtc_score of a side in its description: a session attribute of ours, `a=codecpilot-score:0.83`."""

from __future__ import annotations

import re

SCORE_ATTRIBUTE = "a=codecpilot-score:"
# Plain decimals in 0..1, of a length that nobody needs more of.
_SCORE = re.compile(r"(?:0(?:\.\d{1,9})?|1(?:\.0{1,9})?)")
_DECIMALS = 4


def announce_score(sdp: str, score: float | None) -> str:
    """A description that tells the score (0..1) before its first media section; None tells nothing."""
    session, media, rest = sdp.partition("m=")
    if score is None or SCORE_ATTRIBUTE in session:
        return sdp
    return f"{session}{SCORE_ATTRIBUTE}{score:.{_DECIMALS}f}\r\n{media}{rest}"


def announced_score(sdp: str) -> float | None:
    """The score that a peer's description tells.

    None where it tells none, more than one, or anything but a decimal number in 0..1.
    """
    session = sdp.partition("m=")[0]
    lines = [line.strip() for line in session.splitlines()]
    told = [x.removeprefix(SCORE_ATTRIBUTE) for x in lines if x.startswith(SCORE_ATTRIBUTE)]
    if len(told) != 1 or not _SCORE.fullmatch(told[0]):
        return None
    return float(told[0])
