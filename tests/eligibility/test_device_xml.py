"""What a device measured of its codecs is read; what blows up or reads other files is refused."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError, RemoteError
from codecpilot.eligibility.device_xml import parse_device_xml, read_device_xml

FILE = """<?xml version="1.0" encoding="utf-8" ?>
<MediaCodecs>
  <Encoders>
    <MediaCodec name="c2.android.av1.encoder" type="video/av01" update="true">
      <!-- measured -->
      <Limit name="measured-frame-rate-1280x720" range="24-26" />
      <Limit name="size" min="2x2" max="2048x2048" />
    </MediaCodec>
    <MediaCodec name="OMX.acme.avc.encoder"><Type name="video/avc">
      <Limit name="measured-frame-rate-640x360" range="200.5" /></Type>
    </MediaCodec>
  </Encoders>
  <Decoders>
    <MediaCodec name="c2.acme.av1.decoder.secure" type="video/av01">
      <Limit name="measured-frame-rate-640x360" range="1-2" /></MediaCodec>
    <MediaCodec name="c2.acme.mp3.decoder" type="audio/mpeg">
      <Limit name="measured-frame-rate-640x360" range="1-2" /></MediaCodec>
    <MediaCodec name="c2.acme.av1.decoder" type="video/av01">
      <Limit name="measured-frame-rate-640x360" range=" 500 - 600 " /></MediaCodec>
  </Decoders>
</MediaCodecs>"""


def test_codecs_sizes_and_ranges_are_read():
    software, old, hardware = parse_device_xml(FILE.encode())

    assert (software.codec, software.encodes, software.hardware) == ("AV1", True, False)
    assert (software.width, software.height) == (1280, 720)
    assert (software.fps_low, software.fps_high) == (24.0, 26.0)
    assert software.ns_px == pytest.approx(1e9 / 25 / (1280 * 720))
    assert (old.codec, old.hardware, old.fps_low, old.fps_high) == ("H264", True, 200.5, 200.5)
    assert (hardware.codec, hardware.encodes, hardware.hardware) == ("AV1", False, True)
    assert (hardware.fps_low, hardware.fps_high) == (500.0, 600.0)


LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 12))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (f'<!DOCTYPE a [<!ENTITY l0 "ha">{LAUGHS}]><a>&l11;</a>', "DOCTYPE"),
        ('<!DOCTYPE a [<!ENTITY f SYSTEM "file:///etc/hostname">]><a>&f;</a>', "DOCTYPE"),
        ('<!DOCTYPE MediaCodecs SYSTEM "http://host.invalid/a.dtd"><MediaCodecs/>', "DOCTYPE"),
        ("<a>" * 100_000, "deep"),
        (FILE[:-5], "well-formed"),
        ("", "well-formed"),
        ("<MediaCodecs/>", "no measured-frame-rate"),
        (FILE.replace("24-26", "26-24"), "lower first"),
        (FILE.replace("24-26", "0-5"), "positive"),
        ('<?xml version="1.0" encoding="nonsense"?><a/>', "encoding"),
    ],
)
def test_what_is_no_such_file_is_refused(content, said):
    with pytest.raises(RemoteError, match=said):
        parse_device_xml(content.encode())


@given(content=st.binary(max_size=200), at=st.integers(0, len(FILE)))
def test_whatever_the_bytes_only_remote_errors_come(content, at):
    for damaged in (content, FILE[:at].encode() + content + FILE[at:].encode()):
        with contextlib.suppress(RemoteError):
            assert parse_device_xml(damaged)


def test_a_file_too_large_or_absent_is_refused(tmp_path: Path):
    (tmp_path / "large").write_bytes(b" " * (1 << 20) + FILE.encode())
    with pytest.raises(RemoteError, match="1048576"):
        read_device_xml(tmp_path / "large")
    with pytest.raises(LocalError, match="cannot read"):
        read_device_xml(tmp_path / "none")


def test_devices_on_the_market_are_read(shared: Path):
    files = sorted((shared / "devices").glob("*.xml"))
    priors = {file.stem: read_device_xml(file) for file in files}

    assert len(files) >= 10
    assert min(map(len, priors.values())) >= 50
    encoders = [p for p in priors["google_gs101_tensor"] if p.codec == "AV1" and p.encodes]
    assert {(p.width, p.height): p.fps_low for p in encoders}[1280, 720] == 24
    for prior in sum(priors.values(), ()):
        assert 0.1 < prior.ns_px < 1_000
