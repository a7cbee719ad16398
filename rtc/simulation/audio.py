"""Sound that shares the link with the pictures: packets of the size that Opus makes, 20 ms apart."""

from __future__ import annotations

import struct
from array import array

from ..rtp.packet import HEADER_BYTES, RtpPacket
from .wire import AUDIO_PAYLOAD_TYPE

# RFC 7587 4.2: Opus's usual packet, on a clock of 48 kHz.
INTERVAL_US = 20_000
SAMPLES = 960
_COUNT = struct.Struct("!Q")


class AudioStream:
    """One peer's sound, both ways. A packet carries when it was sent, so latency needs no clock."""

    interval_us = INTERVAL_US

    def __init__(self, *, bitrate_bps: int, ssrc: int) -> None:
        self.latencies_us = array("q")
        """From sent to received, of each packet that came."""
        self._size = max(_COUNT.size, bitrate_bps * INTERVAL_US // 8_000_000)
        self._ssrc = ssrc

    def packet(self, index: int, *, now_us: int) -> bytes:
        """Packet number index, sent now (virtual time)."""
        return RtpPacket(
            payload_type=AUDIO_PAYLOAD_TYPE,
            marker=index == 0,
            sequence_number=index & 0xFFFF,
            timestamp=index * SAMPLES & 0xFFFFFFFF,
            ssrc=self._ssrc,
            payload=_COUNT.pack(now_us).ljust(self._size, b"\0"),
        ).serialize()

    def is_mine(self, data: bytes) -> bool:
        """Whether a datagram carries sound."""
        return data[1] & 0x7F == AUDIO_PAYLOAD_TYPE

    def received(self, data: bytes, *, now_us: int) -> None:
        """Take a packet of the other peer's sound."""
        (sent_us,) = _COUNT.unpack_from(data, HEADER_BYTES)
        self.latencies_us.append(now_us - sent_us)
