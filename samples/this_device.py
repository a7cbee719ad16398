"""The device columns of telemetry for this machine: what it is, and nothing that tells it from its like.

No serial number, host name, address or user is read.
"""

from __future__ import annotations

import platform
import re
import subprocess
from pathlib import Path

import psutil

from ..eligibility.plain_text import plain_text
from ..eligibility.schema import Value
from .machine import processor

SYSTEMS = {"Darwin": "macos", "Linux": "linux", "Windows": "windows"}
# Ours: firmware keeps some memory for itself, each a little otherwise; exact sizes tell machines apart.
MEMORY_STEP_BYTES = 256 << 20
# What firmware has where nobody wrote a name (SMBIOS type 1 of retail boards).
NO_NAME = re.compile(
    r"(?i)to be filled.*|default string|system (manufacturer|product name|version)"
    r"|not (specified|applicable)|o\.e\.m\.|oem|none|unknown|n/?a|0*|x+|invalid"
)
COMPANY_FORMS = re.compile(r"(?i)(,? (inc|incorporated|corp|corporation|co|ltd|limited|gmbh)\.?)+$")
PROCESSOR_NOISE = re.compile(r"(?i)\((r|tm)\)| cpu\b|\s*@.*| \d+-core processor| processor$")


def device_columns(*, root: Path = Path("/")) -> dict[str, Value]:
    """DEVICE columns of the telemetry schema; None for what the system does not tell.

    A machine without a model name, as many virtual ones are, goes by its processor's. root is where
    Linux's /proc and /sys are found.
    """
    system = platform.system()
    brand, model, chip = _MODELS.get(system, _other_model)(root)
    soc = plain_text(PROCESSOR_NOISE.sub("", chip))
    memory_steps = round(psutil.virtual_memory().total / MEMORY_STEP_BYTES)
    return {
        "device_brand": plain_text(COMPANY_FORMS.sub("", brand.strip()).lower()),
        "device_model": plain_text(model) or soc,
        "soc": soc,
        "cores": psutil.cpu_count(),
        "memory_bytes": memory_steps * MEMORY_STEP_BYTES or None,
        "os": SYSTEMS.get(system),
        "os_version": _version(system),
        "release_year": None,
    }


def _linux_model(root: Path) -> tuple[str, str, str]:
    """Brand, model and processor: DMI of PCs, or the device tree of boards."""
    dmi, tree = root / "sys/class/dmi/id", root / "proc/device-tree"
    brand = _named(dmi / "sys_vendor")
    # Lenovo has the order number in product_name and the name in product_version.
    is_lenovo = brand.lower() == "lenovo"
    model = _named(dmi / ("product_version" if is_lenovo else "product_name"))
    # Devicetree Specification 2.3.1: "maker,board" first, "maker,chip" last.
    compatible = _read(tree / "compatible").split("\0")
    cpu, _ = processor(root / "proc/cpuinfo")
    return (
        brand or compatible[0].partition(",")[0],
        model or _read(tree / "model"),
        cpu or compatible[-1].partition(",")[2],
    )


def _macos_model(root: Path) -> tuple[str, str, str]:
    return "apple", _sysctl("hw.model"), _sysctl("machdep.cpu.brand_string")


def _other_model(root: Path) -> tuple[str, str, str]:
    return "", "", platform.processor()


_MODELS = {"Linux": _linux_model, "Darwin": _macos_model}


def _version(system: str) -> str | None:
    """Numbers and points alone: a kernel's release may carry the name of who built it."""
    version = platform.mac_ver()[0] if system == "Darwin" else platform.release()
    if system == "Windows":
        version = platform.version()
    found = re.match(r"\d{1,6}(\.\d{1,6}){0,3}", version)
    return found[0] if found else None


def _named(path: Path) -> str:
    """What firmware says, empty for its placeholders."""
    text = _read(path)
    return "" if NO_NAME.fullmatch(text) else text


def _read(path: Path) -> str:
    """A short file without what ends it; empty where it is absent."""
    try:
        return path.read_text(encoding="ascii", errors="replace").strip("\0 \n")
    except OSError:
        return ""


def _sysctl(name: str) -> str:
    try:
        run = subprocess.run(
            ["/usr/sbin/sysctl", "-n", name], capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return run.stdout.strip()
