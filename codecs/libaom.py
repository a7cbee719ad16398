"""Finds the libaom library on this machine and binds its encoder through cffi (ABI mode).

The library is one that other wheels carry: PyAV's, else OpenCV's, else the system's. Set
CODECPILOT_LIBAOM to the path of a library file to use that one and no other.
"""

from __future__ import annotations

import ctypes.util
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import cffi

from .errors import LocalError
from .libaom_cdef import CDEF
from .wheels import carried_libraries, library_folders

ENVIRONMENT = "CODECPILOT_LIBAOM"
ENCODER_ABI = 29
"""AOM_ENCODER_ABI_VERSION of 3.6 to 3.14 (aom_encoder.h)."""
OLDEST = (3, 6)
"""First release with AV1E_SET_QUANTIZER_ONE_PASS beside this ABI."""
NEXT_MAJOR = (4, 0)

USAGE_REALTIME = 1
"""AOM_USAGE_REALTIME (aom_encoder.h)."""
_OK = 0
_ABI_MISMATCH = 3
_WHEELS = ("av", "cv2")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LibAom:
    """A loaded libaom whose version and encoder ABI were checked."""

    ffi: Any
    """cffi's FFI with the declarations of libaom_cdef."""
    lib: Any
    """The library's functions."""
    path: str
    version: str
    """Such as "3.13.1"."""

    def check(self, status: int, *, doing: str, context: Any = None) -> None:
        """Raise LocalError with libaom's own words unless status is AOM_CODEC_OK."""
        if status == _OK:
            return
        words = self._text(self.lib.aom_codec_err_to_string(status))
        detail = self._text(self.lib.aom_codec_error_detail(context)) if context else ""
        raise LocalError(
            f"libaom {self.version}, {doing}: {words}{f' ({detail})' if detail else ''}"
        )

    def _text(self, pointer: Any) -> str:
        return "" if pointer == self.ffi.NULL else self.ffi.string(pointer).decode()


@cache
def find_libaom() -> LibAom:
    """The first usable libaom: CODECPILOT_LIBAOM, PyAV's wheel, OpenCV's wheel, the system's.

    Raises LocalError that lists every place looked at and what was wrong there.
    """
    override = os.environ.get(ENVIRONMENT)
    refused: list[str] = []
    for place, path in _override(override) if override else _candidates():
        try:
            if path is None:
                raise LocalError("no libaom there")
            return load_libaom(path)
        except LocalError as error:
            refused.append(f"{place}: {error}")
    raise LocalError(
        "no usable libaom (AV1 encoder); looked at\n  "
        + "\n  ".join(refused)
        + f"\nInstall av>=16.1,<17 or set {ENVIRONMENT} to a library of version 3.6 or later."
    )


def load_libaom(path: str) -> LibAom:
    """Load one library file. Raises LocalError if it cannot be used, saying why."""
    ffi = cffi.FFI()
    ffi.cdef(CDEF)
    try:
        lib: Any = ffi.dlopen(path)
        number = lib.aom_codec_version()
    except (OSError, AttributeError) as error:
        raise LocalError(f"{path} cannot be loaded: {error}") from error
    found = (number >> 16, number >> 8 & 0xFF, number & 0xFF)
    version = ".".join(map(str, found))
    if not OLDEST <= found[:2] < NEXT_MAJOR:
        raise LocalError(f"{path} is version {version}; 3.6 or later of 3.x is needed")
    aom = LibAom(ffi=ffi, lib=lib, path=path, version=version)
    _check_encoder(aom)
    return aom


def _check_encoder(aom: LibAom) -> None:
    """Open and close a tiny encoder: proves that the encoder is built in and its ABI is ours."""
    try:
        interface = aom.lib.aom_codec_av1_cx()
    except AttributeError as error:
        raise LocalError(f"{aom.path} is built without the encoder") from error
    config = aom.ffi.new("aom_codec_enc_cfg_t *")
    status = aom.lib.aom_codec_enc_config_default(interface, config, USAGE_REALTIME)
    aom.check(status, doing="real-time defaults")
    config.g_w = config.g_h = 16
    context = aom.ffi.new("aom_codec_ctx_t *")
    status = aom.lib.aom_codec_enc_init_ver(context, interface, config, 0, ENCODER_ABI)
    if status == _ABI_MISMATCH:
        raise LocalError(f"{aom.path} {aom.version} has another encoder ABI than {ENCODER_ABI}")
    aom.check(status, doing=f"opening the encoder of {aom.path}", context=context)
    aom.lib.aom_codec_destroy(context)


def _override(path: str) -> Iterator[tuple[str, str | None]]:
    yield ENVIRONMENT, path


def _candidates() -> Iterator[tuple[str, str | None]]:
    for package in _WHEELS:
        files = carried_libraries(package, "aom")
        yield from ((f"wheel of {package}", str(file)) for file in files)
        if not files:
            folders = ", ".join(map(str, library_folders(package))) or "not installed"
            yield f"wheel of {package} ({folders})", None
    name = ctypes.util.find_library("aom") or ctypes.util.find_library("libaom")
    yield "system libraries", name
