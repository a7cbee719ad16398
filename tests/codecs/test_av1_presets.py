"""Every row of the preset table is legal, decodes bit-exactly and takes turns with every other."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import pytest

from codecpilot.codecs.av1_presets import (
    PRESETS,
    frame_controls,
    frame_scale,
    sequence_controls,
)
from codecpilot.codecs.frame_header import FrameType
from codecpilot.codecs.pictures import scale_picture
from codecpilot.codecs.types import Content

from tests.codecs.av1_link import Link, draw, psnr_db, same

FULL = Fraction(1)
HALF = Fraction(1, 2)


def test_the_names_that_every_caller_may_rely_on_are_there() -> None:
    assert set(PRESETS) >= {"ultralow", "low", "default", "high", "best"}
    speeds = [preset.speed for preset in PRESETS.values()]
    assert speeds == sorted(speeds, reverse=True)
    assert 5 <= min(speeds) < max(speeds) <= 12


@pytest.mark.parametrize("content", list(Content))
@pytest.mark.parametrize("preset", list(PRESETS))
def test_every_preset_decodes_to_the_encoders_own_picture(preset: str, content: Content) -> None:
    link = Link()
    for index in range(8):
        frame, _ = link.step(key=index == 0, preset=preset, content=content)
    shown = scale_picture(link.encoder.reconstruction(), width=160, height=96)
    scale = frame_scale(PRESETS[preset], content=content, asked=FULL)
    assert (frame.width, frame.height) == (160 * scale, 96 * scale)
    assert (31 if scale == 1 else 26) < psnr_db(draw(7), shown) < 50
    assert 50 < len(frame.data) < 2500


def test_all_presets_write_one_sequence_header_so_that_a_switch_is_whole_at_once() -> None:
    first, *others = map(sequence_controls, PRESETS.values())
    assert all(other == first for other in others)


def every_transition(states: list[tuple[str, Content]]) -> list[tuple[str, Content]]:
    """A walk over the states in which each is followed by each, itself included, once."""
    left = {state: list(states) for state in states}
    trail, walk = [states[0]], []
    while trail:
        if left[trail[-1]]:
            trail.append(left[trail[-1]].pop())
        else:
            walk.append(trail.pop())
    return walk[::-1]


def test_every_preset_and_content_follows_every_other_bit_exactly_without_a_key_frame() -> None:
    states = list(itertools.product(PRESETS, Content))
    walk = every_transition(states)
    assert len(set(itertools.pairwise(walk))) == len(walk) - 1 == len(states) ** 2
    link = Link(width=96, height=64)
    for index, (preset, content) in enumerate(walk):
        # step() holds what dav1d shows against the encoder's own reconstruction.
        _, header = link.step(key=index == 0, preset=preset, content=content)
        assert (header.frame_type is FrameType.KEY) == (index == 0)


@pytest.mark.parametrize("clip", ["foreman_352x288.264", "webcam_512x480.mp4"])
def test_presets_take_turns_on_real_clips(clip: str, shared: object) -> None:
    from codecpilot.codecs.media import open_video

    pictures = list(open_video(f"{shared}/clips/{clip}", frames=20))
    link = Link(width=pictures[0].width, height=pictures[0].height)
    for index, picture in enumerate(pictures):
        preset = list(PRESETS)[index * 3 % len(PRESETS)]
        link.step(key=index == 0, ltr=index == 7, preset=preset, picture=picture)


def test_a_preset_acts_from_its_first_frame_on() -> None:
    def last(presets: list[str]) -> bytes:
        link = Link()
        return [link.step(key=i == 0, preset=p)[0].data for i, p in enumerate(presets)][-1]

    assert last(["default", "default", "default"]) != last(["default", "default", "best"])


def test_what_stands_in_the_sequence_header_changes_with_the_next_key_frame() -> None:
    plain = PRESETS["default"]
    presets = {"with": replace(plain, cdef=1), "without": replace(plain, cdef=0)}
    link = Link(presets=presets)
    link.step(key=True, preset="with")
    assert link.sequence is not None
    assert link.sequence.cdef
    link.step(preset="without")
    assert link.sequence.cdef
    link.step(key=True, preset="without")
    assert not link.sequence.cdef
    link.step(preset="without")


def test_the_largest_scale_bounds_camera_pictures_and_leaves_screens_alone() -> None:
    preset = replace(PRESETS["default"], largest_scale=HALF)
    for asked, expected in ((FULL, HALF), (Fraction(3, 4), HALF), (HALF, HALF)):
        assert frame_scale(preset, content=Content.CAMERA, asked=asked) == expected
    quarter = Fraction(1, 4)
    assert frame_scale(preset, content=Content.CAMERA, asked=quarter) == quarter
    assert frame_scale(preset, content=Content.SCREEN, asked=FULL) == FULL


def test_only_sequence_controls_are_left_out_of_what_is_set_before_each_frame() -> None:
    preset = PRESETS["default"]
    for content in Content:
        assert not frame_controls(preset, content=content).keys() & sequence_controls(preset).keys()


def test_the_same_preset_gives_the_same_bytes() -> None:
    def stream(preset: str) -> list[bytes]:
        link = Link(width=96, height=64)
        return [link.step(key=index == 0, preset=preset)[0].data for index in range(4)]

    for preset in PRESETS:
        assert stream(preset) == stream(preset)


def test_reconstructions_of_two_presets_differ() -> None:
    """Else the table would hold the same row twice."""
    shown = {}
    for preset in PRESETS:
        link = Link()
        for index in range(4):
            link.step(key=index == 0, preset=preset)
        shown[preset] = link.encoder.reconstruction()
    for one, other in itertools.combinations(shown.values(), 2):
        assert not same(one, other)
