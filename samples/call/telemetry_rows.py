"""What one side measured in each ten seconds of a call, as rows of telemetry. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...codecs.types import Codec, EncodedFrame
from ...eligibility.importers.intervals import MIN_COVERED_US
from ...eligibility.plain_text import plain_text
from ...eligibility.schema import INTERVAL_US, Value, empty_row
from ...rtc.adaptation.health import DeviceHealth
from ...rtc.messages import DecodedFrame
from ...rtc.percentile import percentile
from .series import US_PER_S, mean

LIMITS = ("cpu", "bandwidth", "other")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """What the call's statistics say at a moment.

    counters only grow: frames_encoded, frames_left_out (by the frame rate), frames_shown_late,
    limited_*_us, freeze_count and freeze_us, as far as there is a stream. codec and encoder are what
    is sent with.
    """

    counters: Mapping[str, int] = field(default_factory=dict)
    codec: str | None = None
    encoder: str | None = None


def read_statistics(entries: Iterable[Any]) -> Statistics:
    """Out of the entries of a connection's getStats()."""
    video = {entry.type: entry for entry in entries if getattr(entry, "kind", None) == "video"}
    sent, received = video.get("outbound-rtp"), video.get("inbound-rtp")
    counters: dict[str, int] = {}
    if sent is not None:
        durations_s = sent.qualityLimitationDurations
        counters |= {f"limited_{n}_us": round(durations_s.get(n, 0) * US_PER_S) for n in LIMITS}
        counters["frames_encoded"] = sent.framesEncoded
        counters["frames_left_out"] = sent.framesLeftOut
    if received is not None:
        counters["frames_shown_late"] = received.framesDropped
        counters["freeze_count"] = received.freezeCount
        counters["freeze_us"] = round(received.totalFreezesDuration * US_PER_S)
    return Statistics(
        counters=counters,
        codec=None if sent is None else str(sent.codec),
        encoder=None if sent is None else plain_text(sent.encoderImplementation),
    )


class IntervalMeter:
    """Tell it what happens; close() ends an interval. The first begins with the first picture.

    identity are the columns that are the same in all rows.
    """

    def __init__(self, identity: Mapping[str, Value]) -> None:
        self._identity = dict(identity)
        self._preset: str | None = None
        self._counters: Mapping[str, int] = {}
        self._start_us: int | None = None
        self._has_sent = False
        self._since_us = 0
        self._index = 0
        self._clear()

    def left_us(self, *, now_us: int) -> int:
        """How long the interval under way still lasts; all of it before the first picture."""
        if self._start_us is None:
            return INTERVAL_US
        return max(0, self._start_us + (self._index + 1) * INTERVAL_US - now_us)

    def adapted(self, preset: str) -> None:
        """Pictures are coded with this preset from now on."""
        self._preset = preset

    def captured(self) -> None:
        """The source's clock offered a picture, whether or not it could be delivered."""
        self._captured += 1

    def encoded(self, frame: EncodedFrame, *, now_us: int) -> None:
        """A frame was encoded."""
        self._begin(now_us)
        if not self._has_sent:
            # What was captured while the encoder was made is no loss of the call's.
            self._has_sent, self._captured = True, 1
        pictures = self._sent.setdefault(frame.codec, _Pictures())
        pictures.add(frame.width, frame.height, preset=self._preset, took_us=frame.encode_us)
        pictures.cpu_us.append(frame.encode_cpu_us)

    def decoded(self, frame: DecodedFrame, *, now_us: int) -> None:
        """A frame was decoded."""
        self._begin(now_us)
        pictures = self._received.setdefault(frame.codec, _Pictures())
        pictures.add(frame.width, frame.height, preset=None, took_us=frame.decode_us)

    def looked(self, health: DeviceHealth) -> None:
        """How the device is doing."""
        self._healths.append(health)

    def close(
        self, statistics: Statistics, *, offsets_us: Sequence[int], now_us: int, wall_us: int
    ) -> dict[str, Value] | None:
        """End the interval: its row, or None where no picture was coded in it or it was too short.

        offsets_us is how much later its pictures were shown than their sound was heard.
        """
        covered_us = now_us - self._since_us
        row = None
        if (self._sent or self._received) and covered_us >= MIN_COVERED_US:
            row = {**empty_row(), **self._identity, "interval_index": self._index}
            row["time_us"] = wall_us - covered_us
            row |= self._coding(statistics, covered_us) | self._counts(statistics.counters)
            row["av_offset_p95_us"] = percentile([abs(offset) for offset in offsets_us], 95)
            row |= _health(self._healths)
        self._counters = statistics.counters
        self._clear()
        if self._start_us is not None:
            self._since_us = now_us
            # The next interval is at least half of one, however late this one was closed.
            self._index = (now_us - self._start_us + INTERVAL_US // 2) // INTERVAL_US
        return row

    def _begin(self, now_us: int) -> None:
        if self._start_us is None:
            self._start_us = self._since_us = now_us

    def _clear(self) -> None:
        self._captured = 0
        self._sent: dict[Codec, _Pictures] = {}
        self._received: dict[Codec, _Pictures] = {}
        self._healths: list[DeviceHealth] = []

    def _coding(self, statistics: Statistics, covered_us: int) -> dict[str, Value]:
        """The codec of most pictures stands for all, and so its sizes and presets."""
        pictures = self._sent or self._received
        codec = max(pictures, key=lambda codec: len(pictures[codec].took_us))
        main = pictures[codec]
        width, height = main.sizes.most_common(1)[0][0]
        frames = sum(len(each.took_us) for each in pictures.values())
        decode_us = [us for each in self._received.values() for us in each.took_us]
        columns: dict[str, Value] = {
            "codec": codec.value,
            "width": width,
            "height": height,
            "fps": frames * US_PER_S / covered_us,
            "decode_p50_us": percentile(decode_us, 50),
            "decode_p95_us": percentile(decode_us, 95),
        }
        if self._sent:
            columns |= {
                "encoder": statistics.encoder if statistics.codec == codec.value else None,
                # H.264 has no presets of ours.
                "preset": main.presets.most_common(1)[0][0] if codec is Codec.AV1 else None,
                "encode_p50_us": percentile(main.took_us, 50),
                "encode_p95_us": percentile(main.took_us, 95),
                "encode_cpu_us": round(mean(main.cpu_us) or 0),
            }
        return columns

    def _counts(self, counters: Mapping[str, int]) -> dict[str, Value]:
        grown = {n: max(0, value - self._counters.get(n, 0)) for n, value in counters.items()}
        # Left out on purpose, which the limits tell of, where it was not asked for.
        left_out = grown.pop("frames_left_out", 0)
        columns: dict[str, Value] = {
            name: min(value, INTERVAL_US) if name.endswith("_us") else value
            for name, value in grown.items()
        }
        if "frames_encoded" in grown:
            columns["frames_captured"] = self._captured
            lost = self._captured - left_out - grown["frames_encoded"]
            columns["frames_dropped"] = max(0, lost)
        return columns


@dataclass(slots=True)
class _Pictures:
    """Those of one codec in one interval."""

    took_us: list[int] = field(default_factory=list)
    cpu_us: list[int] = field(default_factory=list)
    sizes: Counter[tuple[int, int]] = field(default_factory=Counter)
    presets: Counter[str | None] = field(default_factory=Counter)

    def add(self, width: int, height: int, *, preset: str | None, took_us: int) -> None:
        self.took_us.append(took_us)
        self.sizes[width, height] += 1
        self.presets[preset] += 1


def _health(healths: Sequence[DeviceHealth]) -> dict[str, Value]:
    """Means of what comes and goes, the last of what lasts."""
    if not healths:
        return {}
    last = healths[-1]
    return {
        "cpu_pressure_ratio": _mean_ratio(h.cpu_pressure_ratio for h in healths),
        "frequency_ratio": _mean_ratio(h.frequency_ratio for h in healths),
        "battery_ratio": last.battery_ratio,
        "on_power": last.on_power,
    }


def _mean_ratio(values: Iterable[float | None]) -> float | None:
    """Boosts above a processor's nominal frequency count as all of it."""
    known = [min(value, 1.0) for value in values if value is not None]
    return sum(known) / len(known) if known else None
