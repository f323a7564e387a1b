"""What a model gave that is too deep or too large to be kept, which it is told to give anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mainspring.actions.agent.words import format_value
from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import ToolCall
from mainspring.definition.json_values import check_value, encode_canonical


def must_be_object(what: str, limits: Limits) -> str:
    """What is said to arguments that are none, or one that was too deep to be kept."""
    return f"{what} a JSON object, nested at most {limits.json_depth} levels deep."


def find_output_problems(output: Any, limits: Limits) -> list[Finding]:
    """Why the output of an agent cannot be kept as that of its step; nothing when it can."""
    try:
        # It stands inside of what the call answers, one level deeper.
        check_value([output], limits)
    except Invalid as problem:
        return [replace(one, pointer="") for one in problem.findings]
    size = len(encode_canonical(output))
    if size <= limits.step_output_bytes:
        return []
    detail = f"The answer is {size} bytes; at most {limits.step_output_bytes} are kept."
    return [Finding("", detail, "output_too_large", "Give a shorter answer.")]


def shorten_call(call: ToolCall, limits: Limits) -> ToolCall:
    """A call that was refused, as the conversation goes on with it: nobody pays to read more."""
    text = format_value(call.arguments)
    short = shorten_text(text, limits)
    return call if short == text else replace(call, arguments=short)


def shorten_text(text: str, limits: Limits) -> str:
    """A text of the model's that came to nothing, as it is reminded of it."""
    most = limits.agent_result_characters
    return text if len(text) <= most else f"{text[:most]} … ({len(text) - most} left out)"
