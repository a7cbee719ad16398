"""libaom is found, checked and bound; where it is not, the error says where was looked and why."""

from __future__ import annotations

import ctypes.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from codecpilot.codecs import av1_encoder, libaom
from codecpilot.codecs.errors import LocalError
from codecpilot.codecs.libaom import ENVIRONMENT, find_libaom, load_libaom
from codecpilot.codecs.wheels import carried_libraries

from tests.codecs.av1_link import Link


@pytest.fixture(autouse=True)
def fresh_search(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    find_libaom.cache_clear()
    yield
    find_libaom.cache_clear()


def test_pyav_carries_a_usable_libaom_which_is_found_first() -> None:
    found = find_libaom()
    assert (3, 6) <= tuple(map(int, found.version.split(".")))[:2] < (4, 0)
    assert Path(found.path) in carried_libraries("av", "aom")
    assert find_libaom() is found


@pytest.mark.skipif(sys.maxsize < 2**32 or sys.platform == "win32", reason="64-bit long only")
@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("aom_codec_enc_cfg_t", 904),
        ("aom_codec_ctx_t", 56),
        ("aom_image_t", 168),
        ("aom_codec_cx_pkt_t", 168),
        ("aom_svc_ref_frame_config_t", 88),
    ],
)
def test_declared_structures_have_libaoms_sizes(name: str, size: int) -> None:
    assert find_libaom().ffi.sizeof(name) == size


def test_real_time_defaults_are_where_the_declaration_says() -> None:
    """A field out of place would read as another's default (av1_cx_iface.c, usage 1)."""
    aom = find_libaom()
    config = aom.ffi.new("aom_codec_enc_cfg_t *")
    aom.check(
        aom.lib.aom_codec_enc_config_default(aom.lib.aom_codec_av1_cx(), config, 1), doing="test"
    )
    assert (config.g_usage, config.g_w, config.g_h) == (1, 320, 240)
    assert (config.g_timebase.num, config.g_timebase.den) == (1, 30)
    assert (config.rc_max_quantizer, config.kf_max_dist) == (63, 9999)
    buffer_ms = (config.rc_buf_sz, config.rc_buf_initial_sz, config.rc_buf_optimal_sz)
    assert buffer_ms == (1000, 600, 600)


def test_the_environment_names_the_one_library_to_use(monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(carried_libraries("av", "aom")[0])
    monkeypatch.setenv(ENVIRONMENT, path)
    assert find_libaom().path == path
    find_libaom.cache_clear()
    monkeypatch.setenv(ENVIRONMENT, "/nowhere/libaom.so")
    with pytest.raises(LocalError, match=rf"{ENVIRONMENT}: /nowhere/libaom\.so cannot be loaded"):
        find_libaom()


def test_without_any_library_the_error_lists_every_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libaom, "carried_libraries", lambda package, name: [])
    monkeypatch.setattr(ctypes.util, "find_library", lambda name: None)
    with pytest.raises(LocalError) as caught:
        find_libaom()
    message = str(caught.value)
    for words in ("wheel of av", "wheel of cv2", "system libraries", ENVIRONMENT, "3.6 or later"):
        assert words in message
    assert message.count("no libaom there") == 3


def test_a_library_that_fails_is_named_with_its_reason_and_the_next_is_tried(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "libaom.so"
    broken.write_bytes(b"not a library")
    good = carried_libraries("av", "aom")[0]
    monkeypatch.setattr(libaom, "carried_libraries", lambda package, name: [broken, good])
    assert find_libaom().path == str(good)


def test_another_library_is_refused() -> None:
    with pytest.raises(LocalError, match="cannot be loaded"):
        load_libaom(str(carried_libraries("av", "dav1d")[0]))


@pytest.mark.parametrize("number", [0x030500, 0x040000])
def test_versions_outside_the_tested_range_are_refused(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    class FakeFfi:
        def cdef(self, source: str) -> None:
            assert "aom_codec_enc_cfg_t" in source

        def dlopen(self, path: str) -> Any:
            return SimpleNamespace(aom_codec_version=lambda: number)

    monkeypatch.setattr(libaom.cffi, "FFI", FakeFfi)
    version = f"{number >> 16}.{number >> 8 & 255}.0"
    with pytest.raises(LocalError, match=rf"{version}; 3\.6 or later of 3\.x is needed"):
        load_libaom("libaom.so")


def test_another_encoder_abi_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libaom, "ENCODER_ABI", 28)
    with pytest.raises(LocalError, match="another encoder ABI than 28"):
        load_libaom(str(carried_libraries("av", "aom")[0]))


def test_libaoms_own_words_stand_in_the_error() -> None:
    with pytest.raises(LocalError, match=r"libaom 3\.\S+, trying: .*Invalid parameter"):
        find_libaom().check(8, doing="trying")


def test_the_libaom_of_opencvs_wheel_serves_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    files = carried_libraries("cv2", "aom")
    if not files:
        pytest.skip("this OpenCV wheel carries no libaom")
    other = load_libaom(str(files[0]))
    monkeypatch.setattr(av1_encoder, "find_libaom", lambda: other)
    link = Link()
    for index in range(12):
        link.step(key=index == 0, ltr=index == 4, quantizer=30 + index)
    assert link.encoder.implementation == f"libaom {other.version}"
