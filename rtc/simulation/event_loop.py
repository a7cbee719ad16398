"""Virtual time: events in order of their time, and of their scheduling where times are equal."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from ...codecs.errors import LocalError

Action = Callable[[], None]

# ours: a core that wants to be woken at once, again and again, would stop virtual time; a live
# event loop's timers are no finer than this either.
MIN_WAKE_US = 1000


class EventLoop:
    """Jumps from event to event; time stands still while one runs."""

    def __init__(self) -> None:
        self.now_us = 0
        self._events: list[tuple[int, int, Action]] = []
        self._order = 0

    def at(self, time_us: int, action: Action) -> None:
        """Run an action at a time. Raises LocalError for one that has passed."""
        if time_us < self.now_us:
            raise LocalError(f"{time_us} us has passed, it is {self.now_us} us")
        self._order += 1
        heapq.heappush(self._events, (time_us, self._order, action))

    def run_until(self, end_us: int) -> None:
        """Run every event before a time, then stand at it."""
        while self._events and self._events[0][0] < end_us:
            self.now_us, _, action = heapq.heappop(self._events)
            action()
        self.now_us = end_us


class Wake:
    """One timer that is set again and again: only the time set last counts."""

    def __init__(self, loop: EventLoop, action: Action) -> None:
        self._loop = loop
        self._action = action
        self._due_us: int | None = None

    def set(self, due_us: int | None) -> None:
        """Run the action at this time instead; None for never."""
        if due_us is not None and due_us <= self._loop.now_us:
            due_us = self._loop.now_us + MIN_WAKE_US
        if due_us == self._due_us:
            return
        self._due_us = due_us
        if due_us is not None:
            self._loop.at(due_us, lambda: self._fire(due_us))

    def _fire(self, due_us: int) -> None:
        if due_us == self._due_us:
            self._due_us = None
            self._action()
