"""What can be set on a frame controller, with the measurement behind each default."""

from __future__ import annotations

from dataclasses import dataclass

from ..codecs.errors import LocalError


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """Bounds and aims of the frame controller.

    bound_us: VBV delay that no sent frame exceeds. soft_bound_us: the delay up to which an
    ordinary frame is sent as it comes; over it a try is repeated coarser. key_delay_us: the delay
    that a key frame is planned to. residual_us: the delay that steering leaves just before a frame.
    horizon_us: the time over which steering corrects the backlog. ltr_steps, enhancement_steps:
    quantizer steps by which such frames are finer or coarser than the base. min_quantizer,
    max_quantizer: the range in use. max_tries: encodings of one picture.
    """

    bound_us: int = 200_000
    soft_bound_us: int = 88_000
    key_delay_us: int = 145_000
    residual_us: int = 28_000
    horizon_us: int = 180_000
    ltr_steps: int = 3
    enhancement_steps: int = 8
    min_quantizer: int = 4
    max_quantizer: int = 63
    max_tries: int = 4

    def __post_init__(self) -> None:
        if not 0 <= self.min_quantizer <= self.max_quantizer <= 63:
            raise LocalError(
                f"quantizers are 0..63, got {self.min_quantizer}..{self.max_quantizer}"
            )
        if not 0 < self.residual_us < self.soft_bound_us <= self.bound_us:
            raise LocalError(
                "0 < residual_us < soft_bound_us <= bound_us expected, got "
                f"{self.residual_us}, {self.soft_bound_us}, {self.bound_us}"
            )
        for name in ("key_delay_us", "horizon_us", "max_tries"):
            if getattr(self, name) <= 0:
                raise LocalError(f"{name} must be above 0, got {getattr(self, name)}")
