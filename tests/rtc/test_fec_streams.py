"""FEC between the two cores: what it costs, what it gives back, and where its packets stand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from codecpilot.rtc.resilience.settings import ResilienceSettings, Switch
from codecpilot.rtc.rtp.packet import is_rtcp, parse_rtp

from tests.rtc.fakes import AV1, FLEXFEC, H264, IDENTITY, RED, Pair, av1_unit
from tests.rtc.test_send_path import FakeEstimator

KINDS = [{"flexfec": FLEXFEC}, {"red": RED}]
FEC_ALONE = ResilienceSettings(
    temporal_layers=Switch.OFF, fec=Switch.ON, nack=Switch.OFF, ltr=Switch.OFF
)


class Wire:
    """Follows the media link, and loses what it is told to."""

    def __init__(self, pair: Pair) -> None:
        self.packets = []
        self.lose = lambda packet: False
        pair.media.drop = self._take

    def _take(self, data: bytes) -> bool:
        if is_rtcp(data):
            return False
        packet = parse_rtp(data)
        self.packets.append(packet)
        return self.lose(packet)


def protected(codec=AV1, **settings) -> tuple[Pair, Wire]:
    pair = Pair(
        codecs=(codec,), estimator=FakeEstimator(2_000_000), target_bps=1_000_000, **settings
    )
    # Frames of several packets: the fake has no more bits for any rate.
    encode = pair.session.run

    def larger(job):
        frame = encode(job)
        return replace(frame, data=_padded(frame))

    pair.session.run = larger
    return pair, Wire(pair)


def _padded(frame) -> bytes:
    start = frame.data.index(b'{"id"')
    if frame.codec is not AV1.codec:
        return frame.data + b" " * 3_500
    return av1_unit(frame.data[start:] + b" " * 3_500, key=frame.key)


@pytest.mark.parametrize("codec", [AV1, H264])
@pytest.mark.parametrize("kind", KINDS)
def test_a_lost_packet_of_each_frame_is_given_back_without_a_request(kind, codec):
    pair, wire = protected(codec, resilience=FEC_ALONE, **kind)
    pair.run(0.5)
    shown = len(pair.shown)
    media_types = {codec.payload_type, RED.red}
    lost_at = set()

    def second_of_each_frame(packet) -> bool:
        if packet.ssrc != IDENTITY.ssrc or packet.payload_type not in media_types:
            return False
        if packet.timestamp in lost_at:
            return False
        lost_at.add(packet.timestamp)
        return True

    wire.lose = second_of_each_frame
    pair.run(1)
    assert len(pair.shown) - shown >= 28
    assert pair.receiver.counters.fecPacketsRecovered >= 28
    assert pair.sender.counters.keyFramesEncoded == 1
    assert pair.receiver.counters.pliCount == 0


def test_ulpfec_packets_follow_a_marker_and_share_the_media_numbers():
    pair, wire = protected(resilience=FEC_ALONE, red=RED)
    pair.run(1)
    media = [p for p in wire.packets if p.ssrc == IDENTITY.ssrc]
    assert {p.payload_type for p in media} == {RED.red}
    kinds = [p.payload[0] & 0x7F for p in media]
    assert set(kinds) == {AV1.payload_type, RED.ulpfec}
    for index, kind in enumerate(kinds):
        if kind == RED.ulpfec:
            assert media[index - 1].marker or kinds[index - 1] == RED.ulpfec
    numbers = [(p.sequence_number - media[0].sequence_number) & 0xFFFF for p in media]
    assert numbers == list(range(len(media)))


def test_flexfec_has_numbers_of_its_own_and_media_is_as_without_it():
    pair, wire = protected(resilience=FEC_ALONE, flexfec=FLEXFEC)
    pair.run(1)
    fec = [p for p in wire.packets if p.ssrc == FLEXFEC.ssrc]
    assert len(fec) >= 25
    assert [p.sequence_number for p in fec] == list(range(len(fec)))
    assert {p.payload_type for p in fec} == {FLEXFEC.payload_type}
    assert {p.payload_type for p in wire.packets if p.ssrc == IDENTITY.ssrc} == {AV1.payload_type}
    assert max(len(p.serialize()) for p in wire.packets) <= 1200


def test_the_upper_layer_has_no_fec():
    settings = ResilienceSettings(temporal_layers=Switch.ON, fec=Switch.ON)
    pair, _ = protected(resilience=settings, flexfec=FLEXFEC)
    pair.run(2)
    frames, fec = pair.sender.counters.framesSent, pair.sender.counters.fecPacketsSent
    per_frame = fec / frames
    pair, _ = protected(resilience=FEC_ALONE, flexfec=FLEXFEC)
    pair.run(2)
    both = pair.sender.counters.fecPacketsSent / pair.sender.counters.framesSent
    assert per_frame == pytest.approx(both / 2, rel=0.15)


def test_what_fec_takes_comes_out_of_the_target():
    rates = []
    for resilience in (FEC_ALONE, ResilienceSettings(fec=Switch.OFF)):
        pair, _ = protected(resilience=resilience, flexfec=FLEXFEC)
        pair.run(3)
        fec_bps = pair.sender.counters.fecBytesSent * 8 // 3
        rates.append((pair.sender.target_bps, fec_bps))
    (with_fec, fec_bps), (without, none) = rates
    assert none == 0
    assert fec_bps > 100_000
    assert without - with_fec == pytest.approx(fec_bps, rel=0.15)
