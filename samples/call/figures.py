"""What one peer sent and what it was shown, logged as it happens and summed up afterwards. Pure.

Times are the wall clock's (µs since 1970), which both peers share.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...rtc.adaptation.decisions import AdaptationDecision
from ...rtc.playout.audio_clock import AudioClock
from ...rtc.playout.freezes import FreezeDetector
from .adaptations import AdaptationLog
from .series import US_PER_S, Series, Window, mean, mean_ms, spread_ms

Figures = dict[str, Any]


class SentLog:
    """The sending side of one direction."""

    def __init__(self) -> None:
        self._captured = Series()
        self._encoded = Series("encode_us", "cpu_us", "bits", "quantizer", "key")
        self._adaptations = AdaptationLog()
        self.codec: str | None = None

    def adapted(self, decision: AdaptationDecision, *, now_us: int) -> None:
        """How pictures are coded from now on."""
        self._adaptations.add(decision, now_us=now_us)

    def captured(self, now_us: int) -> None:
        """The source's clock offered a picture, whether or not it could be delivered."""
        self._captured.add(now_us, capture_us=now_us)

    def encoded(
        self,
        capture_us: int,
        *,
        now_us: int,
        encode_us: int,
        cpu_us: int,
        bits: int,
        quantizer: int,
        key: bool,
    ) -> None:
        """A frame was encoded and handed to the network."""
        self._encoded.add(
            now_us,
            capture_us=capture_us,
            encode_us=encode_us,
            cpu_us=cpu_us,
            bits=bits,
            quantizer=quantizer,
            key=int(key),
        )

    def summary(self, window: Window) -> Figures:
        """The figures of a finished window."""
        sent = self._encoded.within(window)
        return {
            "codec": self.codec,
            "captured": len(self._captured.within(window)["at_us"]),
            "encoded": len(sent["bits"]),
            "key_frames": sum(sent["key"]),
            "kbps": round(sum(sent["bits"]) / 1000 / window.seconds, 1) if window.seconds else 0.0,
            "quantizer_mean": mean(sent["quantizer"]),
            "encode_ms": spread_ms(sent["encode_us"]),
            "encode_cpu_ms": spread_ms(sent["cpu_us"]),
            "adaptations": self._adaptations.summary(window),
        }

    def live(self, now_us: int) -> Figures:
        """The figures of the last second."""
        sent = self._encoded.recent(now_us)
        return {
            "codec": self.codec,
            "sent_fps": len(sent["bits"]),
            "kbps": round(sum(sent["bits"]) / 1000, 1),
            "quantizer": mean(sent["quantizer"]),
            "encode_ms": mean_ms(sent["encode_us"]),
            **self._adaptations.live(now_us),
        }


class ShownLog:
    """The receiving side of one direction."""

    def __init__(self) -> None:
        self._decoded = Series("decode_us")
        self._shown = Series("latency_us")
        self._freezes = Series("gap_us")
        self._offsets = Series("offset_us")
        self._detector = FreezeDetector()
        self.audio = AudioClock()
        self.last_capture_us: int | None = None
        self.width = 0
        self.height = 0

    def decoded(self, capture_us: int, *, now_us: int, decode_us: int) -> None:
        """A frame left the decoder."""
        self._decoded.add(now_us, capture_us=capture_us, decode_us=decode_us)

    def shown(self, capture_us: int, *, now_us: int) -> None:
        """A picture captured at capture_us is shown now."""
        latency_us = now_us - capture_us
        self.last_capture_us = capture_us
        self._shown.add(now_us, capture_us=capture_us, latency_us=latency_us)
        frozen_before_us = self._detector.total_us
        if self._detector.shown(now_us):
            gap_us = self._detector.total_us - frozen_before_us
            self._freezes.add(now_us, capture_us=capture_us, gap_us=gap_us)
        audio_latency_us = self.audio.latency_us(now_us)
        if audio_latency_us is not None:
            offset_us = latency_us - audio_latency_us
            self._offsets.add(now_us, capture_us=capture_us, offset_us=offset_us)

    def summary(self, window: Window, *, now_us: int) -> Figures:
        """The figures of a finished window; call it once the window's last picture was shown."""
        shown, decoded = self._shown.within(window), self._decoded.within(window)
        gaps_us = self._freeze_gaps(window, now_us=now_us)
        return {
            "width": self.width,
            "height": self.height,
            "decoded": len(decoded["at_us"]),
            "shown": len(shown["at_us"]),
            "freeze_count": len(gaps_us),
            "freeze_s": round(sum(gaps_us) / US_PER_S, 3),
            "latency_ms": spread_ms(shown["latency_us"]),
            "av_offset_ms": spread_ms(self._offsets.within(window)["offset_us"]),
            "decode_ms": spread_ms(decoded["decode_us"]),
        }

    def live(self, now_us: int) -> Figures:
        """The figures of the last second, and the freezes so far."""
        shown = self._shown.recent(now_us)
        return {
            "width": self.width,
            "height": self.height,
            "fps": len(shown["at_us"]),
            "latency_ms": spread_ms(shown["latency_us"]),
            "av_offset_ms": mean_ms(self._offsets.recent(now_us)["offset_us"]),
            "decode_ms": mean_ms(self._decoded.recent(now_us)["decode_us"]),
            "freeze_count": self._detector.count,
            "freeze_s": round(self._detector.total_us / US_PER_S, 2),
        }

    def offsets_us(self, *, now_us: int, since_us: int) -> Sequence[int]:
        """How much later than their sound the pictures were shown since then, one each."""
        return self._offsets.recent(now_us, length_us=now_us - since_us)["offset_us"]

    def _freeze_gaps(self, window: Window, *, now_us: int) -> list[int]:
        """Freezes that touched the window, the one that still stands included."""
        freezes = self._freezes.recent(now_us, length_us=now_us - window.start_us)
        gaps_us = [
            gap_us
            for at_us, gap_us in zip(freezes["at_us"], freezes["gap_us"], strict=True)
            if at_us - gap_us < window.end_us
        ]
        standing_us = self._detector.standing_us(now_us)
        if standing_us and now_us - standing_us < window.end_us:
            gaps_us.append(standing_us)
        return gaps_us


def direction_figures(
    sender: str, receiver: str, *, sent: Figures, shown: Figures, link: Figures | None = None
) -> Figures:
    """One entry of "directions": what its sender, its receiver and its emulated link measured.

    start is how the sender began, None where no model said so.
    """
    return {"from": sender, "to": receiver, "start": None, **sent, **shown, "link": link}
