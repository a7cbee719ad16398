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

from ..rtp.rtcp import (
    Bye,
    FullIntraRequest,
    Nack,
    PictureLossIndication,
    ReceiverEstimatedMaximumBitrate,
    ReceiverReport,
    SenderReport,
    SourceDescription,
    salvage_rtcp,
    serialize_rtcp,
)
from .clock import now_us
from .endpoint import CoreEndpoint

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
    """

    _has_faulted = False

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
                for endpoint in endpoints:
                    endpoint.handle_rtcp_message(message)
                if isinstance(message, _KNOWN_TO_AIORTC):
                    await super()._handle_rtcp_data(serialize_rtcp([message]))

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
