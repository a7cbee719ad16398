"""The bits of one dependency descriptor (AV1 RTP specification v1.0.0, A.8.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from codecpilot.codecs.bits import BitReader, BitWriter
from codecpilot.codecs.errors import LocalError, RemoteError

from .dd_structure import (
    DTI_BITS,
    TEMPLATE_ID_BITS,
    DependencyStructure,
    read_structure,
    write_structure,
)

# A.8.2: mandatory_descriptor_fields().
MANDATORY_BYTES = 3
MAX_FDIFF = 1 << 12  # frame_fdiffs(): next_fdiff_size 3 has 12 bits of fdiff_minus_one
MAX_CHAIN_FDIFF = 0xFF  # frame_chains(): f(8)

_FIRST, _LAST, _TEMPLATE_MASK = 0x80, 0x40, 0x3F
# frame_fdiffs() and frame_chains().
_FDIFF_SIZE_BITS, _FDIFF_UNIT_BITS = 2, 4
_CHAIN_FDIFF_BITS = 8


class MissingStructure(RemoteError):  # noqa: N818 - a state to wait out, not a violation
    """The template structure that a descriptor needs did not come (yet)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DependencyDescriptor:
    """One descriptor as it stands on the wire; custom fields are None where the template's hold.

    active_decode_targets has bit i set when decode target i is sent; None when it is not told.
    """

    first: bool
    last: bool
    template_id: int
    frame_number: int
    structure: DependencyStructure | None = None
    active_decode_targets: int | None = None
    custom_dtis: tuple[int, ...] | None = None
    custom_fdiffs: tuple[int, ...] | None = None
    custom_chain_fdiffs: tuple[int, ...] | None = None


def parse_descriptor(data: bytes, structure: DependencyStructure | None) -> DependencyDescriptor:
    """Parse a descriptor; structure is the one in force before it.

    Raises RemoteError for a truncated one, MissingStructure when it has fields whose size only the
    structure tells and there is none.
    """
    if len(data) < MANDATORY_BYTES:
        raise RemoteError(f"a dependency descriptor has at least 3 bytes, got {len(data)}")
    first, last = bool(data[0] & _FIRST), bool(data[0] & _LAST)
    template_id = data[0] & _TEMPLATE_MASK
    frame_number = data[1] << 8 | data[2]
    if len(data) == MANDATORY_BYTES:
        return DependencyDescriptor(
            first=first, last=last, template_id=template_id, frame_number=frame_number
        )
    bits = BitReader(data[MANDATORY_BYTES:])
    attached, told_active, has_dtis, has_fdiffs, has_chains = (bits.flag() for _ in range(5))
    new_structure = read_structure(bits) if attached else None
    in_force = new_structure or structure
    if in_force is None:
        raise MissingStructure("a dependency descriptor came before any template structure")
    targets, chains = in_force.decode_target_count, in_force.chain_count
    return DependencyDescriptor(
        first=first,
        last=last,
        template_id=template_id,
        frame_number=frame_number,
        structure=new_structure,
        active_decode_targets=bits.read(targets) if told_active else None,
        custom_dtis=tuple(bits.read(DTI_BITS) for _ in range(targets)) if has_dtis else None,
        custom_fdiffs=tuple(_read_fdiffs(bits)) if has_fdiffs else None,
        custom_chain_fdiffs=(
            tuple(bits.read(_CHAIN_FDIFF_BITS) for _ in range(chains)) if has_chains else None
        ),
    )


def serialize_descriptor(descriptor: DependencyDescriptor, structure: DependencyStructure) -> bytes:
    """The descriptor's bytes; structure is the one in force (the attached one where it has one).

    Raises LocalError for what it cannot express.
    """
    bits = BitWriter()
    bits.write(descriptor.first, 1)
    bits.write(descriptor.last, 1)
    bits.write(descriptor.template_id, TEMPLATE_ID_BITS)
    bits.write(descriptor.frame_number, 16)
    extended = (
        descriptor.structure,
        descriptor.active_decode_targets,
        descriptor.custom_dtis,
        descriptor.custom_fdiffs,
        descriptor.custom_chain_fdiffs,
    )
    if all(field is None for field in extended):
        return bits.to_bytes()
    for field in extended:
        bits.write(field is not None, 1)
    if descriptor.structure is not None:
        write_structure(bits, descriptor.structure)
    if descriptor.active_decode_targets is not None:
        bits.write(descriptor.active_decode_targets, structure.decode_target_count)
    _write_custom_fields(bits, descriptor, structure)
    return bits.to_bytes()


def _write_custom_fields(
    bits: BitWriter, descriptor: DependencyDescriptor, structure: DependencyStructure
) -> None:
    dtis, chain_fdiffs = descriptor.custom_dtis, descriptor.custom_chain_fdiffs
    if dtis is not None and len(dtis) != structure.decode_target_count:
        raise LocalError(f"{structure.decode_target_count} indications expected, got {dtis}")
    if chain_fdiffs is not None and len(chain_fdiffs) != structure.chain_count:
        raise LocalError(f"{structure.chain_count} chain differences expected, got {chain_fdiffs}")
    for dti in dtis or ():
        bits.write(dti, DTI_BITS)
    if descriptor.custom_fdiffs is not None:
        _write_fdiffs(bits, descriptor.custom_fdiffs)
    for fdiff in chain_fdiffs or ():
        bits.write(fdiff, _CHAIN_FDIFF_BITS)


def _read_fdiffs(bits: BitReader) -> Iterator[int]:
    """frame_fdiffs(): every entry takes at least 6 bits, so their number is bounded."""
    while size := bits.read(_FDIFF_SIZE_BITS):
        yield bits.read(_FDIFF_UNIT_BITS * size) + 1


def _write_fdiffs(bits: BitWriter, fdiffs: tuple[int, ...]) -> None:
    """frame_fdiffs(), each in the fewest bits."""
    for fdiff in fdiffs:
        if not 1 <= fdiff <= MAX_FDIFF:
            raise LocalError(f"a frame difference of {fdiff} is outside 1..{MAX_FDIFF}")
        size = max(1, -(-(fdiff - 1).bit_length() // _FDIFF_UNIT_BITS))
        bits.write(size, _FDIFF_SIZE_BITS)
        bits.write(fdiff - 1, _FDIFF_UNIT_BITS * size)
    bits.write(0, _FDIFF_SIZE_BITS)
