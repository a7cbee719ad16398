"""What the application wants of a stream, and the operations that this leaves."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ...codecs.errors import LocalError
from ...codecs.types import Codec, Content
from .operation import Operation
from .operations import AUTO, as_set, checked_preset, checked_scale, operations
from .settings import AdaptationSettings


class Wishes:
    """Settings, and what was set by hand during the call. None leaves a decision to adaptation."""

    def __init__(
        self,
        codecs: Sequence[Codec],
        *,
        preset: str,
        content: Content,
        settings: AdaptationSettings,
    ) -> None:
        """codecs were negotiated, in the application's order; preset is the best to use, or "auto"."""
        self.best = checked_preset(preset)
        self.codecs = _sendable(codecs, settings.send_codecs)
        self._negotiated = codecs
        self._content, self._is_adaptive = content, settings.enabled
        self._codec: Codec | None = None
        self._preset: str | None = None
        self._scale: Fraction | None = None
        self.options = self._options()

    def set_codec(self, codec: Codec | None) -> None:
        """Use this codec alone. Raises LocalError for one that was not negotiated."""
        if codec is not None and codec not in self._negotiated:
            names = ", ".join(self._negotiated)
            raise LocalError(f"{codec} was not negotiated, only {names}")
        self._codec = codec
        self.options = self._options()

    def set_preset(self, preset: str | None) -> None:
        """Use this row of AV1's table alone; "auto" lets adaptation use all. Raises LocalError for no row."""
        self._preset = preset if preset is None else checked_preset(preset)
        self.options = self._options()

    def set_scale(self, scale: Fraction | float | None) -> None:
        """Code at most this fraction of the pictures' size. Raises LocalError outside (0, 1]."""
        self._scale = checked_scale(scale)
        self.options = self._options()

    def _options(self) -> tuple[Operation, ...]:
        codecs = self.codecs if self._codec is None else (self._codec,)
        fixed = None if self._preset == AUTO else self._preset
        best = AUTO if self._preset == AUTO else self.best
        if self._is_adaptive:
            return operations(
                codecs, best=best, content=self._content, preset=fixed, scale=self._scale
            )
        return tuple(
            as_set(codec, fixed or best, content=self._content, scale=self._scale)
            for codec in codecs
        )


def _sendable(codecs: Sequence[Codec], allowed: Sequence[Codec] | None) -> tuple[Codec, ...]:
    """Those that may be sent. Raises LocalError where there is none."""
    kept = tuple(codec for codec in codecs if allowed is None or codec in allowed)
    if not kept:
        raise LocalError(f"none of {', '.join(allowed or ())} was negotiated: {', '.join(codecs)}")
    return kept
