"""Compact outlines of schemas for a prompt.

The notation is TypeScript's, which takes a fifth of the tokens of JSON Schema. It is derived from
the schemas, so it cannot contradict the validator.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from mainspring.contracts.capability import Capability, Effect
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.schema import build_definition_schema
from mainspring.definition.templates import FILTERS, TESTS
from mainspring.definition.templates.filters import REQUIRED

_DEEPEST: Final = 6
_SENTENCE: Final = 160
_VALUE: Final = 60
_MOST_KEYS: Final = 60
_MOST_OPTIONS: Final = 30
# Keys that the application sets, or that follow from the plan.
_NOT_THEIRS: Final = frozenset({"schema_version", "intent", "metadata", "grants", "retention"})
_TYPES: Final = {"integer": "integer", "number": "number", "boolean": "boolean", "null": "null"}
_FILTER: Final = "#/$defs/filter"


class SchemaOutline:
    """A schema with the definitions it references."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        defs = root.get("$defs")
        self._defs: Mapping[str, Any] = defs if isinstance(defs, Mapping) else {}

    def render_type(self, schema: Any, depth: int = 0) -> str:
        """Render a schema as a type."""
        if not isinstance(schema, Mapping) or depth > _DEEPEST:
            return "any"
        reference = schema.get("$ref")
        if isinstance(reference, str):
            if reference == _FILTER:
                return "Filter"
            return self.render_type(self._defs.get(reference.rpartition("/")[2]), depth + 1)
        if "const" in schema:
            return _value(schema["const"])
        if isinstance(schema.get("enum"), list):
            return " | ".join(map(_value, schema["enum"][:_MOST_OPTIONS]))
        return self._by_type(schema, depth)

    def _by_type(self, schema: Mapping[str, Any], depth: int) -> str:
        kind = schema.get("type")
        if isinstance(kind, list):
            return " | ".join(
                dict.fromkeys(self._by_type({**schema, "type": one}, depth) for one in kind)
            )
        if kind == "object" or (kind is None and "properties" in schema):
            return self._object(schema, depth)
        if kind == "array":
            item = self.render_type(schema.get("items"), depth + 1)
            return f"({item})[]" if " | " in item else f"{item}[]"
        if kind == "string":
            return _text(schema)
        if isinstance(kind, str) and kind in _TYPES:
            return _number(_TYPES[kind], schema)
        options = schema.get("anyOf") or schema.get("oneOf")
        if isinstance(options, list):
            told = (self.render_type(one, depth + 1) for one in options[:_MOST_OPTIONS])
            return " | ".join(dict.fromkeys(told))
        return "any"

    def _object(self, schema: Mapping[str, Any], depth: int) -> str:
        lines = list(self.keys(schema, depth))
        if lines:
            return "{ " + "; ".join(lines) + " }" + _either(schema)
        rest = schema.get("additionalProperties")
        return (
            f"{{ [key]: {self.render_type(rest, depth + 1)} }}"
            if isinstance(rest, Mapping)
            else "{}"
        )

    def keys(self, schema: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
        """Render the keys of an object, with descriptions at the top level."""
        properties = schema.get("properties")
        if not isinstance(properties, Mapping):
            return
        needed = schema.get("required")
        needed = needed if isinstance(needed, list) else []
        for name, one in list(properties.items())[:_MOST_KEYS]:
            message = f"{name}{'' if name in needed else '?'}: {self.render_type(one, depth + 1)}"
            if isinstance(one, Mapping):
                if "default" in one and one["default"] not in (None, {}, []):
                    message += f" = {_value(one['default'])}"
                if depth == 0:
                    message += _meaning(one)
            yield message


def _either(schema: Mapping[str, Any]) -> str:
    """Keys of which one is required."""
    for options in (schema.get("oneOf"), schema.get("anyOf")):
        if isinstance(options, list) and all(isinstance(one, Mapping) for one in options):
            names = [" and ".join(map(str, one.get("required", ()))) for one in options]
            if all(names):
                return f" with {' or '.join(names)}"
    return ""


def _meaning(schema: Mapping[str, Any]) -> str:
    said = schema.get("description")
    if not isinstance(said, str) or not said:
        return ""
    line = " ".join(said.split())
    return f"  // {line if len(line) <= _SENTENCE else line[:_SENTENCE] + '…'}"


def _text(schema: Mapping[str, Any]) -> str:
    said = [str(schema["format"])] if isinstance(schema.get("format"), str) else []
    longest = schema.get("maxLength")
    if isinstance(longest, int) and longest <= 1_000:
        said.append(f"≤{longest}")
    return f"string({', '.join(said)})" if said else "string"


def _number(kind: str, schema: Mapping[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is None and high is None:
        return kind
    return f"{kind}({'' if low is None else low}..{'' if high is None else high})"


def _value(value: Any) -> str:
    message = json.dumps(value, ensure_ascii=False, default=str)
    return message if len(message) <= _VALUE else f"{message[:_VALUE]}…"


def block(title: str, schema: Mapping[str, Any], text: str = "") -> str:
    """Render an object with one key per line."""
    lines = [f"  {line}" for line in SchemaOutline(schema).keys(schema)]
    head = f"{title} {{" + (f"  // {text}" if text else "")
    return "\n".join([head, *lines, "}" + _either(schema)])


@lru_cache(maxsize=1)
def envelope() -> str:
    """Outline a definition without the parts that the model does not write."""
    schema = build_definition_schema()
    parts = schema["$defs"]
    shown = [
        block(name, _trim_schema(parts[name]))
        for name in ("Trigger", "Step", "Execution", "Writes")
    ]
    given = schema["properties"]
    inputs = parts["Inputs"]["properties"]["schema"]["description"]
    properties = {
        **given,
        "inputs": {"type": "object", "description": f"{{ schema }}: {inputs}"},
        "triggers": _summarize_list("Trigger", given["triggers"]),
        "plan": _summarize_list("Step", given["plan"]),
        "execution": {"type": "object", "description": "An Execution, below."},
        "writes": {"type": "object", "description": "A Writes, below."},
    }
    root = _trim_schema({**schema, "properties": properties})
    return "\n".join([block("Definition", root), *shown])


def _summarize_list(kind: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "array",
        "description": f"Each a {kind}, below. {schema.get('description', '')}",
    }


def _trim_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = {
        name: one
        for name, one in schema["properties"].items()
        if name not in _NOT_THEIRS | {"write_policy"}
    }
    if "on_failure" in properties:
        properties["on_failure"] = _summarize_list("Step", properties["on_failure"])
    return {**schema, "properties": properties}


def triggers(vocabulary: Vocabulary) -> str:
    """Outline every trigger type: its config, and the ``trigger`` variable of its runs."""
    told = []
    seen: set[str] = set()
    for one in vocabulary.triggers.values():
        payload = one.payload_schema.get("properties")
        names = ", ".join(payload) if isinstance(payload, Mapping) and payload else ""
        told.append(_shorten(block(one.type, one.config_schema, one.description), seen))
        if names:
            told.append(f"  runs read trigger.{{{names}}}")
    return "\n".join(told)


def _shorten(outline: str, seen: set[str]) -> str:
    """Name fields that an earlier outline has described in the same words, once for all."""
    kept, repeated = list[str](), list[str]()
    for line in outline.split("\n"):
        name, comment = line.strip().partition(":")[0], "  // "
        if line.startswith("  ") and comment in line and line in seen:
            repeated.append(name)
        else:
            kept.append(line)
            seen.add(line)
    if repeated:
        kept.insert(len(kept) - 1, f"  {', '.join(repeated)}  // as above")
    return "\n".join(kept)


def actions(vocabulary: Vocabulary) -> str:
    """Outline every action with its config and its output."""
    told = []
    for one in vocabulary.actions.values():
        told.append(block(one.type, one.config_schema, _one_line(one.description)))
        if one.output_schema:
            told.append(f"  {_gives(one.output_schema)}")
    return "\n".join(told)


def capabilities(vocabulary: Vocabulary) -> str:
    """Outline the built-in capabilities: name, effect and description."""
    return "\n".join(
        f"{one.id}  [{reach(one)}] {one.label}"
        for one in vocabulary.capabilities.values()
        if one.grantable and not from_outside(one)
    )


def reach(capability: Capability) -> str:
    write = capability.write
    if write is not None and capability.annotations.reach is not None:
        return "reads; a person agrees first to what changes something"
    if write is not None and not write.sent_by_default:
        return "sends, a person agrees first"
    effect = capability.annotations.effect
    return {Effect.READ: "reads", Effect.KEEP: "writes here", Effect.SEND: "sends"}[effect]


def from_outside(capability: Capability) -> bool:
    """Whether it is an MCP tool, whose description is untrusted."""
    return bool(capability.annotations.pin)


def aliases(vocabulary: Vocabulary) -> list[str]:
    """The aliases of the connections with usable tools."""
    outside = (one.id for one in vocabulary.capabilities.values() if from_outside(one))
    return sorted({name.partition(".")[0] for name in outside})


def describe_capability(capability: Capability) -> str:
    """Describe one capability in full."""
    parts = [
        f"{capability.id} [{reach(capability)}]",
        capability.description.strip(),
        block("config", capability.input_schema),
        _gives(capability.output_schema),
    ]
    if capability.annotations.secret_arguments:
        names = ", ".join(sorted(capability.annotations.secret_arguments))
        parts.append(f"{names} may be {{{{ secrets.name }}}} with the name of a secret there is.")
    if capability.annotations.held_back:
        parts.append(f"It cannot be called now: {capability.annotations.held_back}")
    return "\n".join(parts)


def filters() -> str:
    """Outline the template filters with parameters, and the tests."""
    told = []
    for name, one in sorted(FILTERS.items()):
        given = ", ".join(
            key if value is REQUIRED else f"{key}={_value(value)}" for key, value in one.parameters
        )
        told.append(f"{name}({given})" if given else name)
    return f"Filters: {', '.join(told)}.\nTests: {', '.join(sorted(TESTS))}."


def _gives(schema: Mapping[str, Any]) -> str:
    return f"gives {SchemaOutline(schema).render_type(schema, 1)}"


def _one_line(text: str) -> str:
    label, _, more = text.strip().partition("\n")
    return ": ".join(filter(None, (label, " ".join(more.split()))))
