from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError, RemoteError
from codecpilot.rtc.rtp.dd_templates import CALL_STRUCTURE
from codecpilot.rtc.rtp.dd_wire import parse_descriptor, serialize_descriptor
from codecpilot.rtc.rtp.dependency_descriptor import (
    DependencyDescriptorReader,
    DependencyDescriptorWriter,
    FrameDescription,
    MissingStructure,
)

# What Chromium 156 sends with the first packet of a 640x360 key frame.
CHROMIUM_L1T1 = bytes.fromhex("c0000180003a4101813f80b380")
CHROMIUM_L1T2 = bytes.fromhex("c0000180011ea85141010c09fc059c")
# An LTR-predicted frame that Chromium decoded, written for a structure like its own L1T1.
LTR_PREDICTED = bytes.fromhex("c1002d1c581680")


def write(**changes: Any) -> bytes:
    fields: dict[str, Any] = {
        "frame_number": 100,
        "first": True,
        "last": True,
        "key": False,
        "temporal_id": 0,
        "fdiffs": (1,),
        "chain_fdiff": 1,
        "attach_structure": False,
    }
    return DependencyDescriptorWriter().write(**{**fields, **changes})


def key_frame(**changes: Any) -> bytes:
    key: dict[str, Any] = {"key": True, "fdiffs": (), "chain_fdiff": 0, "attach_structure": True}
    return write(**{**key, **changes})


def reader_after_key_frame() -> DependencyDescriptorReader:
    reader = DependencyDescriptorReader()
    reader.read(key_frame(frame_number=0))
    return reader


def test_chromium_single_layer_key_frame() -> None:
    reader = DependencyDescriptorReader()
    assert reader.read(CHROMIUM_L1T1) == FrameDescription(
        frame_number=1,
        first=True,
        last=True,
        template_id=0,
        spatial_id=0,
        temporal_id=0,
        dtis=(2,),
        fdiffs=(),
        chain_fdiffs=(0,),
        structure_attached=True,
        active_decode_targets=1,
        resolution=(640, 360),
    )
    delta = reader.read(bytes.fromhex("810002"))
    assert (delta.first, delta.last, delta.frame_number) == (True, False, 2)
    assert (delta.fdiffs, delta.chain_fdiffs, delta.dtis) == ((1,), (1,), (2,))
    assert not delta.structure_attached
    assert delta.active_decode_targets is None
    predicted = reader.read(LTR_PREDICTED)
    assert (predicted.frame_number, predicted.fdiffs, predicted.chain_fdiffs) == (45, (45,), (45,))


def test_chromium_two_layers() -> None:
    reader = DependencyDescriptorReader()
    key = reader.read(CHROMIUM_L1T2)
    assert (key.dtis, key.active_decode_targets, key.resolution) == ((2, 2), 3, (640, 360))
    base = reader.read(bytes.fromhex("c10003"))
    assert (base.temporal_id, base.fdiffs, base.chain_fdiffs, base.dtis) == (0, (2,), (2,), (2, 2))
    upper = reader.read(bytes.fromhex("c20004"))
    assert (upper.temporal_id, upper.fdiffs, upper.chain_fdiffs) == (1, (1,), (1,))
    assert upper.dtis == (0, 1)


@pytest.mark.parametrize("wire", [CHROMIUM_L1T1, CHROMIUM_L1T2])
def test_chromium_bytes_are_written_back_the_same(wire: bytes) -> None:
    descriptor = parse_descriptor(wire, None)
    assert descriptor.structure is not None
    assert serialize_descriptor(descriptor, descriptor.structure) == wire


def test_our_key_frame_fits_the_one_byte_extension_form() -> None:
    wire = key_frame(frame_number=0)
    assert wire.hex() == "c0000080" + "0107aaa14114100908"
    assert len(wire) == 13
    description = DependencyDescriptorReader().read(wire)
    assert description.structure_attached
    assert description.active_decode_targets == 3
    assert (description.fdiffs, description.chain_fdiffs) == ((), (0,))


def test_an_ltr_predicted_frame_has_the_bytes_that_chromium_decoded() -> None:
    assert write(frame_number=45, fdiffs=(45,), chain_fdiff=45) == LTR_PREDICTED


def test_other_packets_of_a_key_frame_need_three_bytes() -> None:
    assert key_frame(attach_structure=False, first=False, last=False).hex() == "000064"


@pytest.mark.parametrize(
    ("frame", "template"),
    [
        ({"fdiffs": (1,), "chain_fdiff": 1}, 1),
        ({"fdiffs": (2,), "chain_fdiff": 2}, 2),
        ({"temporal_id": 1, "fdiffs": (1,), "chain_fdiff": 1}, 3),
    ],
)
def test_frames_of_the_patterns_need_three_bytes(frame: dict[str, Any], template: int) -> None:
    assert write(**frame) == bytes((0xC0 | template, 0, 100))


def test_every_pattern_is_available_after_any_key_frame() -> None:
    reader = reader_after_key_frame()
    for temporal_id, fdiff in ((0, 1), (0, 2), (1, 1)):
        description = reader.read(
            write(temporal_id=temporal_id, fdiffs=(fdiff,), chain_fdiff=fdiff)
        )
        assert (description.temporal_id, description.fdiffs) == (temporal_id, (fdiff,))


@given(
    frame_number=st.integers(0, 0xFFFF),
    first=st.booleans(),
    last=st.booleans(),
    temporal_id=st.integers(0, 1),
    fdiffs=st.sets(st.integers(1, 4096), min_size=1, max_size=5).map(tuple),
    chain_fdiff=st.integers(0, 255),
)
def test_any_frame_is_read_as_it_was_written(
    frame_number: int,
    first: bool,
    last: bool,
    temporal_id: int,
    fdiffs: tuple[int, ...],
    chain_fdiff: int,
) -> None:
    wire = write(
        frame_number=frame_number,
        first=first,
        last=last,
        temporal_id=temporal_id,
        fdiffs=fdiffs,
        chain_fdiff=chain_fdiff,
    )
    description = reader_after_key_frame().read(wire)
    assert (description.frame_number, description.first, description.last) == (
        frame_number,
        first,
        last,
    )
    assert description.fdiffs == tuple(sorted(fdiffs))
    assert (description.temporal_id, description.chain_fdiffs) == (temporal_id, (chain_fdiff,))
    assert description.dtis == ((2, 2) if temporal_id == 0 else (0, 1))


def test_a_lost_structure_is_told_from_garbage_and_waited_for() -> None:
    reader = DependencyDescriptorReader()
    delta = write(frame_number=1)
    with pytest.raises(MissingStructure):
        reader.read(delta)
    reader.read(key_frame(frame_number=0))
    assert reader.read(delta).fdiffs == (1,)
    with pytest.raises(RemoteError) as truncated:
        reader.read(delta[:2])
    assert not isinstance(truncated.value, MissingStructure)


def test_a_template_id_outside_the_structure_means_that_its_structure_is_missing() -> None:
    reader = DependencyDescriptorReader()
    reader.read(CHROMIUM_L1T1)
    with pytest.raises(MissingStructure):
        reader.read(bytes.fromhex("c20002"))


def test_a_structure_that_comes_late_does_not_replace_a_newer_one() -> None:
    reader = DependencyDescriptorReader()
    reader.read(key_frame(frame_number=300))
    assert reader.read(CHROMIUM_L1T1).structure_attached
    assert reader.structure == CALL_STRUCTURE


def test_a_structure_after_a_long_time_without_descriptors_replaces_the_old_one() -> None:
    reader = DependencyDescriptorReader()
    reader.read(key_frame(frame_number=40_000))
    reader.read(CHROMIUM_L1T1)
    assert reader.structure != CALL_STRUCTURE


def test_frame_numbers_wrap_around_a_new_structure() -> None:
    reader = DependencyDescriptorReader()
    reader.read(key_frame(frame_number=65535))
    reader.read(CHROMIUM_L1T1)
    assert reader.structure != CALL_STRUCTURE


@given(st.lists(st.binary(min_size=3, max_size=30), max_size=5))
def test_random_descriptors_read_or_raise_remote_error(stream: list[bytes]) -> None:
    reader = reader_after_key_frame()
    for data in stream:
        try:
            reader.read(data)
        except RemoteError:
            continue


@pytest.mark.parametrize(
    "fields",
    [
        {"key": True},  # a key frame with references
        {"fdiffs": ()},  # no references and no key frame
        {"key": True, "fdiffs": (), "chain_fdiff": 1},
        {"key": True, "fdiffs": (), "chain_fdiff": 0, "temporal_id": 1},
        {"attach_structure": True},
        {"key": True, "fdiffs": (), "chain_fdiff": 0, "attach_structure": True, "first": False},
        {"temporal_id": 2},
        {"fdiffs": (1, 2, 3, 4, 5, 6)},
        {"fdiffs": (0,)},
        {"fdiffs": (4097,)},
        {"chain_fdiff": 256},
        {"chain_fdiff": -1},
    ],
)
def test_frames_that_receivers_would_refuse_are_local_errors(fields: dict[str, Any]) -> None:
    with pytest.raises(LocalError):
        write(**fields)
