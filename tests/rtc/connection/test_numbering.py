"""Later offers keep what earlier rounds bound to payload types and extension ids."""

from __future__ import annotations

from typing import Any

from aiortc.codecs import CODECS, HEADER_EXTENSIONS
from aiortc.rtcrtpparameters import RTCRtpCodecParameters, RTCRtpHeaderExtensionParameters
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.types import Codec
from codecpilot.rtc.connection.capabilities import video_codecs, video_header_extensions
from codecpilot.rtc.connection.numbering import follow_extension_ids, follow_payload_types

TABLES = {**CODECS, "video": video_codecs((Codec.AV1, Codec.H264))}
EXTENSIONS = {
    **HEADER_EXTENSIONS,
    "video": video_header_extensions(dependency_descriptor=True),
}
NAMES = ("AV1", "VP8", "VP9", "opus", "H265", "rtx", "red")


def _remote(name: str, payload_type: int, **parameters: Any) -> RTCRtpCodecParameters:
    audio = name == "opus"
    return RTCRtpCodecParameters(
        mimeType=f"{'audio' if audio else 'video'}/{name}",
        clockRate=48_000 if audio else 90_000,
        channels=2 if audio else None,
        payloadType=payload_type,
        parameters=parameters,
    )


def _numbers(tables: dict[str, list[RTCRtpCodecParameters]]) -> list[int | None]:
    return [c.payloadType for table in tables.values() for c in table]


def _find(tables: Any, mime_type: str) -> RTCRtpCodecParameters:
    found: RTCRtpCodecParameters = next(
        c for table in tables.values() for c in table if c.mimeType == mime_type
    )
    return found


def test_codecs_and_their_rtx_take_the_remotes_numbers() -> None:
    remote = [_remote("opus", 111), _remote("AV1", 45), _remote("rtx", 46, apt=45)]
    followed = follow_payload_types(TABLES, remote)
    assert _find(followed, "audio/opus").payloadType == 111
    assert [(c.name, c.payloadType) for c in followed["video"][:2]] == [("AV1", 45), ("rtx", 46)]
    assert followed["video"][1].parameters == {"apt": 45}
    assert [c.payloadType for c in followed["video"][2:]] == [
        c.payloadType for c in TABLES["video"][2:]
    ]


def test_a_number_that_the_remote_uses_otherwise_is_left_to_it() -> None:
    own = _find(TABLES, "video/AV1").payloadType
    assert own is not None
    followed = follow_payload_types(TABLES, [_remote("VP9", own), _remote("rtx", own + 1, apt=own)])
    av1, rtx = followed["video"][:2]
    assert av1.payloadType not in (own, own + 1)
    assert rtx.payloadType not in (own, own + 1)
    assert rtx.parameters["apt"] == av1.payloadType


def test_the_tables_given_stay_as_they_are() -> None:
    before = repr(TABLES)
    follow_payload_types(TABLES, [_remote("AV1", 45)])
    assert repr(TABLES) == before


@given(
    st.lists(
        st.tuples(st.sampled_from(NAMES), st.integers(35, 127), st.integers(35, 127)), max_size=90
    )
)
def test_numbers_stay_different_whatever_the_remote_offers(
    offer: list[tuple[str, int, int]],
) -> None:
    unique = {number: (name, number, apt) for name, number, apt in offer}
    remote = [
        _remote(name, number, **({"apt": apt} if name == "rtx" else {}))
        for name, number, apt in unique.values()
    ]
    followed = follow_payload_types(TABLES, remote)
    numbers = _numbers(followed)
    assert len(set(numbers)) == len(numbers)
    assert len(numbers) <= len(_numbers(TABLES))
    assert len(unique) > 40 or len(numbers) == len(_numbers(TABLES))
    names = {c.payloadType: c.mimeType for c in remote}
    for table in followed.values():
        for codec in table:
            assert names.get(codec.payloadType, codec.mimeType) == codec.mimeType


def test_codecs_without_a_free_number_are_left_out() -> None:
    remote = [_remote("VP9", number) for number in (*range(35, 64), *range(96, 128))]
    followed = follow_payload_types(TABLES, remote)
    assert followed["video"] == []
    assert [c.name for c in followed["audio"]] == ["G722", "PCMU", "PCMA"]


def test_extensions_without_a_free_id_are_left_out() -> None:
    remote = [RTCRtpHeaderExtensionParameters(id=i, uri=f"urn:example:{i}") for i in range(1, 256)]
    assert follow_extension_ids(EXTENSIONS, remote) == {"audio": [], "video": []}


def test_a_second_round_changes_nothing() -> None:
    once = follow_payload_types(TABLES, [_remote("AV1", 45), _remote("VP8", 103)])
    assert follow_payload_types(once, [c for t in once.values() for c in t]) == once


def test_extensions_take_the_remotes_ids_and_keep_out_of_the_others() -> None:
    mid, level = (
        "urn:ietf:params:rtp-hdrext:sdes:mid",
        "urn:ietf:params:rtp-hdrext:ssrc-audio-level",
    )
    remote = [
        RTCRtpHeaderExtensionParameters(id=9, uri=mid),
        RTCRtpHeaderExtensionParameters(id=1, uri=level),
        RTCRtpHeaderExtensionParameters(id=3, uri="urn:example:unknown"),
        *(
            RTCRtpHeaderExtensionParameters(id=i, uri=f"urn:example:{i}")
            for i in (2, *range(4, 9), *range(10, 14))
        ),
    ]
    followed = follow_extension_ids(EXTENSIONS, remote)
    ids = {e.uri: e.id for table in followed.values() for e in table}
    assert (ids[mid], ids[level]) == (9, 1)
    others = [i for uri, i in ids.items() if uri not in (mid, level)]
    assert len(set(others)) == len(others) == 6
    assert sorted(others) == [14, 16, 17, 18, 19, 20]
    for table in followed.values():
        assert all(ids[e.uri] == e.id for e in table)
