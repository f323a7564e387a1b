"""Every value that is required and not there is a question, in words of its schema."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.authoring.models import ProposalQuestion
from mainspring.authoring.proposals.builder import LookupContext, still_open
from mainspring.authoring.resources import BoardSummary, DatasetSummary, WorkspaceResources
from mainspring.contracts.limits import Limits
from mainspring.definition.validate import validate
from mainspring.registry import ApplicationRegistry, build_registry

LIMITS = Limits()
BOARD = BoardSummary("0190c7a0-0000-7000-8000-000000000001", "Orders")


@pytest.fixture(scope="module")
def words() -> ApplicationRegistry:
    return build_registry(LIMITS)


def document(**config: Any) -> dict[str, Any]:
    return {
        "schema_version": "1.2",
        "name": "One",
        "goal": "Read a board.",
        "plan": [{"step_id": "read", "action": "update_board_rows", "config": config}],
    }


def test_what_the_validator_misses_is_asked_for(words: ApplicationRegistry) -> None:
    made = document(rows=[{"row_id": BOARD.id, "set": {"a": 1}}])
    around = LookupContext(words, WorkspaceResources(boards=(BOARD,), secrets=("SLACK",)), LIMITS)
    found = still_open(made, validate(made, words, LIMITS).findings, (), around)
    [question] = found.questions
    assert question.pointer == "/plan/0/config/board_id"
    assert "'read'" in question.question
    assert [(one.label, one.value) for one in question.choices] == [("Orders", BOARD.id)]
    assert question.schema["format"] == "uuid"
    assert not found.problems


def test_what_is_wrong_otherwise_is_no_question(words: ApplicationRegistry) -> None:
    made = document(rows="none", board_id=BOARD.id)
    found = still_open(
        made,
        validate(made, words, LIMITS).findings,
        (),
        LookupContext(words, WorkspaceResources(), LIMITS),
    )
    assert not found.questions
    assert [one.pointer for one in found.problems] == ["/plan/0/config/rows"]


def test_a_question_is_open_until_its_value_is_there(words: ApplicationRegistry) -> None:
    asked = ProposalQuestion("board", "value", "/plan/0/config/board_id", "Which board?")
    around = LookupContext(words, WorkspaceResources(), LIMITS)
    lacking, whole = document(rows=[]), document(rows=[], board_id=BOARD.id)
    assert still_open(lacking, (), [asked], around).questions == (asked,)
    assert still_open(whole, (), [asked], around).questions == ()
    # What the validator says of an open place is said by its question already.
    found = still_open(lacking, validate(lacking, words, LIMITS).findings, [asked], around)
    assert found.questions == (asked,)


def test_rows_that_are_appended_need_a_key_wherever_the_step_is(
    words: ApplicationRegistry,
) -> None:
    appends = {"step_id": "add", "action": "append_board_rows", "config": {"board_id": BOARD.id}}
    loop = {"step_id": "all", "action": "for_each", "config": {"items": "x", "steps": [appends]}}
    made = {**document(), "plan": [appends, loop]}
    keyed = BoardSummary(BOARD.id, "Orders", datasets=(DatasetSummary("default", ("id",), "id"),))
    plain = BoardSummary(BOARD.id, "Orders", datasets=(DatasetSummary("default", ("id", "total")),))
    asked = still_open(
        made, (), (), LookupContext(words, WorkspaceResources(boards=(plain,)), LIMITS)
    ).questions
    assert [one.pointer for one in asked] == [
        "/plan/0/config/dedupe_key_field",
        "/plan/1/config/steps/0/config/dedupe_key_field",
    ]
    assert len({one.id for one in asked}) == 2
    assert [one.value for one in asked[0].choices] == ["id", "total"]
    # A board that knows doubles by itself needs no second word on it.
    around = LookupContext(words, WorkspaceResources(boards=(keyed,)), LIMITS)
    assert still_open(made, (), (), around).questions == ()
