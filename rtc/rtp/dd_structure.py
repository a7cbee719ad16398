"""The dependency descriptor's template structure (AV1 RTP v1.0.0, A.8.2 and A.8.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise

from codecpilot.codecs.bits import BitReader, BitWriter
from codecpilot.codecs.errors import LocalError, RemoteError

# A.8.2: the widths of fields.
TEMPLATE_ID_BITS = 6
MAX_TEMPLATES = 1 << TEMPLATE_ID_BITS
DTI_BITS = 2
# libwebrtc DependencyDescriptor::kMaxSpatialIds and kMaxTemporalIds; AV1's own fields are as wide.
MAX_SPATIAL_ID = 3
MAX_TEMPORAL_ID = 7

# A.8.2 again.
_DECODE_TARGETS_BITS = 5
_TEMPLATE_FDIFF_BITS = 4
_TEMPLATE_CHAIN_FDIFF_BITS = 4
_RESOLUTION_BITS = 16
_LAYER_IDC_BITS = 2


class DecodeTargetIndication(IntEnum):
    """What a frame is to a decode target (table A.1)."""

    NOT_PRESENT = 0
    DISCARDABLE = 1
    SWITCH = 2
    REQUIRED = 3


class _NextLayer(IntEnum):
    """next_layer_idc (table A.2)."""

    SAME = 0
    NEXT_TEMPORAL = 1
    NEXT_SPATIAL = 2
    NO_MORE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameTemplate:
    """What many frames have in common.

    dtis has one indication a decode target. fdiffs are frame_number minus that of each frame it
    refers to. chain_fdiffs has, for each chain, frame_number minus that of the chain's previous
    frame, 0 when the chain begins here.
    """

    spatial_id: int
    temporal_id: int
    dtis: tuple[int, ...]
    fdiffs: tuple[int, ...]
    chain_fdiffs: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DependencyStructure:
    """template_dependency_structure(). templates are sorted by spatial, then temporal layer.

    decode_target_protected_by names each decode target's chain; empty when there are no chains.
    resolutions is (width, height) for each spatial layer; empty when not present.
    """

    template_id_offset: int
    decode_target_count: int
    chain_count: int
    decode_target_protected_by: tuple[int, ...]
    templates: tuple[FrameTemplate, ...]
    resolutions: tuple[tuple[int, int], ...] = ()

    def template(self, template_id: int) -> FrameTemplate | None:
        """The template of a frame_dependency_template_id; None when it is not in the structure."""
        index = (template_id - self.template_id_offset) % MAX_TEMPLATES
        return self.templates[index] if index < len(self.templates) else None


def read_structure(bits: BitReader) -> DependencyStructure:
    """template_dependency_structure() at this place. Raises RemoteError."""
    template_id_offset = bits.read(TEMPLATE_ID_BITS)
    targets = bits.read(_DECODE_TARGETS_BITS) + 1
    layers = _read_layers(bits)
    dtis = [tuple(bits.read(DTI_BITS) for _ in range(targets)) for _ in layers]
    fdiffs = [tuple(_read_template_fdiffs(bits)) for _ in layers]
    chains = bits.non_symmetric(targets + 1)
    protected_by = tuple(bits.non_symmetric(chains) for _ in range(targets if chains else 0))
    chain_fdiffs = [
        tuple(bits.read(_TEMPLATE_CHAIN_FDIFF_BITS) for _ in range(chains)) for _ in layers
    ]
    return DependencyStructure(
        template_id_offset=template_id_offset,
        decode_target_count=targets,
        chain_count=chains,
        decode_target_protected_by=protected_by,
        templates=tuple(
            FrameTemplate(
                spatial_id=spatial_id,
                temporal_id=temporal_id,
                dtis=dtis[i],
                fdiffs=fdiffs[i],
                chain_fdiffs=chain_fdiffs[i],
            )
            for i, (spatial_id, temporal_id) in enumerate(layers)
        ),
        resolutions=_read_resolutions(bits, layers[-1][0] + 1) if bits.flag() else (),
    )


def write_structure(bits: BitWriter, structure: DependencyStructure) -> None:
    """template_dependency_structure(). Raises LocalError for what it cannot express."""
    templates = structure.templates
    bits.write(structure.template_id_offset, TEMPLATE_ID_BITS)
    bits.write(structure.decode_target_count - 1, _DECODE_TARGETS_BITS)
    _write_layers(bits, templates)
    for template in templates:
        _check_length(template.dtis, structure.decode_target_count, "indications")
        for dti in template.dtis:
            bits.write(dti, DTI_BITS)
    for template in templates:
        for fdiff in template.fdiffs:
            bits.write(1, 1)
            bits.write(fdiff - 1, _TEMPLATE_FDIFF_BITS)
        bits.write(0, 1)
    _write_chains(bits, structure)
    bits.write(len(structure.resolutions) > 0, 1)
    if structure.resolutions:
        _check_length(structure.resolutions, templates[-1].spatial_id + 1, "resolutions")
    for width, height in structure.resolutions:
        bits.write(width - 1, _RESOLUTION_BITS)
        bits.write(height - 1, _RESOLUTION_BITS)


def _read_layers(bits: BitReader) -> list[tuple[int, int]]:
    """template_layers(): (spatial, temporal) of each template."""
    spatial_id = temporal_id = 0
    layers: list[tuple[int, int]] = []
    while True:
        if len(layers) == MAX_TEMPLATES:
            raise RemoteError(f"a template structure has more than {MAX_TEMPLATES} templates")
        layers.append((spatial_id, temporal_id))
        following = bits.read(_LAYER_IDC_BITS)
        if following == _NextLayer.NO_MORE:
            return layers
        if following == _NextLayer.NEXT_TEMPORAL:
            temporal_id += 1
        elif following == _NextLayer.NEXT_SPATIAL:
            spatial_id, temporal_id = spatial_id + 1, 0
        if spatial_id > MAX_SPATIAL_ID or temporal_id > MAX_TEMPORAL_ID:
            raise RemoteError(f"layer S{spatial_id} T{temporal_id} does not exist")


def _read_template_fdiffs(bits: BitReader) -> Iterator[int]:
    while bits.flag():
        yield bits.read(_TEMPLATE_FDIFF_BITS) + 1


def _read_resolutions(bits: BitReader, layers: int) -> tuple[tuple[int, int], ...]:
    return tuple(
        (bits.read(_RESOLUTION_BITS) + 1, bits.read(_RESOLUTION_BITS) + 1) for _ in range(layers)
    )


def _write_layers(bits: BitWriter, templates: Sequence[FrameTemplate]) -> None:
    if not 1 <= len(templates) <= MAX_TEMPLATES:
        raise LocalError(f"a structure has 1..{MAX_TEMPLATES} templates, got {len(templates)}")
    layers = [(template.spatial_id, template.temporal_id) for template in templates]
    if layers[0] != (0, 0):
        raise LocalError(f"the first template is in layer (0, 0), got {layers[0]}")
    for (spatial_id, temporal_id), following in pairwise(layers):
        steps = {
            (spatial_id, temporal_id): _NextLayer.SAME,
            (spatial_id, temporal_id + 1): _NextLayer.NEXT_TEMPORAL,
            (spatial_id + 1, 0): _NextLayer.NEXT_SPATIAL,
        }
        if following not in steps:
            raise LocalError(f"no template may follow ({spatial_id}, {temporal_id}) as {following}")
        bits.write(steps[following], _LAYER_IDC_BITS)
    bits.write(_NextLayer.NO_MORE, _LAYER_IDC_BITS)


def _write_chains(bits: BitWriter, structure: DependencyStructure) -> None:
    bits.write_non_symmetric(structure.chain_count, structure.decode_target_count + 1)
    if not structure.chain_count:
        return
    _check_length(
        structure.decode_target_protected_by, structure.decode_target_count, "protecting chains"
    )
    for chain in structure.decode_target_protected_by:
        bits.write_non_symmetric(chain, structure.chain_count)
    for template in structure.templates:
        _check_length(template.chain_fdiffs, structure.chain_count, "chain differences")
        for fdiff in template.chain_fdiffs:
            bits.write(fdiff, _TEMPLATE_CHAIN_FDIFF_BITS)


def _check_length(values: Sequence[object], expected: int, what: str) -> None:
    if len(values) != expected:
        raise LocalError(f"{expected} {what} expected, got {len(values)}")
