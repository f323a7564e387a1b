"""Capabilities as tools: the same name, the same schemas, and hints about what a call does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.capability import Capability, Effect
from mainspring.definition.json_schema.published import flatten_schema, publish_schema

PAGE: Final = 200

# A change under one of these verbs only adds; any other may change or remove what is there.
_ADDING: Final = frozenset({"add", "append", "create", "post", "publish", "save", "send"})
# Doing one of these again changes nothing more.
_REPEATABLE: Final = frozenset({"delete", "remove", "revoke", "set"})
_WORDS: Final = re.compile(r"[a-z0-9]+")

# What a call may come to instead of its result; see the outcomes of a call in the reference.
_OTHERWISE: Final[Mapping[str, Any]] = {
    "type": "object",
    "description": "Instead of the result: a draft that waits for a person, or why nothing was "
    "done.",
    "required": ["kind"],
    "properties": {"kind": {"enum": ["draft", "suppressed", "clarification", "noop"]}},
}


def describe(name: str, capability: Capability, input_schema: Mapping[str, Any]) -> dict[str, Any]:
    """A tool of the protocol; ``input_schema`` is the capability's own, or one with pins."""
    schema, rule = flatten_schema(input_schema)
    known_as = "" if name == capability.id else f"In an automation it is named {capability.id}."
    return {
        "name": name,
        "title": capability.label,
        "description": "\n\n".join(filter(None, (capability.description, rule, known_as))),
        "inputSchema": schema,
        "outputSchema": _output(capability),
        "annotations": hints(capability),
    }


def hints(capability: Capability) -> dict[str, Any]:
    """What a client may tell its person before a call."""
    effect = capability.annotations.effect
    words = frozenset(_WORDS.findall(capability.id))
    reads = effect is Effect.READ
    return {
        "title": capability.label,
        "readOnlyHint": reads,
        "destructiveHint": not reads and not words & _ADDING,
        "idempotentHint": reads or bool(words & _REPEATABLE),
        "openWorldHint": effect is Effect.SEND,
    }


def wraps(capability: Capability) -> bool:
    """Whether its results are put into an object, which is all that a tool may answer."""
    return capability.output_schema.get("type") != "object"


def _output(capability: Capability) -> dict[str, Any]:
    declared: dict[str, Any] = publish_schema(capability.output_schema)
    if wraps(capability):
        declared = _around(declared, lambda inner: {"properties": {"result": inner}})
        declared["required"] = ["result"]
    if capability.annotations.effect is Effect.READ:
        return declared
    return _around(declared, lambda inner: {"anyOf": [inner, _OTHERWISE]})


def _around(schema: dict[str, Any], outer: Any) -> dict[str, Any]:
    """A schema inside another one; its definitions stay at the root, where they are looked for."""
    lifted = {key: schema[key] for key in ("$schema", "$defs") if key in schema}
    inner = {key: value for key, value in schema.items() if key not in lifted and key != "$id"}
    return {**lifted, "type": "object", **outer(inner)}
