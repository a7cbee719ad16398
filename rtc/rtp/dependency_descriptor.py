"""Dependency descriptors as the call uses them: read with state, written for our own structure.

Specification: AV1 RTP v1.0.0, appendix A.
"""

from __future__ import annotations

from dataclasses import dataclass

from codecpilot.codecs.errors import LocalError

from .dd_structure import DependencyStructure, FrameTemplate
from .dd_templates import CALL_STRUCTURE
from .dd_wire import (
    MAX_CHAIN_FDIFF,
    MAX_FDIFF,
    DependencyDescriptor,
    MissingStructure,
    parse_descriptor,
    serialize_descriptor,
)

__all__ = [
    "MAX_CHAIN_FDIFF",
    "MAX_FDIFF",
    "MAX_REFERENCES",
    "DependencyDescriptorReader",
    "DependencyDescriptorWriter",
    "FrameDescription",
    "MissingStructure",
]

MAX_REFERENCES = 5  # libwebrtc EncodedFrame::kMaxFrameReferences: with more it drops the frame

# Ours: a structure that comes up to this many frames late (reordered or retransmitted) does not
# replace a newer one. A minute of 30 fps; frame numbers further apart tell no order, since frames
# of a codec without descriptors may lie between.
_LATE_FRAMES = 2048
_FRAME_NUMBER_MASK = 0xFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameDescription:
    """What one packet says of its frame, with the template's values filled in.

    frame_number has 16 bits. fdiffs and chain_fdiffs are as in FrameTemplate. active_decode_targets
    is the new set as a bit mask, None when this packet does not change it. resolution is the
    largest (width, height) of the frame's spatial layer where the structure tells one.
    """

    frame_number: int
    first: bool
    last: bool
    template_id: int
    spatial_id: int
    temporal_id: int
    dtis: tuple[int, ...]
    fdiffs: tuple[int, ...]
    chain_fdiffs: tuple[int, ...]
    structure_attached: bool
    active_decode_targets: int | None = None
    resolution: tuple[int, int] | None = None


class DependencyDescriptorReader:
    """Reads the descriptors of one stream and keeps its template structure."""

    def __init__(self) -> None:
        self._structure: DependencyStructure | None = None
        self._structure_frame = 0

    @property
    def structure(self) -> DependencyStructure | None:
        """The structure in force; None before the first came."""
        return self._structure

    def read(self, data: bytes) -> FrameDescription:
        """Read the descriptor of one packet, in any order of arrival.

        Raises MissingStructure when it names a template that the structure in force has not: keep
        the packet and its descriptor, the structure may still come. Raises RemoteError otherwise.
        """
        descriptor = parse_descriptor(data, self._structure)
        structure = descriptor.structure or self._structure
        template = structure.template(descriptor.template_id) if structure else None
        if structure is None or template is None:
            raise MissingStructure(f"template {descriptor.template_id} is not in the structure")
        if descriptor.structure is not None:
            self._keep(descriptor.structure, descriptor.frame_number)
        return _describe(descriptor, structure, template)

    def _keep(self, structure: DependencyStructure, frame_number: int) -> None:
        age = (self._structure_frame - frame_number) & _FRAME_NUMBER_MASK
        if self._structure is None or not 0 < age < _LATE_FRAMES:
            self._structure = structure
            self._structure_frame = frame_number


class DependencyDescriptorWriter:
    """Writes the descriptors of a stream with CALL_STRUCTURE. It has no state between frames."""

    structure = CALL_STRUCTURE

    def write(
        self,
        *,
        frame_number: int,
        first: bool,
        last: bool,
        key: bool,
        temporal_id: int,
        fdiffs: tuple[int, ...],
        chain_fdiff: int,
        attach_structure: bool,
    ) -> bytes:
        """The descriptor of one packet: 3 bytes where a template says it all, 13 with structure.

        fdiffs are frame_number minus that of each frame referred to, in any order; empty on a key
        frame. chain_fdiff is frame_number minus that of the base frame (temporal_id 0) without which
        the base layer cannot go on: the previous one, or the reference of a frame that is predicted
        past lost ones; 0 on a key frame, and for a reference more than 255 frames back (A.5: the
        chain begins anew).

        Raises LocalError for an illegal combination: receivers take a packet with a structure for
        the first of a key frame, and Chromium drops a frame with more than 5 references.
        """
        _check_frame(key=key, temporal_id=temporal_id, fdiffs=fdiffs, chain_fdiff=chain_fdiff)
        if attach_structure and not (key and first):
            raise LocalError("only the first packet of a key frame carries the structure")
        template_id, custom_fdiffs, custom_chain = _nearest_template(
            temporal_id, tuple(sorted(set(fdiffs))), (chain_fdiff,)
        )
        descriptor = DependencyDescriptor(
            first=first,
            last=last,
            template_id=template_id,
            frame_number=frame_number & _FRAME_NUMBER_MASK,
            structure=CALL_STRUCTURE if attach_structure else None,
            custom_fdiffs=custom_fdiffs,
            custom_chain_fdiffs=custom_chain,
        )
        return serialize_descriptor(descriptor, CALL_STRUCTURE)


def _check_frame(*, key: bool, temporal_id: int, fdiffs: tuple[int, ...], chain_fdiff: int) -> None:
    if key != (not fdiffs) or (key and (temporal_id or chain_fdiff)):
        raise LocalError(
            f"a key frame, and no other, has no fdiffs; it is in layer 0 and begins the chain: "
            f"key {key}, fdiffs {fdiffs}, temporal_id {temporal_id}, chain_fdiff {chain_fdiff}"
        )
    if len(fdiffs) > MAX_REFERENCES or not 0 <= chain_fdiff <= MAX_CHAIN_FDIFF:
        raise LocalError(
            f"at most {MAX_REFERENCES} fdiffs and a chain_fdiff of 0..{MAX_CHAIN_FDIFF}, "
            f"got {fdiffs} and {chain_fdiff}"
        )


def _describe(
    descriptor: DependencyDescriptor, structure: DependencyStructure, template: FrameTemplate
) -> FrameDescription:
    attached = descriptor.structure is not None
    active = descriptor.active_decode_targets
    if active is None and attached:
        active = (1 << structure.decode_target_count) - 1  # A.4: all, unless told otherwise
    dtis, fdiffs, chains = (
        descriptor.custom_dtis,
        descriptor.custom_fdiffs,
        descriptor.custom_chain_fdiffs,
    )
    return FrameDescription(
        frame_number=descriptor.frame_number,
        first=descriptor.first,
        last=descriptor.last,
        template_id=descriptor.template_id,
        spatial_id=template.spatial_id,
        temporal_id=template.temporal_id,
        dtis=template.dtis if dtis is None else dtis,
        fdiffs=template.fdiffs if fdiffs is None else fdiffs,
        chain_fdiffs=template.chain_fdiffs if chains is None else chains,
        structure_attached=attached,
        active_decode_targets=active,
        resolution=structure.resolutions[template.spatial_id] if structure.resolutions else None,
    )


def _nearest_template(
    temporal_id: int, fdiffs: tuple[int, ...], chain_fdiffs: tuple[int, ...]
) -> tuple[int, tuple[int, ...] | None, tuple[int, ...] | None]:
    """The template id with the fewest custom fields, and the custom fdiffs and chains beside it."""
    candidates = [
        (
            None if template.fdiffs == fdiffs else fdiffs,
            None if template.chain_fdiffs == chain_fdiffs else chain_fdiffs,
            template_id,
        )
        for template_id, template in enumerate(
            CALL_STRUCTURE.templates, start=CALL_STRUCTURE.template_id_offset
        )
        # A frame takes the indications of its layer; a key frame's template serves no other.
        if template.temporal_id == temporal_id and bool(template.fdiffs) == bool(fdiffs)
    ]
    if not candidates:
        raise LocalError(f"the template structure has no temporal layer {temporal_id}")
    custom_fdiffs, custom_chains, template_id = min(
        candidates, key=lambda c: (c[0] is not None) + (c[1] is not None)
    )
    return template_id, custom_fdiffs, custom_chains
