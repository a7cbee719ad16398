"""Receiver's arrival times, checked against what our own clock allows."""

from __future__ import annotations

from .windowed_minimum import WindowedMinimum

# ours: clocks that drift apart by 200 ppm do so by 2 ms in this time.
WINDOW_US = 10_000_000
# ours: drift, the 250 us steps of feedback and timestamps of 1 ms; far below what would fool an estimator.
TOLERANCE_US = 50_000
# ours: how long nothing fits before the receiver's clock is taken to have been set.
RESET_US = 1_000_000


class ArrivalClock:
    """Where the receiver's clock stands against ours, as far as feedback has told.

    A packet arrives after it was sent and before its feedback comes, so each report bounds the
    offset of the receiver's clock: arrival - now <= offset <= arrival - sent. A report that leaves no
    offset possible is refused. When nothing else comes for RESET_US, the receiver's clock was set: the
    times that follow are shifted so that whoever reads them sees no step.
    """

    def __init__(self) -> None:
        self._uppers = WindowedMinimum(window_us=WINDOW_US)
        self._lowers = WindowedMinimum(window_us=WINDOW_US)
        # The offset is in [lower, upper]; None before the first report.
        self._bounds_us: tuple[int, int] | None = None
        self._shift_us = 0
        self._refused_since_us: int | None = None

    def accept(self, arrivals: list[tuple[int, int]], *, now_us: int) -> list[int] | None:
        """The arrival times of (sent_us, arrival_us) pairs of one feedback; None when refused."""
        least_us = min(arrival - sent for sent, arrival in arrivals) + self._shift_us
        most_us = max(arrival for _, arrival in arrivals) - now_us + self._shift_us
        if most_us > least_us + TOLERANCE_US:
            return None
        if not self._is_possible(least_us, most_us):
            if not self._is_reset(now_us):
                return None
            step_us = self._reset_step(least_us)
            self._shift_us += step_us
            least_us, most_us = least_us + step_us, most_us + step_us
        self._refused_since_us = None
        self._bounds_us = (
            -self._lowers.add(-most_us, now_us=now_us),
            self._uppers.add(least_us, now_us=now_us),
        )
        return [arrival + self._shift_us for _, arrival in arrivals]

    def _is_possible(self, least_us: int, most_us: int) -> bool:
        """Whether an offset is left that suits this report and those before it."""
        if self._bounds_us is None:
            return True
        lower_us, upper_us = self._bounds_us
        return most_us <= upper_us + TOLERANCE_US and lower_us <= least_us + TOLERANCE_US

    def _is_reset(self, now_us: int) -> bool:
        if self._refused_since_us is None:
            self._refused_since_us = now_us
        return now_us - self._refused_since_us >= RESET_US

    def _reset_step(self, least_us: int) -> int:
        """Forget what was known; the step that takes the clock back to where it stood."""
        upper_us = self._bounds_us[1] if self._bounds_us is not None else least_us
        self._uppers = WindowedMinimum(window_us=WINDOW_US)
        self._lowers = WindowedMinimum(window_us=WINDOW_US)
        return upper_us - least_us
