"""libx264 and libopenh264 behind the encoder contract, checked with FFmpeg's decoder."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from codecpilot.codecs.errors import LocalError
from codecpilot.codecs.h264_decoder import H264Decoder
from codecpilot.codecs.h264_encoder import H264Encoder, OpenH264Encoder
from codecpilot.codecs.nal import NalType, parse_header, parse_sps, split_annex_b
from codecpilot.codecs.types import EncodedFrame, EncodeRequest, Picture

WIDTH, HEIGHT, FPS = 320, 192, 30


def moving(index: int, *, width: int = WIDTH, height: int = HEIGHT) -> Picture:
    """A texture that drifts, with fresh noise, so that each frame takes some bits."""
    rng = np.random.default_rng(7)
    texture = rng.integers(40, 200, (height + 64, width + 64)).astype(np.float32)
    for axis in (0, 1):
        texture = sum(np.roll(texture, shift, axis) for shift in range(8)) / 8
    noise = np.random.default_rng(index).normal(0, 3, (height, width))
    left = index % 64
    y = np.clip(texture[left // 2 :, left:][:height, :width] + noise, 0, 255).astype(np.uint8)
    chroma = np.full(((height + 1) // 2, (width + 1) // 2), 120, np.uint8)
    return Picture(y=y, u=chroma, v=chroma, capture_us=index * 33_333)


CLIP = [moving(index) for index in range(60)]


def request(
    index: int, *, target_bps: int = 300_000, key: bool = False, **more: object
) -> EncodeRequest:
    fields: dict[str, object] = {
        "picture": CLIP[index % len(CLIP)],
        "frame_id": index,
        "quantizer": 0,
        "target_bps": target_bps,
        "key": key,
        "reads": () if key else (0,),
        "dependencies": () if key else (index - 1,),
    }
    return EncodeRequest(**{**fields, **more})  # type: ignore[arg-type]


def encoder(**more: object) -> H264Encoder:
    return H264Encoder(width=WIDTH, height=HEIGHT, fps=FPS, **more)  # type: ignore[arg-type]


def mean_bps(frames: list[EncodedFrame]) -> float:
    return sum(len(frame.data) for frame in frames) * 8 * FPS / len(frames)


def units(frame: EncodedFrame) -> list[int]:
    return [parse_header(unit).nal_type for unit in split_annex_b(frame.data)]


@pytest.mark.parametrize("make", [H264Encoder, OpenH264Encoder])
def test_each_picture_gives_its_access_unit_and_its_picture_at_once(
    make: type[H264Encoder] | type[OpenH264Encoder],
) -> None:
    codec, decoder = make(width=WIDTH, height=HEIGHT, fps=FPS), H264Decoder()
    for index in range(20):
        frame = codec.encode(request(index, key=index == 0))
        shown = decoder.decode(frame.data, capture_us=frame.capture_us)
        assert shown is not None
        assert shown.capture_us == CLIP[index].capture_us == frame.capture_us
        distances = [
            float(np.mean(np.abs(shown.y.astype(int) - CLIP[other].y)))
            for other in range(max(0, index - 2), index + 3)
        ]
        assert int(np.argmin(distances)) == min(index, 2), "the picture of another frame was shown"
        assert distances[min(index, 2)] < 12


def test_a_new_rate_is_reached_within_15_frames_without_a_key_frame() -> None:
    codec = encoder()
    plan = [300_000] * 45 + [100_000] * 45 + [500_000] * 45
    frames = [codec.encode(request(i, target_bps=bps, key=i == 0)) for i, bps in enumerate(plan)]
    assert [frame.frame_id for frame in frames if frame.key] == [0]
    for start, target in ((0, 300_000), (45, 100_000), (90, 500_000)):
        settled = mean_bps(frames[start + 15 : start + 45])
        assert 0.85 * target < settled < 1.15 * target, f"{settled} at {target}"


@pytest.mark.parametrize("gaps_ms", [(66,), (17,), (5, 61, 20, 90, 4)])
def test_the_rate_is_one_of_real_time_whatever_the_gaps(gaps_ms: tuple[int, ...]) -> None:
    codec, now_ms, times_ms, frames = encoder(), 0, [], []
    for index in range(150):
        picture = replace(CLIP[index % 60], capture_us=now_ms * 1000)
        frames.append(codec.encode(request(index, picture=picture, key=index == 0)))
        times_ms.append(now_ms)
        now_ms += gaps_ms[index % len(gaps_ms)]
    bits = sum(len(frame.data) * 8 for frame in frames[50:])
    assert 0.85 * 300 < bits / (now_ms - times_ms[50]) < 1.1 * 300
    assert [frame.frame_id for frame in frames if frame.key] == [0]


def test_a_forced_key_frame_carries_its_parameter_sets_and_is_the_only_one() -> None:
    codec = encoder()
    frames = [codec.encode(request(i, key=i in (0, 7))) for i in range(12)]
    assert [frame.frame_id for frame in frames if frame.key] == [0, 7]
    for frame in frames:
        if frame.key:
            assert [t for t in units(frame) if t != NalType.SEI] == [
                NalType.SPS,
                NalType.PPS,
                NalType.IDR,
            ]
            assert frame.dependencies == ()
        else:
            assert units(frame) == [NalType.SLICE]
            assert frame.dependencies == (frame.frame_id - 1,)
    decoder = H264Decoder()
    assert all(decoder.decode(frame.data) is not None for frame in frames[7:])


def test_a_scene_cut_gives_no_unasked_key_frame() -> None:
    codec = encoder()
    inverse = Picture(y=255 - CLIP[0].y, u=CLIP[0].v, v=CLIP[0].u)
    pictures = [CLIP[0], CLIP[1], inverse, CLIP[2]]
    frames = [codec.encode(request(i, picture=p, key=i == 0)) for i, p in enumerate(pictures)]
    assert [frame.key for frame in frames] == [True, False, False, False]


def test_the_stream_is_constrained_baseline_of_the_coded_size() -> None:
    frame = encoder().encode(request(0, key=True))
    sps = parse_sps(split_annex_b(frame.data)[0])
    assert (sps.profile_idc, sps.constraint_flags & 0xC0) == (66, 0xC0)
    assert (sps.width, sps.height) == (WIDTH, HEIGHT) == (frame.width, frame.height)


@pytest.mark.parametrize("make", [H264Encoder, OpenH264Encoder])
def test_odd_sides_lose_one_row_or_column(
    make: type[H264Encoder] | type[OpenH264Encoder],
) -> None:
    picture = moving(0, width=111, height=77)
    frame = make(width=111, height=77, fps=FPS).encode(request(0, picture=picture, key=True))
    shown = H264Decoder().decode(frame.data)
    assert shown is not None
    assert (frame.width, frame.height) == (shown.width, shown.height) == (110, 76)


def test_a_new_size_or_scale_begins_with_a_key_frame_that_decodes() -> None:
    codec, decoder = encoder(), H264Decoder()
    smaller = moving(2, width=160, height=96)
    requests = [
        request(0, key=True),
        request(1),
        request(2, picture=smaller),
        request(3, picture=smaller),
        request(4, scale=Fraction(1, 2)),
        request(5),
    ]
    frames = [codec.encode(each) for each in requests]
    assert [frame.key for frame in frames] == [True, False, True, False, False, True]
    assert frames[2].dependencies == ()
    shown = [decoder.decode(frame.data) for frame in frames]
    assert [(s.width, s.height) for s in shown if s] == [(f.width, f.height) for f in frames]
    assert (frames[4].width, frames[4].height) == (160, 96)


@pytest.mark.parametrize(("first", "far"), [(80_000, 500_000), (800_000, 120_000)])
def test_a_target_more_than_five_times_off_opens_a_stream_that_reaches_it(
    first: int, far: int
) -> None:
    codec = encoder()
    plan = [first] * 20 + [far] * 50
    frames = [codec.encode(request(i, target_bps=bps, key=i == 0)) for i, bps in enumerate(plan)]
    assert [frame.frame_id for frame in frames if frame.key] == [0, 20]
    assert 0.85 * far < mean_bps(frames[35:]) < 1.15 * far


def test_with_a_ceiling_given_targets_up_to_it_need_no_new_stream() -> None:
    codec = encoder(ceiling_bps=1_000_000, vbv_bits=50_000)
    plan = [80_000] * 20 + [800_000] * 50
    frames = [codec.encode(request(i, target_bps=bps, key=i == 0)) for i, bps in enumerate(plan)]
    assert [frame.frame_id for frame in frames if frame.key] == [0]
    assert 0.8 * 800_000 < mean_bps(frames[40:]) < 1.15 * 800_000


@pytest.mark.parametrize("target_bps", [100_000, 400_000])
def test_key_frames_keep_the_delay_of_a_constant_rate_within_250_ms(target_bps: int) -> None:
    codec, backlog_bits, delays_ms = encoder(), 0.0, []
    for index in range(90):
        frame = codec.encode(request(index, target_bps=target_bps, key=index in (0, 60)))
        backlog_bits = max(0.0, backlog_bits - target_bps / FPS) + len(frame.data) * 8
        delays_ms.append(1000 * backlog_bits / target_bps)
    assert 30 < max(delays_ms) < 250


def test_openh264_changes_rate_with_a_key_frame() -> None:
    codec = OpenH264Encoder(width=WIDTH, height=HEIGHT, fps=FPS)
    plan = [200_000] * 30 + [150_000] * 30
    frames = [codec.encode(request(i, target_bps=bps, key=i == 0)) for i, bps in enumerate(plan)]
    assert [frame.frame_id for frame in frames if frame.key] == [0, 30]
    assert 0.8 * 150_000 < mean_bps(frames[40:]) < 1.2 * 150_000


def test_slices_stay_below_their_bound() -> None:
    codec, decoder = encoder(slice_bytes=500), H264Decoder()
    frame = codec.encode(request(0, target_bps=2_000_000, key=True))
    slices = [unit for unit in split_annex_b(frame.data) if parse_header(unit).nal_type == 5]
    assert len(slices) > 2
    assert max(len(unit) for unit in slices) <= 500
    assert decoder.decode(frame.data) is not None


def test_the_quantizer_reported_is_the_qp_and_falls_with_the_rate() -> None:
    def settled_qp(bps: int) -> int:
        codec = encoder()
        frames = [codec.encode(request(i, target_bps=bps, key=i == 0)) for i in range(20)]
        return frames[-1].quantizer

    low, high = settled_qp(800_000), settled_qp(100_000)
    assert 10 < low < high <= 51


def test_the_same_requests_give_the_same_bytes() -> None:
    runs = []
    for _ in range(2):
        codec = encoder()
        runs.append([codec.encode(request(i, key=i == 0)).data for i in range(10)])
    assert runs[0] == runs[1]


def test_encoding_after_close_starts_over_with_a_key_frame() -> None:
    codec = encoder()
    codec.encode(request(0, key=True))
    codec.close()
    codec.close()
    assert codec.encode(request(1)).key


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"preset": "warp"}, "superfast"),
        ({"ceiling_bps": 10}, "ceiling_bps 10 is below 1000"),
        ({"vbv_bits": 0}, "vbv_bits 0 is below 1000"),
        ({"slice_bytes": 5}, "100"),
        ({"threads": 0}, "1..64"),
        ({"fps": 0}, "(0, 1000]"),
        ({"width": 1}, "2x2"),
    ],
)
def test_bad_settings_name_the_value_and_the_range(settings: dict[str, object], part: str) -> None:
    base: dict[str, object] = {"width": WIDTH, "height": HEIGHT, "fps": FPS}
    with pytest.raises(LocalError) as caught:
        H264Encoder(**{**base, **settings})  # type: ignore[arg-type]
    assert part in str(caught.value)


def test_a_rate_of_zero_is_refused() -> None:
    with pytest.raises(LocalError, match="target_bps 0"):
        encoder().encode(request(0, target_bps=0, key=True))
