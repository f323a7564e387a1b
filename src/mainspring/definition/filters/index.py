"""An index of filters that finds the ones matching an event without evaluating all of them.

Most filters require that some field equals some value. Each such filter is indexed under that field
and value, so an event is only tested against the filters whose equality it meets and those without
any equality. Where a filter has several equalities, the least populated entry is used. An
alternative (``$or``, ``in``) is indexed under every one of its values, if all its branches have
one.

Event types match exactly; a type that ends in ``.*`` matches every type with that prefix.
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

# A filter that would need more entries than this is evaluated for every event.
MOST_PLACES = 64

# A field's path and the value it must have.
Demand = tuple[tuple[str, ...], Hashable]
Demands = tuple[Demand, ...]
CountCandidates = Callable[[Demands], int]
# Filters that raised, with the error.
FailedFilters = dict[Key, Exception]


@dataclass(slots=True)
class _FieldNode(Generic[Key]):
    """A field in the trie of indexed fields, and the filters stored there."""

    below: dict[str, _FieldNode[Key]] = field(default_factory=dict)
    kept: dict[Hashable, dict[Key, FilterPredicate]] = field(default_factory=dict)


@dataclass(slots=True)
class _EventTypeFilters(Generic[Key]):
    """The filters of one event type."""

    fields: _FieldNode[Key] = field(default_factory=_FieldNode)
    # Filters without an equality; they are evaluated for every event of the type.
    rest: dict[Key, FilterPredicate] = field(default_factory=dict)


class FilterIndex(Generic[Key]):
    """Filters by key, added and removed one at a time, matched together."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._shelves: dict[str, _EventTypeFilters[Key]] = {}
        self._places: dict[Key, tuple[str, Demands]] = {}

    def __len__(self) -> int:
        return len(self._places)

    def add(self, key: Key, event_type: str, written: Mapping[str, Any]) -> None:
        """Add or replace the filter of a key; ``Invalid`` if it is unusable."""
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
        """Remove a filter; an unknown key is not an error."""
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
        """The keys of the filters that match this event, each once.

        A filter that raises is recorded in ``broken``, if given, and the others are still
        evaluated.
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
    """Evaluate the filters of one entry, skipping those that were already evaluated."""
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
    """Walk the payload and the indexed fields in parallel."""
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
    """The fields that are both indexed and present, iterated from the smaller side."""
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
    """A value as a key: equal for equal JSON values, and true differs from 1."""
    return ("flag", value) if isinstance(value, bool) else value


def _alternatives(
    written: Mapping[str, Any], count_candidates: CountCandidates
) -> Iterator[Demands]:
    """Sets of equalities of which at least one must hold for the filter to match."""
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
    """Equalities that cover every branch; None if a branch has none."""
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
        """The number of filters already indexed in the entries that a filter would use."""
        return len(demands) + sum(len(_find_filters(filters.fields, demand)) for demand in demands)

    usable = [each for each in _alternatives(written, crowd) if len(each) <= MOST_PLACES]
    return min(usable, key=crowd, default=())


def _find_filters(root: _FieldNode[Key], demand: Demand) -> Mapping[Key, FilterPredicate]:
    branch: _FieldNode[Key] | None = root
    for part in demand[0]:
        branch = None if branch is None else branch.below.get(part)
    return {} if branch is None else branch.kept.get(demand[1], {})


def _take_out(root: _FieldNode[Key], demand: Demand, key: Key) -> None:
    """Remove a filter from one entry, and the entry itself once it is empty."""
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
