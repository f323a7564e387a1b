"""Our words for a conversation in the words of the library that knows the wires, and back.

A turn of the model's that goes on with tools may carry thoughts which its provider wants back,
signed and in their place. They are kept as a short text beside the turn: the thoughts themselves
and where between its words and calls they stood. On another provider's wire they mean nothing and
are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from mainspring.contracts import model as ours

# A provider refuses a result without any text.
NO_CONTENT: Final = "(no content)"
# Fields in which servers of OpenAI's wire tell their thoughts, and want them back.
_TOLD_IN: Final = frozenset({"reasoning", "reasoning_content"})
# An answer that asks for more is cut off there, and says so of itself.
MOST_CALLS: Final = 256
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """What a model said, in our words."""

    text: str
    calls: tuple[ours.ToolCall, ...]
    thoughts: str
    kept: str
    # Whether it asked for more than it is heard with.
    cut: bool = False


def to_messages(request: ours.ModelRequest, system: str) -> list[ModelMessage]:
    """The conversation; ``system`` is what the library calls the provider."""
    return [
        _response(message, system) if message.role == "assistant" else _request(message)
        for message in request.messages
    ]


def to_parameters(request: ours.ModelRequest) -> ModelRequestParameters:
    """The system text and the tools."""
    system = [] if request.system is None else [InstructionPart(content=request.system)]
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=dict(tool.input_schema),
                strict=False,
            )
            for tool in request.tools
        ],
        # Where a model cannot be made to ask for a tool, it is left to it.
        allow_text_output=request.choice != "any" or not request.tools,
        instruction_parts=system,
    )


def from_response(response: ModelResponse) -> ParsedReply:
    """What came back, with ids that tell its calls apart."""
    parts, cut = _limit_calls(response.parts)
    calls: list[ours.ToolCall] = []
    used: set[str] = set()
    for part in parts:
        if isinstance(part, ToolCallPart):
            unique = _free(part.tool_call_id, len(calls), used)
            used.add(unique)
            calls.append(ours.ToolCall(unique, part.tool_name, _arguments(part.args)))
    texts = [part.content for part in parts if isinstance(part, TextPart)]
    thoughts = [part.content for part in parts if isinstance(part, ThinkingPart)]
    return ParsedReply(
        "".join(texts),
        tuple(calls),
        "\n\n".join(thought for thought in thoughts if thought),
        _serialize_thoughts(response.provider_name, parts) if calls else "",
        cut,
    )


def _limit_calls(parts: Sequence[ModelResponsePart]) -> tuple[Sequence[ModelResponsePart], bool]:
    """The parts up to the last call that is heard, and whether others follow it."""
    calls = [place for place, part in enumerate(parts) if isinstance(part, ToolCallPart)]
    if len(calls) <= MOST_CALLS:
        return parts, False
    return parts[: calls[MOST_CALLS]], True


def _free(found: str, place: int, used: set[str]) -> str:
    """The id of a call, or one like it that no other call has."""
    if found and found not in used:
        return found
    made = f"{found or 'call'}-{place}"
    while made in used:
        made = f"{made}-{place}"
    return made


def _request(message: ours.ModelMessage) -> ModelRequest:
    parts: list[ModelRequestPart] = [
        ToolReturnPart(
            tool_name=_fitting(result.name),
            content=result.content or NO_CONTENT,
            tool_call_id=result.id,
            outcome="failed" if result.failed else "success",
        )
        for result in message.results
    ]
    if message.content:
        parts.append(UserPromptPart(content=message.content))
    return ModelRequest(parts=parts)


def _response(message: ours.ModelMessage, system: str) -> ModelResponse:
    parts = list(_plain(message))
    if message.kept:
        parts = _with_thoughts(message, parts, system) or parts
    return ModelResponse(parts=parts, provider_name=system)


def _plain(message: ours.ModelMessage) -> Iterator[ModelResponsePart]:
    if message.content:
        yield TextPart(content=message.content)
    for call in message.calls:
        given = call.arguments
        yield ToolCallPart(
            tool_name=_fitting(call.name),
            args=given if isinstance(given, str) else dict(given),
            tool_call_id=call.id,
        )


def _fitting(name: str) -> str:
    """A name as a provider takes it back: a model may have said one that is no tool's at all."""
    return _FOREIGN.sub("_", name)[:64] or "_"


def _serialize_thoughts(system: str | None, parts: Sequence[ModelResponsePart]) -> str:
    """The thoughts and their places; empty when there are none that must go back."""
    order: list[list[Any]] = []
    for part in parts:
        if isinstance(part, TextPart):
            order.append(["text", len(part.content)])
        elif isinstance(part, ToolCallPart):
            order.append(["call"])
        elif isinstance(part, ThinkingPart) and (part.signature or part.id in _TOLD_IN):
            order.append(["thought", part.content, part.signature, part.id])
    if not any(entry[0] == "thought" for entry in order):
        return ""
    shown = {"system": system, "order": order}
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))


def _with_thoughts(
    message: ours.ModelMessage, plain: Sequence[ModelResponsePart], system: str
) -> list[ModelResponsePart] | None:
    """The turn as it was; None when what was kept is another's or does not fit the turn."""
    try:
        kept = json.loads(message.kept)
        if kept["system"] != system:
            return None
        return list(_in_order(kept["order"], message.content, plain, system))
    except (ValueError, TypeError, KeyError, IndexError, StopIteration, RuntimeError):
        return None


def _in_order(
    order: Sequence[Sequence[Any]], text: str, plain: Sequence[ModelResponsePart], system: str
) -> Iterator[ModelResponsePart]:
    calls = iter([part for part in plain if isinstance(part, ToolCallPart)])
    for entry in order:
        if entry[0] == "text":
            yield TextPart(content=text[: entry[1]])
            text = text[entry[1] :]
        elif entry[0] == "call":
            yield next(calls)
        else:
            _, content, signature, part_id = entry
            yield ThinkingPart(
                content=content, signature=signature, id=part_id, provider_name=system
            )
    if text or next(calls, None) is not None:
        raise ValueError("the turn holds more than what was kept of it")


def _arguments(given: str | Mapping[str, Any] | None) -> dict[str, Any] | str:
    """The object that a call is made with, or the text that is none."""
    if not isinstance(given, str):
        return dict(given or {})
    try:
        found = json.loads(given) if given.strip() else {}
    except (ValueError, RecursionError):
        return given
    return found if isinstance(found, dict) else given
