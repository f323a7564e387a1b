"""Finds the filters that let an event through, without asking all of them.

Most filters demand that some field equals some value. Each such filter is kept under
that field and value, so an event is only shown to the filters whose demand it meets
and to those that demand no equality at all. Where a filter offers several equalities,
the one under which the fewest others are kept is taken. An alternative (``$or``, ``in``)
is kept under every one of its values, if all its branches have one.

Event types match exactly; a type that ends in ``.*`` stands for every type below it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from mainspring.contracts.limits import Limits
from mainspring.definition.filters.evaluate import FilterPredicate, compile_filter
from mainspring.definition.filters.operators import MISSING, is_scalar, parse_field_path, step_into
from mainspring.definition.filters.validation import ALL, ANY, NOT

Key = TypeVar("Key", bound=Hashable)

# A filter that would have to be kept in more places than this is asked every time.
MOST_PLACES = 64

# A field's path and the value it must have.
Demand = tuple[tuple[str, ...], Hashable]
Demands = tuple[Demand, ...]
CountCandidates = Callable[[Demands], int]
# Filters that raised, and what.
FailedFilters = dict[Key, Exception]


@dataclass(slots=True)
class _FieldNode(Generic[Key]):
    """A field among the fields that filters ask for, and the filters kept there."""

    below: dict[str, _FieldNode[Key]] = field(default_factory=dict)
    kept: dict[Hashable, dict[Key, FilterPredicate]] = field(default_factory=dict)


@dataclass(slots=True)
class _EventTypeFilters(Generic[Key]):
    """The filters of one event type."""

    fields: _FieldNode[Key] = field(default_factory=_FieldNode)
    # Filters without an equality; every event of the type is shown to them.
    rest: dict[Key, FilterPredicate] = field(default_factory=dict)


class FilterIndex(Generic[Key]):
    """Filters by key, added and removed one at a time, asked all at once."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._shelves: dict[str, _EventTypeFilters[Key]] = {}
        self._places: dict[Key, tuple[str, Demands]] = {}

    def __len__(self) -> int:
        return len(self._places)

    def add(self, key: Key, event_type: str, written: Mapping[str, Any]) -> None:
        """Keeps a filter under a key, in place of an earlier one; ``Invalid`` if unusable."""
        predicate = compile_filter(written, self._limits)
        self.remove(key)
        shelf = self._shelves.setdefault(event_type, _EventTypeFilters())
        demands = _best(written, shelf)
        for path, value in demands:
            branch = shelf.fields
            for part in path:
                branch = branch.below.setdefault(part, _FieldNode())
            branch.kept.setdefault(value, {})[key] = predicate
        if not demands:
            shelf.rest[key] = predicate
        self._places[key] = (event_type, demands)

    def remove(self, key: Key) -> None:
        """Forgets a filter; an unknown key is no error."""
        event_type, demands = self._places.pop(key, ("", ()))
        shelf = self._shelves.get(event_type)
        if shelf is None:
            return
        for demand in demands:
            _take_out(shelf.fields, demand, key)
        shelf.rest.pop(key, None)
        if not (shelf.rest or shelf.fields.below):
            del self._shelves[event_type]

    def match(
        self, event_type: str, payload: Mapping[str, Any], broken: FailedFilters[Key] | None = None
    ) -> list[Key]:
        """The keys of the filters that let this event through, each once.

        A filter that raises is noted in ``broken``, if given, and the others are asked.
        """
        found: dict[Key, bool] = {}
        for name in _types_above(event_type):
            shelf = self._shelves.get(name)
            if shelf is None:
                continue
            _collect(shelf.fields, payload, payload, found, broken)
            _ask(shelf.rest, payload, found, broken)
        return [key for key, holds in found.items() if holds]


def _ask(
    filters: Mapping[Key, FilterPredicate],
    payload: Mapping[str, Any],
    found: dict[Key, bool],
    broken: FailedFilters[Key] | None,
) -> None:
    """Asks filters that are kept in one place; one that was asked elsewhere is left alone."""
    for key, predicate in filters.items():
        if key in found:
            continue
        try:
            if predicate(payload):
                found[key] = True
        except Exception as error:
            if broken is None:
                raise
            broken[key] = error
            found[key] = False


def _types_above(event_type: str) -> Iterator[str]:
    yield event_type
    end = event_type.rfind(".")
    while end > 0:
        yield event_type[:end] + ".*"
        end = event_type.rfind(".", 0, end)


def _collect(
    branch: _FieldNode[Key],
    value: Any,
    payload: Mapping[str, Any],
    found: dict[Key, bool],
    broken: FailedFilters[Key] | None,
) -> None:
    """Walks the payload and the fields that are asked for side by side."""
    if branch.kept and is_scalar(value):
        kept = branch.kept.get(_build_index_key(value))
        if kept:
            _ask(kept, payload, found, broken)
    if branch.below and isinstance(value, Mapping | list):
        for below, member in _iterate_shared_fields(branch, value):
            _collect(below, member, payload, found, broken)


def _iterate_shared_fields(
    branch: _FieldNode[Key], value: Any
) -> Iterator[tuple[_FieldNode[Key], Any]]:
    """The fields that are both asked for and there, found from the shorter side."""
    if isinstance(value, Mapping) and len(value) < len(branch.below):
        for part, member in value.items():
            below = branch.below.get(part)
            if below is not None:
                yield below, member
    else:
        for part, below in branch.below.items():
            member = step_into(value, part)
            if member is not MISSING:
                yield below, member


def _build_index_key(value: Any) -> Hashable:
    """A value as a key: equal for equal JSON values, so true is kept apart from 1."""
    return ("flag", value) if isinstance(value, bool) else value


def _alternatives(
    written: Mapping[str, Any], count_candidates: CountCandidates
) -> Iterator[Demands]:
    """Sets of demands of which one at least must be met for the filter to hold."""
    for key, value in written.items():
        if key == ALL:
            for member in value:
                yield from _alternatives(member, count_candidates)
        elif key == ANY:
            yield from _one_of_each(value, count_candidates)
        elif key != NOT:
            yield from _iterate_demands(parse_field_path(key), value)


def _one_of_each(
    members: list[Mapping[str, Any]], count_candidates: CountCandidates
) -> Iterator[Demands]:
    """Demands that cover every branch; nothing if a branch has none."""
    chosen = [
        min(_alternatives(member, count_candidates), key=count_candidates, default=())
        for member in members
    ]
    if all(chosen):
        yield tuple(dict.fromkeys(demand for demands in chosen for demand in demands))


def _iterate_demands(path: tuple[str, ...], value: Any) -> Iterator[Demands]:
    if is_scalar(value):
        yield ((path, _build_index_key(value)),)
    elif "equals" in value and is_scalar(value["equals"]):
        yield ((path, _build_index_key(value["equals"])),)
    elif "in" in value and all(map(is_scalar, value["in"])):
        yield tuple((path, choice) for choice in dict.fromkeys(map(_build_index_key, value["in"])))


def _best(written: Mapping[str, Any], filters: _EventTypeFilters[Key]) -> Demands:
    def crowd(demands: Demands) -> int:
        """How many filters are already kept in the places a filter would go to."""
        return len(demands) + sum(len(_find_filters(filters.fields, demand)) for demand in demands)

    usable = [each for each in _alternatives(written, crowd) if len(each) <= MOST_PLACES]
    return min(usable, key=crowd, default=())


def _find_filters(root: _FieldNode[Key], demand: Demand) -> Mapping[Key, FilterPredicate]:
    branch: _FieldNode[Key] | None = root
    for part in demand[0]:
        branch = None if branch is None else branch.below.get(part)
    return {} if branch is None else branch.kept.get(demand[1], {})


def _take_out(root: _FieldNode[Key], demand: Demand, key: Key) -> None:
    """Removes a filter from one place, and the place itself once it is empty."""
    path, value = demand
    trail = [root]
    for part in path:
        trail.append(trail[-1].below[part])
    kept = trail[-1].kept[value]
    del kept[key]
    if not kept:
        del trail[-1].kept[value]
    for part, parent, branch in zip(reversed(path), trail[-2::-1], trail[:0:-1], strict=True):
        if branch.kept or branch.below:
            break
        del parent.below[part]
