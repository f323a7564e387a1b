"""The names a template can read at each place of a plan."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.templates import (
    RESERVED,
    RunFacts,
    RunFailure,
    TemplateScope,
    build_run_context,
    parse_template,
)

LIMITS = Limits()


def facts(failure: RunFailure | None = None) -> RunFacts:
    return RunFacts(
        id=UUID(int=1),
        started_at=datetime(2026, 5, 26, 8, 0, tzinfo=UTC),
        automation_id=UUID(int=2),
        automation_name="Digest",
        automation_version=3,
        trigger_type="schedule",
        trigger_id=None,
        workspace_id=UUID(int=4),
        creator_id=UUID(int=5),
        attempt=2,
        failure=failure,
    )


def shown(scope: TemplateScope, source: str) -> Any:
    return parse_template(source, LIMITS).value(scope.names)


def test_the_run_says_what_it_is() -> None:
    scope = build_run_context(facts(), inputs={"a": 1}, trigger={"b": 2})
    assert shown(scope, "{{ run }}") == {
        "id": str(UUID(int=1)),
        "started_at": "2026-05-26T08:00:00+00:00",
        "automation_id": str(UUID(int=2)),
        "automation_name": "Digest",
        "automation_version": 3,
        "trigger_type": "schedule",
        "trigger_id": None,
        "workspace_id": str(UUID(int=4)),
        "search_space_id": str(UUID(int=4)),
        "creator_id": str(UUID(int=5)),
        "attempt": 2,
    }
    assert shown(scope, "{{ inputs.a }}{{ trigger.b }}") == "12"
    assert shown(scope, "{{ run.started_at | date('%d %B') }}") == "26 May"


def test_the_error_is_known_only_after_a_failure() -> None:
    with pytest.raises(Invalid):
        shown(build_run_context(facts(), inputs={}), "{{ run.error.detail }}")
    failed = build_run_context(facts(RunFailure("fetch", {"detail": "no", "code": "x"})), inputs={})
    assert shown(failed, "{{ run.failed_step_id }}: {{ run.error.detail }}") == "fetch: no"


def test_an_output_has_two_names() -> None:
    scope = build_run_context(facts(), inputs={}, steps={"fetch": {"body": 1}})
    scope.add("total", 5)
    assert (
        shown(scope, "{{ steps.fetch.body }}{{ fetch.body }}{{ steps.total }}{{ total }}") == "1155"
    )


def test_a_reserved_name_keeps_its_meaning() -> None:
    scope = build_run_context(facts(), inputs={"a": 1})
    for name in ("run", "inputs", "trigger", "steps", "item"):
        scope.add(name, "taken")
    assert shown(scope, "{{ inputs.a }}{{ steps.inputs }}{{ steps.steps }}") == "1takentaken"
    assert shown(scope, "{{ item is defined }}") is False
    assert (
        shown(scope.push({"run": 1, "loop": 2}), "{{ run.attempt }}{{ loop is defined }}")
        == "2false"
    )


def test_what_an_item_knows_is_forgotten_with_it() -> None:
    scope = build_run_context(facts(), inputs={}, steps={"before": 1})
    inner = scope.push({"item": "x", "index": 0, "row": "y"})
    inner.add("inside", 2)
    assert (
        shown(inner, "{{ item }}{{ index }}{{ row }}{{ before }}{{ steps.before }}{{ inside }}")
        == "x0y112"
    )
    assert (
        shown(scope, "{{ item is defined or inside is defined or steps.inside is defined }}")
        is False
    )
    again = inner.push({"item": "z"})
    assert shown(again, "{{ item }}{{ inside }}{{ row }}") == "z2y"


def test_what_a_plan_learns_later_is_new_to_an_open_item() -> None:
    scope = build_run_context(facts(), inputs={})
    inner = scope.push({"item": 1})
    scope.add("later", 1)
    assert shown(inner, "{{ later is defined }}") is False


def test_the_inputs_are_not_shared_with_the_caller() -> None:
    inputs = {"a": 1}
    scope = build_run_context(facts(), inputs=inputs)
    inputs["a"] = 2
    assert shown(scope, "{{ inputs.a }}") == 1


def test_the_words_of_the_language_are_reserved() -> None:
    assert {
        "run",
        "inputs",
        "steps",
        "trigger",
        "item",
        "index",
        "loop",
        "secrets",
        "true",
        "false",
        "none",
        "and",
        "or",
        "not",
        "in",
        "is",
        "if",
        "else",
    } <= RESERVED


def test_a_trigger_is_shown_as_it_came() -> None:
    pairs = [["a", 1], ["b", 2]]
    for brought in (pairs, [], "text", "", 0, 7, False, {"b": 2}):
        names = build_run_context(facts(), inputs={}, trigger=brought).names
        assert names["trigger"] == brought
        assert type(names["trigger"]) is type(brought)
    assert build_run_context(facts(), inputs={}).names["trigger"] == {}
    assert build_run_context(facts(), inputs={}, trigger=None).names["trigger"] == {}
    given = {"b": 2}
    build_run_context(facts(), inputs={}, trigger=given).names["trigger"]["c"] = 3
    assert given == {"b": 2}


# Written out, so that none gets lost: a step that took one of these names would be read as it.
OF_THE_LANGUAGE = [
    "run",
    "inputs",
    "steps",
    "trigger",
    "item",
    "index",
    "loop",
    "secrets",
    "true",
    "false",
    "none",
    "True",
    "False",
    "None",
    "and",
    "or",
    "not",
    "in",
    "is",
    "if",
    "elif",
    "else",
    "for",
    "set",
    "with",
    "raw",
    "recursive",
    "self",
    "super",
    "caller",
    "namespace",
    "range",
    "dict",
]


@pytest.mark.parametrize("name", OF_THE_LANGUAGE)
def test_nothing_that_a_step_or_an_item_gives_takes_a_reserved_name(name: str) -> None:
    scope = TemplateScope({"run": "facts"}, {})
    before = dict(scope.names)
    scope.add(name, "forged")
    assert scope.names == {**before, "steps": {name: "forged"}}
    inner = scope.push({name: "forged", "row": 1}).names
    assert inner["row"] == 1
    assert inner.get(name) == ("forged" if name in ("item", "index") else scope.names.get(name))


def test_what_an_item_gives_is_forgotten_with_it() -> None:
    scope = TemplateScope({}, {"a": 1})
    inner = scope.push({"row": 1})
    inner.add("b", 2)
    assert (inner.names["b"], inner.names["steps"]) == (2, {"a": 1, "b": 2})
    assert scope.names == {"steps": {"a": 1}}


def test_a_run_is_in_its_first_attempt_unless_stated_otherwise() -> None:
    (attempt,) = [one for one in fields(RunFacts) if one.name == "attempt"]
    assert attempt.default == 1
