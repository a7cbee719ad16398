"""From what happens in ten seconds of a call to a row of telemetry, in virtual time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from codecpilot.codecs.types import Codec, EncodedFrame
from codecpilot.eligibility.schema import INTERVAL_US, table_of
from codecpilot.rtc.adaptation.health import DeviceHealth
from codecpilot.rtc.messages import DecodedFrame
from codecpilot.samples.call.telemetry_rows import IntervalMeter, Statistics, read_statistics

WALL_US = 1_700_000_000_000_000
GAP_US = 33_333
IDENTITY = {"call_id": "0123456789abcdef", "side": "a", "source": "call"}
NOTHING = Statistics()


def encoded(codec: Codec = Codec.AV1, **values: Any) -> EncodedFrame:
    usual = {"width": 640, "height": 360, "encode_us": 10_000, "encode_cpu_us": 8_000}
    return EncodedFrame(
        data=b"",
        codec=codec,
        frame_id=0,
        capture_us=0,
        key=False,
        quantizer=30,
        temporal_id=0,
        dependencies=(),
        ltr_slot=None,
        **(usual | values),
    )


def decoded(decode_us: int = 2_000) -> DecodedFrame:
    return DecodedFrame(
        frame_id=0,
        codec=Codec.H264,
        key=False,
        width=320,
        height=180,
        decode_us=decode_us,
        capture_wall_us=None,
        decoded_us=0,
    )


class Side:
    """A side of a call whose clock the test moves; pictures are captured and encoded at once."""

    def __init__(self) -> None:
        self.meter = IntervalMeter(IDENTITY)
        self.now_us = 5_000_000
        self.encoded = 0

    def send(self, n: int, *, of: int | None = None, **values: Any) -> None:
        """n pictures are sent of those captured."""
        for i in range(of or n):
            self.meter.captured()
            if i < n:
                self.meter.encoded(encoded(**values), now_us=self.now_us)
                self.encoded += 1
            self.now_us += GAP_US

    def close(self, *, offsets_us: tuple[int, ...] = (), **counters: int) -> dict[str, Any] | None:
        sent = {"frames_encoded": self.encoded} if self.encoded else {}
        row = self.meter.close(
            Statistics(counters=sent | counters, codec="AV1", encoder="libaom 3.13.1"),
            offsets_us=offsets_us,
            now_us=self.now_us,
            wall_us=WALL_US + self.now_us,
        )
        if row is not None:
            table_of([row])  # It keeps to the schema.
        return row


def test_a_full_interval_tells_what_was_sent_and_received():
    side = Side()
    side.meter.adapted("low")
    for i in range(300):
        side.send(1, encode_us=10_000 + 100 * i)
        side.meter.decoded(decoded(1_000 + i), now_us=side.now_us)
    row = side.close(
        offsets_us=(*range(-99, 0), 3), freeze_count=1, freeze_us=400_000, frames_shown_late=2
    )

    assert row is not None
    assert (row["codec"], row["encoder"], row["preset"]) == ("AV1", "libaom 3.13.1", "low")
    assert (row["width"], row["height"], row["fps"]) == (640, 360, 300e6 / (300 * GAP_US))
    assert (row["encode_p50_us"], row["encode_p95_us"]) == (24_900, 38_400)
    assert (row["decode_p50_us"], row["decode_p95_us"]) == (1_149, 1_284)
    assert row["encode_cpu_us"] == 8_000
    assert (row["frames_captured"], row["frames_encoded"], row["frames_dropped"]) == (300, 300, 0)
    assert (row["freeze_count"], row["freeze_us"], row["frames_shown_late"]) == (1, 400_000, 2)
    assert row["av_offset_p95_us"] == 94
    assert (row["interval_index"], row["time_us"]) == (0, WALL_US + 5_000_000)
    assert (row["source"], row["simulated"], row["outcome"]) == ("call", False, None)


def test_counters_count_within_their_interval():
    side = Side()
    side.send(300)
    side.close(limited_cpu_us=1_000_000, frames_shown_late=4)
    side.send(290, of=300)
    row = side.close(limited_cpu_us=1_500_000, frames_shown_late=4, freeze_count=1)

    assert row is not None
    assert (row["limited_cpu_us"], row["frames_shown_late"], row["freeze_count"]) == (500_000, 0, 1)
    assert (row["frames_captured"], row["frames_encoded"], row["frames_dropped"]) == (300, 290, 10)
    assert row["interval_index"] == 1


def test_counters_that_begin_anew_do_not_count_below_nothing():
    side = Side()
    side.send(300)
    side.close(freeze_us=3_000_000)
    side.send(300)
    row = side.close(freeze_us=1_000_000)

    assert row is not None
    assert row["freeze_us"] == 0


def test_pictures_that_the_frame_rate_leaves_out_are_not_dropped():
    side = Side()
    side.send(150, of=300)
    row = side.close(frames_left_out=140)

    assert row is not None
    assert (row["frames_captured"], row["frames_encoded"], row["frames_dropped"]) == (300, 150, 10)


def test_pictures_captured_before_the_first_was_encoded_are_not_dropped():
    side = Side()
    for _ in range(20):
        side.meter.captured()
    side.send(300)
    row = side.close()

    assert row is not None
    assert (row["frames_captured"], row["frames_dropped"]) == (300, 0)


def test_a_device_that_encodes_nothing_more_has_dropped_all():
    side = Side()
    side.send(300)
    side.close()
    side.meter.decoded(decoded(), now_us=side.now_us)
    side.send(0, of=300)
    row = side.close()

    assert row is not None
    assert (row["codec"], row["width"], row["encode_p50_us"]) == ("H264", 320, None)
    assert (row["encoder"], row["frames_encoded"], row["frames_dropped"]) == (None, 0, 300)


def test_the_codec_of_most_pictures_stands_for_the_interval_with_its_times_and_sizes():
    side = Side()
    side.meter.adapted("default")
    side.send(100, codec=Codec.H264, encode_us=90_000, width=1280, height=720)
    side.send(60)
    side.meter.adapted("low")
    side.send(140, width=320, height=180)
    row = side.close()

    assert row is not None
    assert (row["codec"], row["preset"], row["width"]) == ("AV1", "low", 320)
    assert (row["encode_p95_us"], row["frames_encoded"]) == (10_000, 300)
    # All pictures were sent, whatever with.
    assert 29.9 < row["fps"] < 30.1


def test_h264_has_no_preset_and_the_encoder_of_another_codec_is_not_told():
    side = Side()
    side.meter.adapted("default")
    side.send(300, codec=Codec.H264)
    row = side.close()

    assert row is not None
    assert (row["codec"], row["preset"], row["encoder"]) == ("H264", None, None)


def test_half_a_last_interval_is_a_row_at_its_own_pace_and_less_is_none():
    enough, little = Side(), Side()
    enough.send(151)
    little.send(149)
    row = enough.close()

    assert row is not None
    assert (row["frames_encoded"], round(row["fps"])) == (151, 30)
    assert little.close() is None


def test_an_interval_without_pictures_makes_no_row_and_the_next_keeps_its_place():
    side = Side()
    assert side.close() is None
    assert side.meter.left_us(now_us=side.now_us) == INTERVAL_US
    side.send(300)
    assert side.close() is not None
    side.now_us += INTERVAL_US
    assert side.close(freeze_count=5) is None
    side.send(300)
    row = side.close(freeze_count=6)

    assert row is not None
    assert (row["interval_index"], row["freeze_count"]) == (2, 1)


@settings(max_examples=40)
@given(st.lists(st.integers(0, 60_000_000), min_size=1, max_size=10))
def test_intervals_keep_their_places_however_late_they_are_closed(late_us: list[int]):
    side = Side()
    side.send(1)
    start_us, last = side.now_us - GAP_US, -1
    for each_us in late_us:
        left_us = side.meter.left_us(now_us=side.now_us)
        assert INTERVAL_US // 2 <= left_us + GAP_US <= INTERVAL_US * 3 // 2 + GAP_US
        side.now_us += left_us + each_us
        side.meter.encoded(encoded(), now_us=side.now_us)
        row = side.close()
        assert row is not None
        assert row["interval_index"] > last
        begun_us = row["time_us"] - WALL_US - start_us
        assert abs(begun_us - row["interval_index"] * INTERVAL_US) <= INTERVAL_US // 2
        last = row["interval_index"]


def test_the_device_is_told_by_means_and_by_what_lasts():
    side = Side()
    side.send(300)
    for pressure, frequency, battery in ((0.1, 0.5, 0.9), (0.3, 1.2, 0.8), (None, None, 0.7)):
        side.meter.looked(
            DeviceHealth(
                time_us=0,
                cpu_pressure_ratio=pressure,
                frequency_ratio=frequency,
                battery_ratio=battery,
                on_power=battery > 0.75,
            )
        )
    row = side.close()

    assert row is not None
    assert abs(row["cpu_pressure_ratio"] - 0.2) < 1e-9
    assert row["frequency_ratio"] == 0.75
    assert (row["battery_ratio"], row["on_power"]) == (0.7, False)
    side.send(300)
    row = side.close()
    assert row is not None
    assert row["cpu_pressure_ratio"] is None


def test_statistics_are_read_by_their_w3c_names():
    sent = SimpleNamespace(
        type="outbound-rtp",
        kind="video",
        codec=Codec.AV1,
        encoderImplementation="libaom 3.13.1 <http://example.org>",
        qualityLimitationDurations={"none": 9.0, "cpu": 1.5, "bandwidth": 0.25, "other": 0.0},
        framesEncoded=290,
        framesLeftOut=5,
    )
    received = SimpleNamespace(
        type="inbound-rtp",
        kind="video",
        framesDropped=3,
        freezeCount=1,
        totalFreezesDuration=0.4,
    )
    sound = SimpleNamespace(type="outbound-rtp", kind="audio")
    path = SimpleNamespace(type="candidate-pair")
    statistics = read_statistics([sound, path, sent, received])

    assert statistics.counters == {
        "frames_encoded": 290,
        "frames_left_out": 5,
        "frames_shown_late": 3,
        "limited_cpu_us": 1_500_000,
        "limited_bandwidth_us": 250_000,
        "limited_other_us": 0,
        "freeze_count": 1,
        "freeze_us": 400_000,
    }
    assert (statistics.codec, statistics.encoder) == ("AV1", "libaom 3.13.1 http //example.org")
    assert read_statistics([sound, path]) == NOTHING
