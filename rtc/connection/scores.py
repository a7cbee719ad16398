"""What a side tells of its device in its description: session attributes of ours.

`a=codecpilot-score:0.83` is its rtc_score, `a=codecpilot-device:…` a line for the policy that plans how calls begin.
"""

from __future__ import annotations

import re

SCORE_ATTRIBUTE = "a=codecpilot-score:"
DEVICE_ATTRIBUTE = "a=codecpilot-device:"
# Ours: the line of a policy with five paces has 150.
MAX_DEVICE_CHARACTERS = 400
# Plain decimals in 0..1, of a length that nobody needs more of.
_SCORE = re.compile(r"(?:0(?:\.\d{1,9})?|1(?:\.0{1,9})?)", re.ASCII)
_DEVICE = re.compile(rf"[!-~](?:[ -~]{{0,{MAX_DEVICE_CHARACTERS - 2}}}[!-~])?")
_DECIMALS = 4


def is_device_text(text: str) -> bool:
    """Whether a description can tell it: one line of printable ASCII, without spaces around it."""
    return _DEVICE.fullmatch(text) is not None


def announce_score(sdp: str, score: float | None) -> str:
    """A description that tells the score (0..1) before its first media section; None tells nothing."""
    return _announce(sdp, SCORE_ATTRIBUTE, None if score is None else f"{score:.{_DECIMALS}f}")


def announced_score(sdp: str) -> float | None:
    """The score that a peer's description tells.

    None where it tells none, more than one, or anything but a decimal number in 0..1.
    """
    told = _announced(sdp, SCORE_ATTRIBUTE)
    return float(told) if told is not None and _SCORE.fullmatch(told) else None


def announce_device(sdp: str, text: str | None) -> str:
    """A description that tells this of the device; None tells nothing."""
    return _announce(sdp, DEVICE_ATTRIBUTE, text)


def announced_device(sdp: str) -> str | None:
    """What a peer's description tells of its device; None where that is nothing, too long, or there twice."""
    told = _announced(sdp, DEVICE_ATTRIBUTE)
    return told if told is not None and is_device_text(told) else None


def split_session(sdp: str) -> tuple[str, str]:
    """A description's session part, and its media sections; "m=" may stand within a line of either."""
    if sdp.startswith("m="):
        return "", sdp
    session, first, rest = sdp.partition("\nm=")
    return (f"{session}\n", f"m={rest}") if first else (session, "")


def _announce(sdp: str, attribute: str, value: str | None) -> str:
    session, media = split_session(sdp)
    if value is None or attribute in session:
        return sdp
    return f"{session}{attribute}{value}\r\n{media}"


def _announced(sdp: str, attribute: str) -> str | None:
    session, _ = split_session(sdp)
    lines = [line.strip() for line in session.split("\n")]
    told = [line.removeprefix(attribute) for line in lines if line.startswith(attribute)]
    return told[0] if len(told) == 1 else None
