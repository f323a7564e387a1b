"""Rows that are appended need a key by which a double is told: asked for, whoever wrote the plan.

Without one, rows double on every run, on every replay, and for every teammate with the same
trigger. So the question is raised by the document itself: it cannot be answered and then taken
out again, nor be left out by a model or by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mainspring.authoring.places import is_within
from mainspring.authoring.resources import DatasetSummary, WorkspaceResources
from mainspring.authoring.shapes import ProposalQuestion, QuestionChoice
from mainspring.definition.pointers import join_pointer

APPEND: Final = "append_board_rows"
_KEY: Final = "dedupe_key_field"
_WHY: Final = (
    "Without it the same row is written again by every run, every replay and every teammate's "
    "automation with the same trigger."
)
_SCHEMA: Final[Mapping[str, Any]] = {"type": "string", "minLength": 1, "maxLength": 100}
_DEEPEST: Final = 20


def key_questions(
    document: Mapping[str, Any], resources: WorkspaceResources, asked: list[str]
) -> Iterator[ProposalQuestion]:
    """A question for each step that appends rows without a key, unless it is asked already."""
    for at, config in _appending(document.get("plan"), "/plan", 0):
        place = join_pointer(at, "config", _KEY)
        if config.get(_KEY) not in (None, "") or any(is_within(place, one) for one in asked):
            continue
        dataset = _dataset(config, resources)
        if dataset is not None and dataset.dedupe_key_field:
            continue
        columns = () if dataset is None else dataset.columns
        yield ProposalQuestion(
            id="dedupe-key",
            kind="value",
            pointer=place,
            question="Which field of a row says that it is the same row, if it comes again?",
            schema=_SCHEMA,
            choices=tuple(QuestionChoice(one, one) for one in columns[:20]),
            why=_WHY,
        )


def _appending(steps: Any, at: str, depth: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for place, step in enumerate(steps if isinstance(steps, list) else ()):
        config = step.get("config") if isinstance(step, Mapping) else None
        if not isinstance(config, Mapping):
            continue
        here = join_pointer(at, place)
        if step.get("action") == APPEND:
            yield here, config
        elif depth < _DEEPEST:
            yield from _appending(
                config.get("steps"), join_pointer(here, "config", "steps"), depth + 1
            )


def _dataset(config: Mapping[str, Any], resources: WorkspaceResources) -> DatasetSummary | None:
    name = config.get("dataset", "default")
    for board in resources.boards:
        if board.id == str(config.get("board_id")).lower():
            return next((one for one in board.datasets if one.name == name), None)
    return None
