"""The SDK as one text, written from the registry: the same registry makes the same bytes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from mainspring.actions.script.sdk.shapes import (
    TypeScriptTypes,
    format_comment,
    format_key,
    indent_lines,
)
from mainspring.contracts.capability import Capability, Effect
from mainspring.contracts.registry import Vocabulary

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
// Keep this file beside your scripts, as mainspring.d.ts; it is never part of a run.
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
# What a workspace is connected to is its own, so the file that everybody may read has no more
# than this. A name that stands above it keeps its own type.
_TOOLS: Final = (
    "/** A tool of one of the workspace's connections, by its whole name: `alias.tool`. */",
    "[tool: `${string}.${string}`]: (given?: any) => Promise<any>;",
)
# What the SDK does with the answer of a request: http_fetch gives the parsed body alone.
_FETCH: Final = "http_fetch"
# A request that only reads never waits for a person.
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
# The parts of the runtime that are types and nothing else.
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
    """Declarations for an editor: what is global in the sandbox."""
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
    said = "/** Every capability, as an async method of the same name. */"
    return f"{said}\nexport interface Brains {{\n{inner}\n}}\n"


@dataclass(slots=True)
class _MethodGroup:
    """Capabilities whose names begin alike, as an object with methods."""

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
                # A capability that is also the first part of others' names.
                lines.append(f"{format_key(name)}: ((given{given}) => {result}) & {{")
                lines += [*indent_lines(self.branches[name].lines()), "};"]
            else:
                lines.append(f"{format_key(name)}(given{given}): {result};")
        for name, branch in self.branches.items():
            if name not in self.methods:
                lines += [f"{format_key(name)}: {{", *indent_lines(branch.lines()), "};"]
        return lines


def _build_signature(capability: Capability) -> tuple[str, str]:
    """The type of what is given, and of what is promised."""
    made = _build_type_name(capability)
    optional = "" if _must_be_given(capability.input_schema) else "?"
    otherwise = "" if capability.write is None else " | Otherwise"
    # An answer of pages is also the list of them.
    listed = f' & {made}Output["pages"]' if _is_paged(capability.output_schema) else ""
    return f"{optional}: {made}Input", f"Promise<{made}Output{listed}{otherwise}>"


def _describe_effect(capability: Capability) -> Iterator[str]:
    if capability.id == _FETCH:
        yield f"\n{_BODY}"
    if capability.annotations.effect is Effect.SEND:
        yield "\nIt leaves the house."
    if capability.write is not None:
        yield "\nIt may wait for a person first, as a draft."


def _must_be_given(schema: Mapping[str, Any]) -> bool:
    return bool(schema.get("required") or schema.get("anyOf") or schema.get("oneOf"))


def _is_paged(schema: Mapping[str, Any]) -> bool:
    pages = schema.get("properties", {}).get("pages", {})
    return pages.get("type") == "array" and "pages" in schema.get("required", ())


def _is_wrapped_by_mcp(capability: Capability) -> bool:
    """Whether MCP puts its answers into an object, which is all that a tool may answer."""
    return capability.output_schema.get("type") != "object"


def _build_type_name(capability: Capability) -> str:
    return "".join(word[:1].upper() + word[1:] for word in _WORD.findall(capability.id))
