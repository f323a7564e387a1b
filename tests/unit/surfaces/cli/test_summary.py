"""When an automation starts, in words that leave nothing out of what a person agrees to."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.definition.model import TriggerEntry
from mainspring.definition.script.findings import KV
from mainspring.registry import build_registry
from mainspring.surfaces.cli.summary import describe_trigger_summary, grant_lines

WORDS = build_registry(Limits())
BOARD = "01900000-0000-7000-8000-00000000000b"
CASES: list[tuple[str, dict[str, Any], str]] = [
    ("board_change", {"board_id": BOARD}, f"when the board 'CRM' ({BOARD}) changes"),
    (
        "board_change",
        {
            "board_id": BOARD,
            "dataset": "people",
            "change": ["rows_appended", "rows_updated"],
            "filters": {"count": {"gte": 10}},
        },
        (
            f"when the board 'CRM' ({BOARD}) changes in the dataset 'people' by rows_appended or "
            'rows_updated, where {"count":{"gte":10}}'
        ),
    ),
    ("page_ingested", {}, "when a page is written"),
    (
        "page_ingested",
        {"page_type": "email", "created": True, "filters": {"title": {"contains": "x"}}},
        'when a new page is written of the type \'email\', where {"title":{"contains":"x"}}',
    ),
    ("page_ingested", {"created": False, "source": "gmail"}, "when a page changes from 'gmail'"),
    ("event", {"event_type": "a.b", "filters": {"n": 1}}, "on event 'a.b' where {\"n\":1}"),
]


@pytest.mark.parametrize(("kind", "config", "phrase"), CASES)
def test_a_trigger_is_shown_with_everything_that_bounds_it(
    kind: str, config: dict[str, Any], phrase: str
) -> None:
    entry = TriggerEntry.model_validate({"id": "t", "type": kind, "config": config})

    text = describe_trigger_summary(entry, {BOARD: "CRM"})

    assert text.replace(": ", ":") == phrase


def test_a_board_that_nobody_knows_is_reported_by_its_id() -> None:
    entry = TriggerEntry.model_validate(
        {"id": "t", "type": "board_change", "config": {"board_id": BOARD}, "enabled": False}
    )

    assert describe_trigger_summary(entry) == f"when the board {BOARD} changes (disabled)"


def test_what_an_automation_has_of_its_own_is_one_line_of_what_it_may_call() -> None:
    own = [Grant(name) for name in KV]
    bound = Grant("automation_kv.set", {"key": "k"})

    output = [str(line) for line in grant_lines([*own, Grant("list_boards"), bound], WORDS)]

    assert len(output) == 3
    assert output[0].startswith("  may call list_boards: ")
    assert output[1].endswith('(key "k")'), "bounds that somebody wrote are shown"
    assert output[2] == "  may use its own memory and its own record of failures"
    assert [str(line) for line in grant_lines(own[:1], WORDS)] == ["  may use its own memory"]
    assert [str(line) for line in grant_lines([], WORDS)] == ["  calls no capabilities"]
