"""Device facts out of a browser's user agent string and its client hints."""

from __future__ import annotations

import re
from typing import Any

from ..plain_text import plain_text
from ..schema import MAX_TEXT_CHARACTERS
from .samples import finite

GIB = 1 << 30
# Families in the order in which they are looked for: Android says Linux too, ChromeOS X11.
SYSTEMS = (
    ("android", r"Android(?: ([\d.]+))?"),
    ("ios", r"(?:iPhone|iPad|iPod).* OS ([\d_]+)"),
    ("chromeos", r"CrOS \S+ ([\d.]+)"),
    ("windows", r"Windows NT ([\d.]+)"),
    ("macos", r"Mac OS X ([\d_.]+)"),
    ("linux", r"Linux"),
)
# RFC-less but stable since Android 1: "Android 12; Pixel 6 Build/SD1A" or "Android 12; Pixel 6)".
ANDROID_MODEL = re.compile(
    r"Android [\d.]+; (?:[a-z]{2}-[a-z]{2}; )?([^;)]+?)(?: Build/[^;)]*)?[;)]"
)
# Chrome's reduced user agent says K for every model, and Android 10 for every version; Firefox
# says Mobile or Tablet.
NO_MODEL = {"K", "Mobile", "Tablet", "wv"}
# What Chrome, Firefox and Safari have frozen their versions at: nothing can be learnt from them.
FROZEN = {("macos", "10.15.7"), ("macos", "10.15"), ("windows", "10.0")}
# Ours: brands whose models begin with their own words.
BRANDS = (
    ("google", r"Pixel|Nexus"),
    ("samsung", r"SM-|GT-|SAMSUNG"),
    ("xiaomi", r"Mi |MI |Redmi|POCO|M\d{4}|2\d{5,}"),
    ("oneplus", r"ONEPLUS|OnePlus"),
    ("huawei", r"HUAWEI|[A-Z]{3}-(?:L|AL|LX)\d"),
    ("motorola", r"moto|Moto|XT\d{4}"),
    ("oppo", r"CPH\d"),
    ("lge", r"LG-|LM-"),
    ("nokia", r"Nokia"),
    ("sony", r"Sony|XQ-"),
)
# Longer than any user agent; the patterns are tried on no more.
MAX_AGENT_CHARACTERS = 512


def device_facts(data: dict[str, Any]) -> dict[str, str | int]:
    """Columns of the schema that a browser's members tell: userAgent, userAgentData, and so on.

    hardwareConcurrency is the cores. deviceMemory is in GiB and cut off at 8, in newer desktop
    browsers at 32: those two say "so much or more" and are left out.
    """
    agent = data.get("userAgent")
    columns: dict[str, str | int] = {}
    if isinstance(agent, str):
        columns |= from_user_agent(agent[:MAX_AGENT_CHARACTERS])
    hints = data.get("userAgentData")
    if isinstance(hints, dict):
        columns |= _from_hints(hints)
    cores, memory_gib = finite(data.get("hardwareConcurrency")), finite(data.get("deviceMemory"))
    if cores is not None and 1 <= cores <= 4096:
        columns["cores"] = int(cores)
    if memory_gib is not None and 0 < memory_gib < 32 and memory_gib != 8:
        columns["memory_bytes"] = int(memory_gib * GIB)
    return columns


def from_user_agent(agent: str) -> dict[str, str | int]:
    """os, os_version, device_model and device_brand as far as the string tells them."""
    for system, pattern in SYSTEMS:
        found = re.search(pattern, agent)
        if not found:
            continue
        columns: dict[str, str | int] = {"os": system}
        version = (found[1] if found.lastindex else "") or ""
        version = version.replace("_", ".").strip(".")[:MAX_TEXT_CHARACTERS]
        model = _model(agent, system)
        reduced = system == "android" and model is None and version == "10"
        if version and not reduced and (system, version) not in FROZEN:
            columns["os_version"] = version
        if system in ("ios", "macos"):
            columns["device_brand"] = "apple"
        return columns | _named(model)
    return {}


def _model(agent: str, system: str) -> str | None:
    if system == "ios":
        # Every iPhone says only this.
        return None
    found = ANDROID_MODEL.search(agent) if system == "android" else None
    model = found[1].strip() if found else None
    return None if model is None or model in NO_MODEL or model.startswith("rv:") else model


def _from_hints(hints: dict[str, Any]) -> dict[str, str | int]:
    """W3C User-Agent Client Hints: platform, platformVersion and model tell what the agent hides."""
    columns: dict[str, str | int] = {}
    platform, version = hints.get("platform"), hints.get("platformVersion")
    names = {"Chrome OS": "chromeos", "Chromium OS": "chromeos"}
    if isinstance(platform, str):
        system = names.get(platform, platform.lower())
        if system in {name for name, _ in SYSTEMS}:
            columns["os"] = system
    if isinstance(version, str) and re.fullmatch(r"[\d.]{1,32}", version):
        columns["os_version"] = version
    model = hints.get("model")
    return columns | _named(model if isinstance(model, str) and model else None)


def _named(model: str | None) -> dict[str, str | int]:
    name = plain_text(model or "")
    if model is None or name is None:
        return {}
    columns: dict[str, str | int] = {"device_model": name}
    for brand, pattern in BRANDS:
        if re.match(pattern, model):
            columns["device_brand"] = brand
    return columns
