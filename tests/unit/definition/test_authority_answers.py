"""Consent to the answers of webhooks: new readers of a result are asked about, fewer are not."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.definition.authority_writes import (
    find_added_triggers,
    list_answering_steps,
    read_enabled_triggers,
)

SIGNED = {"auth": {"type": "signature", "provider": "github", "secret": "key"}}
OUTPUT = "Callers of its webhook now get the output of the run."
STEP = "Callers of its webhook now get what a step answers."


def added(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[tuple[str, str]]:
    was, now = (
        read_enabled_triggers([{"type": "webhook", "config": one} for one in configs])
        for configs in (before, after)
    )
    found = find_added_triggers(was, now, " now")
    return [(pointer, says) for pointer, says in found if says.startswith("Callers")]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([{}], [{"respond": "immediately"}]),
        ([{"respond": "when_done"}], [{}]),
        ([{"respond": "when_done"}], [{"respond": "when_done", "respond_within": "5s"}]),
        ([{"respond": "when_done"}, {}], [{}, {"respond": "when_done"}]),
        (
            [{**SIGNED, "respond": "by_step"}],
            [{**SIGNED, "respond": "by_step", "methods": ["PUT"]}],
        ),
    ],
)
def test_the_same_or_fewer_answers_need_no_consent(
    before: list[dict[str, Any]], after: list[dict[str, Any]]
) -> None:
    assert added(before, after) == []


@pytest.mark.parametrize(
    ("before", "after", "at", "sentence"),
    [
        ([{}], [{"respond": "when_done"}], 0, OUTPUT),
        ([{}], [{"respond": "by_step"}], 0, STEP),
        ([{"respond": "by_step"}], [{"respond": "when_done"}], 0, OUTPUT),
        # Another webhook answered already; the callers of this one did not get anything.
        ([{"respond": "when_done"}, {}], [{"respond": "when_done"}] * 2, 1, OUTPUT),
        ([{**SIGNED, "respond": "when_done"}, {}], [SIGNED, {"respond": "when_done"}], 1, OUTPUT),
    ],
)
def test_new_readers_of_a_result_need_consent(
    before: list[dict[str, Any]], after: list[dict[str, Any]], at: int, sentence: str
) -> None:
    assert added(before, after) == [(f"/triggers/{at}/config/respond", sentence)]


def test_without_a_webhook_that_waits_no_step_answers_a_caller() -> None:
    assert list_answering_steps(read_enabled_triggers([{"type": "webhook"}]), []) == frozenset()
