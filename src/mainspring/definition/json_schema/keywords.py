"""The places in a schema where other schemas stand, and where references lead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from mainspring.definition.pointers import parts_of, under

# Applied to the same value as the schema they stand in.
SAME_VALUE_ONE = ("not", "if", "then", "else")
SAME_VALUE_LIST = ("allOf", "anyOf", "oneOf")
SAME_VALUE_MAP = ("dependentSchemas",)
# Applied to a member of an object or an item of a list.
MEMBER_ONE = ("additionalProperties", "unevaluatedProperties", "propertyNames")
MEMBER_MAP = ("properties", "patternProperties")
ITEM_ONE = ("items", "contains", "unevaluatedItems")
ITEM_LIST = ("prefixItems",)
# Applied to nothing until a reference leads there.
KEPT_ONE = ("contentSchema",)
KEPT_MAP = ("$defs", "definitions")

_ONE = (*SAME_VALUE_ONE, *MEMBER_ONE, *ITEM_ONE, *KEPT_ONE)
_LIST = (*SAME_VALUE_LIST, *ITEM_LIST)
_MAP = (*SAME_VALUE_MAP, *MEMBER_MAP, *KEPT_MAP)

REFERENCES = ("$ref", "$dynamicRef")
ANCHORS = ("$anchor", "$dynamicAnchor")


def subschemas(schema: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Every schema in a schema, itself first, each with its pointer."""
    waiting = [(at, schema)]
    while waiting:
        pointer, node = waiting.pop()
        yield pointer, node
        if isinstance(node, Mapping):
            waiting.extend(reversed([*_below(node, pointer)]))


def _below(node: Mapping[str, Any], at: str) -> Iterator[tuple[str, Any]]:
    for keyword, value in node.items():
        if keyword in _ONE:
            yield under(at, keyword), value
        elif keyword in _LIST and isinstance(value, list):
            for position, item in enumerate(value):
                yield under(at, keyword, position), item
        elif keyword in _MAP and isinstance(value, Mapping):
            for name, item in value.items():
                yield under(at, keyword, name), item


def find(root: Any, pointer: str) -> Any:
    """The value at a pointer; nothing where the pointer leads nowhere."""
    value = root
    for part in parts_of(pointer):
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


class References:
    """Where the references of one schema lead; only places inside it are known."""

    __slots__ = ("_anchors", "nodes")

    def __init__(self, schema: Any) -> None:
        self.nodes = dict(subschemas(schema))
        self._anchors = {
            node[keyword]: pointer
            for pointer, node in self.nodes.items()
            if isinstance(node, Mapping)
            for keyword in ANCHORS
            if isinstance(node.get(keyword), str)
        }

    def leads_to_schema(self, reference: str) -> bool:
        return self._pointer(reference) in self.nodes

    def target(self, reference: Any) -> Any:
        """The schema a reference leads to; nothing if it leads nowhere in here."""
        if not isinstance(reference, str):
            return None
        pointer = self._pointer(reference)
        return None if pointer is None else self.nodes.get(pointer)

    def same_value(self, node: Mapping[str, Any]) -> Iterator[Any]:
        """The schemas that a schema applies to the very value it is applied to."""
        for keyword in SAME_VALUE_ONE:
            if keyword in node:
                yield node[keyword]
        for keyword in SAME_VALUE_LIST:
            yield from node.get(keyword, ())
        for keyword in SAME_VALUE_MAP:
            yield from node.get(keyword, {}).values()
        for keyword in REFERENCES:
            if keyword in node:
                yield self.target(node[keyword])

    def _pointer(self, reference: str) -> str | None:
        if not reference.startswith("#"):
            return None
        fragment = unquote(reference[1:])
        if fragment == "" or fragment.startswith("/"):
            return fragment
        return self._anchors.get(fragment)
