"""The operation of one stream: what the device and the peer tell goes in, what to code with comes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...codecs.types import FULL_SIZE, Codec, Content
from .battery import Battery
from .codec_rate import CodecRate
from .cpu_pressure import CpuPressure
from .decisions import AdaptationReason
from .decode_report import DecodeReport
from .encode_time import CodedFrame, EncodeTime
from .health import DeviceHealth
from .operation import Operation
from .operations import codable
from .peer_decoding import PeerDecoding
from .priors import first_operation, is_peer_doubted
from .quality import expected_db
from .selector import Choice, Selector
from .settings import AdaptationSettings
from .situation import Situation
from .wishes import Wishes

# What holds an operation below the one that rate and application alone would have.
_DEVICES = (
    AdaptationReason.ENCODE_LATENCY,
    AdaptationReason.CPU_PRESSURE,
    AdaptationReason.PEER_DECODE,
    AdaptationReason.BATTERY,
    AdaptationReason.PRIOR,
)
# Ours: what nobody sees limits nothing.
SEEN_DB = 0.3


class OperationControl:
    """Puts constraints and selector together; switched off, only the rate chooses, and only the codec."""

    def __init__(
        self,
        codecs: Sequence[Codec],
        *,
        preset: str,
        content: Content,
        settings: AdaptationSettings,
        now_us: int,
    ) -> None:
        """codecs were negotiated, in the application's order; preset is the best to use, or "auto"."""
        self.wishes = Wishes(codecs, preset=preset, content=content, settings=settings)
        codecs = self.wishes.codecs
        self.used = first_operation(codecs, preset=preset, content=content, settings=settings)
        neutral = first_operation(
            codecs, preset=preset, content=content, settings=AdaptationSettings()
        )
        is_prior = self.used != neutral or (settings.enabled and settings.start is not None)
        self.reason = AdaptationReason.PRIOR if is_prior else AdaptationReason.APPLICATION
        self._reference = neutral
        """What the stream would begin with if nothing were known of the devices."""
        self._encode_time = EncodeTime(budget_ratio=settings.cpu_budget_ratio)
        self._battery = Battery(settings.battery_ratio)
        self._pressure = CpuPressure()
        self._peer = PeerDecoding(is_av1_doubted=is_peer_doubted(settings), now_us=now_us)
        self._codec_rate = CodecRate(codecs)
        devices = (self._peer, self._battery, self._pressure, self._encode_time)
        self._selector = Selector(
            constraints=(self._codec_rate, *devices) if settings.enabled else (self._codec_rate,),
            encode_time=self._encode_time,
            now_us=now_us,
        )
        self._peer_sets_start = settings.start is not None and settings.start.is_peers
        self._rate_scale = FULL_SIZE
        self._held_by: AdaptationReason | None = None
        self._situation: Situation | None = None

    @property
    def held_by(self) -> AdaptationReason | None:
        """What of the devices keeps quality below what the rate would give, if anything does."""
        return self._held_by

    def handle_health(self, health: DeviceHealth) -> None:
        """Take a look at the device."""
        self._battery.handle(health)
        self._pressure.handle(health)

    def handle_report(self, report: DecodeReport, *, now_us: int) -> None:
        """Take what the peer tells of its decoder."""
        if self._situation is not None:
            self._peer.handle(report, self._situation, now_us=now_us)

    def coded(self, frame: CodedFrame, *, now_us: int) -> None:
        """A frame came of the operation in use."""
        if self._situation is None:
            return
        self._rate_scale = frame.scale if frame.scale < self.used.scale else FULL_SIZE
        interval_us = self._situation.interval_us(self.used)
        self._encode_time.coded(frame, operation=self.used, interval_us=interval_us, now_us=now_us)

    def skipped(self, encode_us: int) -> None:
        """A picture took so long and was not sent after all."""
        if encode_us and self._situation is not None:
            interval_us = self._situation.interval_us(self.used)
            self._encode_time.load.frame(encode_us, interval_us=interval_us, is_anchor=False)

    def decide(
        self,
        *,
        size: tuple[int, int],
        gap_us: int,
        every: int,
        target_bps: int,
        now_us: int,
    ) -> Choice | None:
        """Choose for the next picture: its size within the limits, captures gap_us apart, one of every sent at least.

        Tells what changed; None when nothing does.
        """
        situation = self._now(size, gap_us, every, target_bps, now_us)
        self._codec_rate.follow(situation)
        choice = self._selector.choose(self._options(situation), situation)
        if choice is not None:
            self._use(choice, now_us=now_us)
            situation = replace(situation, used=self.used)
        if choice is not None or self._situation is None:
            self._held_by = self._holding(situation)
        self._situation = situation
        return choice

    def wider(
        self, *, size: tuple[int, int], gap_us: int, every: int, target_bps: int, now_us: int
    ) -> Choice | None:
        """What would code such larger or more pictures than the stream began with.

        None where it is not seen yet that the devices carry them.
        """
        situation = self._now(size, gap_us, every, target_bps, now_us)
        if self._peer_sets_start and not self._peer.is_known:
            return None
        return self._selector.wider(self._options(situation), situation)

    def widen(self, choice: Choice, *, now_us: int) -> None:
        """Such pictures come from now on."""
        self._selector.widened(choice, now_us=now_us)
        self._use(choice, now_us=now_us)
        # The next picture tells what holds quality down then.
        self._situation = None

    def _options(self, situation: Situation) -> Sequence[Operation]:
        """What there is to choose from."""
        return codable(self.wishes.options, size=situation.size, used=self.used)

    def _now(
        self, size: tuple[int, int], gap_us: int, every: int, target_bps: int, now_us: int
    ) -> Situation:
        return Situation(
            now_us=now_us,
            used=self.used,
            size=size,
            gap_us=gap_us,
            target_bps=target_bps,
            rate_every=every,
            rate_scale=self._rate_scale,
        )

    def _use(self, choice: Choice, *, now_us: int) -> None:
        left = self.used
        is_new_codec = choice.operation.codec is not left.codec
        self.used, self.reason = choice.operation, choice.reason
        self._rate_scale = FULL_SIZE
        self._encode_time.begin(left=left, now_us=now_us)
        self._peer.begin(is_new_codec=is_new_codec, now_us=now_us)

    def _holding(self, situation: Situation) -> AdaptationReason | None:
        lost_db = expected_db(self._reference, situation) - expected_db(self.used, situation)
        if lost_db < SEEN_DB:
            return None
        return self.reason if self.reason in _DEVICES else self._held_by
