"""The transcript of an agent: all turns and calls, with the cost of each turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

import orjson

from mainspring.actions.agent.task import AgentTask
from mainspring.contracts.agent import AgentTurn, ToolCallResult
from mainspring.contracts.errors import Problem
from mainspring.outbound.models.model_replies import deeper

# The maximum length of each text when the whole would be too large.
_SHORT: Final = 2_000
# Deeper nesting cannot be serialised as JSON here.
_DEEPEST: Final = 200


@dataclass(slots=True)
class AgentTranscript:
    """Written while the agent works."""

    material: AgentTask
    turns: list[dict[str, Any]] = field(default_factory=list)
    input_tokens: int = 0
    output_tokens: int = 0
    model: str = ""

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def hear(self, number: int, turn: AgentTurn) -> None:
        """Add a model's turn."""
        reply = turn.reply
        self.input_tokens += reply.input_tokens
        self.output_tokens += reply.output_tokens
        self.model = reply.model
        self.turns.append(
            {
                "turn": number,
                "at": turn.at.isoformat(),
                "model": reply.model,
                "text": reply.text,
                "thoughts": reply.thoughts,
                "stop_reason": reply.stop_reason,
                "input_tokens": reply.input_tokens,
                "output_tokens": reply.output_tokens,
                "cached_tokens": reply.cached_tokens,
                "cost_usd": str(turn.cost),
                "ms": turn.ms,
                "calls": [],
            }
        )

    def called(
        self,
        name: str,
        tool: str | None,
        arguments: Any,
        result: str,
        *,
        failed: bool,
        answer: ToolCallResult | None = None,
    ) -> None:
        """Add a call of the last turn, and the reply to the model."""
        entry = {
            "name": name,
            "tool": tool,
            "arguments": arguments,
            "failed": failed,
            "result": result,
        }
        if answer is not None:
            entry |= {"outcome": answer.outcome, "cost_usd": str(answer.cost)}
        self.turns[-1]["calls"].append(entry)

    def said(self, text: str) -> None:
        """Add what the model was told besides the results."""
        self.turns[-1]["told"] = text

    def whole(
        self,
        key: str,
        system: str,
        opening: str,
        tools: list[str],
        ending: Mapping[str, Any],
        spent: Decimal,
        most_bytes: int,
    ) -> dict[str, Any]:
        """The transcript as it is stored."""
        made = {
            "agent": key,
            "model": self.model,
            "system": system,
            "opening": opening,
            "tools": tools,
            "turns": self.turns,
            "ending": dict(ending),
            "usage": {
                "input_tokens": self.input_tokens,
                "output_tokens": self.output_tokens,
                "cost_usd": str(spent),
            },
        }
        if not deeper(made, _DEEPEST) and len(orjson.dumps(made, default=str)) <= most_bytes:
            return made
        short: dict[str, Any] = _truncate_value(made, _DEEPEST)
        return {**short, "shortened": True}


def describe_ending(problem: Problem) -> dict[str, Any]:
    """How a conversation without an answer ended."""
    return {"kind": "failed", "problem": problem.as_dict()}


def _truncate_value(value: Any, levels: int) -> Any:
    if isinstance(value, str) and len(value) > _SHORT:
        return f"{value[:_SHORT]} … ({len(value) - _SHORT} charactersomitted)"
    if isinstance(value, Mapping | list) and levels == 0:
        return "…"
    if isinstance(value, Mapping):
        return {key: _truncate_value(entry, levels - 1) for key, entry in value.items()}
    return (
        [_truncate_value(entry, levels - 1) for entry in value]
        if isinstance(value, list)
        else value
    )
