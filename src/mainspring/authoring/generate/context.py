"""What whoever asks a model here is given, and what comes of it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal

from mainspring.authoring.models import ProposalSketch, ReviewFlag
from mainspring.authoring.resources import WorkspaceResources
from mainspring.contracts.clock import Clock
from mainspring.contracts.model import ModelReply, ModelRequest
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.validate import ValidationReport

# Asks a model once, metered. It may have an attribute ``spent``: what all its asks came to.
Ask = Callable[[ModelRequest], Awaitable[ModelReply]]
Judge = Callable[[Any], Awaitable[ValidationReport]]

MOST_ROUNDS: Final = 3
MOST_ASKS: Final = 12
# What an answer of a provider is cut off for, and what it is refused for.
CUT: Final = frozenset({"max_tokens", "length"})
REFUSED: Final = frozenset({"refusal", "content_filter"})
_CONTROL: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]+"
)


@dataclass(frozen=True, slots=True)
class GenerationContext:
    """The parts around one conversation."""

    ask: Ask
    # Empty: the model that is asked when nobody names one.
    model: str
    words: Vocabulary
    resources: WorkspaceResources
    # The one validator, as it judges in this workspace.
    judge: Judge
    # What all asks through ``ask`` may cost, those before this conversation included.
    max_usd: Decimal
    # After so long nothing more is asked; what is under way then is finished first.
    seconds: float
    clock: Clock

    @property
    def left(self) -> Decimal:
        """What may still be spent."""
        spent = getattr(self.ask, "spent", Decimal(0))
        return self.max_usd - spent if isinstance(spent, Decimal) else self.max_usd


@dataclass(frozen=True, slots=True)
class RequestTurn:
    """What was said before: the person's words, or what was proposed then."""

    by: Literal["person", "proposal"]
    text: str


@dataclass(frozen=True, slots=True)
class GenerationResult:
    """What came of asking a model for a definition."""

    # None: there is no definition that could be shown, and the note says why.
    sketch: ProposalSketch | None
    # How many definitions were handed in, and what was wrong with those that were refused.
    rounds: int
    refused: tuple[str, ...]
    model: str
    note: str


@dataclass(frozen=True, slots=True)
class ModelReview:
    """A second opinion. It helps whoever decides and decides nothing itself."""

    summary: str = ""
    flags: tuple[ReviewFlag, ...] = ()
    model: str = ""
    # Why there is no review, as a sentence; empty: there is one.
    problem: str = ""


def tidy(text: Any, most: int) -> str:
    """A text of a model's as one line that hides nothing, at most so long; else nothing."""
    if not isinstance(text, str):
        return ""
    line = " ".join(_CONTROL.sub(" ", text[: most * 4]).split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"
