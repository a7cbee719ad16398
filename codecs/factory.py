"""Opens the codec that goes with a name."""

from __future__ import annotations

from contextlib import suppress

from .av1_decoder import Av1Decoder
from .av1_encoder import Av1Encoder
from .errors import LocalError
from .h264_decoder import H264Decoder
from .h264_encoder import H264Encoder
from .libaom import find_libaom
from .types import Codec, VideoDecoder, VideoEncoder

# ours: what x264's rate control is told of the frame rate; pictures may come at any other.
NOMINAL_FPS = 30


def open_encoder(codec: Codec, *, width: int, height: int, threads: int = 1) -> VideoEncoder:
    """An encoder for pictures of this size. Raises LocalError when its library is missing."""
    if codec is Codec.AV1:
        return Av1Encoder(width=width, height=height, threads=threads)
    return H264Encoder(width=width, height=height, fps=NOMINAL_FPS, threads=threads)


def prepare_encoder(codec: Codec) -> None:
    """Load what open_encoder needs, once a process, so that the first picture does not wait for it.

    Takes 30 ms for AV1 (its declarations are parsed). What is missing is left for open_encoder to say.
    """
    if codec is Codec.AV1:
        with suppress(LocalError):
            find_libaom()


def open_decoder(codec: Codec) -> VideoDecoder:
    """A decoder without delay. Raises LocalError when its library is missing."""
    return Av1Decoder() if codec is Codec.AV1 else H264Decoder()
