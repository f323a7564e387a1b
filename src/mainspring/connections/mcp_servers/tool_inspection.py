"""A tool as its server describes it, judged before anything of it is kept.

Text is cut and cleaned, hints are the few that are known, and a schema must be one that our own
checker would take from anybody. What cannot be used is kept by its name, with the reason.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest
from typing import Any, Final

from mainspring.contracts.errors import Finding, Problem, UpstreamError
from mainspring.contracts.limits import Limits
from mainspring.definition.json_schema.validator import check_schema
from mainspring.definition.strict_json import check_value, encode_canonical, join_pointer
from mainspring.outbound.mcp.session import ListedTool
from mainspring.outbound.mcp.tool_results import is_nested_deeper, strip_nul

# What a person agrees to when they agree to a tool, in one hash, and what is different now.

_PURPOSE: Final = b"mainspring tool v1\0"
# Control characters, and those that are not seen or turn text around.
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\u115f\u1160\u3164\uffa0\U000e0000-\U000e0fff\ud800-\udfff]"
)
# Says how the character before it looks, as emoji do; a row of them is a message.
_HIDDEN_ROW: Final = re.compile("[\ufe00-\ufe0f]{2,}")
_LONGEST_LINE: Final = 300
_LONGEST_NAME: Final = 100
# What stays before the place where two long lines part.
_LED_IN: Final = 60
# More than a person reads of one tool.
MOST_LINES: Final = 200


@dataclass(frozen=True, slots=True)
class ToolDescription:
    """A tool as its server describes it, cleaned and bounded."""

    name: str
    title: str = ""
    description: str = ""
    input_schema: Any = field(default_factory=dict)
    output_schema: Any = None
    hints: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "input_schema": self.input_schema,
            "output_schema": self.output_schema,
            "hints": dict(self.hints),
        }

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> ToolDescription:
        """Reads back what ``as_dict`` made."""
        return cls(
            kept["name"],
            kept["title"],
            kept["description"],
            kept["input_schema"],
            kept["output_schema"],
            kept["hints"],
        )


def hash_tool(offered: ToolDescription) -> bytes:
    """The one hash of all that is agreed to."""
    return hashlib.sha256(_PURPOSE + encode_canonical(offered.as_dict())).digest()


def clean_text(text: str, most: int) -> str:
    """Text of a stranger: without what is not seen, and no longer than what is read."""
    kept = _UNSEEN.sub("", text[: most * 2].replace("\r\n", "\n").replace("\r", "\n"))
    kept = _HIDDEN_ROW.sub("", kept)
    return kept if len(kept) <= most else kept[:most] + " …"


def hides(text: str) -> bool:
    """Whether there is something in a text that nobody would see."""
    return bool(_UNSEEN.search(text) or _HIDDEN_ROW.search(text))


def differences(
    agreed: ToolDescription, offered: ToolDescription, most: int = MOST_LINES
) -> list[str]:
    """What is different now, in at most so many lines that a person reads, and one more."""
    found = list(islice(_differences(agreed, offered), most + 1))
    return found if len(found) <= most else [*found[:most], "… and more"]


def _differences(agreed: ToolDescription, offered: ToolDescription) -> Iterator[str]:
    yield from _of_text("title", agreed.title, offered.title)
    yield from _of_text("description", agreed.description, offered.description)
    yield from _of_value("input", agreed.input_schema, offered.input_schema)
    yield from _of_value("output", agreed.output_schema, offered.output_schema)
    yield from _of_value("hints", agreed.hints, offered.hints)


def _of_text(what: str, before: str, after: str) -> Iterator[str]:
    if before == after:
        return
    gone, come = before.splitlines() or [""], after.splitlines() or [""]
    # Looked up in sets: a stranger chooses how many lines there are.
    were, are = frozenset(gone), frozenset(come)
    if were == are:
        yield f"~ {what}: the same lines, otherwise spaced or in another order"
        return
    left = [line for line in gone if line not in are and line.strip()]
    new = [line for line in come if line not in were and line.strip()]
    yield from _beside(what, left, new)


def _of_value(what: str, before: Any, after: Any) -> Iterator[str]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in sorted({*before, *after}):
            at = f"{what}.{name[:_LONGEST_NAME]}"
            if name not in after:
                yield f"- {at}: {_truncate_line(_format_value(before[name]))}"
            elif name not in before:
                yield f"+ {at}: {_truncate_line(_format_value(after[name]))}"
            else:
                yield from _of_value(at, before[name], after[name])
        return
    was, now = _format_value(before), _format_value(after)
    if was != now:
        yield from _beside(what, [was], [now])


def _beside(what: str, gone: Sequence[str], come: Sequence[str]) -> Iterator[str]:
    """Lines that left and lines that came; of two long ones, from where they part."""
    parted = [_split_difference(*pair) for pair in zip_longest(gone, come, fillvalue="")]
    yield from (f"- {what}: {line}" for line, _ in parted[: len(gone)])
    yield from (f"+ {what}: {line}" for _, line in parted[: len(come)])


def _split_difference(before: str, after: str) -> tuple[str, str]:
    pairs = enumerate(zip(before, after, strict=False))
    least = min(len(before), len(after))
    same = next((place for place, (one, other) in pairs if one != other), least)
    if same <= _LED_IN or max(len(before), len(after)) <= _LONGEST_LINE:
        return _truncate_line(before), _truncate_line(after)
    begin = same - _LED_IN
    return "… " + _truncate_line(before[begin:]), "… " + _truncate_line(after[begin:])


def _format_value(value: Any) -> str:
    return "nothing" if value is None else encode_canonical(value).decode()


def _truncate_line(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + " …"


_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_BAD_NAME: Final = "Its name is not 1 to 64 letters, digits, dots, dashes and underscores."
_TWINS: Final = "Several of its tools have this name, so it is ambiguous."
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
                "The tool descriptions of the server take too long to check.",
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
        return f"Its {which} schema has characters at {hidden[:200]} that are invisible."
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
