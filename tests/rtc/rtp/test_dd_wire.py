from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.bits import BitReader, BitWriter
from codecpilot.codecs.errors import LocalError, RemoteError
from codecpilot.rtc.rtp.dd_structure import (
    DependencyStructure,
    FrameTemplate,
    read_structure,
    write_structure,
)
from codecpilot.rtc.rtp.dd_templates import CALL_STRUCTURE
from codecpilot.rtc.rtp.dd_wire import (
    DependencyDescriptor,
    MissingStructure,
    parse_descriptor,
    serialize_descriptor,
)


@st.composite
def structures(draw: st.DrawFn) -> DependencyStructure:
    targets = draw(st.integers(1, 32))
    chains = draw(st.integers(0, targets))
    layers = draw(
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 7)), min_size=1, max_size=64)
    )
    # Templates are sorted and no layer is skipped: walk up where the drawn one is higher.
    walked = [(0, 0)]
    for spatial, temporal in sorted(layers)[1:]:
        last_spatial, last_temporal = walked[-1]
        if spatial > last_spatial:
            walked.append((last_spatial + 1, 0))
        elif temporal > last_temporal:
            walked.append((last_spatial, last_temporal + 1))
        else:
            walked.append(walked[-1])
    templates = tuple(
        FrameTemplate(
            spatial_id=spatial,
            temporal_id=temporal,
            dtis=tuple(draw(st.lists(st.integers(0, 3), min_size=targets, max_size=targets))),
            fdiffs=tuple(draw(st.lists(st.integers(1, 16), max_size=4))),
            chain_fdiffs=tuple(
                draw(st.lists(st.integers(0, 15), min_size=chains, max_size=chains))
            ),
        )
        for spatial, temporal in walked[: draw(st.integers(1, 6))]
    )
    sides = st.integers(1, 65536)
    count = templates[-1].spatial_id + 1
    return DependencyStructure(
        template_id_offset=draw(st.integers(0, 63)),
        decode_target_count=targets,
        chain_count=chains,
        decode_target_protected_by=tuple(
            draw(st.integers(0, chains - 1)) for _ in range(targets if chains else 0)
        ),
        templates=templates,
        resolutions=tuple(
            draw(st.just([]) | st.lists(st.tuples(sides, sides), min_size=count, max_size=count))
        ),
    )


@st.composite
def descriptors(draw: st.DrawFn) -> tuple[DependencyDescriptor, DependencyStructure]:
    structure = draw(structures())
    targets, chains = structure.decode_target_count, structure.chain_count

    def perhaps(values: st.SearchStrategy[Any], length: int | None = None) -> Any:
        if not draw(st.booleans()):
            return None
        many = st.lists(values, min_size=length or 0, max_size=5 if length is None else length)
        return tuple(draw(many))

    return DependencyDescriptor(
        first=draw(st.booleans()),
        last=draw(st.booleans()),
        template_id=draw(st.integers(0, 63)),
        frame_number=draw(st.integers(0, 0xFFFF)),
        structure=structure if draw(st.booleans()) else None,
        active_decode_targets=draw(st.none() | st.integers(0, (1 << targets) - 1)),
        custom_dtis=perhaps(st.integers(0, 3), targets),
        custom_fdiffs=perhaps(st.integers(1, 4096)),
        custom_chain_fdiffs=perhaps(st.integers(0, 255), chains),
    ), structure


@given(structures())
def test_any_structure_survives_the_wire(structure: DependencyStructure) -> None:
    writer = BitWriter()
    write_structure(writer, structure)
    assert read_structure(BitReader(writer.to_bytes())) == structure


@given(descriptors())
def test_any_descriptor_survives_the_wire(
    case: tuple[DependencyDescriptor, DependencyStructure],
) -> None:
    descriptor, structure = case
    wire = serialize_descriptor(descriptor, structure)
    in_force = None if descriptor.structure else structure
    assert parse_descriptor(wire, in_force) == descriptor


@given(st.binary(max_size=255))
def test_random_bytes_parse_or_raise_remote_error(data: bytes) -> None:
    for structure in (None, CALL_STRUCTURE):
        try:
            parse_descriptor(data, structure)
        except RemoteError:
            continue


@given(descriptors(), st.data())
def test_damaged_descriptors_parse_or_raise_remote_error(
    case: tuple[DependencyDescriptor, DependencyStructure], data: st.DataObject
) -> None:
    wire = bytearray(serialize_descriptor(*case))
    for _ in range(data.draw(st.integers(1, 3))):
        wire[data.draw(st.integers(0, len(wire) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        parse_descriptor(bytes(wire[: data.draw(st.integers(0, len(wire)))]), case[1])
    except RemoteError:
        return


def test_fields_of_unknown_size_wait_for_the_structure() -> None:
    ltr = bytes.fromhex("c1002d1c581680")
    with pytest.raises(MissingStructure):
        parse_descriptor(ltr, None)
    assert parse_descriptor(ltr, CALL_STRUCTURE).custom_fdiffs == (45,)


def test_the_mandatory_fields_alone_need_no_structure() -> None:
    assert parse_descriptor(bytes.fromhex("81ffff"), None) == DependencyDescriptor(
        first=True, last=False, template_id=1, frame_number=0xFFFF
    )


@pytest.mark.parametrize(
    "layers",
    ["01" * 8, "10" * 4, "00" * 64],
    ids=["temporal layer 8", "spatial layer 4", "65 templates"],
)
def test_layers_beyond_the_limits_are_remote_errors(layers: str) -> None:
    bits = "000000" + "00000" + layers + "11" + "0" * 400
    data = int(bits.ljust(len(bits) + -len(bits) % 8, "0"), 2).to_bytes(-(-len(bits) // 8), "big")
    with pytest.raises(RemoteError):
        read_structure(BitReader(data))


@pytest.mark.parametrize(
    "change",
    [
        {"template_id_offset": 64},
        {"decode_target_count": 0},
        {"decode_target_count": 3},  # the templates have two indications
        {"chain_count": 3},
        {"chain_count": 2},  # the templates have one chain difference
        {"decode_target_protected_by": (0,)},
        {"decode_target_protected_by": (0, 1)},
        {"templates": ()},
        {"templates": CALL_STRUCTURE.templates[3:]},  # begins in layer T1
        {"templates": (CALL_STRUCTURE.templates[0],) * 65},
        {"templates": (CALL_STRUCTURE.templates[3], CALL_STRUCTURE.templates[0])},
        {"resolutions": ((1, 1), (2, 2))},
        {"resolutions": ((0, 1),)},
        {
            "templates": (
                CALL_STRUCTURE.templates[0],
                replace(CALL_STRUCTURE.templates[0], temporal_id=2),
            )
        },
    ],
)
def test_structures_that_cannot_be_expressed_are_local_errors(change: dict[str, Any]) -> None:
    with pytest.raises(LocalError):
        write_structure(BitWriter(), replace(CALL_STRUCTURE, **change))


@pytest.mark.parametrize(
    "change",
    [
        {"template_id": 64},
        {"frame_number": 65536},
        {"active_decode_targets": 4},
        {"custom_dtis": (0,)},
        {"custom_dtis": (0, 4)},
        {"custom_fdiffs": (0,)},
        {"custom_fdiffs": (4097,)},
        {"custom_chain_fdiffs": ()},
        {"custom_chain_fdiffs": (256,)},
    ],
)
def test_descriptors_that_cannot_be_expressed_are_local_errors(change: dict[str, Any]) -> None:
    plain = DependencyDescriptor(first=True, last=True, template_id=0, frame_number=0)
    with pytest.raises(LocalError):
        serialize_descriptor(replace(plain, **change), CALL_STRUCTURE)
