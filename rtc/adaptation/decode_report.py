"""What a receiver says of its decoder, so that the sender can choose what it decodes in time. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from ...codecs.errors import LocalError
from ...codecs.types import Codec

# ours: a report speaks of a second at most (ReceiverCore), a page's timer may sleep in the background.
MIN_INTERVAL_US, MAX_INTERVAL_US = 100_000, 10_000_000
# ours: no picture of a call is of use after so long; what takes longer is as good as not decoded.
MAX_US = 10_000_000
# ours: ten seconds of 240 pictures each.
MAX_FRAMES = 2_400
# AV1 specification 5.5.1: frame_width_bits_minus_1 has four bits, so sizes 16.
MAX_SIZE_PX = 65_535

_RANGES = {
    "interval_us": (MIN_INTERVAL_US, MAX_INTERVAL_US),
    "decode_p50_us": (0, MAX_US),
    "decode_p95_us": (0, MAX_US),
    "frames_decoded": (0, MAX_FRAMES),
    "frames_dropped": (0, MAX_FRAMES),
    "waiting_frames": (0, MAX_FRAMES),
    "playout_lag_us": (0, MAX_US),
    "width": (0, MAX_SIZE_PX),
    "height": (0, MAX_SIZE_PX),
    "av1_decode_us": (1, MAX_US),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeReport:
    """One interval of a decoder's life; of two codecs in it, that of the newer one.

    decode_p50_us and decode_p95_us are what a frame took; one that is still under way counts where
    it has taken longer. frames_dropped were left out because the decoder was behind, waiting_frames
    could be decoded and wait for it at the interval's end. playout_lag_us is how long after its last
    packet the newest picture was ready to be shown. width and height, in px, are that picture's.
    av1_decode_us is what an AV1 frame of that size would take now, where that was probed.

    Raises LocalError for a value outside its range, and for a p95 below the p50.
    """

    codec: Codec
    interval_us: int
    decode_p50_us: int
    decode_p95_us: int
    frames_decoded: int
    frames_dropped: int
    waiting_frames: int
    playout_lag_us: int
    width: int
    height: int
    av1_decode_us: int | None = None

    def __post_init__(self) -> None:
        for name, (lowest, highest) in _RANGES.items():
            value = getattr(self, name)
            if value is not None and not lowest <= value <= highest:
                raise LocalError(f"{name} {value} is outside {lowest}..{highest}")
        if self.decode_p95_us < self.decode_p50_us:
            raise LocalError(
                f"decode_p95_us {self.decode_p95_us} is below decode_p50_us {self.decode_p50_us}"
            )

    @classmethod
    def clamped(
        cls,
        *,
        codec: Codec,
        interval_us: int,
        decode_p50_us: int,
        decode_p95_us: int,
        frames_decoded: int,
        frames_dropped: int,
        waiting_frames: int,
        playout_lag_us: int,
        width: int,
        height: int,
        av1_decode_us: int | None = None,
    ) -> DecodeReport:
        """The report nearest to these values, whatever they are: a peer's are not to be trusted."""
        p50_us = _clamped("decode_p50_us", decode_p50_us)
        return cls(
            codec=codec,
            interval_us=_clamped("interval_us", interval_us),
            decode_p50_us=p50_us,
            decode_p95_us=max(p50_us, _clamped("decode_p95_us", decode_p95_us)),
            frames_decoded=_clamped("frames_decoded", frames_decoded),
            frames_dropped=_clamped("frames_dropped", frames_dropped),
            waiting_frames=_clamped("waiting_frames", waiting_frames),
            playout_lag_us=_clamped("playout_lag_us", playout_lag_us),
            width=_clamped("width", width),
            height=_clamped("height", height),
            av1_decode_us=None
            if av1_decode_us is None
            else _clamped("av1_decode_us", av1_decode_us),
        )


def _clamped(name: str, value: int) -> int:
    lowest, highest = _RANGES[name]
    return min(max(value, lowest), highest)
