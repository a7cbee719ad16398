"""Decode reports as peers send them."""

from __future__ import annotations

from codecpilot.codecs.types import Codec
from codecpilot.rtc.adaptation.decode_report import DecodeReport


def decode_report(
    codec: Codec, decode_us: int, *, probe_us: int | None = None, **more: int
) -> DecodeReport:
    """A second of 30 pictures of 640x360, or as many as fit, of decode_us each; more are other members."""
    values = {
        "interval_us": 1_000_000,
        "decode_p50_us": decode_us,
        "decode_p95_us": decode_us,
        "frames_decoded": min(30, 1_000_000 // max(1, decode_us)),
        "frames_dropped": 0,
        "waiting_frames": 0,
        "playout_lag_us": 0,
        "width": 640,
        "height": 360,
    }
    return DecodeReport.clamped(codec=codec, av1_decode_us=probe_us, **(values | more))
