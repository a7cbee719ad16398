"""Which devices change side between two models, and why."""

from __future__ import annotations

from dataclasses import dataclass

from .client import ClientModel, Device, Request, Score
from .columns import FEATURES

# Signals that a reader knows, beside which way they count.
TOLD = ("slowness", "good_ratio", "throttle", "pressure", "drop_ratio", "late_ratio")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A device model that gains or loses AV1 for the reference call. why is a phrase."""

    name: str
    before: Score
    after: Score
    why: str

    @property
    def gains(self) -> bool:
        """Whether it is on AV1 now."""
        return self.after.is_admitted


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """compared are the device models that the second model knows; new ones the first did not."""

    compared: int
    new: int
    changes: list[Change]


def compare(before: ClientModel, after: ClientModel) -> Comparison:
    """Score all device models that `after` knows by both."""
    changes = []
    for name in after.names:
        then = before.score(_device(before, after, name))
        now = after.score(after.known_device(name))
        if then.is_admitted != now.is_admitted:
            why = _why(before, after, name, old=then, new=now)
            changes.append(Change(name=name, before=then, after=now, why=why))
    changes.sort(key=lambda change: -abs(change.after.rtc_score - change.before.rtc_score))
    new = sum(not before.knows(name) for name in after.names)
    return Comparison(compared=len(after.names), new=new, changes=changes)


def _device(before: ClientModel, after: ClientModel, name: str) -> Device:
    """What the first model knows of it; of a new one, what it says of itself."""
    return (before if before.knows(name) else after).known_device(name)


def _why(before: ClientModel, after: ClientModel, name: str, *, old: Score, new: Score) -> str:
    """Its calls, where the first model would change sides by them too; else the model itself."""
    then = before.features(_device(before, after, name), request=Request(), probe=None)
    now = after.features(after.known_device(name), request=Request(), probe=None)
    if before.score_row(now).is_admitted == old.is_admitted:
        return "the model judges the same calls otherwise"
    if old.evidence != new.evidence:
        return f"now judged by {new.evidence}, before by {old.evidence}"
    moved = max(
        TOLD, key=lambda each: _relative(then[FEATURES.index(each)], now[FEATURES.index(each)])
    )
    place = FEATURES.index(moved)
    return f"its calls: {moved} {then[place]:.3g} → {now[place]:.3g} over {new.n_calls} calls"


def _relative(then: float, now: float) -> float:
    change = abs(now - then) / (abs(then) + abs(now) + 1e-9)
    return change if change == change else 0.0
