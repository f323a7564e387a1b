"""What steps say, on the screen: whole lines, and what went to stderr a little fainter."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from mainspring.surfaces.cli.screen import Screen, clean

if TYPE_CHECKING:
    from rich.text import Text


# What an agent does, as lines for the screen.

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


def _thought(lines: Told, plain: bool) -> str:
    del plain
    return f"thinks: {_brief(lines.get('text'))}"


def _call(told: Told, plain: bool) -> str:
    arrow = "->" if plain else "→"
    return f"{arrow} {_brief(told.get('tool'))} {_brief(told.get('arguments'))}"


def _result(lines: Told, plain: bool) -> str:
    arrow, held = "<-" if plain else "←", lines.get("outcome") == "held"
    outcome = "waits for a person" if held else _brief(lines.get("outcome"))
    return f"{arrow} {_brief(lines.get('tool'))} {outcome}: {_brief(lines.get('text'))}"


def _refused(told: Told, plain: bool) -> str:
    return f"{_call(told, plain)} was not done: {_brief(told.get('text'))}"


def _is_told(lines: Told, plain: bool) -> str:
    del plain
    return f"receives: {_brief(lines.get('text'))}"


def _turn(lines: Told, plain: bool) -> str:
    del plain
    tokens = _number(lines, "input_tokens") + _number(lines, "output_tokens")
    cost, total = _number(lines, "cost_usd"), _number(lines, "total_usd")
    number = f"{_number(lines, 'turn'):.0f}"
    return f"turn {number}: {tokens:,.0f} tokens, ${cost:.4f} (${total:.4f} so far)"


def _answer(lines: Told, plain: bool) -> str:
    del plain
    if lines.get("how") == "nothing":
        return f"nothing to do: {_brief(lines.get('text'))}"
    output = lines.get("output")
    return f"answers: {_brief(lines.get('text') if output is None else output)}"


_WORDS: Final[Mapping[str, Callable[[Told, bool], str]]] = {
    "thought": _thought,
    "call": _call,
    "result": _result,
    "refused": _refused,
    "told": _is_told,
    "turn": _turn,
    "answer": _answer,
}


def _number(lines: Told, name: str) -> float:
    value = lines.get(name)
    return float(value) if isinstance(value, int | float) else 0.0


def _brief(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return clean(text if len(text) <= _LONGEST_AGENT_LINE else f"{text[:_LONGEST_AGENT_LINE]} …")


# A line that goes on and on is shown in parts.
_LONGEST: Final = 4_000

Try = tuple[str, str, int]


class OutputLines:
    """Makes lines of pieces; a line that has not ended yet waits for its rest."""

    def __init__(self, screen: Screen, *, bare: bool = False) -> None:
        self._screen = screen
        # Without the margin that sets it apart from what we say ourselves.
        self._bare = bare
        self._open: dict[tuple[Try, str], str] = {}
        # How much of each try was heard, and how much of it is only said again.
        self._heard: dict[tuple[Try, str], int] = {}
        self._again: dict[tuple[Try, str], int] = {}

    def hear(self, piece: Mapping[str, Any]) -> list[Text]:
        """The lines that a piece has made whole."""
        made = (piece["step"], piece["item"], piece["attempt"])
        if piece["stream"] == "end":
            return self.rest(made)
        if piece["seq"] == 1:
            # Whoever takes a step over says everything from its beginning.
            self._again |= {at: size for at, size in self._heard.items() if at[0] == made}
        at = (made, piece["stream"])
        *whole, left = (self._open.pop(at, "") + self._news(at, piece["text"])).split("\n")
        if len(left) > _LONGEST:
            whole, left = [*whole, left], ""
        if left:
            self._open[at] = left
        return self._lines([(line, made[1], at[1]) for line in whole])

    def _lines(self, said: list[tuple[str, str, str]]) -> list[Text]:
        """What an agent does is put into words; the rest is said as it stands."""
        plain = "utf" not in self._screen.console.encoding
        shown: list[Text] = []
        for line, item, stream in said:
            words = agent_line(line, plain=plain) if stream == "agent" else line
            if words is not None:
                shown.append(self._style_line(words, item, stream))
        return shown

    def _news(self, at: tuple[Try, str], text: str) -> str:
        known = min(self._again.get(at, 0), len(text))
        self._again[at] = self._again.get(at, 0) - known
        self._heard[at] = self._heard.get(at, 0) + len(text) - known
        return text[known:]

    def rest(self, made: Try | None = None) -> list[Text]:
        """The lines that nothing more can be added to; of all steps if none is named."""
        over = [at for at in self._open if made is None or at[0] == made]
        return self._lines([(self._open.pop(at), at[0][1], at[1]) for at in over])

    def _style_line(self, line: str, item: str, stream: str) -> Text:
        from rich.text import Text

        faint = "" if stream == "out" else "bright_black"
        text = Text(overflow="fold")
        if not self._bare:
            utf = "utf" in self._screen.console.encoding
            text.append("      " + "  " * (item.count(".") + 1 if item else 0))
            edge = "! " if stream == "err" else "│ " if utf else "| "
            text.append(edge, style="bright_black")
        text.append(clean(line), style=faint)
        return text
