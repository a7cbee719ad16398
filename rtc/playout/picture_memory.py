"""How many decoded pictures may be held at a time."""

from __future__ import annotations

from ...codecs.types import Picture

# ours: 20 pictures of 1920x1080. A peer's tiny key frame may decode to 53 MB (codecs' largest size), and
# dozens of those would take gigabytes.
MAX_HELD_BYTES = 64_000_000


def most_held(picture: Picture, *, at_most: int) -> int:
    """at_most, or fewer where pictures of this size would take too much memory; one at least."""
    picture_bytes = picture.y.size + picture.u.size + picture.v.size
    return max(1, min(at_most, MAX_HELD_BYTES // picture_bytes))
