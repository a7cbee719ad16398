from __future__ import annotations

import pytest

from codecpilot.rtc.resilience.lost_layer import LossLayers, lost_layer
from codecpilot.rtc.rtp.dependency_descriptor import (
    DependencyDescriptorReader,
    DependencyDescriptorWriter,
    FrameDescription,
)


def frame(
    number: int, layer: int = 0, *, first: bool = True, last: bool = True, chain: int = 1
) -> FrameDescription:
    return FrameDescription(
        frame_number=number & 0xFFFF,
        first=first,
        last=last,
        template_id=0,
        spatial_id=0,
        temporal_id=layer,
        dtis=(),
        fdiffs=(chain,),
        chain_fdiffs=(chain,),
        structure_attached=False,
    )


@pytest.mark.parametrize(
    ("before", "after", "layer"),
    [
        # Within one frame.
        (frame(4, 0, last=False), frame(4, 0, first=False), 0),
        (frame(5, 1, last=False), frame(5, 1, first=False), 1),
        # A frame's tail, the next one's head.
        (frame(5, 1, last=False), frame(6, 0, chain=2), 1),
        (frame(4, 0, last=False), frame(5, 1), 0),
        (frame(4, 0), frame(5, 1, first=False), 1),
        (frame(5, 1), frame(6, 0, first=False), 0),
        # Either, so the lower one counts.
        (frame(4, 0, last=False), frame(5, 1, first=False), 0),
        (frame(5, 1, last=False), frame(6, 0, first=False), 0),
        # Whole frames between: none of them in the chain, or one.
        (frame(4, 0), frame(6, 0, chain=2), 1),
        (frame(65_535, 0), frame(1, 0, chain=2), 1),
        (frame(5, 1), frame(7, 1), 0),
        (frame(4, 0), frame(7, 1), 0),
        (frame(4, 0), frame(8, 0, chain=2), 0),
        # A recovery frame goes on from frame 4: what lies between is of no use.
        (frame(4, 0), frame(30, 0, chain=26), 1),
        (frame(5, 0), frame(30, 0, chain=26), 1),
        (frame(3, 0), frame(30, 0, chain=26), 0),
        # The chain begins anew: nothing is known.
        (frame(4, 0), frame(6, 0, chain=0), 0),
        # Between a frame's end and the next one's beginning there is no frame.
        (frame(4, 0), frame(5, 0), 1),
    ],
)
def test_the_lowest_layer_that_may_be_missing(before, after, layer):
    assert lost_layer(before, after) == layer


def descriptor(number: int, *, key: bool = False, layer: int = 0, fdiff: int = 1) -> bytes:
    return DependencyDescriptorWriter().write(
        frame_number=number,
        first=True,
        last=True,
        key=key,
        temporal_id=layer,
        fdiffs=() if key else (fdiff,),
        chain_fdiff=0 if key else fdiff,
        attach_structure=key,
    )


def layers(*received: bytes | None) -> LossLayers:
    out = LossLayers(DependencyDescriptorReader())
    for sequence, data in enumerate(received):
        out.received(sequence, data)
    return out


def test_descriptors_are_read_with_the_structure_that_came():
    seen = layers(descriptor(0, key=True))
    assert seen.before(descriptor(2, fdiff=2)) == 1
    assert seen.before(descriptor(2, layer=1)) == 0


def test_a_late_packet_is_not_what_a_gap_follows():
    reader = DependencyDescriptorReader()
    reader.read(descriptor(0, key=True))
    seen = LossLayers(reader)
    seen.received(7, descriptor(1))
    seen.received(6, descriptor(5))
    assert seen.before(descriptor(3, fdiff=2)) == 1


@pytest.mark.parametrize("unreadable", [None, b"", b"\x01", descriptor(2, fdiff=2)])
def test_what_cannot_be_read_may_be_base(unreadable):
    # The last one is well formed, and its structure has not come.
    assert layers(unreadable).before(descriptor(4, fdiff=2)) == 0
    assert layers(descriptor(0, key=True)).before(b"\x01") == 0
