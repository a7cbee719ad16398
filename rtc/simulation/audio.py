"""Sound that shares the link with the pictures: packets of the size that Opus makes, 20 ms apart.

Where the path is narrow it takes less, as in a live call. It is received as stock aiortc 1.16 receives
it, in simulated as in live calls of either stack.
"""

from __future__ import annotations

import struct
from array import array

from ..audio_rate import AudioRate
from ..playout.audio_clock import AudioClock
from ..playout.av_sync import AvSync
from ..rtp.packet import RtpPacket, parse_rtp
from ..rtp.unwrap import Unwrapper
from .wire import AUDIO_PAYLOAD_TYPE

# RFC 7587 4.2: Opus's usual packet, on a clock of 48 kHz.
INTERVAL_US = 20_000
SAMPLES = 960
# RTCRtpReceiver.__init__: JitterBuffer(capacity=16, prefetch=4) for audio.
CAPACITY_PACKETS = 16
PREFETCH_PACKETS = 4
# HEADER_EXTENSIONS of aiortc: the section's name and the level (RFC 6464), here without a value.
EXTENSIONS = ((1, b"0"), (2, b"\0"))
_TIMES = struct.Struct("!QQ")


def is_sound(data: bytes) -> bool:
    """Whether a datagram carries sound."""
    return data[1] & 0x7F == AUDIO_PAYLOAD_TYPE


class AudioSource:
    """One peer's sound. A packet carries when it was sent, so that latency needs no clock."""

    interval_us = INTERVAL_US

    def __init__(self, *, bitrate_bps: int, video_bps: int, ssrc: int) -> None:
        """bitrate_bps is the most that it takes, video_bps what pictures of the same path do."""
        self._rate = AudioRate(bitrate_bps)
        self._video_bps = video_bps
        self._ssrc = ssrc

    def packet(
        self, index: int, *, now_us: int, wall_us: int, available_bps: int | None = None
    ) -> bytes:
        """Packet number index, sent now: in virtual time, and by the peer's wall clock since 1900.

        available_bps is what the path is thought to carry of pictures, as for AudioRate.
        """
        bps = self._rate.update(available_bps, wanted_bps=self._video_bps, now_us=now_us)
        size_bytes = max(_TIMES.size, bps * INTERVAL_US // 8_000_000)
        return RtpPacket(
            payload_type=AUDIO_PAYLOAD_TYPE,
            marker=index == 0,
            sequence_number=index & 0xFFFF,
            timestamp=index * SAMPLES & 0xFFFFFFFF,
            ssrc=self._ssrc,
            payload=_TIMES.pack(now_us, wall_us).ljust(size_bytes, b"\0"),
            extensions=EXTENSIONS,
        ).serialize()


class AudioSink:
    """The other peer's sound: buffered, played, and told to av_sync."""

    def __init__(self, av_sync: AvSync) -> None:
        self.latencies_us = array("q")
        """From sent to received, of each packet that came."""
        self._av_sync = av_sync
        self._sequences = Unwrapper(16)
        self._buffer = AudioBuffer()
        self._player = AudioClock()

    def received(self, data: bytes, *, now_us: int, local_us: int) -> None:
        """Take a packet: in virtual time, and by this peer's clock."""
        packet = parse_rtp(data)
        sent_us, _ = _TIMES.unpack_from(packet.payload)
        self.latencies_us.append(now_us - sent_us)
        sequence = self._sequences.unwrap(packet.sequence_number)
        played = self._buffer.add(sequence, packet.payload)
        if played is None:
            return
        sent_us, wall_us = _TIMES.unpack_from(played)
        self._player.arrived(now_us, capture_us=sent_us, length_us=INTERVAL_US)
        self._av_sync.handle_sound(captured_us=wall_us, length_us=INTERVAL_US, now_us=local_us)

    def heard_us(self, now_us: int) -> int | None:
        """Capture to ear of what is heard now; None while nothing is."""
        return self._player.latency_us(now_us)


class AudioBuffer:
    """aiortc's JitterBuffer where each packet is a frame, on unwrapped sequence numbers.

    Each packet that comes lets one out at most, once four more are there behind it without a gap; a
    gap holds everything until the buffer is full.
    """

    def __init__(self) -> None:
        self._packets: dict[int, bytes] = {}
        self._origin: int | None = None

    def add(self, sequence: int, packet: bytes) -> bytes | None:
        """Take a packet; the one that goes to the decoder, if any."""
        if self._origin is None:
            self._origin = sequence
        if sequence < self._origin:
            return None
        if sequence - self._origin >= CAPACITY_PACKETS:
            self._make_room(sequence)
        self._packets[sequence] = packet
        if any(self._origin + ahead not in self._packets for ahead in range(PREFETCH_PACKETS + 1)):
            return None
        self._origin += 1
        return self._packets.pop(self._origin - 1)

    def _make_room(self, sequence: int) -> None:
        """Give up packets, and the gap behind them, until the new one fits."""
        kept = [n for n in self._packets if n > sequence - CAPACITY_PACKETS]
        self._origin = min(kept, default=sequence)
        self._packets = {n: self._packets[n] for n in sorted(kept)}
