"""RTCP about the decoder: what a receiver's takes, in an application-defined packet of ours (RFC 3550 section 6.7)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from codecpilot.codecs.errors import RemoteError
from codecpilot.codecs.types import Codec

from ..adaptation.decode_report import DecodeReport
from .rtcp_message import RtcpMessage
from .rtcp_reports import App

NAME = b"CPDR"
"""Ours: codecpilot, decode report."""

_SUBTYPE = 0
_HEAD_BYTES = 4 + len(NAME)
_BODY = struct.Struct("!IIIIIIHHHHBxH")
_CODECS = {Codec.AV1: 1, Codec.H264: 2}
_CODECS_READ = {number: codec for codec, number in _CODECS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeReportMessage(RtcpMessage):
    """A decode report about the stream media_ssrc; ssrc is who reports."""

    PACKET_TYPE: ClassVar[int] = App.PACKET_TYPE
    ssrc: int
    media_ssrc: int
    report: DecodeReport

    @classmethod
    def read(cls, count: int, body: bytes) -> Sequence[Self] | None:
        """None for another application's packet; values that cannot be are clamped.

        What follows the fields is ignored.
        """
        if count != _SUBTYPE or body[4:_HEAD_BYTES] != NAME:
            return None
        if len(body) < _HEAD_BYTES + _BODY.size:
            raise RemoteError(f"a decode report of {len(body)} bytes is truncated")
        ssrc = int.from_bytes(body[:4], "big")
        fields = _BODY.unpack_from(body, _HEAD_BYTES)
        media_ssrc, interval_us, p50_us, p95_us, lag_us, av1_us = fields[:6]
        decoded, dropped, width, height, codec, waiting = fields[6:]
        if codec not in _CODECS_READ:
            raise RemoteError(f"a decode report of codec {codec}, which is none of ours")
        report = DecodeReport.clamped(
            codec=_CODECS_READ[codec],
            interval_us=interval_us,
            decode_p50_us=p50_us,
            decode_p95_us=p95_us,
            frames_decoded=decoded,
            frames_dropped=dropped,
            waiting_frames=waiting,
            playout_lag_us=lag_us,
            width=width,
            height=height,
            av1_decode_us=av1_us or None,
        )
        return (cls(ssrc=ssrc, media_ssrc=media_ssrc, report=report),)

    def write(self) -> tuple[int, int, bytes]:
        """The subtype stands where other packets count."""
        report = self.report
        body = _BODY.pack(
            self.media_ssrc,
            report.interval_us,
            report.decode_p50_us,
            report.decode_p95_us,
            report.playout_lag_us,
            report.av1_decode_us or 0,
            report.frames_decoded,
            report.frames_dropped,
            report.width,
            report.height,
            _CODECS[report.codec],
            report.waiting_frames,
        )
        return self.PACKET_TYPE, _SUBTYPE, struct.pack("!I", self.ssrc) + NAME + body
