"""A second opinion on a definition in plain language. Advisory only."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final

from mainspring.actions.agent.prompts import QuoteMarkers
from mainspring.authoring.generate.context import CUT, REFUSED, GenerationContext, ModelReview, tidy
from mainspring.authoring.generate.prompts import review_opening, review_system
from mainspring.authoring.json_pointers import NOT_THERE, value_at
from mainspring.authoring.models import Level, ReviewFlag
from mainspring.contracts.errors import Problem
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import ModelMessage, ModelReply, ModelRequest, ModelTool, ToolResult
from mainspring.definition.json_in_text import parse_json_text

REVIEW: Final = "review"
SUMMARY: Final = 1_200
MOST_FLAGS: Final = 10
_FLAG: Final = 400
_NAME: Final = 200
_POINTER: Final = 500
_MAX_TOKENS: Final = 2_048
_SHOWN: Final = 50_000
_ASKS: Final = 2
_AGAIN: Final = "That was no review. Call review once, with a summary."

TOOL: Final = ModelTool(
    REVIEW,
    "Give the review.",
    {
        "type": "object",
        "required": ["summary"],
        "additionalProperties": False,
        "properties": {
            "summary": {"type": "string", "minLength": 1, "maxLength": SUMMARY},
            "flags": {
                "type": "array",
                "maxItems": MOST_FLAGS,
                "items": {
                    "type": "object",
                    "required": ["pointer", "text"],
                    "additionalProperties": False,
                    "properties": {
                        "pointer": {
                            "type": "string",
                            "description": "A JSON pointer into the definition.",
                        },
                        "text": {"type": "string", "minLength": 1, "maxLength": _FLAG},
                        "level": {"enum": ["note", "warning"]},
                    },
                },
            },
        },
    },
)


async def ask_reviewer(
    context: GenerationContext,
    document: Mapping[str, Any],
    request: str,
    explained: Sequence[str],
    facts: Sequence[str],
) -> ModelReview:
    """Ask a model to review a definition; on failure ``problem`` has the reason."""
    marks = QuoteMarkers(f"data-{secrets.token_hex(8)}", _SHOWN)
    begun = review_opening(document, request, explained, facts, marks)
    messages = [ModelMessage("user", begun)]
    end = context.clock.monotonic() + context.seconds
    for _ in range(_ASKS):
        if context.left <= 0:
            return ModelReview(problem="The money for a review was spent already.")
        if context.clock.monotonic() >= end:
            return ModelReview(problem="The time for a review was over.")
        try:
            reply = await context.ask(_request(context, messages, review_system(marks.mark)))
        except Problem as problem:
            return ModelReview(problem=f"The reviewing model could not be called: {problem.detail}")
        if reply.stop_reason in REFUSED:
            return ModelReview(problem="The model's provider refused to review this.")
        found = _read(reply, document)
        if found is not None:
            return found
        messages += _again(reply)
    return ModelReview(problem="The reviewer gave no review that could be read.")


def _request(
    context: GenerationContext, messages: Sequence[ModelMessage], system: str
) -> ModelRequest:
    return ModelRequest(
        model=context.model,
        messages=tuple(messages),
        system=system,
        max_tokens=_MAX_TOKENS,
        tools=(TOOL,),
        choice="any",
        max_usd=context.left,
    )


def _again(reply: ModelReply) -> list[ModelMessage]:
    results = tuple(ToolResult(one.id, one.name, _AGAIN, failed=True) for one in reply.calls)
    said = reply.text[:_SHOWN] if reply.text or reply.calls else "…"
    kept = "" if reply.stop_reason in CUT else reply.kept
    return [
        ModelMessage("assistant", said, calls=reply.calls, kept=kept),
        ModelMessage("user", "" if results else _AGAIN, results=results),
    ]


def _read(reply: ModelReply, document: Mapping[str, Any]) -> ModelReview | None:
    if reply.stop_reason in CUT:
        return None
    called = [call.arguments for call in reply.calls if call.name == REVIEW]
    given: Sequence[Any] = called if reply.calls else parse_json_text(reply.text, Limits())
    for one in given:
        summary = tidy(one.get("summary"), SUMMARY) if isinstance(one, Mapping) else ""
        if summary:
            flags = _flags(one.get("flags"), document)
            return ModelReview(summary, flags, tidy(reply.model, _NAME))
    return None


def _flags(value: Any, document: Mapping[str, Any]) -> tuple[ReviewFlag, ...]:
    """Keep the flags that point to an existing place."""
    made: dict[tuple[str, str], ReviewFlag] = {}
    for one in value if isinstance(value, list) else ():
        if not isinstance(one, Mapping) or len(made) >= MOST_FLAGS:
            continue
        pointer, text = one.get("pointer"), tidy(one.get("text"), _FLAG)
        if not isinstance(pointer, str) or not text or len(pointer) > _POINTER:
            continue
        if value_at(document, pointer) is NOT_THERE:
            continue
        level: Level = "warning" if one.get("level") == "warning" else "note"
        made.setdefault((pointer, text), ReviewFlag(pointer, "reviewer", text, level, "model"))
    return tuple(made.values())
