"""Which sound belongs to which pictures: those of one MediaStream (RFC 8830)."""

from __future__ import annotations

from collections.abc import Iterable

from aiortc.sdp import MediaDescription

# RFC 8830 2: a track that belongs to no stream.
NO_STREAM = "-"


def sound_of_pictures(media: Iterable[MediaDescription]) -> dict[str, str]:
    """The mid of the sound that goes with each video mid; a stream's first, where it has several."""
    sounds: dict[str, str] = {}
    pictures: dict[str, str] = {}
    for description in media:
        stream = (description.msid or "").partition(" ")[0]
        if not stream or stream == NO_STREAM or not description.port:
            continue
        if description.kind == "audio":
            sounds.setdefault(stream, description.rtp.muxId)
        elif description.kind == "video":
            pictures[description.rtp.muxId] = stream
    return {mid: sounds[stream] for mid, stream in pictures.items() if stream in sounds}
