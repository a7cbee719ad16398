"""Processors of known speed, from Android's media_codecs_performance files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...codecs.errors import LocalError, RemoteError
from ..device_xml import read_device_xml
from ..schema import MAX_TEXT_CHARACTERS
from .costs import H264, CostTable

HD_PX = 1280 * 720
# Ours: the ten files looked at lie at 0.14 to 0.32; what is far outside was measured otherwise.
LEAST_SPEED, MOST_SPEED = 0.001, 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SocPrior:
    """A processor: its speed against the reference machine, and whether it has an AV1 decoder of its own."""

    name: str
    speed: float
    decodes_av1: bool


def soc_prior(path: Path, *, costs: CostTable) -> SocPrior:
    """A processor by the file of a device that has it. Raises LocalError or RemoteError.

    Its speed is that of the software AVC encoder at the size nearest to 1280x720 against H.264 on the
    reference machine: the same work, on one thread, on nearly every device.
    """
    rows = read_device_xml(path)
    encoders = [row for row in rows if row.codec == "H264" and row.encodes and not row.hardware]
    if not encoders:
        raise LocalError(f"{path} tells of no software AVC encoder, so not how fast the device is")
    nearest = min(encoders, key=lambda row: abs(row.width * row.height - HD_PX))
    cost = costs[H264]
    reference_ns = cost.encode_ns_px + 1000 * cost.encode_fixed_us / (
        nearest.width * nearest.height
    )
    speed = reference_ns / nearest.ns_px
    if not LEAST_SPEED <= speed <= MOST_SPEED:
        raise RemoteError(
            f"{path} tells of {nearest.fps_low:g} to {nearest.fps_high:g} pictures a second of"
            f" {nearest.width}x{nearest.height}, {speed:.3g} of the reference machine's speed:"
            f" legal is {LEAST_SPEED:g}..{MOST_SPEED:g}"
        )
    return SocPrior(
        name=f"xml-{path.stem}"[:MAX_TEXT_CHARACTERS],
        speed=speed,
        decodes_av1=any(row.codec == "AV1" and not row.encodes and row.hardware for row in rows),
    )
