"""Signalling that leads through the emulated link, and what no link can be."""

from __future__ import annotations

import pytest
from aiortc import sdp

from codecpilot.codecs.errors import LocalError
from codecpilot.samples.call.link_path import check_link, open_path

SDP = """v=0
o=- 1 1 IN IP4 0.0.0.0
s=-
t=0 0
a=group:BUNDLE 0 1
m=audio 50001 UDP/TLS/RTP/SAVPF 96
c=IN IP4 127.0.0.1
a=rtcp:9 IN IP4 0.0.0.0
a=rtpmap:96 opus/48000/2
a=candidate:1 1 udp 2130706431 127.0.0.1 50001 typ host
m=video 0 UDP/TLS/RTP/SAVPF 97
c=IN IP4 127.0.0.1
a=rtpmap:97 AV1/90000
a=candidate:1 1 udp 2130706431 127.0.0.1 50002 typ host
""".replace("\n", "\r\n")


async def test_every_candidate_becomes_the_port_that_the_other_side_sends_to() -> None:
    path = open_path({"delay_ms": "10"}, seed=0)
    await path.start()
    try:
        told = path.lead({"sdp": SDP, "type": "offer"}, to="B")
        back = path.lead({"sdp": SDP, "type": "answer"}, to="A")
    finally:
        path.close()
    assert (told["type"], back["type"]) == ("offer", "answer")
    ports = []
    for description in (told, back):
        media = sdp.SessionDescription.parse(description["sdp"]).media
        port = media[0].port
        assert [m.port for m in media] == [port, 0]  # a rejected medium stays rejected
        assert {c.port for m in media for c in m.ice_candidates} == {port}
        ports.append(port)
    assert ports[0] != ports[1]
    assert not {50_001, 50_002} & set(ports)


def test_both_directions_get_the_link_and_losses_of_their_own() -> None:
    links = check_link({"rate": "0:600,10:150", "loss": "0.5", "queue_ms": "200"})
    assert links["ab"].settings == links["ba"].settings
    assert links["ab"].settings.queue_us == 200_000
    again = [open_path({"loss": "0.5"}, seed=seed) for seed in (3, 3, 4)]
    patterns = [
        tuple(
            type(path._relay._links[name].offer(100, now_us=n * 1000)).__name__ for n in range(64)
        )
        for path in again
        for name in "ab"
    ]
    assert patterns[0] == patterns[2]
    assert patterns[1] == patterns[3]
    assert len(set(patterns)) == 4


async def test_figures_begin_when_the_link_does() -> None:
    path = open_path({"rate": "500"}, seed=0)
    assert path.live("A") is None
    assert path.summary("B") is None
    await path.start()
    path.arm()
    figures = path.summary("B")
    path.close()
    assert figures is not None
    assert figures["packets_offered"] == 0


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"rate": "x"}, "rate 'x' is not a number"),
        ({"rate": "0:5,3:0"}, "must be above 0"),
        ({"rate": "0:5,0:6"}, "times must grow"),
        ({"loss": "1.1"}, r"loss 1.1 is outside 0\.\.1"),
        ({"burst": "0"}, "burst 0 is outside"),
        ({"delay_ms": "-1"}, "delay_ms -1 is outside"),
        ({"queue_ms": "nan"}, "queue_ms 'nan' is not a number"),
        ({"trace": "no such file"}, "no such file"),
    ],
)
def test_what_no_link_can_be_is_refused(values: dict[str, str], words: str) -> None:
    with pytest.raises(LocalError, match=words):
        check_link(values)
