"""Compares a run with its rehearsal; a pure function.

Both are compared by their effects: what was written, drafted and sent, with which text, and how
they ended. Equal effects are paired first; remaining ones of the same kind, preferably in the same
step, are reported as one changed effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, Literal
from uuid import UUID

from mainspring.contracts.display_text import format_usd
from mainspring.definition.strict_json import is_same_value, join_pointer
from mainspring.runs.rows import FINAL

What = Literal["written", "drafted", "sent"]
Kind = Literal["added", "removed", "changed", "status", "cost"]

MOST_FIELDS: Final = 30
_LONGEST: Final = 300
_MOST_ENTRIES: Final = 20
_DEEPEST: Final = 6
_SAID: Final = 3
_DID: Final[Mapping[What, str]] = {"written": "wrote", "drafted": "drafted", "sent": "sent"}
# The end of a run that may not start, for example when the daily budget is spent.
_LEFT_OUT: Final = "skipped"
# What is reported for a firing that failed for a reason of its own.
_OUTSIDE: Final[Mapping[str, str]] = {
    "skipped": "It was not started",
    "dead": "It was given up after losing its workers",
    "cancelled": "It was cancelled",
    "timed_out": "It timed out",
}


@dataclass(frozen=True, slots=True)
class RunEffect:
    """One effect of a run, actual or simulated."""

    what: What
    step: str
    capability: str
    arguments: Any
    # A digest that distinguishes arguments, however much of them is kept.
    digest: bytes = b""

    @property
    def named(self) -> str:
        return f"{self.what} {self.capability}"


@dataclass(frozen=True, slots=True)
class UnrecordedCall:
    """One call without a recorded answer, with its cost."""

    step: str
    capability: str
    cost: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One run, as far as it is compared."""

    run_id: UUID
    status: str
    at: datetime
    reason: str | None = None
    outcome: str | None = None
    error: str | None = None
    # Its cost, or what it would have cost including recorded answers.
    cost: Decimal = Decimal(0)
    # What the rehearsal itself has cost; zero for the original run.
    spent: Decimal = Decimal(0)
    deeds: tuple[RunEffect, ...] = ()
    # Only for a rehearsal: how many answers came from the record, and which did not.
    recorded: int = 0
    live: tuple[UnrecordedCall, ...] = ()

    @property
    def ended(self) -> bool:
        return self.status in FINAL


@dataclass(frozen=True, slots=True)
class RehearsalDifference:
    """One difference."""

    kind: Kind
    says: str
    step: str | None = None
    capability: str | None = None
    fields: tuple[Mapping[str, Any], ...] = ()

    @property
    def weighs(self) -> bool:
        """A different cost alone is reported but is not a change of behaviour."""
        return self.kind != "cost"

    def as_dict(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"kind": self.kind, "says": self.says}
        if self.capability is not None:
            shown |= {"step": self.step, "capability": self.capability}
        if self.fields:
            shown["fields"] = [dict(one) for one in self.fields]
        return shown


@dataclass(frozen=True, slots=True)
class FiringComparison:
    """A firing then and now; a missing side is None."""

    then: ComparedRun | None
    now: ComparedRun | None
    differences: tuple[RehearsalDifference, ...] = field(default=())
    note: str | None = None

    @property
    def done(self) -> bool:
        """Whether both sides have ended."""
        return all(one.ended for one in (self.then, self.now) if one is not None)

    @property
    def left_out(self) -> bool:
        """Whether its rehearsal run was not started."""
        return self.now is not None and self.now.status == _LEFT_OUT

    @property
    def otherwise(self) -> bool:
        return any(one.weighs for one in self.differences)


def compare(
    then: ComparedRun | None, now: ComparedRun | None, note: str | None = None
) -> FiringComparison:
    """The differences, once both have ended."""
    notes = [said for said in (_outside(then), note) if said]
    joined = " ".join(notes) or None
    if now is not None and now.status == _LEFT_OUT:
        # It must not be mistaken for an unchanged firing.
        says = f"It was not rehearsed: {now.error}" if now.error else "It was not rehearsed."
        return FiringComparison(then, now, (RehearsalDifference("status", says),), joined)
    if then is None or now is None or not then.ended or not now.ended:
        return FiringComparison(then, now, note=joined)
    return FiringComparison(then, now, tuple(_between(then, now)), joined)


def _outside(then: ComparedRun | None) -> str | None:
    """Why a firing cannot be compared by its result."""
    said = None if then is None else _OUTSIDE.get(then.status)
    if then is None or said is None:
        return None
    return f"{said}: {then.error}" if then.error else f"{said}."


def _between(then: ComparedRun, now: ComparedRun) -> Iterator[RehearsalDifference]:
    if then.status != now.status:
        why = f" {now.error}" if now.error and now.status != "succeeded" else ""
        yield RehearsalDifference(
            "status", f"It would have ended as {now.status} instead of {then.status}.{why}"
        )
    yield from _compare_effects(list(then.deeds), list(now.deeds))
    if then.cost != now.cost:
        yield RehearsalDifference(
            "cost", f"It would have cost {format_usd(now.cost)} instead of {format_usd(then.cost)}."
        )


def _compare_effects(then: list[RunEffect], now: list[RunEffect]) -> Iterator[RehearsalDifference]:
    for fits in (_equal, _of_one_step, _of_one_kind):
        for deed in list(now):
            other = next((one for one in then if fits(one, deed)), None)
            if other is None:
                continue
            then.remove(other)
            now.remove(deed)
            if fits is not _equal:
                yield _changed_effect(other, deed)
    for deed in then:
        says = f"It {_DID[deed.what]} {deed.capability} then, and would not have done so."
        yield RehearsalDifference("removed", says, deed.step, deed.capability)
    for deed in now:
        says = f"It would have {deed.named}, which it did not then."
        yield RehearsalDifference("added", says, deed.step, deed.capability)


def _equal(one: RunEffect, other: RunEffect) -> bool:
    if (one.what, one.capability) != (other.what, other.capability):
        return False
    return (
        one.digest == other.digest if one.digest else is_same_value(one.arguments, other.arguments)
    )


def _of_one_step(one: RunEffect, other: RunEffect) -> bool:
    return one.step == other.step and _of_one_kind(one, other)


def _of_one_kind(one: RunEffect, other: RunEffect) -> bool:
    return one.capability == other.capability


def _changed_effect(then: RunEffect, now: RunEffect) -> RehearsalDifference:
    fields = tuple(find_changed_fields(then.arguments, now.arguments))[:MOST_FIELDS]
    said = [f"It would have {now.named}"]
    if then.what != now.what:
        said.append(f"where it was {then.what} then")
    if fields:
        names = ", ".join(one["pointer"] or "/" for one in fields[:_SAID])
        said.append(f"with other {names}")
    elif then.what == now.what:
        said.append("with other arguments")
    return RehearsalDifference("changed", f"{', '.join(said)}.", now.step, now.capability, fields)


def find_changed_fields(then: Any, now: Any, at: str = "") -> Iterator[dict[str, Any]]:
    """Each differing path, with its short value then and now."""
    if is_same_value(then, now):
        return
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys((*then, *now)):
            yield from find_changed_fields(then.get(key), now.get(key), join_pointer(at, key))
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for place, (was, became) in enumerate(zip(then, now, strict=True)):
            yield from find_changed_fields(was, became, f"{at}/{place}")
    else:
        yield {"pointer": at, "then": shorten_value(then), "now": shorten_value(now)}


def shorten_value(value: Any, level: int = 0) -> Any:
    """A value truncated for a comparison."""
    if isinstance(value, str):
        return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"
    if isinstance(value, Mapping | list) and level >= _DEEPEST:
        return "…"
    if isinstance(value, Mapping):
        kept = list(value.items())[:_MOST_ENTRIES]
        return {key: shorten_value(entry, level + 1) for key, entry in kept}
    if isinstance(value, list):
        return [shorten_value(entry, level + 1) for entry in value[:_MOST_ENTRIES]]
    return value


def money(usd: Decimal) -> str:
    """An amount without trailing zeros."""
    return f"{usd.normalize():f}"


def summary(firings: Sequence[FiringComparison]) -> str:
    """One sentence about all of them."""
    waiting = sum(not one.done for one in firings)
    many = len(firings)
    if waiting:
        return f"{many - waiting} of {many} firings are rehearsed; the rest is in progress."
    left = [one for one in firings if one.left_out]
    if left:
        says = left[0].differences[0].says.removeprefix("It was ")
        were = "was" if len(left) == 1 else "were"
        text = f"{len(left)} of {_firings(many, plain=True)} {were} {says}"
        rest = [one for one in firings if not one.left_out]
        return f"{text} {summary(rest)}" if rest else text
    alone = [one for one in firings if one.then is None]
    if len(alone) == many:
        them = "it" if many == 1 else "them"
        return f"{_firings(many)} rehearsed, with nothing to compare {them} with."
    changed = [one for one in firings if one.otherwise]
    if not changed:
        return f"{_firings(many)} rehearsed, with no differences."
    told_once = dict.fromkeys(
        difference.says for one in changed for difference in one.differences if difference.weighs
    )
    more = f" And {len(told_once) - _SAID} more." if len(told_once) > _SAID else ""
    told = " ".join(list(told_once)[:_SAID])
    return f"{len(changed)} of {_firings(many, plain=True)} would have differed: {told}{more}"


def _firings(many: int, *, plain: bool = False) -> str:
    named = "1 firing" if many == 1 else f"{many} firings"
    return named if plain else f"{named} {'was' if many == 1 else 'were'}"
