"""Recordings: playable, bit for bit what came, in step with their sound, and split where they must be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
import pytest

from codecpilot.codecs.errors import LocalError, RemoteError
from codecpilot.codecs.factory import open_encoder
from codecpilot.codecs.pictures import new_picture
from codecpilot.codecs.recorder import Recorder
from codecpilot.codecs.sound import frame_from_samples
from codecpilot.codecs.types import Codec, EncodedFrame, EncodeRequest, Picture

START_US = 1_700_000_000_000_000
FRAME_US = 33_333
FIRST_TIMESTAMP = 123_456_789


def moving_picture(index: int, size: tuple[int, int]) -> Picture:
    picture = new_picture(*size)
    picture.y[:, :] = np.add.outer(np.arange(size[1]), np.arange(size[0]) + 5 * index) & 0x7F
    return picture


def encoded(
    codec: Codec, *, size: tuple[int, int] = (64, 64), count: int = 10
) -> list[EncodedFrame]:
    encoder = open_encoder(codec, width=size[0], height=size[1])
    frames = [
        encoder.encode(
            EncodeRequest(
                picture=moving_picture(index, size),
                frame_id=index,
                quantizer=40,
                target_bps=200_000,
                key=index == 0,
                reads=(0,) if index else (),
                writes=(0,) if index else tuple(range(8)),
            )
        )
        for index in range(count)
    ]
    encoder.close()
    return frames


@dataclass(slots=True)
class Call:
    """Feeds a recorder as a call does: 30 frames a second, sound in packets of 20 ms."""

    recorder: Recorder
    frames: int = 0
    sounds: int = 0

    def pictures(self, frames: Sequence[EncodedFrame]) -> None:
        for frame in frames:
            time_us = self.frames * FRAME_US
            self.recorder.video(
                frame.data,
                codec=frame.codec,
                key=frame.key,
                rtp_timestamp=FIRST_TIMESTAMP + self.frames * 3000,
                capture_us=START_US + time_us,
            )
            while self.sounds * 20_000 <= time_us:
                self.sound()
            self.frames += 1

    def sound(self) -> None:
        samples = np.full(960, 1000, np.int16)
        frame = frame_from_samples(samples, rate_hz=48_000, pts=777 + self.sounds * 960)
        self.recorder.sound(frame, capture_us=START_US + self.sounds * 20_000)
        self.sounds += 1


def packets(path: Path) -> list[av.Packet]:
    with av.open(str(path)) as container:
        return [packet for packet in container.demux(video=0) if packet.size]


def decoded_sizes(path: Path) -> list[tuple[int, int]]:
    with av.open(str(path)) as container:
        return [(frame.width, frame.height) for frame in container.decode(video=0)]


@pytest.mark.parametrize("codec", list(Codec))
def test_a_recording_decodes_whole_and_keeps_time(codec: Codec, tmp_path: Path) -> None:
    call = Call(Recorder(tmp_path / "new", name="A"))
    call.pictures(encoded(codec))
    (path,) = call.recorder.close()
    assert path == tmp_path / "new" / "A-1.mkv"
    assert decoded_sizes(path) == [(64, 64)] * 10
    times_ms = [round(float(p.pts * p.time_base) * 1000) for p in packets(path)]
    assert all(abs(ms - i * 1000 / 30) <= 1 for i, ms in enumerate(times_ms))


def test_av1_is_kept_as_it_came(tmp_path: Path) -> None:
    frames = encoded(Codec.AV1)
    call = Call(Recorder(tmp_path, name="A"))
    call.pictures(frames)
    (path,) = call.recorder.close()
    for packet, frame in zip(packets(path), frames, strict=True):
        # Matroska leaves the temporal delimiter out.
        assert bytes(packet).removeprefix(b"\x12\x00") == frame.data.removeprefix(b"\x12\x00")


def test_sound_begins_with_the_picture_and_is_as_long(tmp_path: Path) -> None:
    call = Call(Recorder(tmp_path, name="A"))
    call.pictures(encoded(Codec.AV1, count=30))
    (path,) = call.recorder.close()
    with av.open(str(path)) as container:
        frames = list(container.decode(audio=0))
    seconds = sum(frame.samples for frame in frames) / 48_000
    assert 0.93 < seconds < 1.05
    assert -0.01 < float(frames[0].time or 0) < 0.01


def test_another_codec_or_size_begins_a_new_part(tmp_path: Path) -> None:
    call = Call(Recorder(tmp_path, name="B"))
    call.pictures(encoded(Codec.AV1))
    call.pictures(encoded(Codec.H264))
    call.pictures(encoded(Codec.H264, size=(96, 64)))
    call.pictures(encoded(Codec.AV1, size=(96, 64)))
    paths = call.recorder.close()
    assert [path.name for path in paths] == ["B-1.mkv", "B-2.mkv", "B-3.mkv", "B-4.mkv"]
    sizes = [decoded_sizes(path) for path in paths]
    assert sizes == [[(64, 64)] * 10] * 2 + [[(96, 64)] * 10] * 2


def test_a_key_frame_alike_begins_no_new_part(tmp_path: Path) -> None:
    call = Call(Recorder(tmp_path, name="A"))
    call.pictures(encoded(Codec.AV1))
    call.pictures(encoded(Codec.AV1))
    (path,) = call.recorder.close()
    assert len(decoded_sizes(path)) == 20


def test_nothing_is_kept_before_the_first_key_frame(tmp_path: Path) -> None:
    call = Call(Recorder(tmp_path, name="A"))
    call.sound()
    call.pictures(encoded(Codec.AV1)[1:])
    assert call.recorder.close() == []
    assert list(tmp_path.iterdir()) == []


def test_frames_of_another_codec_without_a_key_frame_are_left_out(tmp_path: Path) -> None:
    call = Call(Recorder(tmp_path, name="A"))
    call.pictures(encoded(Codec.AV1))
    call.pictures(encoded(Codec.H264)[1:])
    (path,) = call.recorder.close()
    assert len(decoded_sizes(path)) == 10


def test_a_damaged_key_frame_is_the_peers_fault(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, name="A")
    for codec, data in ((Codec.AV1, b"\x12\x00"), (Codec.H264, b"\x00\x00\x00\x01\x65\x88")):
        with pytest.raises(RemoteError):
            recorder.video(data, codec=codec, key=True, rtp_timestamp=0, capture_us=0)
    assert recorder.close() == []


def test_a_folder_that_cannot_be_made_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LocalError, match="cannot record into"):
        Recorder(tmp_path / "file" / "kept", name="A")


def test_closing_twice_gives_the_same_parts(tmp_path: Path) -> None:
    call = Call(Recorder(tmp_path, name="A"))
    call.pictures(encoded(Codec.AV1, count=2))
    assert call.recorder.close() == call.recorder.close() == [tmp_path / "A-1.mkv"]


def test_a_key_frame_of_noise_never_makes_a_part(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, name="A")
    # A sequence header OBU whose payload is noise.
    noise = b"\x0a\x04\xff\xff\xff\xff"
    with pytest.raises(RemoteError):
        recorder.video(noise, codec=Codec.AV1, key=True, rtp_timestamp=0, capture_us=0)
    assert recorder.close() == []
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_refuses_is_our_side(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    recorder = Recorder(folder, name="A")
    (folder / "A-1.mkv").mkdir()
    with pytest.raises(LocalError, match="cannot record into"):
        Call(recorder).pictures(encoded(Codec.AV1, count=1))
