"""The temporal layer of packets that never came, from the descriptors of those around them."""

from __future__ import annotations

from ...codecs.errors import RemoteError
from ..rtp.dependency_descriptor import DependencyDescriptorReader, FrameDescription

_FRAME_NUMBER_MASK = 0xFFFF


class LossLayers:
    """Keeps the descriptor of the newest packet of a stream; reads it only where a gap follows."""

    def __init__(self, descriptors: DependencyDescriptorReader) -> None:
        """descriptors reads those of the stream, and knows its structure."""
        self._descriptors = descriptors
        self._newest: bytes | None = None
        self._newest_sequence: int | None = None

    def received(self, sequence: int, descriptor: bytes | None) -> None:
        """Note a packet; sequence is unwrapped."""
        if self._newest_sequence is None or sequence > self._newest_sequence:
            self._newest, self._newest_sequence = descriptor, sequence

    def before(self, descriptor: bytes | None) -> int:
        """The layer of what is missing between the newest packet and one with this descriptor."""
        before, after = self._read(self._newest), self._read(descriptor)
        return 0 if before is None or after is None else lost_layer(before, after)

    def _read(self, descriptor: bytes | None) -> FrameDescription | None:
        try:
            return None if descriptor is None else self._descriptors.read(descriptor)
        except RemoteError:
            return None  # assembly counts it


def lost_layer(before: FrameDescription, after: FrameDescription) -> int:
    """The lowest temporal layer that the packets missing between two others may belong to.

    Whole frames are missing between frames of different numbers. They are not of the base layer when the
    chain, which all base frames form, leads from the later frame past them (AV1 RTP specification, A.5).
    Between a frame's last packet and the next one's first there is no frame at all: FEC or padding, which
    no more stands in the way than a discardable frame.
    """
    ahead = (after.frame_number - before.frame_number) & _FRAME_NUMBER_MASK
    if ahead == 0:
        return before.temporal_id
    layers = []
    if not before.last:
        layers.append(before.temporal_id)
    if not after.first:
        layers.append(after.temporal_id)
    if ahead > 1:
        chain_fdiff = after.chain_fdiffs[0] if after.chain_fdiffs else 0
        layers.append(1 if chain_fdiff >= ahead else 0)
    return min(layers, default=1)
