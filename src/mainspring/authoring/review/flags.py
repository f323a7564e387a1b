"""Flags: what a person should look at before agreeing, each with its place and a way out.

They are found by rules and help; they keep nobody from saving, for what an automation can do is
bounded elsewhere. A definition that would raise a hundred of them shows the gravest of each kind
and says how many more there are. For a change only what is new is shown: each flag is compared
with those that the same step or trigger raised before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from mainspring.authoring.review.facts import ReviewFacts
from mainspring.authoring.review.flags_of_agents import flags_of_agents
from mainspring.authoring.review.flags_of_cost import flags_of_cost
from mainspring.authoring.review.flags_of_cuts import flags_of_cuts
from mainspring.authoring.review.flags_of_destinations import flags_of_destinations
from mainspring.authoring.review.flags_of_hosts import flags_of_hosts
from mainspring.authoring.review.flags_of_reach import flags_of_reach
from mainspring.authoring.review.flags_of_templates import flags_of_templates
from mainspring.authoring.review.flags_of_texts import flags_of_texts
from mainspring.authoring.review.flags_of_triggers import flags_of_triggers
from mainspring.authoring.review.reading import find_nearest_pointer, value_at
from mainspring.authoring.review.view import ReviewView, view_of
from mainspring.authoring.review.wording import MOST_FLAGS, join_list, quote_text, sentence
from mainspring.authoring.shapes import ReviewFlag
from mainspring.contracts.errors import Finding
from mainspring.contracts.grant import Grant
from mainspring.contracts.preflight import WOULD_FAIL
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.credential_literals import CODE as CREDENTIAL_LITERAL

MOST_OF_ONE: Final = 8
MORE_FLAGS: Final = "more_flags"
# Shown as warnings: a step would fail, or a credential is stored in plain text.
_WARNED: Final = WOULD_FAIL | {"scope_outdated", CREDENTIAL_LITERAL}
# So many of one family are compared and counted.
_MOST_COUNTED: Final = 2_000
_FAMILIES: Final[tuple[Callable[[ReviewView], Iterator[ReviewFlag]], ...]] = (
    flags_of_texts,
    flags_of_reach,
    flags_of_hosts,
    flags_of_destinations,
    flags_of_agents,
    flags_of_triggers,
    flags_of_templates,
    flags_of_cost,
    flags_of_cuts,
)


def find_flags(
    document: Mapping[str, Any], grants: Sequence[Grant], words: Vocabulary, facts: ReviewFacts
) -> tuple[ReviewFlag, ...]:
    """The flags of a definition, the grave ones first; of a change, those that it brings."""
    view = view_of(document, grants, words, facts)
    found: Sequence[ReviewFlag] = _collect_flags(view)
    if facts.before is not None:
        old = view_of(facts.before, (), words, replace(facts, before=None))
        found = _new(view, found, old)
    return tuple(_gravest(_some(found)))


def _new(view: ReviewView, found: Iterable[ReviewFlag], old: ReviewView) -> list[ReviewFlag]:
    """The flags that an older version does not have: as many of each as there are more now."""
    known = Counter(
        _mark(old, flag) for flag in _collect_flags(old) if flag.code not in _ALWAYS_NEW
    )
    kept = []
    for flag in found:
        mark = _mark(view, flag)
        if known[mark] > 0:
            known[mark] -= 1
        else:
            kept.append(flag)
    return kept


def _mark(view: ReviewView, flag: ReviewFlag) -> tuple[str, str, str, str]:
    """By what a flag is known again: what it says, of whom, and of which text."""
    holder, rest = _holder(view, flag.pointer)
    value = value_at(view.document, flag.pointer)
    told = value if isinstance(value, str) else ""
    return flag.code, flag.text, holder or rest, told


def _holder(view: ReviewView, pointer: str) -> tuple[str, str]:
    """The id of the innermost step or trigger around a place; steps move and keep their ids."""
    ids = {one.pointer: one.id for one in view.steps}
    ids.update((one.pointer, one.id) for one in view.triggers)
    at = pointer
    while at:
        if at in ids:
            return ids[at], at
        at = at.rpartition("/")[0]
    return "", pointer


# What they say depends on more than the definition, so an older one has not said it.
# And what was not read may be anything.
_ALWAYS_NEW: Final = frozenset(
    {
        "first_use",
        "new_host",
        "secret_to_new_host",
        "costs_much",
        "not_read_whole",
    }
)


def with_warnings(
    flags: Iterable[ReviewFlag], warnings: Iterable[Finding]
) -> tuple[ReviewFlag, ...]:
    """Flags together with what the validator doubts; what both say is told once."""
    kept = list(flags)
    told = {(flag.pointer, flag.code) for flag in kept}
    kept += [
        ReviewFlag(
            one.pointer,
            one.code or "doubt",
            sentence(one.detail),
            "warning" if one.code in _WARNED else "note",
            suggestion=one.suggestion,
        )
        for one in warnings
        if (one.pointer, one.code) not in told
    ]
    return tuple(_gravest(kept))


def _collect_flags(view: ReviewView) -> tuple[ReviewFlag, ...]:
    placed = [
        replace(
            flag,
            pointer=find_nearest_pointer(view.document, flag.pointer),
            text=sentence(flag.text),
        )
        for family in _FAMILIES
        for flag in islice(family(view), _MOST_COUNTED)
    ]
    return tuple(dict.fromkeys(placed))


def _some(flags: Iterable[ReviewFlag]) -> Iterator[ReviewFlag]:
    """So many of each kind, and one that says how many more there are and where."""
    rest: dict[str, list[ReviewFlag]] = {}
    seen: Counter[str] = Counter()
    for flag in sorted(flags, key=_is_note):
        seen[flag.code] += 1
        if seen[flag.code] <= MOST_OF_ONE:
            yield flag
        else:
            rest.setdefault(flag.code, []).append(flag)
    for more in rest.values():
        yield _counted(more) if len(more) > 1 else more[0]


def _counted(more: list[ReviewFlag]) -> ReviewFlag:
    places = join_list([quote_text(flag.pointer or "/", 80) for flag in more], 3)
    text = f"And {len(more)} more like this, at {places}. The first: {more[0].text}"
    return replace(more[0], text=sentence(text))


def _is_note(flag: ReviewFlag) -> bool:
    return flag.level != "warning"


def _gravest(flags: Iterable[ReviewFlag]) -> list[ReviewFlag]:
    """As many as are shown; what does not fit is counted."""
    found = sorted(flags, key=_is_note)
    if len(found) <= MOST_FLAGS:
        return found
    told = [flag for flag in found if flag.code == MORE_FLAGS]
    rest = [flag for flag in found if flag.code != MORE_FLAGS]
    room = MOST_FLAGS - len(told) - 1
    text = f"{len(rest) - room} more flags are not shown, the first of them: {rest[room].text}"
    more = ReviewFlag(rest[room].pointer, MORE_FLAGS, sentence(text), rest[room].level)
    return [*rest[:room], *told, more]
