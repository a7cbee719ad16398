"""VMAF of what was on the screen against what should have been, over a whole run.

Nothing was kept of the pictures themselves: the source is read and the received bitstream decoded
once more, and paired as the viewer's screen was.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from ...codecs.errors import RemoteError
from ...codecs.pictures import scale_picture
from ...codecs.types import Codec, Picture, VideoDecoder
from ...codecs.vmaf import MIN_SIDE_PX, vmaf
from ...rtc.simulation.call import Direction
from ...rtc.simulation.scenario import PeerScenario


def is_vmaf_here() -> bool:
    """Whether the evaluation extra is installed."""
    from importlib.util import find_spec

    return find_spec("imageio_ffmpeg") is not None


def vmaf_shown(
    direction: Direction, sender: PeerScenario, source: Iterator[Picture], *, every: int
) -> float | None:
    """The mean score of every nth picture that was due; None when nothing was shown.

    source gives the sending peer's pictures once more.
    """
    on_screen = direction.recorder.screen.on_screen
    if not on_screen or min(sender.size) < MIN_SIDE_PX:
        return None
    captured, shown = itertools.tee(_pairs(direction, on_screen, source))
    score = vmaf(
        (pair[0] for pair in captured),
        (pair[1] for pair in shown),
        fps=sender.fps,
        subsample=every,
    )
    return round(score.mean, 2)


def _pairs(
    direction: Direction, on_screen: dict[int, int], source: Iterator[Picture]
) -> Iterator[tuple[Picture, Picture]]:
    pictures = _shown_pictures(direction)
    shown_index, shown = next(pictures)
    for index, captured in enumerate(source):
        if index > max(on_screen):
            return
        if index not in on_screen:
            continue
        while shown_index != on_screen[index]:
            shown_index, shown = next(pictures)
        yield captured, scale_picture(shown, width=captured.width, height=captured.height)


def _shown_pictures(direction: Direction) -> Iterator[tuple[int, Picture]]:
    """Every picture that was shown, with its index, by decoding what was received again."""
    open_decoder: Callable[[Codec], VideoDecoder] = direction.far.open_decoder
    decoders: dict[Codec, VideoDecoder] = {}
    try:
        for record, frame in direction.recorder.bitstream:
            decoder = decoders.get(frame.codec) or open_decoder(frame.codec)
            decoders[frame.codec] = decoder
            try:
                picture = decoder.decode(frame.data)
            except RemoteError:
                continue
            if picture is not None and record.shown_us is not None:
                yield record.index, picture
    finally:
        for decoder in decoders.values():
            decoder.close()
