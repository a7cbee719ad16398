"""Which sound goes with which pictures, by the SDP."""

from __future__ import annotations

from aiortc import sdp

from codecpilot.rtc.connection.streams import sound_of_pictures


def media(*lines: tuple[str, str, str | None, int]) -> list[sdp.MediaDescription]:
    text = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n"
    for kind, mid, msid, port in lines:
        text += f"m={kind} {port} UDP/TLS/RTP/SAVPF 96\r\nc=IN IP4 0.0.0.0\r\na=mid:{mid}\r\n"
        text += "a=rtpmap:96 x/90000\r\n" + (f"a=msid:{msid}\r\n" if msid else "")
    return sdp.SessionDescription.parse(text).media


def test_sound_and_pictures_of_one_stream_go_together() -> None:
    assert sound_of_pictures(media(("audio", "0", "s t1", 9), ("video", "1", "s t2", 9))) == {
        "1": "0"
    }


def test_each_stream_keeps_to_itself_and_has_one_sound() -> None:
    lines = [
        ("video", "0", "screen v", 9),
        ("video", "1", "room v1", 9),
        ("video", "2", "room v2", 9),
        ("audio", "3", "room a1", 9),
        ("audio", "4", "room a2", 9),
        ("audio", "5", "other a", 9),
    ]
    assert sound_of_pictures(media(*lines)) == {"1": "3", "2": "3"}


def test_without_a_stream_nothing_goes_together() -> None:
    for msid in (None, "- t"):
        assert sound_of_pictures(media(("audio", "0", msid, 9), ("video", "1", msid, 9))) == {}


def test_a_rejected_medium_belongs_to_no_stream() -> None:
    assert sound_of_pictures(media(("audio", "0", "s t1", 0), ("video", "1", "s t2", 9))) == {}
