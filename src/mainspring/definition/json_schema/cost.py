"""How much work a schema can cause, counted before any value is judged.

A few references, each used twice, double the work again and again: thirty lines can
ask for a billion evaluations. ``weight`` counts them for deciding on a schema, with a
reference that leads back into itself counted once, because the validator remembers
what it has judged. ``explaining`` counts them for listing what is wrong with one value,
where nothing is remembered and each answer costs far more than a yes or no.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mainspring.definition.json_schema.keywords import ITEM_ONE, MEMBER_ONE, SchemaReferences

ENDLESS = 10**12
# The standard's own schema, the only one outside that a reference may lead to: about as many
# evaluations as it has schemas in it.
STANDARD = 100


class SchemaCost:
    """Counts for one schema, made when first asked for."""

    __slots__ = ("_explained", "_references", "_root", "_weights")

    def __init__(self, schema: Any, references: SchemaReferences | None = None) -> None:
        self._root = schema
        self._references = references or SchemaReferences(schema)
        self._weights: dict[int, int] = {}
        self._explained: dict[tuple[int, int], int] = {}

    def weight(self) -> int:
        """Evaluations that one yes or no may take, whatever the value."""
        try:
            return self._weigh(self._root)
        except RecursionError:
            return ENDLESS

    def circular(self) -> Mapping[str, Any] | None:
        """A schema that leads back to itself without going deeper into the value."""
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
        """Evaluations that listing the problems of this value may take."""
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
        # Seen again from below, it is a reference back into itself.
        self._weights[id(node)] = 1
        total = 1 + sum(self._weigh(child) for child in self._references.same_value(node))
        members = max((self._weigh(child) for child in _members(node)), default=0)
        items = max((self._weigh(child) for child in _items(node)), default=0)
        patterns = sum(self._weigh(child) for child in _patterns(node))
        weight = min(total + max(members + patterns, items), ENDLESS)
        self._weights[id(node)] = weight
        return weight

    def _at(self, node: Any, depth: int) -> int:
        """Evaluations at one place of a value, so many levels below this schema."""
        if node is None:  # a reference to a schema that was not handed in
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
    """How many values stand on each level of nesting, until there are too many."""
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
