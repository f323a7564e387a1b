"""Details of what an automation may do: first versions, amounts, accounts and order."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.grant import Grant
from mainspring.definition.authority import build_review_addition, find_additions, read_authority
from tests.unit.definition.test_authority import DAILY, LIMITS, call, may, says, step


def test_a_first_version_that_sends_without_asking_says_so() -> None:
    assert "It may send safe writes without approval." in says(
        None, may(write_policy="auto_confirm_safe")
    )


def test_a_policy_that_nobody_knows_goes_further_than_all_others() -> None:
    wide = may(write_policy="send_everything")
    assert says(may(write_policy="auto_confirm_safe"), wide) == [
        "It may now write by send_everything."
    ]
    assert says(wide, may(write_policy="auto_confirm_safe")) == []


@pytest.mark.parametrize("key", ["account", "account_id", "connection", "connection_id"])
def test_an_account_is_named_by_whatever_key_a_step_has_for_it(key: str) -> None:
    (found,) = find_additions(may(), may(plan=(step(**{key: "work"}),)))
    assert found.as_dict() == {
        "kind": "account",
        "pointer": f"/plan/0/config/{key}",
        "says": "It now uses the account work.",
    }
    assert find_additions(may(), may(plan=(step(**{key: 5}),))) == ()


def test_a_definition_of_nothing_but_a_plan_may_do_what_is_usual() -> None:
    assert read_authority({"plan": []}, (), LIMITS) == may()


@pytest.mark.parametrize(
    ("name", "usual", "more", "sentence"),
    [
        ("budget_cap_usd", 1, 1.5, "It may spend $1.50 in one run."),
        ("max_llm_tokens", 200_000, 200_001, "It may use 200,001 tokens in one run."),
        ("timeout_seconds", 600, 601, "It may run 601 seconds in one run."),
    ],
)
def test_of_a_first_version_only_unusual_amounts_are_said(
    name: str, usual: Any, more: Any, sentence: str
) -> None:
    assert says(None, may(**{name: usual})) == [DAILY]
    found = find_additions(None, may(**{name: more}))
    assert (f"/execution/{name}", sentence) in [(one.pointer, one.says) for one in found]


def test_what_a_day_may_cost_is_always_said_of_a_first_version() -> None:
    (found,) = find_additions(None, may(cost_cap_daily_usd=7))
    assert found.says == "It may spend up to $7.00 a day if its steps cost anything."
    assert found.pointer == "/execution/cost_cap_daily_usd"


def test_what_only_reads_is_said_once_and_last() -> None:
    found = says(may(), may(Grant("list_boards"), call()))
    assert len(found) == len(set(found)) == 2
    assert found[0] == "It may now call board.append."


def test_a_person_can_be_asked_to_look_though_nothing_is_new() -> None:
    assert build_review_addition("Look.").as_dict() == {
        "kind": "review",
        "pointer": "",
        "says": "Look.",
    }
