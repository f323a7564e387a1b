"""A tool as its server describes it, judged before anything of it is kept.

Text is cut and cleaned, hints are the few that are known, and a schema must be one that our own
checker would take from anybody. What cannot be used is kept by its name, with the reason.
"""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from mainspring.contracts.errors import Finding, Problem, UpstreamError
from mainspring.contracts.limits import Limits
from mainspring.definition.json_schema.check import check_schema
from mainspring.definition.json_values import check_value, encode_canonical
from mainspring.definition.pointers import join_pointer
from mainspring.gate.outside.answers import is_nested_deeper, strip_nul
from mainspring.gate.outside.pins import ToolDescription, clean_text, hash_tool, hides
from mainspring.gate.outside.session import ListedTool

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_BAD_NAME: Final = "Its name is not 1 to 64 letters, digits, dots, dashes and underscores."
_TWINS: Final = "Several of its tools are called this, and nobody could tell which is meant."
_UNNAMED: Final = "(no name)"
_TITLE: Final = 200
# Time of the processor that the tools of one connection are worth.
_MOST_SECONDS: Final = 20.0
# Says which rules a schema is written by; those of older drafts that we take are the same.
_DIALECT: Final = re.compile(r"https?://json-schema\.org/draft[-/][0-9a-z-]+/schema#?")
# Words of a schema that only tell.
_TELLING: Final = frozenset({"description", "title", "$comment"})
# What a schema says to us alone; a stranger may not.
_OURS: Final = ("x-mainspring-", "x-anti-examples")


@dataclass(frozen=True, slots=True)
class InspectedTool:
    """A tool that was looked at: its hash, and why it cannot be used if it cannot."""

    offered: ToolDescription
    hash: bytes
    reason: str | None = None


def inspect_tools(
    tools: Sequence[ListedTool], limits: Limits, stop: threading.Event | None = None
) -> list[InspectedTool]:
    """All tools of a connection, each name once; it ends early when nobody waits for it."""
    named = Counter(_name(tool) for tool in tools)
    ends = time.thread_time() + _MOST_SECONDS
    found: dict[str, InspectedTool] = {}
    for tool in tools:
        if stop is not None and stop.is_set():
            break
        if time.thread_time() > ends:
            raise UpstreamError(
                "The server describes its tools in a way that takes too long to look at.",
                code="too_many_tools",
                retryable=False,
            )
        name = _name(tool)
        if name not in found:
            found[name] = _twins(name) if named[name] > 1 else inspect_tool(tool, limits)
    return list(found.values())


def _name(tool: ListedTool) -> str:
    return clean_text(strip_nul(tool.name), 100) or _UNNAMED


def _twins(name: str) -> InspectedTool:
    offered = ToolDescription(name)
    return InspectedTool(offered, hash_tool(offered), _TWINS)


def inspect_tool(seen: ListedTool, limits: Limits) -> InspectedTool:
    """One tool, cleaned, with the reason if it cannot be used."""
    if is_nested_deeper([seen.input_schema, seen.output_schema], limits.json_depth):
        offered = ToolDescription(_name(seen))
        return InspectedTool(offered, hash_tool(offered), "Its schemas are nested too deep.")
    tool = _sanitize_tool(seen)
    offered = ToolDescription(
        name=_name(tool),
        title=clean_text(tool.title, _TITLE).replace("\n", " "),
        description=clean_text(tool.description, limits.tool_text),
        hints={name: tool.hints[name] for name in _HINTS if isinstance(tool.hints.get(name), bool)},
    )
    if not _NAME.fullmatch(tool.name):
        return InspectedTool(offered, hash_tool(offered), _BAD_NAME)
    reason = _unusable(tool.input_schema, "input", limits)
    if reason is None and tool.output_schema is not None:
        reason = _unusable(tool.output_schema, "output", limits)
    if reason is not None:
        return InspectedTool(offered, hash_tool(offered), reason)
    output = None if tool.output_schema is None else clean_schema(tool.output_schema, limits)
    offered = replace(
        offered, input_schema=clean_schema(tool.input_schema, limits), output_schema=output
    )
    return InspectedTool(offered, hash_tool(offered))


def _sanitize_tool(tool: ListedTool) -> ListedTool:
    """A tool in values that the database can keep."""
    output = tool.output_schema
    return replace(
        tool,
        name=strip_nul(tool.name),
        title=strip_nul(tool.title),
        description=strip_nul(tool.description),
        input_schema=strip_nul(tool.input_schema),
        output_schema=None if output is None else strip_nul(output),
    )


def clean_schema(schema: Any, limits: Limits) -> Any:
    """A schema in which only what describes values is left, its text cleaned."""
    made = _clean_schema_value(schema, limits)
    if isinstance(made, dict):
        dialect = made.get("$schema")
        if isinstance(dialect, str) and _DIALECT.fullmatch(dialect):
            del made["$schema"]
        made.pop("$id", None)
    return made


def _clean_schema_value(value: Any, limits: Limits) -> Any:
    if isinstance(value, Mapping):
        return {
            name: clean_text(entry, limits.tool_text)
            if name in _TELLING and isinstance(entry, str)
            else _clean_schema_value(entry, limits)
            for name, entry in value.items()
            if not name.startswith(_OURS)
        }
    return (
        [_clean_schema_value(entry, limits) for entry in value]
        if isinstance(value, list)
        else value
    )


def _unusable(schema: Any, which: str, limits: Limits) -> str | None:
    """Why a schema cannot be used, in a sentence; None when it can."""
    try:
        check_value(schema, limits)
        size = len(encode_canonical(schema))
    except Problem as problem:
        return _sentence(which, problem.findings[0] if problem.findings else None)
    if size > limits.tool_schema_bytes:
        return f"Its {which} schema is larger than {limits.tool_schema_bytes:,} bytes."
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        return f"Its {which} schema does not describe an object."
    left = clean_schema(schema, limits)
    hidden = next(_find_hidden_text(left, ""), None)
    if hidden is not None:
        return f"Its {which} schema has characters at {hidden[:200]} that nobody can see."
    found = check_schema(left, limits)
    return _sentence(which, found[0]) if found else None


def _find_hidden_text(value: Any, at: str) -> Iterator[str]:
    """Where a text has something in it that a person would not see and a model would read."""
    if isinstance(value, str) and hides(value):
        yield at or "/"
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            if hides(name):
                yield at or "/"
            yield from _find_hidden_text(inner, join_pointer(at, clean_text(name, 100)))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _find_hidden_text(inner, join_pointer(at, place))


def _sentence(which: str, finding: Finding | None) -> str:
    if finding is None:
        return f"Its {which} schema cannot be used."
    where = f" at {finding.pointer[:200]}" if finding.pointer else ""
    return f"Its {which} schema cannot be used{where}: {finding.detail[:300]}"
