"""The AV1 encoder does exactly what a request says, checked in the bitstream and by dav1d."""

from __future__ import annotations

import gc
from fractions import Fraction

import numpy as np
import pytest

from codecpilot.codecs.av1_encoder import Av1Encoder, coded_size
from codecpilot.codecs.errors import LocalError
from codecpilot.codecs.frame_header import FrameType, read_frame_header
from codecpilot.codecs.libaom_context import SCALE_MODES
from codecpilot.codecs.obu import ObuType, read_obus
from codecpilot.codecs.types import Codec, Content, EncodeRequest, Picture

from tests.codecs.av1_link import Link, draw, headers, psnr_db, same

QINDEX = [*range(0, 248, 4), 249, 255]
"""quantizer_to_qindex (libaom, av1/encoder/ratectrl.c)."""


def request(picture: Picture, **fields: object) -> EncodeRequest:
    defaults: dict[str, object] = {"frame_id": 0, "quantizer": 35, "target_bps": 0, "key": True}
    return EncodeRequest(picture=picture, **{**defaults, **fields})  # type: ignore[arg-type]


def test_a_temporal_unit_begins_with_a_delimiter_and_every_obu_has_its_size() -> None:
    link = Link()
    for index in range(3):
        frame, _ = link.step(key=index == 0)
        assert frame.data[:2] == b"\x12\x00"
        types = [obu.type for obu in read_obus(frame.data)]
        sequence = [ObuType.SEQUENCE_HEADER] if index == 0 else []
        assert types == [ObuType.TEMPORAL_DELIMITER, *sequence, ObuType.FRAME]


def test_the_encoded_frame_repeats_what_the_request_asked() -> None:
    encoder = Av1Encoder(width=160, height=96)
    asked = request(
        draw(3), frame_id=70_000, quantizer=20, ltr_slot=4, scale=Fraction(1, 2), dependencies=()
    )
    frame = encoder.encode(asked)
    assert (frame.codec, frame.key, frame.frame_id) == (Codec.AV1, True, 70_000)
    assert (frame.quantizer, frame.ltr_slot, frame.tries) == (20, 4, 1)
    assert frame.capture_us == 3 * 33_333
    assert (frame.width, frame.height) == (80, 48)
    assert 0 < frame.encode_cpu_us < 2_000_000
    assert encoder.implementation.startswith("libaom 3.")


def test_every_quantizer_is_coded_exactly() -> None:
    link = Link(width=64, height=48)
    for quantizer in range(64):
        _, header = link.step(key=quantizer == 0, quantizer=quantizer)
        assert header.quantizer == QINDEX[quantizer]


def test_a_coarser_quantizer_gives_a_smaller_frame_and_a_worse_picture() -> None:
    sizes, quality = [], []
    for quantizer in (10, 30, 50, 63):
        link = Link()
        frame, _ = link.step(key=True, quantizer=quantizer)
        sizes.append(len(frame.data))
        quality.append(psnr_db(draw(0), link.encoder.reconstruction()))
    assert sizes == sorted(sizes, reverse=True)
    assert quality == sorted(quality, reverse=True)
    assert sizes[0] > 4 * sizes[-1]


def test_the_same_requests_give_the_same_bytes() -> None:
    def stream(threads: int) -> list[bytes]:
        link = Link(width=512, height=96, threads=threads)
        return [link.step(key=i == 0)[0].data for i in range(6)]

    assert stream(1) == stream(1)
    assert stream(2) == stream(2)


def test_key_frames_come_when_asked_and_never_else() -> None:
    link = Link(width=32, height=32)
    keys = {0, 5, 6, 40}
    for index in range(60):
        frame, header = link.step(key=index in keys)
        assert (header.frame_type is FrameType.KEY) == (index in keys) == frame.key
        assert (headers(frame.data)[0] is not None) == (index in keys)


@pytest.mark.parametrize("size", [(161, 97), (1, 1), (17, 240), (2, 3), (319, 1)])
def test_odd_sizes_are_coded_at_their_own_size(size: tuple[int, int]) -> None:
    link = Link(width=size[0], height=size[1])
    for index in range(5):
        frame, _ = link.step(key=index == 0)
        assert (frame.width, frame.height) == size
    assert link.sequence is not None
    assert (link.sequence.max_width, link.sequence.max_height) == size


@pytest.mark.parametrize("scale", list(SCALE_MODES))
def test_each_scale_codes_key_and_inter_frames_at_the_promised_size(scale: Fraction) -> None:
    link = Link(width=161, height=97)
    for index in range(4):
        frame, header = link.step(key=index == 0, scale=scale)
        assert (header.width, header.height) == coded_size(draw(0, 161, 97), scale=scale)
        assert abs(frame.width - 161 * scale) < 1
        assert abs(frame.height - 97 * scale) < 1


def test_error_resilience_is_set_on_size_switches_alone() -> None:
    link = Link()
    scales = [1, 1, Fraction(3, 4), Fraction(3, 4), Fraction(1, 2), 1, 1]
    resilient = []
    for index, scale in enumerate(scales):
        _, header = link.step(key=index == 0, scale=Fraction(scale))
        resilient.append(header.error_resilient)
    # Key frames are always error resilient.
    assert resilient == [True, False, True, False, True, True, False]


def test_steps_of_half_reach_an_eighth_and_one_step_goes_back_up() -> None:
    link = Link(width=320, height=192)
    for index, divisor in enumerate([1, 1, 2, 4, 8, 8, 1, 2, 1]):
        frame, _ = link.step(key=index == 0, scale=Fraction(1, divisor))
        assert frame.width == 320 // divisor


@pytest.mark.parametrize("size", [(1024, 768), (1280, 960)])
def test_large_pictures_that_began_small_grow(size: tuple[int, int]) -> None:
    """With superblocks of a size chosen by libaom the first full frame was a segmentation fault."""
    link = Link(width=size[0], height=size[1])
    for divisor in (4, 2, 1, 2, 1):
        frame, _ = link.step(key=link.index < 0, scale=Fraction(1, divisor))
        assert frame.width == size[0] // divisor
    assert link.sequence is not None
    assert not link.sequence.superblock_128


def test_a_frame_too_small_for_its_reference_is_refused_and_changes_nothing() -> None:
    link = Link()
    link.step(key=True)
    link.step()
    with pytest.raises(LocalError, match="at most 2x smaller and 16x larger"):
        link.step(scale=Fraction(1, 4))
    link.index -= 1
    _, header = link.step()
    assert not header.error_resilient


def test_written_slots_do_not_limit_the_size() -> None:
    """libaom maps names that predict nothing to LAST, so what a written slot held is no matter."""
    link = Link()
    link.step(key=True)
    link.step(scale=Fraction(1, 2))
    assert link.slot_sizes[2] == (160, 96)
    frame, _ = link.step(scale=Fraction(1, 4))
    assert (frame.width, link.slot_sizes[2]) == (40, (40, 24))


def test_further_reads_become_golden_and_altref_and_spare_names_repeat_last() -> None:
    encoder = Av1Encoder(width=160, height=96)
    sequence, _ = headers(encoder.encode(request(draw(0))).data)
    assert sequence is not None
    asked = request(draw(1), key=False, reads=(2, 5, 7), writes=(0, 4))
    header = read_frame_header(headers(encoder.encode(asked).data)[1], sequence)
    last, _, _, golden, _, _, altref = header.reads
    assert (last, golden, altref) == (2, 5, 7)
    assert set(header.reads) == {2, 5, 7}
    assert header.refresh == 1 << 0 | 1 << 4


def test_a_frame_names_at_most_seven_slots() -> None:
    encoder = Av1Encoder(width=160, height=96)
    encoder.encode(request(draw(0)))
    legal = request(draw(1), key=False, reads=(0,), writes=(1, 2, 3, 4, 5, 6))
    assert len(encoder.encode(legal).data) > 20
    with pytest.raises(LocalError, match="at most 7"):
        encoder.encode(request(draw(1), key=False, reads=(0,), writes=(1, 2, 3, 4, 5, 6, 7)))


def text_page(index: int) -> Picture:
    """Black glyph-like strokes on white that scroll by 4 rows a picture."""
    rng = np.random.default_rng(5)
    page = np.full((400, 192), 235, np.uint8)
    for row in range(0, 400, 10):
        page[row : row + 7][:, rng.random(192) < 0.4] = 16
    gray = np.full((48, 96), 128, np.uint8)
    return Picture(y=page[4 * index : 4 * index + 96], u=gray, v=gray)


def test_screen_tools_save_most_bits_of_text_and_switch_between_frames() -> None:
    def total(contents: list[Content]) -> int:
        link = Link(width=192, height=96)
        frames = [
            link.step(key=i == 0, content=c, picture=text_page(i))[0]
            for i, c in enumerate(contents)
        ]
        return sum(len(f.data) for f in frames)

    camera, screen = total([Content.CAMERA] * 8), total([Content.SCREEN] * 8)
    mixed = total([Content.CAMERA] * 4 + [Content.SCREEN] * 4)
    assert screen < camera / 2
    assert screen < mixed < camera


def test_screen_tools_are_declared_for_screen_content_alone() -> None:
    for content, expected in ((Content.SCREEN, True), (Content.CAMERA, False)):
        link = Link(width=192, height=96)
        _, header = link.step(key=True, content=content, picture=text_page(0))
        assert header.screen_content_tools is expected


def test_planes_are_read_where_they_lie_whatever_their_strides() -> None:
    plain = draw(0)
    padded = np.zeros((96, 300), np.uint8)
    padded[:, 40:200] = plain.y
    wide = np.zeros((48, 200), np.uint8)
    wide[:, 7:87] = plain.v
    flipped = np.ascontiguousarray(plain.y[::-1])[::-1]
    variants = [
        Picture(y=padded[:, 40:200], u=plain.u, v=plain.v),
        Picture(y=plain.y, u=plain.u, v=wide[:, 7:87]),
        Picture(y=flipped, u=plain.u, v=plain.v),
    ]
    expected = Av1Encoder(width=160, height=96).encode(request(plain)).data
    for picture in variants:
        for plane in (picture.y, picture.u, picture.v):
            plane.flags.writeable = False
        assert Av1Encoder(width=160, height=96).encode(request(picture)).data == expected


def test_another_picture_size_needs_a_key_frame_and_then_works() -> None:
    link = Link()
    link.step(key=True)
    for size in ((320, 192), (80, 49)):
        with pytest.raises(LocalError, match="a new picture size needs a key frame"):
            link.step(picture=draw(1, *size))
        frame, _ = link.step(key=True, picture=draw(1, *size))
        assert (frame.width, frame.height) == size
        link.step(picture=draw(2, *size))
    with pytest.raises(LocalError, match="open"):
        link.step(picture=draw(3, 160, 96))


def test_a_new_picture_size_leaves_no_setting_behind() -> None:
    def key(encoder: Av1Encoder) -> bytes:
        return encoder.encode(request(draw(1, 80, 48), preset="best")).data

    used = Av1Encoder(width=160, height=96)
    used.encode(request(draw(0), preset="best", content=Content.SCREEN))
    used.encode(request(draw(0), preset="best"))
    assert key(used) == key(Av1Encoder(width=80, height=48))


def test_an_encoder_that_nobody_closed_frees_its_memory() -> None:
    encoder = Av1Encoder(width=160, height=96)
    encoder.encode(request(draw(0)))
    context = encoder._context
    assert context is not None
    free = context._destroy
    assert free.alive
    del encoder, context
    gc.collect()
    assert not free.alive


def test_misuse_is_a_local_error_that_names_the_legal_values() -> None:
    encoder = Av1Encoder(width=160, height=96)
    with pytest.raises(LocalError, match="begin with a key frame"):
        encoder.encode(request(draw(0), key=False, reads=(0,), writes=(1,)))
    with pytest.raises(LocalError, match="no frame was encoded"):
        Av1Encoder(width=160, height=96).reconstruction()
    with pytest.raises(LocalError, match="'turbo' is none of ultralow"):
        encoder.encode(request(draw(0), preset="turbo"))
    with pytest.raises(LocalError, match="scale 5/6 is none of 1, 4/5"):
        encoder.encode(request(draw(0), scale=Fraction(5, 6)))
    with pytest.raises(LocalError, match=r"0x96 is outside 1\.\.65536"):
        Av1Encoder(width=0, height=96)
    with pytest.raises(LocalError, match=r"threads 0 is outside 1\.\.64"):
        Av1Encoder(width=160, height=96, threads=0)


def test_a_closed_encoder_encodes_no_more_and_may_be_closed_again() -> None:
    encoder = Av1Encoder(width=160, height=96)
    encoder.encode(request(draw(0)))
    encoder.close()
    encoder.close()
    with pytest.raises(LocalError, match="closed"):
        encoder.encode(request(draw(0)))
    with pytest.raises(LocalError):
        encoder.reconstruction()


def test_two_threads_decode_to_the_encoders_own_picture() -> None:
    link = Link(width=512, height=128, threads=2)
    for index in range(6):
        link.step(key=index == 0)


def test_the_reconstruction_is_a_copy_that_later_frames_leave_alone() -> None:
    link = Link()
    link.step(key=True)
    first = link.encoder.reconstruction()
    kept = first.y.copy()
    link.step()
    assert np.array_equal(first.y, kept)
    assert not same(first, link.encoder.reconstruction())
