"""The keywords that contain subschemas, and the resolution of references."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote, urljoin, urlsplit

from mainspring.contracts.object_schema import DIALECT
from mainspring.definition.strict_json import join_pointer, split_pointer

# Applied to the same value as the containing schema.
SAME_VALUE_ONE = ("not", "if", "then", "else")
SAME_VALUE_LIST = ("allOf", "anyOf", "oneOf")
SAME_VALUE_MAP = ("dependentSchemas",)
# Applied to a member of an object or an item of a list.
MEMBER_ONE = ("additionalProperties", "unevaluatedProperties", "propertyNames")
MEMBER_MAP = ("properties", "patternProperties")
ITEM_ONE = ("items", "contains", "unevaluatedItems")
ITEM_LIST = ("prefixItems",)
# Only applied through a reference.
KEPT_ONE = ("contentSchema",)
KEPT_MAP = ("$defs", "definitions")

# By the value of the keyword: a schema, a list of schemas, schemas by name.
SCHEMA = (*SAME_VALUE_ONE, *MEMBER_ONE, *ITEM_ONE, *KEPT_ONE)
SCHEMA_LIST = (*SAME_VALUE_LIST, *ITEM_LIST)
SCHEMA_MAP = (*SAME_VALUE_MAP, *MEMBER_MAP, *KEPT_MAP)

REFERENCES = ("$ref", "$dynamicRef")
ANCHORS = ("$anchor", "$dynamicAnchor")

# The base URI of a schema without ``$id``. It is never requested.
ROOT: Final = "http://json-schema.invalid/"
_STANDARD_HOST: Final = urlsplit(DIALECT).hostname
# No percent escapes, no capital letters in the host, no port that could be the default one.
_PLAIN: Final = re.compile(
    r"(?!json-schema:)[a-z][a-z0-9+.-]*:"
    r"(?:(?!//)|//[a-z0-9.-]*(?!:0*(?:80|443)?(?:[/?]|$))(?::[0-9]+)?(?=[/?]|$))"
    r"[A-Za-z0-9._~!$&'()*+,;=:@/?-]*"
)


def iterate_subschemas(schema: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Every schema in a schema, itself first, each with its pointer."""
    waiting = [(at, schema)]
    while waiting:
        pointer, node = waiting.pop()
        yield pointer, node
        if isinstance(node, Mapping):
            waiting.extend(reversed([*_below(node, pointer)]))


def _below(node: Mapping[str, Any], at: str) -> Iterator[tuple[str, Any]]:
    for keyword, value in node.items():
        if keyword in SCHEMA:
            yield join_pointer(at, keyword), value
        elif keyword in SCHEMA_LIST and isinstance(value, list):
            for position, item in enumerate(value):
                yield join_pointer(at, keyword, position), item
        elif keyword in SCHEMA_MAP and isinstance(value, Mapping):
            for name, item in value.items():
                yield join_pointer(at, keyword, name), item


def find(root: Any, pointer: str) -> Any:
    """The value at a pointer, or None."""
    value = root
    for part in split_pointer(pointer):
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


class SchemaReferences:
    """Resolves the references of one schema; only targets inside it are known.

    A schema with an ``$id`` is a resource of its own: the references, anchors and identifiers below
    it are relative to that identifier, as RFC 3986 defines.
    """

    __slots__ = ("_anchors", "_bases", "_dynamic", "_resources", "nodes", "repeated")

    def __init__(self, schema: Any) -> None:
        self.nodes: dict[str, Any] = {}
        # Duplicate identifiers and anchors, each as its pointer and keyword.
        self.repeated: list[tuple[str, str]] = []
        self._bases: dict[int, str] = {}
        self._resources: dict[str, str] = {}
        self._anchors: dict[tuple[str, str], str] = {}
        self._dynamic: dict[str, list[Any]] = {}
        waiting = [("", schema, ROOT)]
        while waiting:
            pointer, node, base = waiting.pop()
            self.nodes[pointer] = node
            if isinstance(node, Mapping):
                base = self._keep(node, pointer, base)
                below = [(*one, base) for one in _below(node, pointer)]
                waiting.extend(reversed(below))

    @property
    def resources(self) -> Mapping[str, str]:
        """The pointer of every resource by its absolute identifier, the root first."""
        return self._resources

    def leads_to_schema(self, node: Mapping[str, Any], reference: str) -> bool:
        """Whether a reference in a node resolves to a known schema.

        The compiler includes the metaschema.
        """
        return reference.rstrip("#") == DIALECT or self._pointer(node, reference) in self.nodes

    def target(self, node: Mapping[str, Any], reference: Any) -> Any:
        """The schema that a reference of a node resolves to; None if it resolves to nothing in
        here.
        """
        if not isinstance(reference, str):
            return None
        pointer = self._pointer(node, reference)
        return None if pointer is None else self.nodes.get(pointer)

    def same_value(self, node: Mapping[str, Any]) -> Iterator[Any]:
        """The schemas that a schema applies to the same value."""
        for keyword in SAME_VALUE_ONE:
            if keyword in node:
                yield node[keyword]
        for keyword in SAME_VALUE_LIST:
            yield from node.get(keyword, ())
        for keyword in SAME_VALUE_MAP:
            yield from node.get(keyword, {}).values()
        if "$ref" in node:
            yield self.target(node, node["$ref"])
        if "$dynamicRef" in node:
            yield from self._dynamic_targets(node, node["$dynamicRef"])

    def _keep(self, node: Mapping[str, Any], pointer: str, base: str) -> str:
        """Record the identifiers of a node; returns the base URI of its content."""
        name = node.get("$id")
        if isinstance(name, str):
            base = _join_address(base, name.rstrip("#"))
        if isinstance(name, str) or not pointer:
            if base in self._resources:
                self.repeated.append((pointer, "$id"))
            self._resources.setdefault(base, pointer)
        self._bases[id(node)] = base
        for keyword in ANCHORS:
            anchor = node.get(keyword)
            if not isinstance(anchor, str):
                continue
            if (base, anchor) in self._anchors:
                self.repeated.append((pointer, keyword))
            self._anchors.setdefault((base, anchor), pointer)
            if keyword == "$dynamicAnchor":
                self._dynamic.setdefault(anchor, []).append(node)
        return base

    def _dynamic_targets(self, node: Mapping[str, Any], reference: Any) -> Iterator[Any]:
        """All schemas that a dynamic reference may resolve to; the dynamic scope selects one."""
        first = self.target(node, reference)
        name = unquote(str(reference).partition("#")[2])
        if isinstance(first, Mapping) and name and first.get("$dynamicAnchor") == name:
            yield from self._dynamic[name]
        else:
            yield first

    def _pointer(self, node: Mapping[str, Any], reference: str) -> str | None:
        base = self._bases.get(id(node), ROOT)
        address, _, fragment = reference.partition("#")
        resource = _join_address(base, address)
        place, fragment = self._resources.get(resource), unquote(fragment)
        if place is None or not fragment:
            return place
        if fragment.startswith("/"):
            return place + fragment
        return self._anchors.get((resource, fragment))


def is_plain(uri: str) -> bool:
    """Whether an absolute identifier needs no normalisation.

    The compiler normalises identifiers and ``SchemaReferences`` does not, so both see the same
    resources only when there is nothing to normalise.
    """
    segments = uri.split("?", maxsplit=1)[0].split("/")
    return _PLAIN.fullmatch(uri) is not None and not {".", ".."} & set(segments)


def is_reserved(uri: str) -> bool:
    """Whether an identifier may belong to the standard, whose schemas the compiler includes.

    The compiler uses those instead of a schema embedded under the same identifier.
    """
    try:
        return urlsplit(unquote(uri)).hostname == _STANDARD_HOST
    except ValueError:
        return False


def _join_address(base: str, address: str) -> str:
    try:
        return urljoin(base, address) if address else base
    except ValueError:
        return address


# How much work a schema can cause, counted before any value is judged.
#
# A few references, each used twice, double the work again and again: thirty lines can
# ask for a billion evaluations. ``weight`` counts them for deciding on a schema, with a
# reference that leads back into itself counted once, because the validator remembers
# what it has judged. ``explaining`` counts them for listing what is wrong with one value,
# where nothing is remembered and each answer costs far more than a yes or no.


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
