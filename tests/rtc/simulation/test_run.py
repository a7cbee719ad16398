"""A whole run with fake codecs: what is recorded, and that nothing of it is left to chance."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest

from codecpilot.codecs.types import Codec, Picture
from codecpilot.rtc.adaptation.costs import Cost
from codecpilot.rtc.simulation.rates import rate_rows
from codecpilot.rtc.simulation.records import PacketKind
from codecpilot.rtc.simulation.recovery import RECOVERIES
from codecpilot.rtc.simulation.run import Run, simulate
from codecpilot.rtc.simulation.scenario import scenario
from codecpilot.rtc.simulation.summary import direction_figures, run_figures
from codecpilot.rtc.simulation.tools import Tools

from tests.rtc.fakes import FakeEncoder, picture


class PlainDecoder:
    """Shows a picture for every frame."""

    implementation = "plain"

    def __init__(self, codec: Codec) -> None:
        self.codec = codec

    def decode(self, data: bytes, *, capture_us: int = 0) -> Picture | None:
        return picture(capture_us)

    def close(self) -> None:
        pass


def pictures(name: str) -> Iterator[Picture]:
    return (picture(index * 33_333) for index in itertools.count())


def run(seconds: float = 3, **values: object) -> Run:
    nested: dict[str, object] = {
        "seconds": seconds,
        "size": "64x64",
        "target_kbps": 300,
        "cc": "none",
    }
    for name, value in values.items():
        scope, _, key = name.rpartition("__")
        (nested.setdefault(scope, {}) if scope else nested)[key] = value
    checked = scenario(nested, read_text=lambda path: "", default_bps=lambda size, fps: 300_000)
    tools = Tools(
        open_encoder=lambda codec, width, height: FakeEncoder(codec),
        open_stock_encoder=lambda: FakeEncoder(Codec.H264),
        open_stock_decoder=lambda: PlainDecoder(Codec.H264),
        open_decoder=PlainDecoder,
        pictures=pictures,
        estimator=lambda ssrc, extensions: None,
        generator=lambda name: random.Random(f"{checked.seed} {name}"),
        costs={(codec, "default"): Cost(encode_ns=15.0, decode_ns=3.6) for codec in Codec},
    )
    return simulate(checked, tools)


def test_a_clean_run_adds_up():
    made = run()
    summary = run_figures(made, wall_s=1.0)
    assert list(summary) == ["directions", "links", "virtual_s", "wall_s"]
    assert list(summary["directions"]) == ["a->b", "b->a"]
    for figures in summary["directions"].values():
        frames = figures["frames"]
        assert frames["captured"] == 91
        assert 90 <= frames["sent"] <= 91
        assert 88 <= frames["received"] <= frames["sent"]
        assert 88 <= frames["shown"] <= frames["received"]
        assert (figures["key_frames"], figures["freeze_count"], figures["freeze_s"]) == (1, 0, 0)
        assert 25 <= figures["e2e_ms"]["p50"] <= 45
        assert figures["recovery_ms"] == {"p50": None, "p95": None, "max": None}
        assert 0.05 <= figures["utilisation"] <= 0.4
        assert figures["retransmitted_bytes"] == figures["fec_bytes"] == 0
        assert figures["padding_bytes"] == figures["queue_loss_ratio"] == 0
        # The encoder of these tests fills seven tenths of its target.
        assert 0.6 <= figures["utilisation_of_need"] <= 0.8
    for name, link in summary["links"].items():
        (figures,) = [f for d, f in summary["directions"].items() if d[0] == name[0]]
        assert link["utilisation"] == figures["utilisation"]
        assert link["outage_s"] == 0
        assert link["cross_kbps"] is link["cross_share"] is link["fairness"] is None


def test_the_figures_are_those_that_summary_json_promises():
    figures = run_figures(run(1), wall_s=1.0)["directions"]["a->b"]
    assert set(figures) == {
        "freeze_count",
        "freeze_s",
        "recovery_ms",
        "e2e_ms",
        "av_offset_ms",
        "queue_delay_ms",
        "queue_loss_ratio",
        "utilisation",
        "utilisation_of_need",
        "kbps",
        "frames",
        "key_frames",
        "ltr_frames",
        "ltrp_frames",
        "nacks",
        "rpsis",
        "plis",
        "retransmitted_bytes",
        "padding_bytes",
        "fec_bytes",
        "fec_recovered",
        "psnr_y_shown",
        "vmaf_shown",
        "encode_ms",
        "late_frames",
        "late_s",
        "codec_switches",
        "preset_switches",
        "size_switches",
        "adaptations",
        "operations",
    }
    assert set(figures["recovery_ms"]) == {"p50", "p95", "max"}
    assert set(figures["e2e_ms"]) == set(figures["queue_delay_ms"]) == {"p50", "p95"}
    assert set(figures["frames"]) == {"captured", "left_out", "sent", "received", "shown"}


def test_every_packet_is_accounted_for():
    made = run(loss=0.05, queue_ms=50)
    for direction in made.directions.values():
        packets, counters = direction.recorder.packets, direction.link.counters
        assert len(packets) == counters.offered_packets
        assert sum(p.size_bytes for p in packets) == counters.offered_bytes
        assert sum(p.fate == "" for p in packets) == counters.delivered_packets
        assert {r: sum(p.fate == r for p in packets) for r in counters.dropped} == counters.dropped
        media = [p for p in packets if p.kind is PacketKind.MEDIA]
        assert sum(f.packets for f in direction.recorder.frames) == len(media)
        assert all(p.frame_index is not None for p in media)


def test_a_loss_is_logged_repaired_and_timed():
    made = run(4, ab__loss="0:0,1:1,1.05:0", recovery="nack")
    direction = made.directions["a->b"]
    lost = [p for p in direction.recorder.packets if p.fate == "loss"]
    assert 1 <= len(lost) <= 3
    assert [e["event"] for e in made.events.events if e["peer"] == "b"].count("nack") == 1
    # The gap shows with the next frame; the request and the packet take a round trip of 50 ms.
    (recovery_us,) = direction.recorder.recoveries_us
    assert 80_000 <= recovery_us <= 200_000
    assert direction.recorder.payload_bytes[PacketKind.RTX] > 0


def test_a_loss_is_answered_by_each_recovery_as_it_is_named():
    figures = {
        name: run_figures(run(4, ab__loss="0:0,1:1,1.05:0", recovery=name), wall_s=1.0)
        for name in RECOVERIES
    }
    seen = {name: made["directions"]["a->b"] for name, made in figures.items()}
    assert [seen[name]["key_frames"] for name in ("codecpilot", "nack", "key")] == [1, 1, 2]
    assert [seen[name]["ltrp_frames"] for name in ("codecpilot", "nack", "key")] == [1, 0, 0]
    assert [seen[name]["plis"] for name in ("codecpilot", "nack", "key")] == [0, 0, 1]
    assert seen["codecpilot"]["nacks"]
    assert seen["nack"]["nacks"]
    assert not seen["key"]["nacks"]


def test_references_are_acknowledged_by_media_where_there_is_some_each_way():
    made = run(5, ab__loss="0:0,1:1,1.1:0,3:1,3.1:0")
    events = [e["event"] for e in made.events.events]
    assert events.count("ltrp") == 2
    assert "ltr ack" not in events
    core = made.directions["a->b"].parts.sender
    assert core.core._recovery.ltrs.acknowledged is not None


@pytest.mark.parametrize("key", ["ltr", "fec"])
def test_one_peer_that_refuses_is_enough_to_do_without(key):
    made = run(4, loss=0.1, **{f"b__{key}": "off"})
    figures = run_figures(made, wall_s=1.0)["directions"]
    for one in figures.values():
        assert one["ltrp_frames" if key == "ltr" else "fec_bytes"] == 0


def test_an_outage_is_a_freeze_that_is_logged_where_it_was_seen():
    made = run(6, ab__loss="0:0,2:1,4:0")
    freezes = [e for e in made.events.events if e["event"] == "freeze"]
    assert {e["peer"] for e in freezes} == {"a->b"}
    assert 1.9e6 <= freezes[0]["duration_us"] <= 3e6
    keys = [e for e in made.events.events if e["event"] == "key" and e["peer"] == "a"]
    assert keys[0]["reason"] == "start of the stream"
    restarts = [e for e in made.events.events if e["event"] == "ltrp" and e["peer"] == "a"]
    # A request finds its way back at once, and the frame that answers it after two seconds.
    assert 1 <= len(keys) <= 4
    assert 1 <= len(restarts) <= 12


def test_a_freeze_that_stands_at_the_end_counts():
    summary = run_figures(run(4, ab__loss="0:0,2:1"), wall_s=1.0)
    figures = summary["directions"]["a->b"]
    assert figures["freeze_count"] == 1
    assert 1.8 <= figures["freeze_s"] <= 2.1


def test_a_slow_device_skips_what_it_cannot_encode_in_time():
    # 64x48 pixels take 46 us; 1000 times as long is 46 ms, so two of three are sent.
    made = run(3, a__device=1000, a__adaptation=False)
    frames = made.directions["a->b"].recorder.frames
    assert 55 <= sum(f.bytes is not None for f in frames) <= 70
    assert {f.skipped for f in frames[:-1]} == {"", "encoder busy"}
    assert all(f.bytes is not None for f in made.directions["b->a"].recorder.frames[:-1])


def test_sound_shares_the_link_and_comes_at_its_own_latency():
    made = run(2, audio_kbps=32)
    direction = made.directions["a->b"]
    sent = [p for p in direction.recorder.packets if p.kind is PacketKind.AUDIO]
    assert 99 <= len(sent) <= 101
    latencies = direction.far.sound.latencies_us
    assert 95 <= len(latencies) <= len(sent)
    assert all(25_000 <= latency <= 60_000 for latency in latencies)


def test_pictures_wait_for_their_sound_and_no_longer_without_it():
    silent, both = run(4), run(4, audio_kbps=32)
    alone = direction_figures(silent.directions["a->b"], duration_us=4_000_000)
    figures = direction_figures(both.directions["a->b"], duration_us=4_000_000)
    assert alone["av_offset_ms"] == {"p50": None, "p95": None}
    assert -45 <= figures["av_offset_ms"]["p50"] <= -35
    # Sound is heard four packets after it came, the pictures would be at once.
    assert 20 <= figures["e2e_ms"]["p50"] - alone["e2e_ms"]["p50"] <= 45


@pytest.mark.parametrize("values", [{"stack": "aiortc"}, {"a__stack": "aiortc"}, {"codec": "H264"}])
def test_other_stacks_and_codecs_hold_a_call(values):
    made = run(3, **values)
    for direction in made.directions.values():
        assert {f.codec for _, f in direction.recorder.bitstream} == {Codec.H264}
        assert sum(f.shown_us is not None for f in direction.recorder.frames) >= 85


def traces(made: Run) -> list[object]:
    return [
        made.events.events,
        *(direction.recorder.packets for direction in made.directions.values()),
        *(direction.recorder.frames for direction in made.directions.values()),
    ]


def test_the_same_seed_gives_the_same_run_and_another_seed_another():
    settings = {"loss": 0.05, "burst": 3, "jitter_ms": 5, "reorder": 0.02}
    first, second = run(2, seed=5, **settings), run(2, seed=5, **settings)
    assert traces(first) == traces(second)
    assert traces(first) != traces(run(2, seed=6, **settings))


def test_what_the_encoder_does_leaves_the_links_losses_as_they_are():
    fates = []
    for target in (100, 400):
        made = run(2, loss=0.1, target_kbps=target)
        packets = made.directions["a->b"].recorder.packets[:50]
        fates.append([p.fate for p in packets])
    assert fates[0] == fates[1]
    assert "loss" in fates[0]


def test_calls_share_both_links_and_differ_in_all_that_identifies_them():
    made = run(20, rate=900, calls=2, calls_start_s=2)
    assert list(made.directions) == ["a->b", "b->a", "a2->b2", "b2->a2"]
    summary = run_figures(made, wall_s=1.0)
    first, second = (summary["directions"][name] for name in ("a->b", "a2->b2"))
    assert first["frames"]["captured"] == 601
    assert second["frames"]["captured"] == 541
    assert first["kbps"] == pytest.approx(second["kbps"], rel=0.1)
    link = summary["links"]["ab"]
    assert link["utilisation"] == pytest.approx(
        first["utilisation"] + second["utilisation"], abs=0.001
    )
    assert 0.99 <= link["fairness"] <= 1
    assert made.directions["a2->b2"].start_us == 2_000_000
    starts = [made.directions[name].recorder.packets[0] for name in ("a->b", "a2->b2")]
    assert starts[0].sequence != starts[1].sequence
    assert starts[1].sent_us >= 2_000_000
    assert {e["peer"] for e in made.events.events if e["event"] == "key"} == {"a", "b", "a2", "b2"}


def test_the_first_call_is_the_same_until_another_one_begins():
    alone, shared = run(4), run(4, calls=3, calls_start_s=2)
    before = [
        [p for p in made.directions["a->b"].recorder.packets if p.sent_us < 2_000_000]
        for made in (alone, shared)
    ]
    assert before[0] == before[1]
    assert len(before[0]) >= 60


def test_a_flow_of_others_takes_its_share_of_one_link():
    made = run(20, rate=600, ab__cross="0:0,5:1,15:0")
    summary = run_figures(made, wall_s=1.0)
    ab, ba = summary["links"]["ab"], summary["links"]["ba"]
    assert ba["cross_kbps"] is None
    # The call sends 300 kbps whatever happens.
    assert 150 <= ab["cross_kbps"] <= 450
    assert 0.3 <= ab["cross_share"] <= 0.7
    rows = {d: rate_rows(made, made.directions[d]) for d in made.directions}
    cross = [row.cross_kbps for row in rows["a->b"]]
    assert sum(cross[:50]) == sum(cross[150:]) == 0
    assert sum(cross[50:150]) / 100 == pytest.approx(ab["cross_kbps"], rel=0.01)
    assert all(row.cross_kbps == 0 for row in rows["b->a"])


def test_rates_over_time_add_up_to_the_packets():
    made = run(3, rate="0:1000,1:160", ab__queue_ms=50)
    direction = made.directions["a->b"]
    rows, packets = rate_rows(made, direction), direction.recorder.packets
    assert [row.time_us for row in rows] == list(range(0, 3_000_000, 100_000))
    assert sum(r.sent_kbps for r in rows) * 100 / 8 == pytest.approx(
        sum(p.size_bytes for p in packets)
    )
    arrived = sum(p.size_bytes for p in packets if p.arrival_us and p.arrival_us < 3_000_000)
    assert sum(r.arrived_kbps for r in rows) * 100 / 8 == pytest.approx(arrived)
    assert sum(r.queue_lost for r in rows) == sum(p.fate == "queue" for p in packets) > 0
    assert [r.capacity_kbps for r in rows] == [1000] * 10 + [160] * 20
    assert {r.target_kbps for r in rows} == {300}
    assert max(r.queue_ms for r in rows[:10]) <= 20
    # A packet of 1200 bytes takes 60 ms at that rate, and one more waits for less than 50.
    assert 20 <= max(r.queue_ms for r in rows[10:]) <= 100


def test_what_lies_above_the_links_rate_is_no_need():
    summary = run_figures(run(10, rate=200), wall_s=1.0)["directions"]["a->b"]
    assert 0.95 <= summary["utilisation"] <= 1
    assert 0.9 <= summary["utilisation_of_need"] <= 1
    assert 0.2 <= summary["queue_loss_ratio"] <= 0.6


def test_pictures_that_a_low_rate_leaves_out_are_counted_and_logged():
    made = run(4, target_kbps=40)
    counts = run_figures(made, wall_s=1.0)["directions"]["a->b"]["frames"]
    assert counts["captured"] / 2 - 2 <= counts["left_out"] <= counts["captured"] / 2
    assert counts["left_out"] + counts["sent"] >= counts["captured"] - 1
    frames = made.directions["a->b"].recorder.frames
    assert counts["left_out"] == sum(f.skipped == "frame rate" for f in frames)
    paces = [e for e in made.events.events if e["event"] == "frame rate" and e["peer"] == "a"]
    assert [(e["reason"], e["every"]) for e in paces] == [("application", 2)]
    assert {f.skipped for f in run(4).directions["a->b"].recorder.frames[:-1]} == {""}


def test_a_codec_that_the_rate_chose_is_logged_with_that_reason():
    made = run(4, target_kbps=10, codec="H264")
    switches = [e for e in made.events.events if e["event"] == "codec" and e["peer"] == "a"]
    assert [(e["reason"], e["codec"]) for e in switches] == [("rate", "AV1")]
    assert made.directions["a->b"].recorder.decisions.codec_switches == 1


def test_a_run_without_comparison_is_the_same_call():
    compared, not_compared = run(2), run(2, psnr=False)
    assert compared.directions["a->b"].recorder.packets == (
        not_compared.directions["a->b"].recorder.packets
    )
    figures = run_figures(not_compared, wall_s=1.0)["directions"]["a->b"]
    assert figures["psnr_y_shown"] is None
    assert figures["frames"]["shown"] >= 55
