"""Inputs and results of a model conversation."""

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

# A metered model call. Its optional attribute ``spent`` is the total cost so far.
Ask = Callable[[ModelRequest], Awaitable[ModelReply]]
Judge = Callable[[Any], Awaitable[ValidationReport]]

MOST_ROUNDS: Final = 3
MOST_ASKS: Final = 12
# Finish reasons for truncated and refused responses.
CUT: Final = frozenset({"max_tokens", "length"})
REFUSED: Final = frozenset({"refusal", "content_filter"})
_CONTROL: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]+"
)


@dataclass(frozen=True, slots=True)
class GenerationContext:
    """The dependencies of one conversation."""

    ask: Ask
    # Empty: the default model.
    model: str
    vocabulary: Vocabulary
    resources: WorkspaceResources
    # The validator for this workspace.
    validate: Judge
    # The budget of all calls through ``ask``, including earlier ones.
    max_usd: Decimal
    # After this time no further call is made; a pending one is finished.
    seconds: float
    clock: Clock

    @property
    def left(self) -> Decimal:
        """The remaining budget."""
        spent = getattr(self.ask, "spent", Decimal(0))
        return self.max_usd - spent if isinstance(spent, Decimal) else self.max_usd


@dataclass(frozen=True, slots=True)
class RequestTurn:
    """An earlier turn: the person's request, or the proposal made then."""

    by: Literal["person", "proposal"]
    text: str


@dataclass(frozen=True, slots=True)
class GenerationResult:
    """The result of generating a definition."""

    # None: no definition can be shown, and the note says why.
    sketch: ProposalSketch | None
    # How many definitions were submitted, and the problems of the rejected ones.
    rounds: int
    refused: tuple[str, ...]
    model: str
    note: str


@dataclass(frozen=True, slots=True)
class ModelReview:
    """A second opinion for the reviewer; advisory only."""

    summary: str = ""
    flags: tuple[ReviewFlag, ...] = ()
    model: str = ""
    # Why there is no review; empty when there is one.
    problem: str = ""


def tidy(text: Any, most: int) -> str:
    """Clean a model's text to one visible line of limited length; empty if nothing is left."""
    if not isinstance(text, str):
        return ""
    line = " ".join(_CONTROL.sub(" ", text[: most * 4]).split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"
