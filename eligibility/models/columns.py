"""The columns that models see, in their order, and which way each can only push the score."""

from __future__ import annotations

from collections.abc import Sequence

FEATURES = (
    "load",
    "receive_load",
    "slowness",
    "mean_slowness",
    "slowness_spread",
    "px_rate",
    "encode_load",
    "decode_load",
    "drop_ratio",
    "late_ratio",
    "limited_cpu_ratio",
    "throttle",
    "pressure",
    "frequency",
    "good_ratio",
    "mean_good_ratio",
    "n_calls",
    "evidence",
    "cores",
    "memory_gib",
    "release_year",
    "os_version",
    "os_code",
    "on_power",
    "battery",
)
"""load is the encode time over the time a picture has that the cheapest preset would take at the size asked for,
receive_load the same of decoding what the other side sends; slowness is against the reference machine;
mean_slowness and mean_good_ratio are plain means of earlier calls, slowness and good_ratio are drawn to what
the processor's other models show where the calls are few; px_rate is pixels a second asked for. Unknown is NaN."""

SYSTEMS = ("android", "ios", "windows", "macos", "linux", "chromeos")
"""os_code is the place here, NaN for others."""
NO_EVIDENCE, OF_PROBE, OF_SOC, OF_MODEL = range(4)
"""evidence: where slowness and the signals are from."""

_ONLY = {
    -1: (
        "load",
        "receive_load",
        "slowness",
        "mean_slowness",
        "px_rate",
        "encode_load",
        "decode_load",
        "drop_ratio",
        "limited_cpu_ratio",
        "pressure",
    ),
    1: ("good_ratio", "mean_good_ratio", "cores", "memory_gib"),
}
"""Physics: what is slower, more loaded or asked for more holds a call no more often; the better past calls were,
the more cores and memory there are, the no less often."""

HEURISTIC = ("memory_gib", "release_year", "os_version", "os_code")
"""What a device says of itself, as rules have it."""
HEURISTIC_SIZE = (*HEURISTIC, "px_rate")
"""The same with the size asked, which such rules do not look at: a harder one to beat."""
V11 = (
    "px_rate",
    "mean_slowness",
    "encode_load",
    "decode_load",
    "drop_ratio",
    "limited_cpu_ratio",
    "mean_good_ratio",
    "n_calls",
    "cores",
    "memory_gib",
    "release_year",
    "os_version",
)
"""v1.1: means of the device model's calls, and what it says of itself."""
LOW = (
    "load",
    "receive_load",
    "slowness",
    "slowness_spread",
    "px_rate",
    "decode_load",
    "drop_ratio",
    "late_ratio",
    "limited_cpu_ratio",
    "throttle",
    "pressure",
    "good_ratio",
    "n_calls",
    "evidence",
    "cores",
    "memory_gib",
    "on_power",
    "battery",
)
"""v2's lower end: what it has to spare for both directions, and what takes it away: heat, other work, the battery."""
HIGH = (
    "load",
    "receive_load",
    "slowness",
    "slowness_spread",
    "px_rate",
    "throttle",
    "pressure",
    "frequency",
    "good_ratio",
    "n_calls",
    "evidence",
    "cores",
    "on_power",
    "battery",
)
"""v2's higher end: large sizes, and how it throttles."""


def places(names: Sequence[str]) -> tuple[int, ...]:
    """Where the columns stand in FEATURES."""
    return tuple(FEATURES.index(name) for name in names)


def directions(names: Sequence[str]) -> tuple[int, ...]:
    """For each column -1, 0 or 1 as scikit-learn's monotonic_cst has it."""
    return tuple(next((way for way, of in _ONLY.items() if name in of), 0) for name in names)
