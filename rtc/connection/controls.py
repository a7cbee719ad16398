"""What an application sets of a sender, before it starts and during the call."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from fractions import Fraction

from ...codecs.errors import LocalError
from ...codecs.types import Codec
from ..adaptation.operations import checked_preset, checked_scale
from ..adaptation.settings import SenderLimits
from ..sender import SenderCore

logger = logging.getLogger("codecpilot.rtc")


class SenderControls(ABC):
    """Decides for a sender what it would otherwise decide itself; None hands it back."""

    def __init__(self) -> None:
        self._limits = SenderLimits()
        self._codec: Codec | None = None
        self._preset: str | None = None
        self._scale: Fraction | None = None

    @property
    @abstractmethod
    def core(self) -> SenderCore | None:
        """What runs the sender; None before it starts: then it starts with what was set."""

    def set_limits(self, limits: SenderLimits) -> None:
        """Send no more than this, as W3C's setParameters() does."""
        self._limits = limits
        if self.core is not None:
            self.core.set_limits(limits)

    def set_codec(self, codec: str | None) -> None:
        """Send this codec, whatever is measured.

        A change needs no renegotiation and begins with a key frame. Raises LocalError for a codec that
        was not negotiated; before the start such a one is left out of account.
        """
        if codec is not None and codec not in set(Codec):
            raise LocalError(f"codec {codec!r} is none of {', '.join(Codec)}")
        chosen = None if codec is None else Codec(codec)
        if self.core is not None:
            self.core.set_codec(chosen)
        self._codec = chosen

    def set_preset(self, preset: str | None) -> None:
        """Encode AV1 with this row of the preset table; "auto" any. Raises LocalError for another name."""
        chosen = None if preset is None else checked_preset(preset)
        if self.core is not None:
            self.core.set_preset(chosen)
        self._preset = chosen

    def set_scale(self, scale: Fraction | float | None) -> None:
        """Code pictures at no more than this fraction of their size. Raises LocalError outside (0, 1]."""
        chosen = checked_scale(scale)
        if self.core is not None:
            self.core.set_scale(chosen)
        self._scale = chosen

    def _start_controls(self, core: SenderCore) -> None:
        """Begin with what was set so far."""
        core.set_limits(self._limits)
        core.set_preset(self._preset)
        core.set_scale(self._scale)
        try:
            core.set_codec(self._codec)
        except LocalError as error:
            logger.warning("a codec that was set is not used: %s", error)
