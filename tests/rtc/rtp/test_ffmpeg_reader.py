"""An independent reader: FFmpeg receives our AV1 packets over UDP and decodes the same pictures."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import pytest

from codecpilot.codecs.av1_decoder import Av1Decoder
from codecpilot.codecs.obu import Obu, ObuType, read_obus, write_obus
from codecpilot.codecs.types import Picture
from codecpilot.rtc.rtp.av1_payload import packetize_av1
from codecpilot.rtc.rtp.packet import RtpPacket
from codecpilot.rtc.rtp.rtcp import Bye, ReceiverReport, serialize_rtcp

from tests.codecs.av1_link import Link, draw

imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="needs the evaluation extra")

DEADLINE_S = 30
SSRC, PAYLOAD_TYPE = 0x12345678, 96
FRAME_TICKS = 3000
FIRST_SEQUENCE = 65530  # the numbers wrap on the way
# All packets are sent at once, so they must fit the receiver's socket buffer even if it sleeps
# meanwhile: Linux grants 2 x 208 KiB and counts 2304 bytes for a packet of 1200, so 184 fit.
MAX_PACKETS = 150


def one_tile() -> list[bytes]:
    link = Link(width=128, height=96)
    return [link.step(key=index == 0)[0].data for index in range(30)]


def two_tile_groups_and_metadata() -> list[bytes]:
    """Key frame: sequence header, two metadata OBUs, frame header, two tile groups."""
    width, height = 512, 64
    encoder = av.CodecContext.create("libaom-av1", "w")
    assert isinstance(encoder, av.VideoCodecContext)
    encoder.width, encoder.height, encoder.pix_fmt = width, height, "yuv420p"
    encoder.time_base, encoder.framerate = Fraction(1, 30), Fraction(30)
    encoder.options = {
        "usage": "realtime",
        "cpu-used": "8",
        "lag-in-frames": "0",
        "crf": "45",
        "aom-params": "tile-columns=1:num-tile-groups=2",
    }
    units = []
    for index in range(12):
        picture = draw(index, width=width, height=height)
        frame = av.VideoFrame(width, height, "yuv420p")
        for plane, samples in zip(frame.planes, (picture.y, picture.u, picture.v), strict=True):
            row_bytes = samples.shape[1]
            assert plane.line_size == row_bytes
            plane.update(samples.tobytes())
        frame.pts = index
        units += [with_metadata(bytes(packet)) for packet in encoder.encode(frame)]
    return units


def with_metadata(unit: bytes) -> bytes:
    """The unit with two metadata OBUs (AV1 specification 5.8: ITU-T T.35) before its frame."""
    metadata = Obu(type=ObuType.METADATA, payload=b"\x04\xb5\x00\x01comment\x80")
    obus = list(read_obus(unit))
    at = next(i for i, obu in enumerate(obus) if obu.type == ObuType.FRAME_HEADER)
    return write_obus([*obus[:at], metadata, metadata, *obus[at:]])


def packetize(units: Sequence[bytes], *, max_payload_bytes: int) -> list[RtpPacket]:
    packets: list[RtpPacket] = []
    for index, unit in enumerate(units):
        payloads = packetize_av1(unit, max_payload_bytes=max_payload_bytes, new_sequence=index == 0)
        packets += [
            RtpPacket(
                payload_type=PAYLOAD_TYPE,
                marker=i + 1 == len(payloads),
                sequence_number=(FIRST_SEQUENCE + len(packets) + i) & 0xFFFF,
                timestamp=index * FRAME_TICKS,
                ssrc=SSRC,
                payload=payload,
            )
            for i, payload in enumerate(payloads)
        ]
    return packets


def free_port() -> int:
    """An even UDP port on 127.0.0.1 whose neighbour, for RTCP, is free as well."""
    while True:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.bind(("127.0.0.1", 0))
            port = int(one.getsockname()[1])
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as two:
                try:
                    two.bind(("127.0.0.1", port ^ 1))
                except OSError:
                    continue
                return port & ~1


def listens(sender: socket.socket) -> bool:
    """Whether the connected port answers a report with something else than "refused"."""
    try:
        sender.send(serialize_rtcp([ReceiverReport(ssrc=1)]))
        time.sleep(0.02)
        sender.recv(1)
    except BlockingIOError:
        return True
    except ConnectionRefusedError:
        return False
    return True


def wait_until_listening(sender: socket.socket, ffmpeg: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not listens(sender):
        assert ffmpeg.poll() is None, "FFmpeg ended before it listened"
        assert time.monotonic() < deadline, "FFmpeg does not listen"
        time.sleep(0.02)


def decode_by_ffmpeg(packets: Sequence[RtpPacket], folder: Path) -> bytes:
    """What FFmpeg decodes, as raw 4:2:0. It reads until the BYE that follows the packets."""
    port = free_port()
    description = folder / "stream.sdp"
    description.write_text(
        "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=-\nc=IN IP4 127.0.0.1\nt=0 0\n"
        f"m=video {port} RTP/AVP {PAYLOAD_TYPE}\na=rtpmap:{PAYLOAD_TYPE} AV1/90000\n"
    )
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-nostdin"]
    command += ["-protocol_whitelist", "file,udp,rtp", "-i", str(description)]
    command += ["-fps_mode", "passthrough", "-pix_fmt", "yuv420p", "-f", "rawvideo"]
    output = folder / "decoded.yuv"
    ffmpeg = subprocess.Popen([*command, "-y", str(output)], stderr=subprocess.PIPE)
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            sender.connect(("127.0.0.1", port))
            wait_until_listening(sender, ffmpeg)
            for packet in packets:
                sender.send(packet.serialize())
            # On the media port, since FFmpeg reads the RTCP port first.
            sender.send(serialize_rtcp([ReceiverReport(ssrc=SSRC), Bye(ssrcs=(SSRC,))]))
            _, errors = ffmpeg.communicate(timeout=DEADLINE_S)
        assert (ffmpeg.returncode, errors) == (0, b"")
    finally:
        ffmpeg.kill()
        ffmpeg.wait()
    return output.read_bytes()


def decode_here(units: Sequence[bytes]) -> bytes:
    decoder = Av1Decoder()
    decoded = b""
    for unit in units:
        picture = decoder.decode(unit)
        assert isinstance(picture, Picture)
        decoded += picture.y.tobytes() + picture.u.tobytes() + picture.v.tobytes()
    decoder.close()
    return decoded


@pytest.mark.parametrize(("max_payload_bytes", "split"), [(150, True), (1200, False)])
def test_ffmpeg_decodes_frames_of_several_packets_and_of_one(
    max_payload_bytes: int, split: bool, tmp_path: Path
) -> None:
    units = one_tile()
    packets = packetize(units, max_payload_bytes=max_payload_bytes)
    assert (len(packets) > len(units)) == split
    assert len(packets) <= MAX_PACKETS
    assert decode_by_ffmpeg(packets, tmp_path) == decode_here(units)


@pytest.mark.parametrize("max_payload_bytes", [300, 1200])
def test_ffmpeg_decodes_frames_of_many_obus(max_payload_bytes: int, tmp_path: Path) -> None:
    units = two_tile_groups_and_metadata()
    packets = packetize(units, max_payload_bytes=max_payload_bytes)
    assert len(packets) <= MAX_PACKETS
    counted = {packet.payload[0] >> 4 & 3 for packet in packets}
    assert 0 in counted  # more than three OBU elements in a packet
    assert len(list(read_obus(units[0]))) == 7
    assert decode_by_ffmpeg(packets, tmp_path) == decode_here(units)
