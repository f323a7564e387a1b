"""What is wrong with a workflow is reported with its place and a reason."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.workspace.workflows.management import merge_kpis
from mainspring.workspace.workflows.validation import (
    ensure_owner,
    find_workflow_problems,
    read_day,
    refuse,
)

ANNA, BERT = UUID(int=1), UUID(int=2)


def _found(**value: Any) -> list[tuple[str, str]]:
    return [(one.pointer, one.code) for one in find_workflow_problems(value)]


def test_every_mistake_has_its_place() -> None:
    day = {"label": "Beta", "date": "2026-02-30"}
    assert _found(
        kpis=[
            {"name": "Sales", "target": 1},
            {"name": "sales ", "target": "many", "current": True, "deadline": "20260301"},
        ],
        deadlines=[{"label": "A", "date": "2026-03-01"}, day],
        roster=[
            {"user_id": str(ANNA), "role": "owner"},
            {"user_id": str(ANNA), "role": "observer"},
        ],
        automation_ids=["a", "b", "a"],
    ) == [
        ("/kpis/1/name", "kpi_twice"),
        ("/kpis/1/target", "kpi_not_numeric"),
        ("/kpis/1/current", "kpi_not_numeric"),
        ("/kpis/1/deadline", "not_a_day"),
        ("/deadlines/1/date", "not_a_day"),
        ("/roster/1/user_id", "person_twice"),
        ("/automation_ids/2", "automation_twice"),
    ]
    assert _found(title="x", kpis=[{"name": "Sales", "target": 0, "current": -1.5}]) == []
    with pytest.raises(Invalid) as refused:
        refuse(find_workflow_problems({"kpis": [{"name": "n", "target": "12"}]}))
    assert "number; this is a text" in refused.value.detail


def test_a_day_is_written_in_one_way() -> None:
    assert read_day("2026-12-31") is not None
    assert [read_day(one) for one in ("2026-W01-1", "31.12.2026", "", "2026-12-31T00:00")] == [
        None,
    ] * 4


def test_somebody_owns_it() -> None:
    assert ensure_owner({}, ANNA) == {ANNA: "owner"}
    assert ensure_owner({BERT: "observer"}, ANNA) == {BERT: "observer", ANNA: "owner"}
    assert ensure_owner({BERT: "owner"}, ANNA) == {BERT: "owner"}


def test_a_kpi_that_says_nothing_of_its_value_keeps_it() -> None:
    before = [{"name": "a", "target": 1, "current": 0.5}, {"name": "b", "target": 2}]
    asked = [{"name": "a", "target": 3}, {"name": "b", "target": 2, "current": 1}]
    assert merge_kpis(asked, before) == [
        {"name": "a", "target": 3, "current": 0.5},
        {"name": "b", "target": 2, "current": 1},
    ]
