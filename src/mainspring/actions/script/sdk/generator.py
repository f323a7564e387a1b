"""Generates the SDK from the registry, deterministically."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from mainspring.contracts.capability import Capability, Effect
from mainspring.contracts.registry import Vocabulary

# JSON Schema as TypeScript: the type of a value, with its constraints as comments.

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
    """Generates the types of one schema; ``free`` is the type of arbitrary values."""

    free: str = "unknown"
    definitions: Mapping[str, Any] = field(default_factory=dict)

    def type_of(self, schema: Any, depth: int = 0) -> str:
        """The type of values that match the schema."""
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
        """Which arguments go together, where the schema only has their names."""
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
    """The literal type of a value."""
    if isinstance(value, list):
        return f"[{', '.join(map(format_literal, value))}]"
    if isinstance(value, Mapping):
        return format_block(
            [f"{format_key(name)}: {format_literal(one)};" for name, one in value.items()]
        )
    return json.dumps(value, ensure_ascii=True)


def format_union(types: Iterable[str]) -> str:
    """A union of types without duplicates."""
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
    """The constraints of a schema besides its type, as sentences."""
    if not isinstance(schema, Mapping):
        return []
    said = [str(schema["description"])] if schema.get("description") else []
    facts = list(_list_schema_facts(schema))
    if facts:
        said.append(" ".join(facts))
    return said


def _list_schema_facts(schema: Mapping[str, Any]) -> Iterator[str]:
    if schema.get("x-mainspring-scope") == "secret" and schema.get("type") == "string":
        yield "It may contain a secret as {{name}}."
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


_RUNTIME: Final = Path(__file__).with_name("runtime.ts")
_WORD: Final = re.compile(r"[A-Za-z0-9]+")
_HEAD: Final = """\
// deno-lint-ignore-file no-explicit-any
// The Mainspring automation SDK, version 1: every capability that a run may call here, as an
// async method of `brains`. It is written from the server's own registry; do not edit it.
//
// Inside a script:        import { brains } from "https://brains/sdks/automation-sdk-v1.ts";
// On your own machine:    set BRAINS_MCP_URL (…/mcp) and BRAINS_RUN_TOKEN (a token of yours).
"""
_TYPES_HEAD: Final = """\
// deno-lint-ignore-file no-explicit-any no-unused-vars
// deno-lint-ignore-file no-explicit-any
// The types of what a script finds in the sandbox without importing anything.
// Keep this file next to your scripts, as mainspring.d.ts; it is never part of a run.
"""
_OTHERWISE: Final = """\
/** What a call may answer instead of its result: a draft waits for a person, or why not. */
export interface Otherwise {
  kind: "draft" | "suppressed" | "clarification" | "noop";
  [key: string]: any;
}
"""
_GLOBALS: Final = """\
declare global {
  const brains: Brains;
  const kv: Kv;
  const event: any;
  const whoami: () => Whoami;
  const untrusted: Untrusted;
  const recentFailures: (
    most?: number | { limit?: number },
  ) => Promise<AutomationRecentFailuresOutput>;
  const BrainsError: {
    new (problem: Partial<Problem>): BrainsError;
  };
  interface BrainsError extends Error {
    readonly code: string;
    readonly status: number;
    readonly problem: Problem;
  }
}
"""
# The connections of a workspace are private, so the public file only contains this. A name that is
# listed above keeps its own type.
_TOOLS: Final = (
    "/** A tool of one of the workspace's connections, by its whole name: `alias.tool`. */",
    "[tool: `${string}.${string}`]: (given?: any) => Promise<any>;",
)
# How the SDK converts a response: http_fetch returns only the parsed body.
_FETCH: Final = "http_fetch"
# A request that only reads is never held for approval.
_READS: Final = '{ method?: "GET" | "HEAD" }'
_BODY: Final = (
    "The answer is the parsed body of a JSON response. Any other response, and every one with "
    "allow_error_status, is answered with ok, status, headers, text, json and url; "
    "http_request always answers so."
)
_WHOLE: Final = (
    "The same request as http_fetch, under its grant. The answer is the whole response: ok, "
    "status, headers, text, json and url."
)
# The parts of the runtime that are only types.
_INTERFACE: Final = re.compile(
    r"(?:^/\*\*[^\n]*\*/\n)?^export (?:interface (?:Problem|Kv|Whoami) \{\n.*?^\}\n|type [^\n]*\n)",
    re.MULTILINE | re.DOTALL,
)


def generate_sdk(vocabulary: Vocabulary) -> str:
    """The whole file, as a script imports it and as it works on any machine."""
    called = list_run_capabilities(vocabulary)
    wrapped = json.dumps(sorted(one.id for one in called if _is_wrapped_by_mcp(one)))
    parts = [
        *_generate_type_lines(called),
        f"// Their answers come inside an object.\nconst WRAPPED: string[] = {wrapped};\n",
        _RUNTIME.read_text(encoding="utf-8"),
    ]
    return "\n".join([_HEAD, *parts])


def generate_types(vocabulary: Vocabulary) -> str:
    """Declarations for an editor: the globals of the sandbox."""
    runtime = _RUNTIME.read_text(encoding="utf-8")
    shared = [found[0] for found in _INTERFACE.finditer(runtime)]
    return "\n".join(
        [_TYPES_HEAD, *_generate_type_lines(list_run_capabilities(vocabulary)), *shared, _GLOBALS]
    )


def compute_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def list_run_capabilities(vocabulary: Vocabulary) -> list[Capability]:
    """What a run can be granted, by name."""
    found = (one for one in vocabulary.capabilities.values() if one.grantable)
    return sorted(found, key=lambda one: one.id)


def _generate_type_lines(capabilities: Sequence[Capability]) -> Iterator[str]:
    yield _OTHERWISE
    for one in capabilities:
        yield _declare_type(f"{_build_type_name(one)}Input", one.input_schema, "unknown")
        yield _declare_type(f"{_build_type_name(one)}Output", one.output_schema, "any")
    yield _generate_sdk_object(capabilities)


def _declare_type(name: str, schema: Mapping[str, Any], free: str) -> str:
    shaper = TypeScriptTypes(free, schema.get("$defs", {}))
    return f"export type {name} = {shaper.type_of(schema)};\n"


def _generate_sdk_object(capabilities: Sequence[Capability]) -> str:
    top = _MethodGroup()
    for one in capabilities:
        top.methods[one.id] = one
        *path, last = one.id.split(".")
        if path:
            top.at(path).methods[last] = one
    inner = "\n".join(indent_lines([*top.lines(), *_TOOLS]))
    text = "/** Every capability, as an async method of the same name. */"
    return f"{text}\nexport interface Brains {{\n{inner}\n}}\n"


@dataclass(slots=True)
class _MethodGroup:
    """Capabilities with a common prefix, as an object with methods."""

    methods: dict[str, Capability] = field(default_factory=dict)
    branches: dict[str, _MethodGroup] = field(default_factory=dict)

    def at(self, path: Iterable[str]) -> _MethodGroup:
        found = self
        for name in path:
            found = found.branches.setdefault(name, _MethodGroup())
        return found

    def lines(self) -> list[str]:
        lines: list[str] = []
        for name, one in self.methods.items():
            given, result = _build_signature(one)
            if one.id == _FETCH:
                read, answer = f"{given} & {_READS}", result.replace(" | Otherwise", "")
                lines += [*format_comment([_WHOLE]), f"http_request(given{read}): {answer};"]
                lines += [f"http_request(given{given}): {result};"]
                result = "Promise<any>"
            lines += format_comment([one.description.strip(), *_describe_effect(one)])
            if name in self.branches:
                # A capability whose name is also a prefix of others.
                lines.append(f"{format_key(name)}: ((given{given}) => {result}) & {{")
                lines += [*indent_lines(self.branches[name].lines()), "};"]
            else:
                lines.append(f"{format_key(name)}(given{given}): {result};")
        for name, branch in self.branches.items():
            if name not in self.methods:
                lines += [f"{format_key(name)}: {{", *indent_lines(branch.lines()), "};"]
        return lines


def _build_signature(capability: Capability) -> tuple[str, str]:
    """The types of the argument and of the promise."""
    made = _build_type_name(capability)
    optional = "" if _must_be_given(capability.input_schema) else "?"
    otherwise = "" if capability.write is None else " | Otherwise"
    # A paged result is also the list of its items.
    listed = f' & {made}Output["pages"]' if _is_paged(capability.output_schema) else ""
    return f"{optional}: {made}Input", f"Promise<{made}Output{listed}{otherwise}>"


def _describe_effect(capability: Capability) -> Iterator[str]:
    if capability.id == _FETCH:
        yield f"\n{_BODY}"
    if capability.annotations.effect is Effect.SEND:
        yield "\nIt goes to an outside system."
    if capability.write is not None:
        yield "\nIt may wait for a person first, as a draft."


def _must_be_given(schema: Mapping[str, Any]) -> bool:
    return bool(schema.get("required") or schema.get("anyOf") or schema.get("oneOf"))


def _is_paged(schema: Mapping[str, Any]) -> bool:
    pages = schema.get("properties", {}).get("pages", {})
    return pages.get("type") == "array" and "pages" in schema.get("required", ())


def _is_wrapped_by_mcp(capability: Capability) -> bool:
    """Whether MCP wraps its results in an object, because tools may only return objects."""
    return capability.output_schema.get("type") != "object"


def _build_type_name(capability: Capability) -> str:
    return "".join(word[:1].upper() + word[1:] for word in _WORD.findall(capability.id))
