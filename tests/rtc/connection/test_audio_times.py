"""Capture times of audio by sender reports."""

from __future__ import annotations

from aiortc.rtp import RtcpSenderInfo, RtcpSrPacket

from codecpilot.rtc.connection.audio_times import AudioTimes
from codecpilot.rtc.rtp.extensions import ntp_from_us

WALL_US = 3_900_000_000_000_000


def _report(rtp_timestamp: int, *, packets: int = 5, wall_us: int = WALL_US) -> RtcpSrPacket:
    info = RtcpSenderInfo(
        ntp_timestamp=ntp_from_us(wall_us),
        rtp_timestamp=rtp_timestamp,
        packet_count=packets,
        octet_count=0,
    )
    return RtcpSrPacket(ssrc=1, sender_info=info)


def test_nothing_is_known_before_a_report() -> None:
    times = AudioTimes(clock_rate=48_000)
    assert times.capture_wall_us(0) is None
    times.sender_report(_report(0, packets=0))
    assert times.capture_wall_us(0) is None, "a report before any packet relates nothing"


def test_times_before_and_after_the_report_follow_its_clock() -> None:
    times = AudioTimes(clock_rate=48_000)
    times.sender_report(_report(96_000))
    assert times.capture_wall_us(96_000) == WALL_US
    assert times.capture_wall_us(96_000 + 960) == WALL_US + 20_000
    assert times.capture_wall_us(96_000 - 48_000) == WALL_US - 1_000_000


def test_the_timestamp_may_wrap_between_report_and_sound() -> None:
    times = AudioTimes(clock_rate=48_000)
    times.sender_report(_report(2**32 - 480))
    assert times.capture_wall_us(480) == WALL_US + 20_000
    times.sender_report(_report(480))
    assert times.capture_wall_us(2**32 - 480) == WALL_US - 20_000


def test_the_newest_report_counts() -> None:
    times = AudioTimes(clock_rate=48_000)
    times.sender_report(_report(0))
    times.sender_report(_report(48_000, wall_us=WALL_US + 1_001_000))
    assert times.capture_wall_us(48_000) == WALL_US + 1_001_000
