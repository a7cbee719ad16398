"""What this machine has: processor, memory, codec libraries and the optional parts."""

from __future__ import annotations

import math
import os
import platform
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path

import psutil

from ..codecs.av1_decoder import Av1Decoder
from ..codecs.errors import CodecpilotError
from ..codecs.h264_decoder import H264Decoder
from ..codecs.h264_encoder import H264Encoder, OpenH264Encoder
from ..codecs.libaom import find_libaom
from ..codecs.types import VideoEncoder
from ..codecs.vmaf import INSTALL_EVALUATION
from ..codecs.wheels import carried_libraries

# Instruction sets that libaom, dav1d and x264 have hand-written code for.
CODEC_FLAGS = ("ssse3", "sse4_1", "avx2", "avx512bw", "asimd", "asimddp", "i8mm", "sve2")
PACKAGES = ("av", "aiortc", "opencv-python-headless", "numpy")
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A codec library; problem says why it cannot be used, empty when it can."""

    role: str
    name: str
    path: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionalPart:
    """Something that only some commands or tests need. missing tells what to do, empty when it is there."""

    name: str
    purpose: str
    missing: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Facts, as read; 0 where the system does not tell."""

    system: str
    python: str
    packages: dict[str, str]
    processor: str
    physical_cores: int
    logical_cores: int
    usable_cores: float
    flags: tuple[str, ...]
    memory_bytes: int
    free_memory_bytes: int


def describe_machine() -> Machine:
    """Read the facts."""
    memory = psutil.virtual_memory()
    model, flags = processor(Path("/proc/cpuinfo"))
    return Machine(
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=platform.python_version(),
        packages={name: _version(name) for name in PACKAGES},
        processor=model or platform.processor() or platform.machine(),
        physical_cores=psutil.cpu_count(logical=False) or 0,
        logical_cores=psutil.cpu_count() or 0,
        usable_cores=usable_cores(),
        flags=tuple(flag for flag in CODEC_FLAGS if flag in flags),
        memory_bytes=memory.total,
        free_memory_bytes=memory.available,
    )


def usable_cores() -> float:
    """Cores that this process may use: those it may run on, or its share of them where that is less."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(cores or 1, quota_cores(Path("/sys/fs/cgroup")))


def find_libraries() -> list[Library]:
    """Every codec library that a call uses, found the way the call finds it."""
    return [
        _library("AV1 encoder", "libaom", _libaom),
        _library("AV1 decoder", "libdav1d", lambda: (Av1Decoder().implementation, _file("dav1d"))),
        _library("H.264 encoder", "libx264", lambda: _h264(H264Encoder, "x264")),
        _library("H.264 encoder", "libopenh264", lambda: _h264(OpenH264Encoder, "openh264")),
        _library("H.264 decoder", "h264", lambda: (H264Decoder().implementation, _file("avcodec"))),
    ]


def find_optional_parts() -> list[OptionalPart]:
    """What is there only where somebody installed it."""
    has_evaluation = all(util.find_spec(name) for name in ("imageio_ffmpeg", "bjontegaard"))
    has_chromium = any(shutil.which(name) for name in CHROMIUM_NAMES)
    return [
        OptionalPart(
            name="evaluation extra",
            purpose="VMAF and BD-rate of the offline comparison",
            missing="" if has_evaluation else INSTALL_EVALUATION,
        ),
        OptionalPart(
            name="chromium",
            purpose="the tests against a real browser",
            missing="" if has_chromium else "install your system's chromium package",
        ),
    ]


def quota_cores(cgroups: Path) -> float:
    """The CPU quota of a container, in cores (cgroup v2's cpu.max, v1's cpu.cfs_*); inf without one."""
    try:
        if (cgroups / "cpu.max").exists():
            quota, period = (cgroups / "cpu.max").read_text().split()
        else:
            quota, period = (
                (cgroups / f"cpu/cpu.cfs_{n}_us").read_text() for n in ("quota", "period")
            )
        return int(quota) / int(period) if int(quota) > 0 else math.inf
    except (OSError, ValueError):  # No such file, or "max".
        return math.inf


def processor(cpuinfo: Path) -> tuple[str, frozenset[str]]:
    """Model and flags as Linux tells them; nothing elsewhere."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "", frozenset()
    fields = {key.strip(): value.strip() for key, _, value in (x.partition(":") for x in lines)}
    flags = fields.get("flags") or fields.get("Features") or ""
    return fields.get("model name", ""), frozenset(flags.split())


def _library(role: str, name: str, find: Callable[[], tuple[str, str]]) -> Library:
    try:
        found_name, path = find()
    except CodecpilotError as error:
        return Library(role=role, name=name, problem=str(error))
    return Library(role=role, name=found_name, path=path)


def _libaom() -> tuple[str, str]:
    aom = find_libaom()
    return f"libaom {aom.version}", aom.path


def _h264(encoder: Callable[..., VideoEncoder], file: str) -> tuple[str, str]:
    opened = encoder(width=64, height=64, fps=30)
    opened.close()
    return opened.implementation, _file(file)


def _file(name: str) -> str:
    """Where PyAV's wheel carries the library; empty when PyAV was built against the system's."""
    return next((str(path) for path in carried_libraries("av", name)), "")


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
