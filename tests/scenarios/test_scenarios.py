"""What a viewer gets while the link and the devices do what they do in real calls."""

from __future__ import annotations

import pytest

from tests.scenarios.step_list import Step, check_steps, figures, run_steps

CLEAN = {
    "captured": (30, 300),
    "stalls_s": (0, 0),
    "lost": (0, 0),
    "nacks": (0, 0),
    "plis": (0, 0),
    "psnr_y": (37, 45),
}
# What a loss or a full queue leaves behind for a moment: the last of it, and a slower playout, which
# gives back 20 ms a second.
CALM = CLEAN | {"stalls_s": (0, 0.3), "lost": (0, 3), "nacks": (0, 5), "psnr_y": (35, 45)}
AFTER = (44, 330)


def test_a_steady_link_shows_every_picture_soon_and_alike():
    steps = [
        Step(
            4,
            CLEAN
            | {
                "captured": (120, 120),
                # The first key frame is paced at the rate that a call begins with.
                "sent": (118, 120),
                "shown": (116, 120),
                "key_frames": (1, 1),
                "late_ms_p50": (44, 65),
                "late_ms_p95": (50, 90),
                "queue_ms_p95": (0, 40),
                "kbps": (150, 215),
                "resent": (0, 5),
            },
        )
    ]
    check_steps(run_steps(steps), steps)


def test_a_rate_that_falls_below_the_video_and_returns():
    follows = {"captured": (90, 150), "shown": (75, 150), "plis": (0, 2)}
    steps = [
        Step(3, CLEAN | {"kbps": (150, 215)}, {"rate": 500}),
        # Below what is sent at first; the queue holds 300 ms and the path takes 40.
        Step(
            4,
            follows | {"kbps": (70, 160), "late_ms_p95": (60, 600), "stalls_s": (0, 1)},
            {"rate": 150},
        ),
        Step(
            4,
            follows | {"kbps": (100, 215), "late_ms_p50": AFTER, "stalls_s": (0, 0)},
            {"rate": 500},
        ),
    ]
    check_steps(run_steps(steps), steps)


def test_bursts_of_loss_are_repaired_without_key_frames():
    steps = [
        Step(2, CLEAN, {"ab.loss": 0}),
        Step(
            5,
            {
                "lost": (3, 60),
                "resent": (0, 90),
                "nacks": (2, 40),
                "shown": (125, 150),
                "key_frames": (0, 0),
                "stalls_s": (0, 2),
                "late_ms_p50": AFTER,
            },
            {"ab.loss": 0.1},
        ),
        Step(2, CALM | {"shown": (50, 60)}, {"ab.loss": 0}),
    ]
    check_steps(run_steps(steps, burst=4), steps)


def test_an_outage_of_three_seconds_ends_within_two():
    steps = [
        Step(2, CLEAN, {"rate": 500}),
        Step(3, {"shown": (0, 90), "stalls_s": (2.6, 3)}, {"rate": 0}),
        Step(2, {"stalls_s": (0, 2), "shown": (0, 60)}, {"rate": 500}),
        Step(3, {"stalls_s": (0, 0.3), "shown": (70, 90), "psnr_y": (35, 45)}, {"rate": 500}),
    ]
    run = run_steps(steps)
    check_steps(run, steps)
    freezes = run.directions["a->b"].recorder.screen.freezes
    assert 1 <= freezes.count <= 4
    assert 2.8e6 <= freezes.total_us <= 5e6


@pytest.mark.parametrize(("held_ms", "resent"), [(4, (0, 2)), (20, (0, 30))])
def test_packets_that_are_overtaken_are_not_lost(held_ms, resent):
    # Two pictures wait in vain while the first key frame leaves, and two are under way at the end.
    expect = CLEAN | {"nacks": (0, 20), "shown": (116, 120), "resent": resent, "key_frames": (1, 1)}
    steps = [Step(4, expect)]
    check_steps(run_steps(steps, reorder=0.05, reorder_ms=held_ms), steps)


def test_loss_without_feedback_is_survived_once_feedback_returns():
    lossy = {"lost": (1, 40), "captured": (60, 120)}
    steps = [
        Step(2, lossy | {"stalls_s": (0, 1)}, {"ab.loss": 0.05, "ba.loss": 0}),
        Step(3, lossy | {"resent": (0, 2), "shown": (0, 89)}, {"ab.loss": 0.05, "ba.loss": 1}),
        Step(2, lossy | {"shown": (0, 60)}, {"ab.loss": 0.05, "ba.loss": 0}),
        Step(3, CALM | {"shown": (86, 90)}, {"ab.loss": 0, "ba.loss": 0}),
    ]
    check_steps(run_steps(steps, seed=3), steps)


@pytest.mark.parametrize("ppm", [500, -500])
def test_clocks_that_disagree_change_nothing_that_is_seen(ppm):
    expect = CLEAN | {
        "captured": (119, 121),
        "shown": (117, 121),
        "late_ms_p50": (44, 65),
        "late_ms_p95": (50, 90),
        "kbps": (150, 215),
    }
    steps = [Step(4, expect)]
    run = run_steps(steps, **{"a.clock_ppm": ppm, "b.clock_ppm": -ppm, "b.wall_error_ms": -2500})
    check_steps(run, steps)


def test_a_device_too_slow_to_encode_leaves_pictures_out_and_recovers():
    steps = [
        Step(2, CLEAN | {"sent": (58, 60)}, {"a.device": 1}),
        # 52 ms a picture: every second one finds the encoder busy.
        Step(
            3,
            {"sent": (40, 62), "shown": (40, 62), "stalls_s": (0, 0), "late_ms_p50": (90, 180)},
            {"a.device": 60},
        ),
        Step(2, CLEAN | {"sent": (57, 60), "late_ms_p50": AFTER}, {"a.device": 1}),
    ]
    run = run_steps(steps, adaptation=False)
    check_steps(run, steps)
    skipped = {f.skipped for f in run.directions["a->b"].recorder.frames if f.bytes is None}
    assert "encoder busy" in skipped


def test_a_device_too_slow_to_decode_does_not_stall_for_long_after():
    steps = [
        Step(2, CLEAN, {"b.device": 1}),
        # 52 ms a picture: they arrive faster than they are shown.
        Step(
            2, {"sent": (58, 60), "shown": (20, 60), "late_ms_p95": (300, 1500)}, {"b.device": 250}
        ),
        Step(
            3, {"shown": (70, 90), "stalls_s": (0, 1), "late_ms_p95": (44, 1500)}, {"b.device": 1}
        ),
    ]
    run = run_steps(steps)
    check_steps(run, steps)
    # Playout waits for 500 ms at most.
    assert 44 <= figures(run, 6, 7)["late_ms_p50"] <= 580
