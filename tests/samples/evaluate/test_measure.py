"""What a viewer sees: dropped pictures repeat, small ones are scaled up, nothing is black-boxed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from codecpilot.codecs.av1_encoder import Av1Encoder
from codecpilot.codecs.errors import RemoteError
from codecpilot.codecs.ivf import IvfWriter
from codecpilot.codecs.metrics import psnr_y
from codecpilot.codecs.types import EncodedFrame, EncodeRequest, Picture
from codecpilot.samples.evaluate.clips import Clip, ReadOptions
from codecpilot.samples.evaluate.codec_specs import parse_codec
from codecpilot.samples.evaluate.job import FrameRow, Job
from codecpilot.samples.evaluate.measure import measure_run, shown_pictures
from codecpilot.samples.evaluate.rates import constant

from .clip_files import scene_pictures

SIDE = 64
FULL, HALF = Fraction(1), Fraction(1, 2)


def job(**changes: object) -> Job:
    clip = Clip(path="c", name="c", slug="c", width=SIDE, height=SIDE, fps=Fraction(30), pictures=4)
    basis = Job(
        clip=clip,
        codec=parse_codec("av1:low"),
        rates=constant(100),
        pictures=4,
        read=ReadOptions(),
        metrics=frozenset({"psnr", "ssim"}),
    )
    return replace(basis, **changes)  # type: ignore[arg-type]


def row(index: int, frame: EncodedFrame | None) -> FrameRow:
    return FrameRow(
        index=index,
        pts_us=index * 33_333,
        size_bytes=len(frame.data) if frame else 0,
        quantizer=0,
        key=bool(frame and frame.key),
        temporal_id=0,
        tries=1,
        dropped=frame is None,
        width=frame.width if frame else 0,
        height=frame.height if frame else 0,
        encode_us=0,
        encode_cpu_us=0,
        vbv_us=0,
        target_bps=100_000,
    )


def coded(
    pictures: Sequence[Picture], scales: Sequence[Fraction | None]
) -> tuple[list[FrameRow], bytes, list[Picture]]:
    """Rows, file, and the encoder's own reconstructions; a scale of None drops the picture."""
    import io

    encoder, file = Av1Encoder(width=SIDE, height=SIDE), io.BytesIO()
    writer, rows, reconstructions = IvfWriter(file, width=SIDE, height=SIDE), [], []
    for index, (picture, scale) in enumerate(zip(pictures, scales, strict=True)):
        frame = None
        if scale is not None:
            first = not reconstructions
            request = EncodeRequest(
                picture=picture,
                frame_id=index,
                quantizer=20,
                target_bps=1,
                key=first,
                reads=() if first else (0,),
                writes=tuple(range(8)) if first else (0,),
                scale=scale,
                preset="low",
            )
            frame = encoder.encode(request)
            reconstructions.append(encoder.reconstruction())
            writer.write(frame.data, timestamp=index)
        rows.append(row(index, frame))
    writer.close()
    encoder.close()
    return rows, file.getvalue(), reconstructions


def test_a_dropped_picture_leaves_the_one_before_on_the_screen() -> None:
    rows, data, made = coded(scene_pictures(4), [FULL, None, FULL, None])
    shown = list(shown_pictures(job(), rows=rows, bitstream=data))
    for index, source in ((0, 0), (1, 0), (2, 1), (3, 1)):
        assert np.array_equal(shown[index].y, made[source].y)
    assert not np.array_equal(made[0].y, made[1].y)


def test_the_screen_is_black_until_the_first_picture_comes() -> None:
    rows, data, made = coded(scene_pictures(2), [None, FULL])
    shown = list(shown_pictures(job(), rows=rows, bitstream=data))
    assert np.all(shown[0].y == 16)
    assert np.array_equal(shown[1].y, made[0].y)


def test_a_picture_coded_smaller_is_scaled_up_to_the_clips_size() -> None:
    pictures = scene_pictures(2)
    rows, data, made = coded(pictures, [FULL, HALF])
    assert (made[1].width, made[1].height) == (SIDE // 2, SIDE // 2)
    shown = list(shown_pictures(job(), rows=rows, bitstream=data))
    assert [(p.width, p.height) for p in shown] == [(SIDE, SIDE)] * 2
    assert 22 < psnr_y(pictures[1], shown[1]) < psnr_y(pictures[0], shown[0])


def test_quality_is_the_mean_over_pictures_and_the_shot_is_kept() -> None:
    pictures = scene_pictures(3)
    rows, data, _ = coded(pictures, [FULL, None, FULL])
    quality = measure_run(job(shot=1), captured=pictures, rows=rows, bitstream=data)
    shown = list(shown_pictures(job(), rows=rows, bitstream=data))
    expected = [psnr_y(*pair) for pair in zip(pictures, shown, strict=True)]
    assert quality.psnr_frames == tuple(expected)
    assert quality.psnr_y == pytest.approx(np.mean(expected))
    assert quality.ssim is not None
    assert 0.5 < quality.ssim < 1
    assert quality.vmaf is None
    assert quality.shot[:2] == quality.source[:2] == b"\xff\xd8"
    assert quality.shot != quality.source


def test_a_bitstream_that_does_not_decode_is_an_error() -> None:
    pictures = scene_pictures(2)
    rows, data, _ = coded(pictures, [FULL, FULL])
    broken = data[:44] + bytes(len(data) - 44)
    with pytest.raises(RemoteError):
        measure_run(job(), captured=pictures, rows=rows, bitstream=broken)
