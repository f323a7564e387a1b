"""What an agent does, as lines for the screen."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

_LONGEST: Final = 300


def agent_line(text: str, *, plain: bool) -> str | None:
    """One piece of an agent's live view in words; None for what is none."""
    try:
        told = json.loads(text)
    except ValueError:
        return None
    if not isinstance(told, Mapping):
        return None
    match told.get("kind"):
        case "thought":
            return f"thinks: {_brief(told.get('text'))}"
        case "call":
            return f"{'->' if plain else '→'} {told.get('tool')} {_brief(told.get('arguments'))}"
        case "result":
            return _result(told, "<-" if plain else "←")
        case "turn":
            tokens = _number(told, "input_tokens") + _number(told, "output_tokens")
            cost, total = _number(told, "cost_usd"), _number(told, "total_usd")
            return (
                f"turn {told.get('turn')}: {tokens:,.0f} tokens, ${cost:.4f} (${total:.4f} so far)"
            )
        case "answer" if told.get("how") == "nothing":
            return f"nothing to do: {_brief(told.get('text'))}"
        case "answer":
            output = told.get("output")
            return f"answers: {_brief(told.get('text') if output is None else output)}"
    return None


def _result(told: Mapping[str, Any], arrow: str) -> str:
    outcome = "waits for a person" if told.get("outcome") == "held" else told.get("outcome")
    return f"{arrow} {told.get('tool')} {outcome}: {_brief(told.get('text'))}"


def _number(told: Mapping[str, Any], name: str) -> float:
    value = told.get(name)
    return float(value) if isinstance(value, int | float) else 0.0


def _brief(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"
