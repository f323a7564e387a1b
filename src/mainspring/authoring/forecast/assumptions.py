"""Assumptions used where nothing has been measured, each with its reason.

They only affect the usual value. The upper end comes from enforced limits, and measurements replace
both as soon as they exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class TypicalValue:
    """An assumed value with its reason."""

    value: int
    unit: str
    why: str


TOKEN_CHARACTERS: Final = TypicalValue(
    4, "characters", "What a token of plain English or of JSON stands for, near enough."
)
EXPRESSION_TOKENS: Final = TypicalValue(
    100, "tokens", "An expression inside a text mostly stands for a name, a line or a short list."
)
DOCUMENT_TOKENS: Final = TypicalValue(
    2_000, "tokens", "A document that an expression fills in is mostly a page or some rows."
)
TURNS_WITH_TOOLS: Final = TypicalValue(
    3, "turns", "An agent with tools searches twice, and answers."
)
TURNS_ALONE: Final = TypicalValue(
    1, "turns", "An agent without tools has nothing to do but answer."
)
CALL_TOKENS: Final = TypicalValue(
    80, "tokens", "A turn that asks for a tool is a name and arguments."
)
TOOL_TOKENS: Final = TypicalValue(
    1_500, "tokens", "What a tool answers, which every later turn reads again."
)
ANSWER_TOKENS: Final = TypicalValue(300, "tokens", "A few bullets, a paragraph or a small record.")
SHORT_ANSWER_TOKENS: Final = TypicalValue(
    20, "tokens", "The shortest useful answer: a word, a number or that there is nothing to do."
)
SCRIPT_ASK_TOKENS: Final = TypicalValue(
    1_000, "tokens", "What one ask of a script reads, when nothing is known of the script."
)
ITEMS: Final = TypicalValue(
    5, "items", "A list whose length is only known in the run is mostly short."
)
# The minimal sample size.
FEWEST: Final = 3
