"""What a run takes from outside: nothing in this folder opens a codec or a file, or draws a number."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from ...codecs.types import Codec, Picture, VideoDecoder, VideoEncoder
from ..adaptation.costs import DEFAULT_COSTS, Cost, CostKey
from ..rtp.extensions import ExtensionMap
from .ends import Estimator


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """Factories, each called at the time of need.

    open_stock_encoder and open_stock_decoder give the H.264 codec of the aiortc stack. pictures
    gives the source of the peer of a name, capture_us from 0 on. estimator gives a receiver its
    source of REMB, for its SSRC. generator gives a seeded generator for a name; different names are
    independent.
    """

    open_encoder: Callable[[Codec, int, int], VideoEncoder]
    open_stock_encoder: Callable[[], VideoEncoder]
    open_stock_decoder: Callable[[], VideoDecoder]
    open_decoder: Callable[[Codec], VideoDecoder]
    pictures: Callable[[str], Iterator[Picture]]
    estimator: Callable[[int, ExtensionMap], Estimator | None]
    generator: Callable[[str], random.Random]
    costs: Mapping[CostKey, Cost] = field(default_factory=lambda: DEFAULT_COSTS)
