"""aiortc's DTLS transport, which hands our senders and receivers the packets as they came.

aiortc's own parser drops header extensions and RTCP messages that it does not know, and a whole compound
when it dislikes one of its packets.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, cast

from aiortc.rtcdtlstransport import RTCDtlsTransport
from aiortc.rtcrtpparameters import RTCRtpReceiveParameters
from aiortc.rtp import RtpPacket
from aiortc.stats import RTCStatsReport

from ..estimators import CongestionControl, open_estimator
from ..receive_path import ReceivePath
from ..rtp.rtcp import (
    Bye,
    FullIntraRequest,
    Nack,
    PictureLossIndication,
    ReceiverEstimatedMaximumBitrate,
    ReceiverReport,
    SenderReport,
    SourceDescription,
    TransportFeedback,
    salvage_rtcp,
    serialize_rtcp,
)
from ..send_path import SendPath
from .clock import now_us, wall_offset_us
from .endpoint import CoreEndpoint
from .settings import CallSettings
from .stats import pair_stats

logger = logging.getLogger("codecpilot.rtc")

# ours: sources a transport learns from packets; aiortc remembers every one for ever.
MAX_LEARNT_SOURCES = 256

_KNOWN_TO_AIORTC = (
    Bye,
    FullIntraRequest,
    Nack,
    PictureLossIndication,
    ReceiverEstimatedMaximumBitrate,
    ReceiverReport,
    SenderReport,
    SourceDescription,
)


class _Address(NamedTuple):
    """What aiortc's router looks at in a packet."""

    payload_type: int
    ssrc: int


class CallDtlsTransport(RTCDtlsTransport):
    """Routes raw packets to the endpoints that run a core and leaves the rest to aiortc.

    aiortc closes the transport on any exception; here a datagram that causes one is dropped alone.
    What the endpoints send shares one path, and so does what they receive.
    """

    _has_faulted = False
    _settings = CallSettings()
    _send_path: SendPath | None = None
    _receive_path: ReceivePath | None = None

    def configure(self, settings: CallSettings) -> None:
        """Set what the connection decides: called once, before anything is sent."""
        self._settings = settings

    @property
    def send_path(self) -> SendPath | None:
        """The path of all that is sent, once a stream has opened it."""
        return self._send_path

    def open_send_path(self, *, has_feedback: bool) -> SendPath:
        """The path of all that is sent. The first stream that opens it decides whether feedback steers it."""
        if self._send_path is None:
            settings, estimator = self._settings, None
            if has_feedback:
                control = CongestionControl(settings.congestion_control)
                estimator = open_estimator(control, start_bps=settings.start_bps)
            self._send_path = SendPath(estimator=estimator, wall_offset_us=wall_offset_us())
        return self._send_path

    def open_receive_path(self, *, ssrc: int) -> ReceivePath:
        """The path of all that is received with transport-wide numbers; ssrc is the first receiver's own."""
        if self._receive_path is None:
            self._receive_path = ReceivePath(ssrc=ssrc)
        return self._receive_path

    async def _handle_rtp_data(self, data: bytes, arrival_time_ms: int) -> None:
        if len(data) < 12:
            return
        address = _Address(data[1] & 0x7F, struct.unpack_from("!I", data, 8)[0])
        with self._survived():
            receiver = self._route(address)
            if isinstance(receiver, CoreEndpoint) and receiver.runs_core:
                receiver.handle_rtp_data(data, arrival_us=now_us())
            else:
                await super()._handle_rtp_data(data, arrival_time_ms)

    async def _handle_rtcp_data(self, data: bytes) -> None:
        messages, malformed = salvage_rtcp(data)
        router = self._rtp_router
        endpoints = [
            e
            for e in (*router.senders.values(), *router.receivers)
            if isinstance(e, CoreEndpoint) and e.runs_core
        ]
        for endpoint in endpoints:
            endpoint.count_malformed_rtcp(malformed)
        for message in messages:
            with self._survived():
                if isinstance(message, TransportFeedback) and self._send_path is not None:
                    self._send_path.handle_feedback(message, now_us=now_us())
                for endpoint in endpoints:
                    endpoint.handle_rtcp_message(message)
                if isinstance(message, _KNOWN_TO_AIORTC):
                    await super()._handle_rtcp_data(serialize_rtcp([message]))

    def _get_stats(self) -> RTCStatsReport:
        report = super()._get_stats()
        if self._send_path is not None:
            report.add(pair_stats(report[self._stats_id], self._send_path, now_us=now_us()))
        return report

    def _route(self, address: _Address) -> object:
        sources = self._rtp_router.ssrc_table
        is_known = address.ssrc in sources
        receiver: object = self._rtp_router.route_rtp(cast(RtpPacket, address))
        if not is_known and len(sources) > MAX_LEARNT_SOURCES:
            sources.pop(address.ssrc, None)
        return receiver

    @contextmanager
    def _survived(self) -> Iterator[None]:
        try:
            yield
        except ConnectionError:
            raise
        except Exception:
            # The first tells enough; a peer must not fill the log.
            if not self._has_faulted:
                self._has_faulted = True
                logger.exception("a datagram that caused this was dropped; the call goes on")

    def _register_rtp_receiver(self, receiver: object, parameters: RTCRtpReceiveParameters) -> None:
        super()._register_rtp_receiver(receiver, parameters)  # type: ignore[arg-type]
        # aiortc leaves RTX to be guessed by payload type, which fails once two video sections share one.
        for encoding in parameters.encodings:
            if encoding.rtx is not None:
                self._rtp_router.ssrc_table[encoding.rtx.ssrc] = receiver  # type: ignore[assignment]

    def route_source(self, ssrc: int, receiver: object) -> None:
        """Hand what comes from an SSRC to a receiver, should its payload type be one of the receiver's."""
        self._rtp_router.ssrc_table[ssrc] = receiver  # type: ignore[assignment]
