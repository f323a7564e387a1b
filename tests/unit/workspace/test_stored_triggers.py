"""A definition shows its triggers as they are now, and nothing that belongs to one place."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from mainspring.workspace.automations import match_definition, merge_stored_triggers

WRITTEN = {"id": "morning", "type": "schedule", "config": {"cron": "@daily"}, "inputs": {}}


def _row(**more: Any) -> dict[str, Any]:
    return {
        "id": uuid4(),
        "automation_id": uuid4(),
        "slug": "morning",
        "type": "schedule",
        "config": {"cron": "@daily"},
        "inputs": {},
        "enabled": True,
        "armed_at": None,
        "next_due_at": None,
        "last_fired_at": None,
        "secret_hint": "abcd",
        **more,
    }


def test_a_trigger_that_was_switched_off_is_written_back_as_off() -> None:
    document = {"name": "x", "triggers": [{**WRITTEN, "enabled": True}]}
    shown = merge_stored_triggers(document, [_row(enabled=False)])
    assert shown == {"name": "x", "triggers": [{**WRITTEN, "enabled": False}]}
    assert document["triggers"] == [{**WRITTEN, "enabled": True}]


def test_no_token_or_moment_goes_along() -> None:
    (shown,) = merge_stored_triggers({"triggers": [WRITTEN]}, [_row()])["triggers"]
    assert shown.keys() == {"id", "type", "config", "inputs", "enabled"}
    assert shown["id"] == "morning"


def test_a_definition_without_triggers_stays_as_it_is() -> None:
    assert merge_stored_triggers({"name": "x"}, []) == {"name": "x"}


def test_a_definition_agrees_with_its_rows_until_one_is_changed() -> None:
    document = {"triggers": [{**WRITTEN, "enabled": True}]}
    assert match_definition(document, [_row()])
    assert not match_definition(document, [_row(enabled=False)])
    assert not match_definition(document, [_row(inputs={"n": 1})])
