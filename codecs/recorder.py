"""Keeps a received call: video as it came, without encoding it again, and sound as Opus, in Matroska.

A file must have one codec and one stream header, so another codec, or a key frame with another AV1
sequence header or H.264 SPS (another size, say), begins a new file part. Frames of another size
between key frames (scaled AV1 references) stay in the part: players follow them.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
from av.audio.frame import AudioFrame
from av.container import InputContainer

from .errors import LocalError, RemoteError
from .ivf import IvfWriter
from .nal import NalType, parse_header, parse_sps, split_annex_b
from .obu import Obu, ObuType, read_obus, write_obu
from .sequence_header import read_sequence_header
from .types import Codec

VIDEO_TIME_BASE = Fraction(1, 90_000)
SOUND_RATE_HZ = 48_000
SOUND_BPS = 64_000
US_PER_S = 1_000_000
TEMPORAL_DELIMITER = write_obu(Obu(type=ObuType.TEMPORAL_DELIMITER, payload=b""))


@dataclass(slots=True)
class _Line:
    """Where a stream's own clock lies on the file's: exact steps, placed once by capture time."""

    own: int
    file_us: int

    def file_time_us(self, own: int, *, rate: int) -> int:
        return self.file_us + (own - self.own) * US_PER_S // rate


class _Part:
    """One file. Its zero is the capture of its first key frame."""

    def __init__(self, path: Path, *, codec: Codec, key_frame: bytes, zero_us: int) -> None:
        self.zero_us = zero_us
        self._path = path
        self._template = _opened_stream(codec, key_frame)
        try:
            self._container = av.open(str(path), "w", format="matroska")
        except (av.FFmpegError, OSError) as error:
            raise LocalError(f"cannot record into {path}: {error}") from error
        self._video = self._container.add_stream_from_template(
            self._template.streams.video[0], opaque=True
        )
        self._sound: Any = self._container.add_stream("libopus", rate=SOUND_RATE_HZ)
        self._sound.layout = "stereo"
        self._sound.bit_rate = SOUND_BPS
        self._last_pts = -1

    def video(self, data: bytes, *, key: bool, time_us: int) -> None:
        pts = max(int(time_us * VIDEO_TIME_BASE.denominator / US_PER_S), self._last_pts + 1)
        self._last_pts = pts
        packet = av.Packet(data)
        packet.stream = self._video
        packet.time_base = VIDEO_TIME_BASE
        packet.pts = packet.dts = pts
        packet.is_keyframe = key
        self._mux([packet])

    def sound(self, frame: AudioFrame, *, time_us: int) -> None:
        frame.time_base = Fraction(1, SOUND_RATE_HZ)
        frame.pts = time_us * SOUND_RATE_HZ // US_PER_S
        self._mux(self._sound.encode(frame))

    def close(self) -> None:
        try:
            if self._last_pts >= 0:
                self._mux(self._sound.encode(None))
        finally:
            self._container.close()
            self._template.close()

    def _mux(self, packets: list[av.Packet]) -> None:
        try:
            self._container.mux(packets)
        except (av.FFmpegError, OSError) as error:
            raise LocalError(f"cannot record into {self._path}: {error}") from error


class Recorder:
    """Writes NAME-1.mkv, NAME-2.mkv, … into a folder. Not thread-safe; calls block on the disk."""

    def __init__(self, folder: Path, *, name: str) -> None:
        """Raises LocalError when the folder cannot be made."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LocalError(f"cannot record into {folder}: {error.strerror}") from error
        self.paths: list[Path] = []
        self._folder, self._name = folder, name
        self._part: _Part | None = None
        self._header: tuple[Codec, bytes] | None = None
        self._video_line: _Line | None = None
        self._sound_line: _Line | None = None

    def video(
        self, data: bytes, *, codec: Codec, key: bool, rtp_timestamp: int, capture_us: int
    ) -> None:
        """A received AV1 temporal unit or H.264 access unit (Annex B), in decoding order.

        rtp_timestamp is unwrapped (90 kHz), capture_us its capture on the clock that sound shares.
        What comes before the first key frame is not kept. Raises RemoteError for a damaged key
        frame, LocalError when the file cannot be written.
        """
        if key:
            self._begin_part(codec, data, capture_us=capture_us)
        if self._part is None or self._header is None or self._header[0] is not codec:
            return
        if self._video_line is None:
            self._video_line = _Line(own=rtp_timestamp, file_us=capture_us)
        time_us = self._video_line.file_time_us(rtp_timestamp, rate=VIDEO_TIME_BASE.denominator)
        self._part.video(data, key=key, time_us=time_us - self._part.zero_us)

    def sound(self, frame: AudioFrame, *, capture_us: int) -> None:
        """A decoded packet of 48 kHz sound. What comes before the first picture is not kept."""
        if self._part is None or frame.pts is None:
            return
        if frame.sample_rate != SOUND_RATE_HZ:
            raise LocalError(f"sound has {frame.sample_rate} Hz, {SOUND_RATE_HZ} expected")
        if self._sound_line is None:
            self._sound_line = _Line(own=frame.pts, file_us=capture_us)
        time_us = self._sound_line.file_time_us(frame.pts, rate=SOUND_RATE_HZ) - self._part.zero_us
        if time_us >= 0:
            self._part.sound(frame, time_us=time_us)

    def close(self) -> list[Path]:
        """Finish the last part. Returns all parts' paths. May be called twice."""
        if self._part is not None:
            self._part.close()
            self._part = None
        return self.paths

    def _begin_part(self, codec: Codec, key_frame: bytes, *, capture_us: int) -> None:
        header = (codec, _stream_header(codec, key_frame))
        if self._part is not None and header == self._header:
            return
        self.close()
        path = self._folder / f"{self._name}-{len(self.paths) + 1}.mkv"
        self._part = _Part(path, codec=codec, key_frame=key_frame, zero_us=capture_us)
        self._header = header
        self._video_line = None
        self.paths.append(path)


_FORMATS = {Codec.AV1: "ivf", Codec.H264: "h264"}


def _stream_header(codec: Codec, key_frame: bytes) -> bytes:
    """What a file's header is made of: the AV1 sequence header, or the H.264 SPS; a legal one."""
    if codec is Codec.AV1:
        found = [o.payload for o in read_obus(key_frame) if o.type == ObuType.SEQUENCE_HEADER]
    else:
        units = split_annex_b(key_frame)
        found = [unit for unit in units if parse_header(unit).nal_type == NalType.SPS]
    if not found:
        raise RemoteError(f"a key frame of {codec.value} carries no stream header")
    if codec is Codec.AV1:
        read_sequence_header(found[0])
    else:
        parse_sps(found[0])
    return found[0]


def _opened_stream(codec: Codec, key_frame: bytes) -> InputContainer:
    """The stream's parameters as FFmpeg reads them from its key frame."""
    try:
        data = io.BytesIO(_stream_start(codec, key_frame))
        container = av.open(data, mode="r", format=_FORMATS[codec])
        if container.streams.video:
            return container
        container.close()
    except (av.FFmpegError, OSError) as error:
        raise RemoteError(f"a key frame of {codec.value} that cannot be read: {error}") from error
    raise RemoteError(f"a key frame of {codec.value} without a picture")


def _stream_start(codec: Codec, key_frame: bytes) -> bytes:
    """The key frame as a file that FFmpeg reads a stream's parameters from: IVF, or Annex B."""
    if codec is Codec.H264:
        return key_frame
    unit = key_frame
    if not unit.startswith(TEMPORAL_DELIMITER):
        unit = TEMPORAL_DELIMITER + unit
    file = io.BytesIO()
    # FFmpeg takes the size from the sequence header, not from IVF's own fields.
    with IvfWriter(file, width=1, height=1) as ivf:
        ivf.write(unit, timestamp=0)
    return file.getvalue()
