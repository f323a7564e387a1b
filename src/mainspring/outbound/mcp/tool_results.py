"""What a tool has answered, as a value that a step can use and a record can keep.

Structured content is the value. Without it the text is, and what the text says if it is JSON.
Pictures and the like are told by kind and size and not carried: a step that wants them saves
them as artifacts from their address.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from mainspring.contracts.errors import Invalid, Problem, UpstreamError
from mainspring.contracts.limits import Limits
from mainspring.definition.strict_json import check_value

_SENTENCE: Final = 500
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")
_MOST_BLOCKS: Final = 1_000
# A step's value puts what was answered below names of its own.
_LEVELS_ABOVE: Final = 2


@dataclass(frozen=True, slots=True)
class McpToolResult:
    """What came of a call that did not fail."""

    value: Any
    # Whether the server gave the value as JSON of its own, which an output schema describes.
    structured: bool


def read_answer(
    content: Iterable[Mapping[str, Any]],
    structured: Any,
    *,
    has_structured: bool,
    limits: Limits,
    alias: str,
) -> McpToolResult:
    """The value of an answer, within its bounds; what is wrong with it is the tool's fault."""
    most = limits.step_output_bytes
    if has_structured:
        if is_nested_deeper(structured, limits.json_depth - _LEVELS_ABOVE):
            raise _unusable(alias, "its value is nested too deep")
        value = strip_nul(structured)
    else:
        value = _from_blocks(content, limits, alias)
    try:
        check_value(value, limits)
        size = len(orjson.dumps(value))
    except (Invalid, TypeError) as error:
        why = error.detail if isinstance(error, Invalid) else "it is not JSON"
        raise _unusable(alias, why) from None
    if size > most:
        raise _too_large(alias, size, most)
    return McpToolResult(value, has_structured)


def _unusable(alias: str, why: str) -> UpstreamError:
    return UpstreamError(
        f"{alias} answered with something that cannot be used: {why.rstrip('.')}.",
        code="tool_answer_invalid",
        retryable=False,
    )


def _too_large(alias: str, size: int, most: int) -> UpstreamError:
    return UpstreamError(
        f"The answer of {alias} has {size} bytes, and {most} are kept at most.",
        code="result_too_large",
        retryable=False,
    )


def failure(content: Iterable[Mapping[str, Any]], alias: str, tool: str) -> Problem:
    """The problem of a tool that says that it has failed."""
    text = sentence(" ".join(str(block.get("text", "")) for block in content))
    told = f": {text}" if text else "."
    return UpstreamError(f"{alias}.{tool} failed{told}", code="tool_failed", retryable=False)


def sentence(text: str) -> str:
    """What another system says, short and on one line."""
    plain = " ".join(_CONTROL.sub(" ", text[: _SENTENCE * 4]).split())
    return plain if len(plain) <= _SENTENCE else plain[:_SENTENCE] + " …"


def is_nested_deeper(value: Any, levels: int) -> bool:
    """Whether a value goes deeper than so many levels, told without going down into it."""
    here = [value]
    for _ in range(levels):
        here = [
            inner
            for one in here
            if isinstance(one, Mapping | list)
            for inner in (one.values() if isinstance(one, Mapping) else one)
        ]
    return any(isinstance(one, Mapping | list) for one in here)


def strip_nul(value: Any) -> Any:
    """A JSON value that the database can keep: no NUL in any text or key."""
    if isinstance(value, str):
        return value.replace("\x00", "\ufffd")
    if isinstance(value, Mapping):
        return {strip_nul(str(key)): strip_nul(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [strip_nul(inner) for inner in value]
    # An integer beyond 64 bits cannot be kept as one.
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 1 << 63:
        return float(value) if abs(value) < 1 << 1000 else str(value)
    return value


def _from_blocks(
    content: Iterable[Mapping[str, Any]], limits: Limits, alias: str
) -> dict[str, Any]:
    texts: list[str] = []
    others: list[dict[str, Any]] = []
    for place, block in enumerate(content):
        if place >= _MOST_BLOCKS:
            break
        if block.get("type") == "text":
            texts.append(str(block.get("text", "")))
        else:
            others.append(_describe_block(block))
    text = strip_nul("\n".join(texts))
    # Told before it is read: reading takes longer than measuring.
    if len(text) > limits.step_output_bytes:
        raise _too_large(alias, len(text), limits.step_output_bytes)
    value: dict[str, Any] = {"text": text}
    parsed = _parse_json_text(text, limits)
    if parsed is not None:
        value["json"] = parsed
    if others:
        value["others"] = others
    return value


def _parse_json_text(text: str, limits: Limits) -> Any:
    """Many servers answer JSON as text; an object or a list is worth having as one.

    What is no JSON that a step could use is text and nothing else.
    """
    if text[:1] not in {"{", "["}:
        return None
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return None if is_nested_deeper(found, limits.json_depth - _LEVELS_ABOVE) else strip_nul(found)


def _describe_block(block: Mapping[str, Any]) -> dict[str, Any]:
    """A block that is not text, by what it is."""
    inner = block.get("resource")
    told = {**block, **inner} if isinstance(inner, Mapping) else dict(block)
    data = told.get("data") or told.get("blob") or ""
    shown: dict[str, Any] = {"type": sentence(str(block.get("type", "")))}
    for name, key in (("mime_type", "mimeType"), ("uri", "uri"), ("name", "name")):
        if isinstance(told.get(key), str):
            shown[name] = sentence(told[key])
    if isinstance(told.get("text"), str):
        shown["text"] = strip_nul(told["text"])
    elif isinstance(data, str) and data:
        shown["bytes"] = len(data) * 3 // 4
    return shown
