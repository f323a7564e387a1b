"""automation_llm_complete: a run asks a model, within its tokens and its money.

The handler only puts the question and hands on the answer. What may be spent, what is left and
what it came to is the meter's business, and the way to a model is whatever is connected.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from mainspring.contracts.capability import Annotations, Audience, Capability, Effect
from mainspring.contracts.context import CallContext
from mainspring.contracts.model import ModelMessage, ModelRequest
from mainspring.gate.llm_complete_schema import DEFAULT_TOKENS, INPUT_SCHEMA, OUTPUT_SCHEMA


async def _complete(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    reply = await ctx.complete(request_of(arguments, ctx.model))
    return {
        "text": _readable(reply.text),
        "model": _readable(reply.model),
        "usage": {"input_tokens": reply.input_tokens, "output_tokens": reply.output_tokens},
        "stop_reason": _readable(reply.stop_reason),
    }


def _readable(text: str) -> str:
    """The database keeps no NUL; the sign for an unreadable character takes its place."""
    return text.replace("\x00", "\ufffd")


def request_of(arguments: Mapping[str, Any], usual_model: str) -> ModelRequest:
    """What a model is asked with these arguments; a prompt is one message of the user."""
    given = arguments.get("messages") or [{"role": "user", "content": arguments["prompt"]}]
    temperature, most = arguments.get("temperature"), arguments.get("max_usd")
    return ModelRequest(
        model=arguments.get("model", usual_model),
        messages=tuple(ModelMessage(one["role"], one["content"]) for one in given),
        system=arguments.get("system"),
        max_tokens=int(arguments.get("max_tokens", DEFAULT_TOKENS)),
        temperature=None if temperature is None else float(temperature),
        # A number's shortest text is what was written; its binary value is not.
        max_usd=None if most is None else Decimal(str(most)),
    )


LLM_COMPLETE = Capability(
    id="automation_llm_complete",
    description="Ask a model\n\n"
    "Gives a model a prompt or a conversation and answers with what it wrote, which model it was "
    "and how many tokens it took. What it costs counts toward the run, the day and max_llm_tokens; "
    "max_tokens is cut to what is left of that and to what max_usd affords. Only runs may call it. "
    "A small model is enough for cheap work that is often repeated.",
    input_schema=INPUT_SCHEMA,
    output_schema=OUTPUT_SCHEMA,
    handler=_complete,
    annotations=Annotations(
        # It changes nothing, here or outside: a trial asks too, and pays.
        effect=Effect.READ,
        seconds=5.0,
        audience=Audience.RUNS,
        asks_models=True,
    ),
)
