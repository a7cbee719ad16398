"""Sound to Opus, through the libopus inside PyAV's wheel."""

from __future__ import annotations

from fractions import Fraction

import av

from .errors import LocalError

SAMPLE_RATE_HZ = 48_000
# RFC 7587 4.2: the usual packet has 20 ms.
BLOCK_SAMPLES = 960
# RFC 6716 2.1.1 begins at 6 kbps; FFmpeg's libopusenc takes 256 kbps a channel at most, and sound may be mono.
BITRATE_RANGE_BPS = (6_000, 256_000)

_TIME_BASE = Fraction(1, SAMPLE_RATE_HZ)
# ours, measured on speech with music at 32 kbps: any second of it stays within 8 % of the rate asked for,
# with VBR that is not constrained within 34 %.
_OPTIONS = {"application": "voip", "vbr": "constrained"}


class OpusEncoder:
    """Encodes what comes, at a rate that may change with every packet; mono where the source is mono."""

    def __init__(self) -> None:
        self._source: tuple[str, str, int] | None = None
        self._layout = ""
        self._bitrate_bps = 0
        self._last: av.AudioFrame | None = None

    def encode(self, frame: av.AudioFrame, *, bitrate_bps: int) -> list[tuple[int, bytes]]:
        """Packets that are complete now, each with its time in samples of 48 kHz.

        Raises LocalError for a rate that libopus does not take.
        """
        low, high = BITRATE_RANGE_BPS
        if not low <= bitrate_bps <= high:
            raise LocalError(f"bitrate_bps {bitrate_bps} is outside {low}..{high}")
        self._follow(frame)
        packets: list[tuple[int, bytes]] = []
        for block in self._resampler.resample(frame):
            if bitrate_bps != self._bitrate_bps:
                self._open(bitrate_bps)
            packets += [(packet.pts or 0, bytes(packet)) for packet in self._codec.encode(block)]
            self._last = block
        return packets

    def _follow(self, frame: av.AudioFrame) -> None:
        """A resampler takes one kind of frames only, an encoder one number of channels."""
        source = (frame.format.name, frame.layout.name, frame.sample_rate)
        if source == self._source:
            return
        self._source = source
        layout = "mono" if frame.layout.nb_channels == 1 else "stereo"
        self._resampler = av.AudioResampler(
            format="s16", layout=layout, rate=SAMPLE_RATE_HZ, frame_size=BLOCK_SAMPLES
        )
        if layout != self._layout:
            self._layout, self._bitrate_bps, self._last = layout, 0, None

    def _open(self, bitrate_bps: int) -> None:
        """FFmpeg sets libopus's rate when it opens it.

        The block before is encoded once more, for its end that the encoder holds back (6.5 ms), so
        that nothing is missing and times go on.
        """
        self._bitrate_bps = bitrate_bps
        codec = av.CodecContext.create("libopus", "w")
        codec.bit_rate = bitrate_bps
        codec.format = "s16"
        codec.layout = self._layout
        codec.sample_rate = SAMPLE_RATE_HZ
        codec.time_base = _TIME_BASE
        codec.options = dict(_OPTIONS)
        if self._last is not None:
            codec.encode(self._last)
        self._codec = codec
