"""Sound that shares the link."""

from __future__ import annotations

from codecpilot.rtc.rtp.packet import parse_rtp
from codecpilot.rtc.simulation.audio import AudioStream
from codecpilot.rtc.simulation.records import PacketKind
from codecpilot.rtc.simulation.wire import Wire, wire_bytes

from tests.rtc.fakes import AV1


def test_packets_have_opuss_size_and_tell_their_latency():
    stream = AudioStream(bitrate_bps=32_000, ssrc=7)
    data = stream.packet(3, now_us=60_000)
    packet = parse_rtp(data)
    assert len(packet.payload) == 80
    assert (packet.sequence_number, packet.timestamp, packet.ssrc) == (3, 2880, 7)
    assert stream.is_mine(data)
    far = AudioStream(bitrate_bps=64_000, ssrc=8)
    far.received(data, now_us=95_000)
    assert list(far.latencies_us) == [35_000]


def test_the_wire_tells_sound_from_pictures_and_counts_what_is_around_them():
    data = AudioStream(bitrate_bps=32_000, ssrc=7).packet(0, now_us=0)
    what = Wire([AV1]).describe(data)
    assert (what.kind, what.payload_bytes) == (PacketKind.AUDIO, 80)
    # 12 of RTP, 80 of payload, 20 of IP, 8 of UDP, 16 of SRTP.
    assert wire_bytes(data) == 136
