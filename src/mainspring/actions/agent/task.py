"""Reads an agent's task from the arguments of its call."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import orjson

from mainspring.contracts.display_text import format_usd
from mainspring.contracts.errors import BudgetExceeded, Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.json_schema import Validator, check_schema, compile_schema
from mainspring.definition.tool_patterns import read_fixed_params, read_tool_name

# The limits of one agent, in addition to those of its run, and the errors when they are reached.

DEFAULT_TURNS: Final = 20
DEFAULT_TOKENS: Final = 4_096


@dataclass(frozen=True, slots=True)
class AgentLimits:
    """The limits of one agent; None means no limit."""

    turns: int
    # The maximum length of one answer.
    tokens: int
    total_tokens: int | None
    seconds: float | None
    usd: Decimal | None


def read_bounds(arguments: Mapping[str, Any]) -> AgentLimits:
    """The limits in the arguments of a call."""
    usd, seconds = arguments.get("max_usd"), arguments.get("max_seconds")
    return AgentLimits(
        turns=int(arguments.get("max_turns", DEFAULT_TURNS)),
        tokens=int(arguments.get("max_tokens", DEFAULT_TOKENS)),
        total_tokens=arguments.get("max_total_tokens"),
        seconds=None if seconds is None else float(seconds),
        usd=None if usd is None else Decimal(str(usd)),
    )


def check_limits(
    bounds: AgentLimits, spent: Decimal, tokens: int, seconds: float
) -> BudgetExceeded | None:
    """The limit that has been reached, if any."""
    if bounds.usd is not None and spent >= bounds.usd:
        return BudgetExceeded(
            f"The agent spent {format_usd(spent)} of its {format_usd(bounds.usd)} budget.",
            code="agent_budget",
            suggestion=_suggest_higher_limit("max_usd"),
        )
    if bounds.total_tokens is not None and tokens >= bounds.total_tokens:
        return BudgetExceeded(
            f"The agent has used {tokens} of its {bounds.total_tokens} tokens.",
            code="agent_tokens",
            suggestion=_suggest_higher_limit("max_total_tokens"),
        )
    if bounds.seconds is not None and seconds >= bounds.seconds:
        return BudgetExceeded(
            f"The agent reached its time limit of {bounds.seconds:g} s.",
            code="agent_seconds",
            suggestion=_suggest_higher_limit("max_seconds"),
        )
    return None


def out_of_turns_error(bounds: AgentLimits) -> BudgetExceeded:
    """The limit of turns is reached."""
    return BudgetExceeded(
        f"The agent did not finish within its {bounds.turns} turns.",
        code="agent_turns",
        suggestion=_suggest_higher_limit("max_turns"),
    )


def as_own(over: BudgetExceeded, bounds: AgentLimits) -> BudgetExceeded:
    """Report a refused model request as the agent's own budget, when that is the cause."""
    if over.code != "call_budget" or bounds.usd is None:
        return over
    return BudgetExceeded(
        f"The agent may spend {format_usd(bounds.usd)}, and the rest does not cover another turn.",
        code="agent_budget",
        suggestion=_suggest_higher_limit("max_usd"),
    )


def _suggest_higher_limit(word: str) -> str:
    return f"Raise {word}, or give it a smaller task."


# The property that holds an answer which is not an object itself.
VALUE: Final = "value"


@dataclass(frozen=True, slots=True)
class OutputShape:
    """The schema of the answer, as a model is asked for it."""

    # A tool takes an object, so any other answer is wrapped in one.
    schema: Mapping[str, Any]
    validator: Validator
    wrapped: bool

    def value_of(self, arguments: Mapping[str, Any]) -> Any:
        return arguments.get(VALUE) if self.wrapped else dict(arguments)


@dataclass(frozen=True, slots=True)
class AgentTask:
    """One task for an agent."""

    prompt: str
    system: str
    documents: tuple[tuple[str, str], ...]
    # Names and patterns, each with its fixed arguments.
    tools: Mapping[str, Mapping[str, Any]]
    model: str
    shape: OutputShape | None
    bounds: AgentLimits
    # Distinguishes the material from other material; tools and limits are not part of it.
    digest: bytes


def read_material(arguments: Mapping[str, Any], usual_model: str, limits: Limits) -> AgentTask:
    """The task in the arguments of a call, which are valid."""
    documents = tuple(
        (str(one.get("title", "")), str(one["text"])) for one in arguments.get("documents", ())
    )
    schema = arguments.get("output_schema")
    prompt, system = arguments["prompt"], arguments.get("system", "")
    told = [prompt, system, documents, schema]
    return AgentTask(
        prompt=prompt,
        system=system,
        documents=documents,
        tools=_read_tools(arguments.get("tools", [])),
        model=arguments.get("model", usual_model),
        shape=None if schema is None else parse_output_shape(schema, limits),
        bounds=read_bounds(arguments),
        digest=hashlib.blake2b(
            orjson.dumps(told, option=orjson.OPT_SORT_KEYS), digest_size=16
        ).digest(),
    )


def parse_output_shape(schema: Mapping[str, Any], limits: Limits) -> OutputShape:
    """The schema of an answer, or an error that says what is wrong with it."""
    findings = check_schema(schema, limits, "/output_schema")
    is_object = schema.get("type") == "object"
    asked = schema if is_object or findings else _wrap_in_object(schema)
    # The references of a wrapped schema are relative to the new root.
    findings = findings or check_schema(asked, limits, "/output_schema")
    if findings:
        raise Invalid(
            f"The output_schema cannot be used: {findings[0].detail}",
            code="output_schema",
            findings=findings,
            suggestion="Let references lead to $defs, or make the answer an object.",
        )
    return OutputShape(asked, compile_schema(asked, limits), not is_object)


def _wrap_in_object(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema as one property of an object; its definitions stay at the root."""
    inner = {key: value for key, value in schema.items() if key not in ("$defs", "$schema", "$id")}
    made: dict[str, Any] = {
        "type": "object",
        "required": [VALUE],
        "additionalProperties": False,
        "properties": {VALUE: inner},
    }
    return {**made, "$defs": schema["$defs"]} if "$defs" in schema else made


def _read_tools(entries: list[Any]) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for place, entry in enumerate(entries):
        name, params = read_tool_name(entry) or "", read_fixed_params(entry)
        if name in found:
            detail = f"The tool {name!r} is listed twice."
            raise Invalid(
                detail,
                code="tool_twice",
                findings=[Finding(f"/tools/{place}", detail, "tool_twice", "Take one out.")],
            )
        found[name] = params
    return found
