"""What an agent does, as lines for the screen.

All of it was said by a model or a tool: each piece becomes one line that a terminal shows and
does not obey.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from mainspring.surfaces.cli.screen import clean

_LONGEST_AGENT_LINE: Final = 300

Told = Mapping[str, Any]


def agent_line(text: str, *, plain: bool) -> str | None:
    """One piece of an agent's live view in words; None for what is none."""
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, Mapping):
        return None
    words = _WORDS.get(str(told.get("kind")))
    return None if words is None else words(told, plain)


def _thought(told: Told, plain: bool) -> str:
    del plain
    return f"thinks: {_brief(told.get('text'))}"


def _call(told: Told, plain: bool) -> str:
    arrow = "->" if plain else "→"
    return f"{arrow} {_brief(told.get('tool'))} {_brief(told.get('arguments'))}"


def _result(told: Told, plain: bool) -> str:
    arrow, held = "<-" if plain else "←", told.get("outcome") == "held"
    outcome = "waits for a person" if held else _brief(told.get("outcome"))
    return f"{arrow} {_brief(told.get('tool'))} {outcome}: {_brief(told.get('text'))}"


def _refused(told: Told, plain: bool) -> str:
    return f"{_call(told, plain)} was not done: {_brief(told.get('text'))}"


def _is_told(told: Told, plain: bool) -> str:
    del plain
    return f"is told: {_brief(told.get('text'))}"


def _turn(told: Told, plain: bool) -> str:
    del plain
    tokens = _number(told, "input_tokens") + _number(told, "output_tokens")
    cost, total = _number(told, "cost_usd"), _number(told, "total_usd")
    number = f"{_number(told, 'turn'):.0f}"
    return f"turn {number}: {tokens:,.0f} tokens, ${cost:.4f} (${total:.4f} so far)"


def _answer(told: Told, plain: bool) -> str:
    del plain
    if told.get("how") == "nothing":
        return f"nothing to do: {_brief(told.get('text'))}"
    output = told.get("output")
    return f"answers: {_brief(told.get('text') if output is None else output)}"


_WORDS: Final[Mapping[str, Callable[[Told, bool], str]]] = {
    "thought": _thought,
    "call": _call,
    "result": _result,
    "refused": _refused,
    "told": _is_told,
    "turn": _turn,
    "answer": _answer,
}


def _number(told: Told, name: str) -> float:
    value = told.get(name)
    return float(value) if isinstance(value, int | float) else 0.0


def _brief(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return clean(text if len(text) <= _LONGEST_AGENT_LINE else f"{text[:_LONGEST_AGENT_LINE]} …")
