"""One run: a clip, a codec and a rate; and what comes back of it. Both travel between processes."""

from __future__ import annotations

from dataclasses import dataclass, field

from .clips import Clip, ReadOptions
from .codec_specs import CodecSpec
from .rates import Rates


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """All that a worker needs. pictures is how many to encode; shot is the picture to keep."""

    clip: Clip
    codec: CodecSpec
    rates: Rates
    pictures: int
    read: ReadOptions
    key_times_us: tuple[int, ...] = ()
    metrics: frozenset[str] = frozenset()
    vmaf_every: int = 1
    shot: int | None = None

    @property
    def label(self) -> str:
        """For people."""
        return f"{self.clip.name}  {self.codec.label}  {self.rates.label}"

    @property
    def folder(self) -> str:
        """Where its files go, below the output folder."""
        return f"runs/{self.clip.slug}/{self.codec.slug}/{self.rates.slug}"

    @property
    def weight(self) -> int:
        """Its share of the whole work."""
        return self.pictures * self.clip.width * self.clip.height


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameRow:
    """What became of one picture. Dropped ones have no bytes, quantizer or size.

    size_bytes is that of the temporal or access unit; vbv_us the VBV delay just after the picture.
    """

    index: int
    pts_us: int
    size_bytes: int
    quantizer: int
    key: bool
    temporal_id: int
    tries: int
    dropped: bool
    width: int
    height: int
    encode_us: int
    encode_cpu_us: int
    vbv_us: int
    target_bps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Means over all pictures as a viewer sees them; None for what was not asked for.

    psnr_frames has one value a picture, empty if not asked for. shot and source are JPEGs of the
    picture that the job names: as shown, and as captured.
    """

    psnr_y: float | None = None
    ssim: float | None = None
    vmaf: float | None = None
    psnr_frames: tuple[float, ...] = ()
    shot: bytes = b""
    source: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutput:
    """A finished run. bitstream is the whole file."""

    rows: tuple[FrameRow, ...]
    bitstream: bytes = field(repr=False)
    quality: Quality


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFailure:
    """A run that ended without a result."""

    reason: str


Outcome = RunOutput | RunFailure
