"""Schemas as other programs take them: without our annotations, and flat at the top.

Model providers refuse a tool whose input schema has ``oneOf``, ``anyOf`` or ``allOf`` at its top
level, and some clients drop such a tool without a message. The flat schema accepts whatever the
full one accepts; the server still validates every call against the full one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from mainspring.definition.json_schema.keywords import SCHEMA, SCHEMA_LIST, SCHEMA_MAP

SchemaTransform = Callable[[Mapping[str, Any]], Mapping[str, Any]]

_OURS: Final = ("x-anti-examples", "x-mainspring-")
# The formats that other validators check; they warn about any other, or reject the schema.
_FORMATS: Final = frozenset(
    {
        "date",
        "date-time",
        "duration",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "json-pointer",
        "regex",
        "relative-json-pointer",
        "time",
        "uri",
        "uri-reference",
        "uri-template",
        "uuid",
    }
)
# An object with one of these keywords declares its members.
_SAYS_MEMBERS: Final = frozenset(
    {
        "$ref",
        "additionalProperties",
        "allOf",
        "anyOf",
        "const",
        "enum",
        "oneOf",
        "patternProperties",
        "properties",
        "unevaluatedProperties",
    }
)
_ALTERNATIVES: Final = ("oneOf", "anyOf")
_COMPOSITIONS: Final = (*_ALTERNATIVES, "allOf")
# A composition with more branches than this is not analysed.
_MOST_BRANCHES: Final = 256
_OWN_DEFINITION: Final = re.compile(r"#/\$defs/([^/~%]+)")
_ANY: Final[Mapping[str, Any]] = {}
# Refused at the top level of a tool's input.
_REFUSED: Final = frozenset({*_COMPOSITIONS, "not", "enum", "const"})
# A branch with only these keywords can be described in a sentence.
_TELLABLE: Final = frozenset({"required", "properties", "type", "title", "description"})


def publish_schema(schema: Any) -> Any:
    """The schema without our own keys and without formats that others do not know."""
    return _map_object_schemas(schema, _without_ours)


def open_objects(schema: Any) -> Any:
    """The schema in which every object that accepts any member says so.

    Client generators read an object without properties as one that has no members.
    """
    return _map_object_schemas(schema, _open_object)


def flatten_schema(schema: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """A published input schema without composition at the top level, and the lost rule as text."""
    shown = publish_schema(schema)
    kept = {key: value for key, value in shown.items() if key not in _REFUSED}
    if len(kept) == len(shown):
        return kept, ""
    # It refers to members of the removed composition.
    kept.pop("unevaluatedProperties", None)
    found = [_branches(shown, shown.get(key, ())) for key in _ALTERNATIVES]
    groups = [group for group in found if group]
    always = _branches(shown, shown.get("allOf", ()))
    everywhere = [branch for group in (*groups, always) for branch in group]
    if len(everywhere) > _MOST_BRANCHES:
        return {"type": "object", **kept}, ""
    properties = _merge_branches(shown.get("properties", {}), everywhere)
    required = dict.fromkeys(shown.get("required", ()))
    for names in (
        *map(_list_required, always),
        *(_list_common_required(group) for group in groups),
    ):
        required |= dict.fromkeys(names)
    if properties:
        kept["properties"] = properties
    if required:
        kept["required"] = list(required)
    rules = (_rule(shown.get(key)) for key in _ALTERNATIVES)
    return {"type": "object", **kept}, " ".join(rule for rule in rules if rule)


def _map_object_schemas(schema: Any, change: SchemaTransform) -> Any:
    """Apply a function to every object schema in a schema."""
    if not isinstance(schema, Mapping):
        return schema
    return {key: _changed_under(key, value, change) for key, value in change(schema).items()}


def _changed_under(key: str, value: Any, change: SchemaTransform) -> Any:
    if key in SCHEMA_MAP and isinstance(value, Mapping):
        return {name: _map_object_schemas(one, change) for name, one in value.items()}
    if (key in SCHEMA or key in SCHEMA_LIST) and isinstance(value, list):
        return [_map_object_schemas(one, change) for one in value]
    return _map_object_schemas(value, change) if key in SCHEMA else value


def _without_ours(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: value
        for key, value in schema.items()
        if not key.startswith(_OURS) and not (key == "format" and value not in _FORMATS)
    }


def _open_object(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    kinds = schema.get("type", ())
    if (
        "object" not in ([kinds] if isinstance(kinds, str) else kinds)
        or _SAYS_MEMBERS & schema.keys()
    ):
        return schema
    return {**schema, "additionalProperties": True}


def _branches(root: Mapping[str, Any], listed: Sequence[Any]) -> list[Mapping[str, Any]]:
    """The object schemas of one composition, nested compositions included, each once."""
    found: list[Mapping[str, Any]] = []
    seen: set[int] = set()
    waiting = [(branch, True) for branch in reversed(listed)]
    while waiting:
        branch, is_direct = waiting.pop()
        node = _resolve_branch(root, branch)
        if id(node) in seen:
            continue
        seen.add(id(node))
        # What one nested branch requires is not required by the whole.
        found.append(node if is_direct else {**node, "required": []})
        inner = [one for key in _COMPOSITIONS for one in node.get(key, ())]
        waiting += [(one, False) for one in reversed(inner)]
    return found


def _resolve_branch(root: Mapping[str, Any], branch: Any) -> Mapping[str, Any]:
    """The schema of a branch; any object when it cannot be resolved from the root.

    References in an embedded resource are relative to that resource, so it is not resolved.
    """
    reference = branch.get("$ref") if isinstance(branch, Mapping) else None
    if isinstance(reference, str):
        own = _OWN_DEFINITION.fullmatch(reference)
        branch = own and root.get("$defs", {}).get(own[1])
    return branch if isinstance(branch, Mapping) and "$id" not in branch else _ANY


def _merge_branches(
    base: Mapping[str, Any], branches: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The base's properties and those of the branches, each with all of its schemas."""
    more: dict[str, list[Any]] = {}
    for branch in branches:
        for name, one in branch.get("properties", {}).items():
            shapes = more.setdefault(name, [])
            if name not in base and one is not False and one not in shapes:
                shapes.append(one)
    added = {
        name: shapes[0] if len(shapes) == 1 else {"anyOf": shapes}
        for name, shapes in more.items()
        if shapes
    }
    return {**base, **added}


def _list_required(branch: Mapping[str, Any]) -> Sequence[str]:
    return list(branch.get("required", ()))


def _list_common_required(group: Sequence[Mapping[str, Any]]) -> list[str]:
    first, *others = map(_list_required, group)
    common = set(first).intersection(*others)
    return [name for name in first if name in common]


def _rule(branches: Any) -> str:
    """Which arguments go together, when the branches have no other rules."""
    if not isinstance(branches, list) or not all(_is_tellable(branch) for branch in branches):
        return ""
    groups = dict.fromkeys(" with ".join(branch["required"]) for branch in branches)
    return f"Give one of these: {'; '.join(groups)}."


def _is_tellable(branch: Any) -> bool:
    return (
        isinstance(branch, Mapping) and bool(branch.get("required")) and branch.keys() <= _TELLABLE
    )
