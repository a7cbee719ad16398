from __future__ import annotations

import pytest

from codecpilot.ratecontrol.bandwidth.messages import ProbeCluster, SentPacket
from codecpilot.ratecontrol.bandwidth.probe_result import ProbeResults

CLUSTER = ProbeCluster(probe_id=3, rate_bps=1_000_000, min_packets=5, min_bytes=1_875)


def probe(
    results: ProbeResults,
    *,
    send_gap_us: int,
    arrival_gap_us: int,
    count: int = 6,
    size_bytes: int = 500,
    probe_id: int = 3,
) -> int | None:
    """What is told after the last of so many packets."""
    told = None
    for i in range(count):
        packet = SentPacket(
            number=i, sent_us=i * send_gap_us, size_bytes=size_bytes, probe_id=probe_id
        )
        told = results.handle_arrival(packet, arrival_us=50_000 + i * arrival_gap_us)
    return told


@pytest.fixture
def results() -> ProbeResults:
    results = ProbeResults()
    results.expect(CLUSTER)
    return results


def test_a_path_that_is_not_full_gives_the_rate_sent(results: ProbeResults) -> None:
    assert probe(results, send_gap_us=4_100, arrival_gap_us=4_200) == round(4_000 / 0.0042)


def test_a_full_path_gives_a_little_less_than_what_arrived(results: ProbeResults) -> None:
    assert probe(results, send_gap_us=4_000, arrival_gap_us=8_000) == 475_000


def test_no_more_is_told_than_was_probed(results: ProbeResults) -> None:
    assert probe(results, send_gap_us=1_000, arrival_gap_us=1_000) == 1_000_000


def test_packets_that_waited_together_tell_nothing(results: ProbeResults) -> None:
    assert probe(results, send_gap_us=4_000, arrival_gap_us=1_500) is None


@pytest.mark.parametrize("gaps_us", [(0, 4_000), (4_000, 0), (4_000, -4_000), (300_000, 300_000)])
def test_times_that_make_no_rate_tell_nothing(
    results: ProbeResults, gaps_us: tuple[int, int]
) -> None:
    send_gap_us, arrival_gap_us = gaps_us
    if arrival_gap_us < 0:
        # Backwards, they still span the same time: as good as forwards.
        assert probe(results, send_gap_us=send_gap_us, arrival_gap_us=arrival_gap_us) == 1_000_000
    else:
        assert probe(results, send_gap_us=send_gap_us, arrival_gap_us=arrival_gap_us) is None


def test_four_of_five_packets_are_enough_three_are_not(results: ProbeResults) -> None:
    assert probe(results, send_gap_us=4_000, arrival_gap_us=4_000, count=3) is None
    results.expect(CLUSTER)
    assert probe(results, send_gap_us=4_000, arrival_gap_us=4_000, count=4) == 1_000_000


def test_too_few_bytes_are_not_enough(results: ProbeResults) -> None:
    assert probe(results, send_gap_us=800, arrival_gap_us=800, size_bytes=100) is None


def test_packets_of_no_known_cluster_tell_nothing(results: ProbeResults) -> None:
    assert probe(results, send_gap_us=4_000, arrival_gap_us=4_000, probe_id=4) is None


def test_only_the_last_few_clusters_are_known(results: ProbeResults) -> None:
    for probe_id in range(4, 12):
        results.expect(ProbeCluster(probe_id=probe_id, rate_bps=1, min_packets=5, min_bytes=1_875))
    assert probe(results, send_gap_us=4_000, arrival_gap_us=4_000) is None
