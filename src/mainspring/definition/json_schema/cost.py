"""Estimates the work that a schema can cause, before any value is validated.

A few references, each used twice, double the work at every level: thirty lines can ask for a
billion evaluations. ``weight`` counts evaluations for a yes or no, with a recursive reference
counted once because the validator caches its result. ``explaining`` counts them for listing the
problems of one value, which uses no cache and costs far more per evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mainspring.definition.json_schema.keywords import ITEM_ONE, MEMBER_ONE, SchemaReferences

ENDLESS = 10**12
# The metaschema, the only external schema that a reference may use: about as many evaluations as it
# has subschemas.
STANDARD = 100


class SchemaCost:
    """The cost of one schema, computed on first use."""

    __slots__ = ("_explained", "_references", "_root", "_weights")

    def __init__(self, schema: Any, references: SchemaReferences | None = None) -> None:
        self._root = schema
        self._references = references or SchemaReferences(schema)
        self._weights: dict[int, int] = {}
        self._explained: dict[tuple[int, int], int] = {}

    def weight(self) -> int:
        """The maximum number of evaluations for a yes or no, for any value."""
        try:
            return self._weigh(self._root)
        except RecursionError:
            return ENDLESS

    def circular(self) -> Mapping[str, Any] | None:
        """A schema that leads back to itself without descending into the value."""
        done: set[int] = set()
        for start in self._references.nodes.values():
            found = self._circle_from(start, done)
            if found is not None:
                return found
        return None

    def _circle_from(self, start: Any, done: set[int]) -> Mapping[str, Any] | None:
        if not isinstance(start, Mapping) or id(start) in done:
            return None
        path = [start]
        open_nodes = {id(start)}
        waiting = [self._references.same_value(start)]
        while waiting:
            node = next(waiting[-1], waiting)
            if node is waiting:
                waiting.pop()
                leaving = id(path.pop())
                open_nodes.discard(leaving)
                done.add(leaving)
            elif isinstance(node, Mapping) and id(node) in open_nodes:
                return node
            elif isinstance(node, Mapping) and id(node) not in done:
                path.append(node)
                open_nodes.add(id(node))
                waiting.append(self._references.same_value(node))
        return None

    def explaining(self, value: Any, most: int) -> int:
        """The maximum number of evaluations for listing the problems of this value."""
        total = 0
        try:
            for depth, width in enumerate(_widths(value, most)):
                total += width * self._at(self._root, depth)
                if total > most:
                    break
        except RecursionError:
            return ENDLESS
        return total

    def _weigh(self, node: Any) -> int:
        if node is None:
            return STANDARD
        if not isinstance(node, Mapping):
            return 1
        known = self._weights.get(id(node))
        if known is not None:
            return known
        # Reached again from below: a recursive reference.
        self._weights[id(node)] = 1
        total = 1 + sum(self._weigh(child) for child in self._references.same_value(node))
        members = max((self._weigh(child) for child in _members(node)), default=0)
        items = max((self._weigh(child) for child in _items(node)), default=0)
        patterns = sum(self._weigh(child) for child in _patterns(node))
        weight = min(total + max(members + patterns, items), ENDLESS)
        self._weights[id(node)] = weight
        return weight

    def _at(self, node: Any, depth: int) -> int:
        """Evaluations at one level of a value below this schema."""
        if node is None:  # a reference to a schema that is not available
            return ENDLESS
        if not isinstance(node, Mapping):
            return 1 if depth == 0 else 0
        key = (id(node), depth)
        known = self._explained.get(key)
        if known is not None:
            return known
        self._explained[key] = 0
        total = sum(self._at(child, depth) for child in self._references.same_value(node))
        if depth == 0:
            total += 1
        else:
            members = max((self._at(child, depth - 1) for child in _members(node)), default=0)
            patterns = sum(self._at(child, depth - 1) for child in _patterns(node))
            items = max((self._at(child, depth - 1) for child in _items(node)), default=0)
            total += max(members + patterns, items)
        self._explained[key] = min(total, ENDLESS)
        return self._explained[key]


def _members(node: Mapping[str, Any]) -> Iterator[Any]:
    yield from node.get("properties", {}).values()
    for keyword in MEMBER_ONE:
        if keyword in node:
            yield node[keyword]


def _patterns(node: Mapping[str, Any]) -> Iterator[Any]:
    yield from node.get("patternProperties", {}).values()


def _items(node: Mapping[str, Any]) -> Iterator[Any]:
    yield from node.get("prefixItems", ())
    for keyword in ITEM_ONE:
        if keyword in node:
            yield node[keyword]


def _widths(value: Any, most: int) -> Iterator[int]:
    """The number of values on each nesting level, up to a limit."""
    level, seen = [value], 0
    while level and seen <= most:
        yield len(level)
        seen += len(level)
        below: list[Any] = []
        for item in level:
            if isinstance(item, Mapping):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
            if len(below) > most:
                break
        level = below
