"""What a receiver says of its decoder, so that the sender can choose what it decodes in time. Pure."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

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
    def clamped(cls, *, codec: Codec, **values: int | None) -> Self:
        """The report nearest to these values, whatever they are: a peer's are not to be trusted.

        values are the fields other than codec; None only for av1_decode_us.
        """
        legal = {name: _clamped(name, value) for name, value in values.items()}
        p50_us, p95_us = legal["decode_p50_us"], legal["decode_p95_us"]
        assert p50_us is not None and p95_us is not None
        legal["decode_p95_us"] = max(p50_us, p95_us)
        return cls(codec=codec, **legal)  # type: ignore[arg-type]  # None is checked above

    @property
    def codec_and_size(self) -> tuple[Codec, int, int]:
        """What was decoded."""
        return self.codec, self.width, self.height


def _clamped(name: str, value: int | None) -> int | None:
    lowest, highest = _RANGES[name]
    return None if value is None else min(max(value, lowest), highest)


_FIELDS = {field.name for field in fields(DecodeReport)}
