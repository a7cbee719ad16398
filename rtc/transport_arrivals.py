"""Which packets of a path arrived, and when: by their transport-wide sequence numbers."""

from __future__ import annotations

# RFC 3550 appendix A.1: MAX_DROPOUT and MAX_MISORDER.
MAX_DROPOUT = 3000
MAX_MISORDER = 100


class TransportArrivals:
    """Keeps the first arrival of each number until it was told, and of the newest 100 after that.

    A number more than 3000 ahead or 100 behind is taken for damage; a second one in sequence with
    it is a sender that counts anew (RFC 3550 A.1), and what was before is forgotten.
    """

    def __init__(self) -> None:
        self._arrivals: dict[int, int] = {}
        self._highest: int | None = None
        self._next = self._told = 0
        self._untold = 0
        self._skipped = 0
        self._leap: tuple[int, int] | None = None

    @property
    def next_number(self) -> int:
        """The first number, unwrapped, that the next feedback speaks of."""
        return self._next

    @property
    def span(self) -> int:
        """How many numbers the next feedback speaks of."""
        return 0 if self._highest is None else self._highest + 1 - self._next

    @property
    def most_taken(self) -> int:
        """No less than how many arrivals take() gives, and seldom more."""
        return min(self.span, self._untold + max(0, self._told - self._next))

    @property
    def skipped(self) -> int:
        """How many numbers the last arrival left out."""
        return self._skipped

    def add(self, transport_number: int, *, arrival_us: int) -> bool:
        """Take an arrival of a 16-bit number; False for one that was there or makes no sense."""
        if self._highest is None:
            self._begin(transport_number, arrival_us)
            return True
        ahead = ((transport_number - self._highest + 0x8000) & 0xFFFF) - 0x8000
        if not -MAX_MISORDER <= ahead <= MAX_DROPOUT:
            return self._add_leap(transport_number, arrival_us)
        self._leap = None
        number = self._highest + ahead
        if number in self._arrivals:
            return False
        self._record(number, arrival_us, highest=self._highest)
        return True

    def take(self) -> list[tuple[int, int]]:
        """(unwrapped number, arrival_us) from next_number to the newest, which are told with that.

        Those between a late packet and the newest are told again.
        """
        told = sorted(item for item in self._arrivals.items() if item[0] >= self._next)
        if self._highest is not None:
            self._next = self._told = self._highest + 1
            self._untold = 0
            self._prune(self._highest)
        return told

    def _add_leap(self, number: int, arrival_us: int) -> bool:
        leap, self._leap = self._leap, (number, arrival_us)
        if leap is None or number != (leap[0] + 1) & 0xFFFF:
            return False
        self._begin(*leap)
        self._record(leap[0] + 1, arrival_us, highest=leap[0])
        return True

    def _begin(self, number: int, arrival_us: int) -> None:
        self._arrivals.clear()
        self._next = self._told = number
        self._untold = 0
        self._leap = None
        self._record(number, arrival_us, highest=number)

    def _record(self, number: int, arrival_us: int, *, highest: int) -> None:
        self._arrivals[number] = arrival_us
        self._untold += 1
        self._skipped = max(0, number - highest - 1)
        self._highest = highest = max(highest, number)
        # A driver that does not ask, or a sender that leaps on and on: the oldest go untold.
        self._next = max(min(self._next, number), highest - MAX_DROPOUT)
        if len(self._arrivals) > 2 * MAX_DROPOUT:
            self._prune(highest)

    def _prune(self, highest: int) -> None:
        oldest = min(self._next, highest - MAX_MISORDER)
        self._arrivals = {n: us for n, us in self._arrivals.items() if n >= oldest}
