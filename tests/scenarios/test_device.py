"""What devices do during a call: slow down, recover, cannot decode, run low; and what is made of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from codecpilot.codecs.types import Codec
from codecpilot.rtc.percentile import percentile
from codecpilot.rtc.simulation.adaptations import operation_name
from codecpilot.rtc.simulation.call import Direction
from codecpilot.rtc.simulation.device_figures import late_us
from codecpilot.rtc.simulation.run import Run, simulate
from codecpilot.rtc.simulation.scenario import scenario
from codecpilot.rtc.simulation.summary import run_figures
from codecpilot.samples.call.options import default_bitrate_bps
from codecpilot.samples.simulate.pictures import Sources
from codecpilot.samples.simulate.tools import make_tools

S = 1_000_000
# A quarter of the pixels on a device that is four times slower: the same load, simulated sooner.
QUICK, QUICK_FACTOR = "320x180", 4
SMALL = {"size": "64x64", "fps": 10, "target_kbps": 20}


def call(**changes: Any) -> Run:
    """Peer a sends 640x360 or what is said; keys of a peer as a__device."""
    values: dict[str, Any] = {
        "psnr": False,
        "rate": 2000,
        "audio_kbps": 24,
        "a": {"preset": "auto"},
        "b": dict(SMALL),
    }
    for name, value in changes.items():
        scope, _, key = name.rpartition("__")
        (values[scope] if scope else values)[key] = value
    checked = scenario(
        values,
        read_text=lambda path: "",
        default_bps=lambda size, fps: default_bitrate_bps(width=size[0], height=size[1], fps=fps),
    )
    return simulate(checked, make_tools(checked, sources=Sources(checked.peers)))


def sent(run: Run) -> Direction:
    return run.directions["a->b"]


def late_s(direction: Direction, start_s: float, end_s: float) -> float:
    frames = [f for f in direction.recorder.frames if start_s * S <= f.capture_us < end_s * S]
    return late_us(frames, interval_us=direction.interval_us) / S


def operations(direction: Direction, start_s: float, end_s: float) -> list[str]:
    """What was in use at the start, and what each change in between went to."""
    before, within = "", []
    for at_us, decision in direction.recorder.adaptations.decisions:
        name = operation_name(decision.operation)
        if at_us < start_s * S:
            before = name
        elif at_us < end_s * S and name != (within[-1] if within else before):
            within.append(name)
    return [before, *within]


def codecs(direction: Direction) -> list[tuple[float, Codec]]:
    """Seconds at which the codec changed, and to what; the beginning first."""
    seen: list[tuple[float, Codec]] = []
    for at_us, decision in direction.recorder.adaptations.decisions:
        if not seen or seen[-1][1] is not decision.operation.codec:
            seen.append((at_us / S, decision.operation.codec))
    return seen


def after_s(changes: Iterable[tuple[float, Codec]], codec: Codec, start_s: float) -> float:
    """How long after start_s a codec came into use; far off if never."""
    return next((at - start_s for at, c in changes if at >= start_s and c is codec), 1e9)


def check_slow_down(run: Run, *, slow_s: float, recovered_s: float, end_s: float) -> None:
    """The device is four times slower from slow_s to recovered_s."""
    direction = sent(run)
    before = operations(direction, slow_s, slow_s)[0]
    assert late_s(direction, slow_s, recovered_s) <= 1.0
    assert late_s(direction, recovered_s, end_s) <= 1.0
    assert 0 <= len(operations(direction, slow_s, recovered_s)) - 1 <= 2
    assert 0 <= len(operations(direction, recovered_s, end_s)) - 1 <= 2
    assert operations(direction, recovered_s, recovered_s + 15)[-1] == before
    offset_us = percentile(direction.recorder.av_offsets_us, 95)
    assert offset_us is not None
    assert abs(offset_us) <= 80_000
    assert direction.recorder.screen.freezes.total_us <= 0.3 * S


@pytest.mark.parametrize("factor", [pytest.param(2, marks=pytest.mark.slow), 4])
def test_a_device_that_slows_down_is_late_for_a_moment_and_gets_its_quality_back(factor):
    factor *= QUICK_FACTOR
    run = call(seconds=35, a__size=QUICK, a__device=f"0:{factor},10:{4 * factor},18:{factor}")
    assert len(operations(sent(run), 10, 18)) > 1
    check_slow_down(run, slow_s=10, recovered_s=18, end_s=35)


@pytest.mark.slow
@pytest.mark.parametrize("size", ["640x360", "1280x720"])
@pytest.mark.parametrize("factor", [0.5, 1, 1.5, 2, 3, 4])
def test_forty_seconds_of_a_device_four_times_slower(size, factor):
    spec = f"0:{factor},20:{4 * factor},60:{factor}"
    run = call(seconds=80, a__size=size, a__device=spec)
    check_slow_down(run, slow_s=20, recovered_s=60, end_s=80)


def borderline(factor: float, size: str) -> None:
    direction = sent(call(seconds=80, a__size=size, a__device=factor))
    after_20_s = [at for at, _ in codecs(direction)[1:] if at >= 20]
    assert len(after_20_s) <= 1
    # Whatever is tried and does not last is tried ever more seldom.
    assert len(operations(direction, 20, 80)) - 1 <= 4
    assert late_s(direction, 20, 80) <= 1.0


@pytest.mark.slow
@pytest.mark.parametrize("factor", [7.2, 22])
def test_a_borderline_device_settles(factor):
    borderline(QUICK_FACTOR * factor, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("size", ["640x360", "1280x720"])
@pytest.mark.parametrize("factor", [round(0.5 * 1.05**n, 3) for n in range(58)])
def test_every_constant_device_settles(factor, size):
    borderline(factor, size)


def test_a_peer_that_cannot_decode_av1_gets_h264_and_av1_again_when_it_can():
    # 0.13 ms a picture; 83 ms are 12 pictures a second.
    run = call(seconds=45, a__size=QUICK, a__preset="default", b__av1_decode="0:1,5:630,15:1")
    direction = sent(run)
    changes = codecs(direction)
    assert changes[0][1] is Codec.AV1
    assert after_s(changes, Codec.H264, 5) <= 2
    assert 10 < after_s(changes, Codec.AV1, 5) <= 40
    assert len(changes) == 3
    # Once it is through with what waited, the screen goes on.
    assert direction.recorder.screen.freezes.total_us <= 2 * S
    shown = [f.shown_us - f.capture_us for f in direction.recorder.frames[240:] if f.shown_us]
    assert len(shown) >= 0.9 * len(direction.recorder.frames[240:])
    assert percentile(shown, 95) <= 250_000


def test_h264_is_sent_from_a_low_battery_and_av1_again_when_it_is_charged():
    run = call(seconds=27, a__size=QUICK, a__battery="0:22,3:19,6:23,9:30")
    changes = codecs(sent(run))
    assert [codec for _, codec in changes] == [Codec.AV1, Codec.H264, Codec.AV1]
    assert 0 <= after_s(changes, Codec.H264, 3) <= 1.5
    assert 0 <= after_s(changes, Codec.AV1, 9) <= 15


def test_each_direction_has_the_codec_that_its_sender_can_encode():
    other = {"b__size": QUICK, "b__fps": 30, "b__target_kbps": 200}
    run = call(seconds=10, a__size=QUICK, a__av1_encode=250, **other)
    ways = run.directions
    assert codecs(ways["a->b"])[-1][1] is Codec.H264
    assert {codec for _, codec in codecs(ways["b->a"])} == {Codec.AV1}
    assert late_s(ways["a->b"], 2, 10) <= 0.5


def test_the_same_devices_make_the_same_call_to_the_byte():
    made = [
        call(seconds=8, psnr=True, a__size=QUICK, a__device="0:8,3:90,5:8", loss=0.01)
        for _ in range(2)
    ]
    events, figures, bits = (
        [json.dumps(run.events.events) for run in made],
        [run_figures(run, wall_s=0.0) for run in made],
        [[frame.data for _, frame in sent(run).recorder.bitstream] for run in made],
    )
    assert events[0] == events[1]
    assert figures[0] == figures[1]
    assert bits[0] == bits[1]
    assert figures[0]["directions"]["a->b"]["adaptations"]


@pytest.mark.slow
def test_over_fast_and_slow_devices_it_looks_better_than_any_preset_that_is_no_later():
    adaptive: dict[float, dict[str, Any]] = {}
    fixed: dict[str, dict[float, dict[str, Any]]] = {}
    for factor in (0.7, 2.4, 5, 8, 16):
        settings = {"seconds": 20, "psnr": True, "a__device": factor}
        adaptive[factor] = figures(call(**settings))
        for preset in ("ultralow", "low", "default", "high", "best"):
            made = call(**settings, a__preset=preset, a__adaptation=False)
            fixed.setdefault(preset, {})[factor] = figures(made)
    ours = mean(adaptive, "psnr_y_shown")
    for each in fixed.values():
        if mean(each, "late_frames") <= mean(adaptive, "late_frames"):
            assert mean(each, "psnr_y_shown") < ours
    assert mean(fixed["best"], "late_frames") > 10 * mean(adaptive, "late_frames")


def figures(run: Run) -> dict[str, Any]:
    return run_figures(run, wall_s=0.0)["directions"]["a->b"]


def mean(each: dict[float, dict[str, Any]], name: str) -> float:
    return sum(one[name] for one in each.values()) / len(each)
