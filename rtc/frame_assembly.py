"""Media packets to whole frames: the buffer, the reader, and frames whose descriptor cannot be read yet."""

from __future__ import annotations

from ..codecs.errors import RemoteError
from .key_requests import KeyRequests
from .messages import NegotiatedCodec, ReceivedFrame
from .packet_reader import PacketReader, Padding
from .playout.packet_buffer import MediaPacket, PacketBuffer
from .playout.undescribed import UndescribedFrames
from .rtp.dependency_descriptor import MissingStructure
from .stats import InboundCounters


class FrameAssembly:
    """Assembles the frames of one source, in whatever order they become whole."""

    def __init__(
        self,
        reader: PacketReader,
        *,
        codec: NegotiatedCodec,
        counters: InboundCounters,
        key_requests: KeyRequests,
    ) -> None:
        """codec is the one that is expected first."""
        self.buffer = PacketBuffer()
        self.codec = codec
        """The codec of the frame that became whole last."""
        self._reader = reader
        self._counters = counters
        self._key_requests = key_requests
        self._undescribed = UndescribedFrames()

    def insert(self, media: MediaPacket | Padding) -> list[ReceivedFrame]:
        """Take a packet; the frames that became whole with it."""
        if isinstance(media, Padding):
            packets = self.buffer.insert_padding(media.sequence)
        else:
            self._counters.packetsDuplicated += self.buffer.has(media.sequence)
            packets = self.buffer.insert(media)
        frames: list[ReceivedFrame] = []
        while packets is not None:
            frames += self._assemble(packets)
            packets = self.buffer.next_frame(packets[-1].sequence)
        return frames

    def _assemble(self, packets: list[MediaPacket]) -> list[ReceivedFrame]:
        """The frame, and those that waited for its structure; none when it cannot be read."""
        try:
            frame = self._reader.assemble(packets)
        except MissingStructure:
            # The structure may still come with a retransmission of the key frame's first packet.
            self._undescribed.add(packets)
            self._key_requests.blocked(now_us=packets[-1].arrival_us)
            return []
        except RemoteError:
            self._counters.malformedRtp += 1
            self._key_requests.require()
            return []
        self.codec = self._reader.codec(packets[0])
        self._counters.framesReceived += 1
        self._counters.totalAssemblyTimeUs += frame.complete_us - frame.first_us
        frames = [frame]
        if frame.key:
            for later in self._undescribed.take_all():
                frames += self._assemble(later)
        return frames
