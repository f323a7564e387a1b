"""JSON Schema as TypeScript: the type of a value, with what is said about it as comments.

A type says less than its schema: lengths, patterns and conditions stay with the server, which
judges every call anyway. What can be said well in TypeScript is: names, unions, constants,
what may be left out, and which of several arguments belong together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_WIDTH: Final = 92
_DEEPEST: Final = 24
_PLAIN: Final[Mapping[str, str]] = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}


@dataclass(frozen=True, slots=True)
class TypeScriptTypes:
    """Writes the types of one schema; ``free`` stands for values of any kind."""

    free: str = "unknown"
    definitions: Mapping[str, Any] = field(default_factory=dict)

    def type_of(self, schema: Any, depth: int = 0) -> str:
        """The type of whatever fits the schema."""
        if schema is False:
            return "never"
        if not isinstance(schema, Mapping) or depth > _DEEPEST:
            return self.free
        if "$ref" in schema:
            return self.type_of(self._referred(schema["$ref"]), depth + 1)
        if "const" in schema:
            return format_literal(schema["const"])
        if "enum" in schema:
            return format_union(map(format_literal, schema["enum"]))
        return self._by_kind(schema, schema.get("type"), depth)

    def _by_kind(self, schema: Mapping[str, Any], kind: Any, depth: int) -> str:
        if isinstance(kind, list):
            return format_union(self._by_kind(schema, one, depth) for one in kind)
        if kind in _PLAIN:
            return _PLAIN[kind]
        if kind == "array" or (kind is None and "items" in schema):
            return format_array(self.type_of(schema.get("items"), depth + 1))
        if kind == "object" or (kind is None and "properties" in schema):
            return self._object(schema, depth)
        branches = schema.get("oneOf") or schema.get("anyOf")
        return (
            format_union(self.type_of(one, depth + 1) for one in branches)
            if branches
            else self.free
        )

    def _referred(self, pointer: str) -> Any:
        return self.definitions.get(pointer.rpartition("/")[2])

    def _object(self, schema: Mapping[str, Any], depth: int) -> str:
        own = self._members(schema, schema.get("required", ()), depth)
        choices = [
            choice
            for word in ("oneOf", "anyOf")
            if (choice := self._choice(schema, word, depth)) is not None
        ]
        return " & ".join([own, *(f"({choice})" for choice in choices)])

    def _members(self, schema: Mapping[str, Any], required: Iterable[str], depth: int) -> str:
        needed = set(required)
        lines: list[str] = []
        for name, value in schema.get("properties", {}).items():
            shown = self.type_of(value, depth + 1)
            lines += format_comment(list_remarks(value))
            lines.append(f"{format_key(name)}{'' if name in needed else '?'}: {shown};")
        more = schema.get("additionalProperties", True)
        if more is not False:
            kind = self.free if lines else self.type_of(more, depth + 1)
            lines.append(f"[key: string]: {kind};")
        return format_block(lines)

    def _choice(self, schema: Mapping[str, Any], word: str, depth: int) -> str | None:
        """Which arguments belong together, where the schema says no more than their names."""
        branches = schema.get(word)
        if not isinstance(branches, Sequence) or not all(map(_has_only_names, branches)):
            return None
        known = schema.get("properties", {})
        all_names = sorted({name for branch in branches for name in branch["required"]})
        told = []
        for branch in branches:
            names = branch["required"]
            lines = [
                f"{format_key(name)}: {self.type_of(known.get(name), depth + 1)};" for name in names
            ]
            if word == "oneOf":
                lines += [f"{format_key(name)}?: never;" for name in all_names if name not in names]
            told.append(format_block(lines))
        return format_union(told)


def _has_only_names(branch: Any) -> bool:
    return isinstance(branch, Mapping) and bool(branch.get("required")) and len(branch) == 1


def format_literal(value: Any) -> str:
    """A value as the type that has this one value."""
    if isinstance(value, list):
        return f"[{', '.join(map(format_literal, value))}]"
    if isinstance(value, Mapping):
        return format_block(
            [f"{format_key(name)}: {format_literal(one)};" for name, one in value.items()]
        )
    return json.dumps(value, ensure_ascii=True)


def format_union(types: Iterable[str]) -> str:
    """Any of some types, each named once."""
    found = list(dict.fromkeys(types))
    return " | ".join(found) if found else "never"


def format_array(kind: str) -> str:
    plain = _IDENTIFIER.fullmatch(kind) is not None
    return f"{kind}[]" if plain else f"Array<{kind}>"


def format_block(lines: Sequence[str]) -> str:
    """Members between braces: on one line if they are few and short."""
    if not lines:
        return "Record<string, never>"
    short = "{ " + " ".join(line.rstrip(";") + ";" for line in lines)[:-1] + " }"
    if len(short) <= _WIDTH // 2 and not any("\n" in line or "/*" in line for line in lines):
        return short
    return "{\n" + "\n".join(indent_lines(lines)) + "\n}"


def indent_lines(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        for one in line.split("\n"):
            yield f"  {one}" if one else ""


def format_key(name: str) -> str:
    return name if _IDENTIFIER.fullmatch(name) else json.dumps(name)


def format_comment(sentences: Sequence[str]) -> list[str]:
    """A documentation comment; nothing in it can end it."""
    lines = [line for text in sentences for line in _fold_text(text.replace("*/", "*\u200b/"))]
    if not lines:
        return []
    if len(lines) == 1:
        return [f"/** {lines[0]} */"]
    return ["/**", *(f" * {line}".rstrip() for line in lines), " */"]


def _fold_text(text: str) -> Iterator[str]:
    for paragraph in text.splitlines() or [""]:
        line = ""
        for word in paragraph.split():
            if line and len(line) + 1 + len(word) > _WIDTH:
                yield line
                line = word
            else:
                line = f"{line} {word}" if line else word
        yield line


def list_remarks(schema: Any) -> list[str]:
    """What a schema says about a value beside its type, in sentences."""
    if not isinstance(schema, Mapping):
        return []
    said = [str(schema["description"])] if schema.get("description") else []
    facts = list(_list_schema_facts(schema))
    if facts:
        said.append(" ".join(facts))
    return said


def _list_schema_facts(schema: Mapping[str, Any]) -> Iterator[str]:
    if schema.get("x-mainspring-scope") == "secret" and schema.get("type") == "string":
        yield "A secret may stand in it as {{name}}."
    if "format" in schema:
        yield f"Format: {schema['format']}."
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        yield f"{low} to {high}."
    elif low is not None:
        yield f"At least {low}."
    elif high is not None:
        yield f"At most {high}."
    for word, unit in (("maxLength", "characters"), ("maxItems", "entries")):
        if word in schema:
            yield f"At most {schema[word]} {unit}."
    if "default" in schema:
        yield f"Default: {json.dumps(schema['default'], ensure_ascii=True)}."
