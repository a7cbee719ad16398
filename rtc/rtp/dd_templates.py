"""The template structure of our own streams: one or two temporal layers, changing at any frame."""

from __future__ import annotations

from .dd_structure import DecodeTargetIndication, DependencyStructure, FrameTemplate

_SWITCH = DecodeTargetIndication.SWITCH
_DISCARDABLE = DecodeTargetIndication.DISCARDABLE
_NOT_PRESENT = DecodeTargetIndication.NOT_PRESENT


def _base(*, fdiffs: tuple[int, ...], chain_fdiff: int) -> FrameTemplate:
    # Every base frame refers to base frames alone, so either decode target may start from it.
    return FrameTemplate(
        spatial_id=0,
        temporal_id=0,
        dtis=(_SWITCH, _SWITCH),
        fdiffs=fdiffs,
        chain_fdiffs=(chain_fdiff,),
    )


# Decode target 0 is the base layer alone, 1 is both layers, and one chain of all base frames
# protects both, as in libwebrtc's ScalabilityStructureL1T2. Beyond its templates there is one for
# a base frame right behind a base frame. Without T1 frames both targets are the same frames, so
# neither ever becomes inactive and the layers change at any frame without a word on the wire.
# The offset stays the same over key frames: so does the structure (A.8.3, template_id_offset).
# With it a key frame's descriptor has 13 bytes, which the one-byte extension form still carries.
CALL_STRUCTURE = DependencyStructure(
    template_id_offset=0,
    decode_target_count=2,
    chain_count=1,
    decode_target_protected_by=(0, 0),
    templates=(
        _base(fdiffs=(), chain_fdiff=0),
        _base(fdiffs=(1,), chain_fdiff=1),
        _base(fdiffs=(2,), chain_fdiff=2),
        FrameTemplate(
            spatial_id=0,
            temporal_id=1,
            dtis=(_NOT_PRESENT, _DISCARDABLE),
            fdiffs=(1,),
            chain_fdiffs=(1,),
        ),
    ),
)
