"""What a viewer sees of a run: its bitstream decoded on its own, compared with the clip.

A dropped picture leaves the one before on the screen; a picture coded smaller is scaled up to the
clip's size. Until the first picture was sent the screen is black.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ...codecs.errors import RemoteError
from ...codecs.factory import open_decoder
from ...codecs.ivf import read_ivf_frames, read_ivf_header
from ...codecs.metrics import psnr_y, ssim_y
from ...codecs.pictures import new_picture, scale_picture
from ...codecs.types import Codec, Picture
from ...codecs.vmaf import vmaf
from ..jpeg import jpeg_from_picture
from .job import FrameRow, Job, Quality

JPEG_QUALITY = 95  # ours: what it adds is below what any of these rates leaves

Pair = tuple[Picture, Picture]


def measure_run(
    job: Job, *, captured: Iterable[Picture], rows: Sequence[FrameRow], bitstream: bytes
) -> Quality:
    """Compare what was captured with what is shown. Raises RemoteError for a bad bitstream."""
    shown = shown_pictures(job, rows=rows, bitstream=bitstream)
    tally = _Tally(job)
    pairs = tally.counted(zip(captured, shown, strict=True))
    score = None
    if "vmaf" in job.metrics:
        left, right = itertools.tee(pairs)
        score = vmaf(
            (pair[0] for pair in left),
            (pair[1] for pair in right),
            fps=job.clip.fps,
            subsample=job.vmaf_every,
        ).mean
    else:
        for _ in pairs:
            pass
    return tally.quality(vmaf_mean=score)


def shown_pictures(job: Job, *, rows: Sequence[FrameRow], bitstream: bytes) -> Iterator[Picture]:
    """What is on the screen at each picture's time, at the clip's size."""
    width, height = job.clip.width, job.clip.height
    units, decoder = _units(job, rows=rows, bitstream=bitstream), open_decoder(job.codec.codec)
    shown = new_picture(width, height)
    for row in rows:
        if not row.dropped:
            picture = decoder.decode(next(units))
            if picture is not None:
                shown = scale_picture(picture, width=width, height=height)
        yield shown
    decoder.close()


def _units(job: Job, *, rows: Sequence[FrameRow], bitstream: bytes) -> Iterator[bytes]:
    """The temporal or access units of the file; Annex B has no index but the rows' sizes."""
    file = io.BytesIO(bitstream)
    if job.codec.codec is Codec.AV1:
        read_ivf_header(file)
        yield from (data for _, data in read_ivf_frames(file))
        return
    for row in rows:
        if not row.dropped:
            yield file.read(row.size_bytes)
    if file.read(1):
        raise RemoteError("the bitstream is longer than its frames")


class _Tally:
    """Counts PSNR and SSIM of pairs as they pass by, and keeps the shot."""

    def __init__(self, job: Job) -> None:
        self._metrics = job.metrics
        self._shot_index = job.shot
        self._psnr: list[float] = []
        self._ssim: list[float] = []
        self._shot = self._source = b""

    def counted(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        for index, pair in enumerate(pairs):
            if "psnr" in self._metrics:
                self._psnr.append(psnr_y(*pair))
            if "ssim" in self._metrics:
                self._ssim.append(ssim_y(*pair))
            if index == self._shot_index:
                self._source, self._shot = (
                    jpeg_from_picture(picture, quality=JPEG_QUALITY) for picture in pair
                )
            yield pair

    def quality(self, *, vmaf_mean: float | None) -> Quality:
        return Quality(
            psnr_y=_mean(self._psnr),
            ssim=_mean(self._ssim),
            vmaf=vmaf_mean,
            psnr_frames=tuple(self._psnr),
            shot=self._shot,
            source=self._source,
        )


def _mean(values: list[float]) -> float | None:
    return float(np.mean(values)) if values else None
