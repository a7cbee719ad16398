"""Sound that shares the link, and how aiortc buffers it."""

from __future__ import annotations

from aiortc.jitterbuffer import JitterBuffer
from aiortc.rtp import RtpPacket as AiortcPacket
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.rtc.playout.av_sync import AvSync
from codecpilot.rtc.rtp.packet import parse_rtp
from codecpilot.rtc.simulation.audio import AudioBuffer, AudioSink, AudioSource, is_sound
from codecpilot.rtc.simulation.records import PacketKind
from codecpilot.rtc.simulation.wire import Wire, wire_bytes

from tests.rtc.fakes import AV1


def test_packets_have_opuss_size_and_tell_their_latency():
    data = AudioSource(bitrate_bps=32_000, video_bps=400_000, ssrc=7).packet(
        3, now_us=60_000, wall_us=5
    )
    packet = parse_rtp(data)
    assert len(packet.payload) == 80
    assert (packet.sequence_number, packet.timestamp, packet.ssrc) == (3, 2880, 7)
    assert is_sound(data)
    far = AudioSink(AvSync())
    far.received(data, now_us=95_000, local_us=0)
    assert list(far.latencies_us) == [35_000]
    assert far.heard_us(95_000) is None


def test_sound_is_heard_when_four_more_packets_are_there():
    source, far = AudioSource(bitrate_bps=32_000, video_bps=400_000, ssrc=7), AudioSink(AvSync())
    for index in range(70_000, 70_020):  # beyond what 16 bits count
        sent_us = index * 20_000
        data = source.packet(index, now_us=sent_us, wall_us=sent_us)
        far.received(data, now_us=sent_us + 30_000, local_us=sent_us)
    assert far.heard_us(sent_us + 30_000) == 4 * 20_000 + 30_000


@given(
    st.lists(st.tuples(st.integers(0, 40), st.booleans()), max_size=120),
    st.integers(0, 0xFFFF),
)
def test_the_buffer_is_aiortcs_packet_by_packet(fates: list[tuple[int, bool]], first: int):
    """Each packet comes up to 40 places late, or not at all."""
    order = sorted((n + late, n) for n, (late, lost) in enumerate(fates) if not lost)
    ours, theirs = AudioBuffer(), JitterBuffer(capacity=16, prefetch=4)
    for _, number in order:
        packet = AiortcPacket(
            sequence_number=(first + number) & 0xFFFF, timestamp=960 * (number + 1)
        )
        packet._data = b"%d" % number
        _, frame = theirs.add(packet)
        assert ours.add(number, b"%d" % number) == (None if frame is None else frame.data)


def test_the_wire_tells_sound_from_pictures_and_counts_what_is_around_them():
    data = AudioSource(bitrate_bps=32_000, video_bps=400_000, ssrc=7).packet(0, now_us=0, wall_us=0)
    what = Wire([AV1]).describe(data)
    assert (what.kind, what.payload_bytes) == (PacketKind.AUDIO, 80)
    # 12 of RTP, 8 of extensions, 80 of payload, 20 of IP, 8 of UDP, 16 of SRTP: as aiortc sends it.
    assert wire_bytes(data) == 144


def test_sound_gives_way_to_pictures_on_a_narrow_path():
    source = AudioSource(bitrate_bps=32_000, video_bps=400_000, ssrc=7)
    sizes = {}
    for index in range(200):
        data = source.packet(index, now_us=index * 20_000, wall_us=0, available_bps=60_000)
        sizes[index] = len(parse_rtp(data).payload)
    assert sorted(set(sizes.values())) == [40, 60, 80]
    assert (sizes[49], sizes[50], sizes[100]) == (80, 60, 40)
