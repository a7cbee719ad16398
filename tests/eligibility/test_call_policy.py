"""How one side plans its calls: by its own report, and by what the peer tells or does not."""

from __future__ import annotations

import pytest

from codecpilot.codecs.errors import RemoteError
from codecpilot.eligibility.call_policy import CallPolicy
from codecpilot.eligibility.policy import start_plan

from tests.eligibility.test_policy import PACES, side


def test_both_sides_come_to_the_same_plan_by_what_they_tell_each_other():
    strong, weak = CallPolicy(side(0.1)), CallPolicy(side(0.05, up_to=640 * 360, slowness=9.0))
    there = strong.start(peer_score=weak.rtc_score, peer_text=weak.device_text)
    back = weak.start(peer_score=strong.rtc_score, peer_text=strong.device_text)
    assert there == start_plan(strong.own, weak.own)
    assert back == start_plan(weak.own, strong.own)
    assert (there.max_height, there.preset, there.is_receivers) == (360, "default", True)
    assert (back.max_height, back.preset, back.is_receivers) == (360, "default", False)
    assert (strong.peer, strong.plan) == (weak.own, there)


def test_a_peer_that_tells_nothing_leaves_it_to_the_sender():
    plan = CallPolicy(side(0.1, up_to=960 * 540)).start(peer_score=None, peer_text=None)
    assert (plan.codec, plan.max_height, plan.is_receivers) == ("AV1", 540, False)


@pytest.mark.parametrize(("score", "codec"), [(0.9, "AV1"), (0.4, "AV1"), (0.2, "H264")])
def test_a_peer_of_which_only_the_score_is_known_is_doubted_by_that(score: float, codec: str):
    assert CallPolicy(side(0.1)).start(peer_score=score, peer_text=None).codec == codec


def test_the_next_call_with_the_same_peer_keeps_to_the_plan_unless_much_changed():
    first = CallPolicy(side(0.01)).start(peer_score=None, peer_text=None)
    again = CallPolicy(side(-0.05), previous=first)
    assert again.start(peer_score=None, peer_text=None).codec == "AV1"
    assert CallPolicy(side(-0.05)).start(peer_score=None, peer_text=None).codec == "H264"


def test_paces_of_another_version_count_as_far_as_they_say_more():
    other = f"high 1.0000 {1920 * 1080}/30:0.2000:0.2000 {PACES[1][0]}/30:-0.1:-0.1"
    plan = CallPolicy(side(0.3)).start(peer_score=0.9, peer_text=other)
    # 1280x720 is less than what it holds; nothing at all is not held.
    assert plan.max_height == 720
    assert CallPolicy(side(0.3)).start(peer_score=0.9, peer_text="high -").codec == "H264"


def test_another_text_is_the_peers_error():
    with pytest.raises(RemoteError):
        CallPolicy(side(0.1)).start(peer_score=0.9, peer_text="high")
