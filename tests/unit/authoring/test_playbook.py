"""The playbook as data: its order, what may never be skipped, and skeletons that can be run."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.authoring.draft import new_document
from mainspring.authoring.playbook_capabilities import EGRESS_PHRASE, playbook
from mainspring.authoring.skeletons import SKELETONS, ScriptSkeleton, fill_skeleton
from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.validate import validate
from mainspring.registry import build_registry

ORDER = [
    "trigger",
    "reads",
    "writes",
    "overlap",
    "grants",
    "egress",
    "secrets",
    "caps",
    "review",
    "save",
    "smoke_test",
    "hand_off",
]
NOBODY: dict[str, Any] = {"similarity_by": None, "automations": []}
NAMES = {
    "BOARD_ID": "01900000-0000-7000-8000-00000000000b",
    "DATASET": "default",
    "KEY_FIELD": "upstream_id",
    "TARGET_FIELD": "updates",
    "MATCH_FIELD": "company",
    "QUERY": "invoice",
    "PAGE_TYPE": "email",
}
LIMITS = Limits()
WORDS = build_registry(LIMITS)


def _steps(purpose: str | None = "a report") -> dict[str, Any]:
    return {step["id"]: step for step in playbook(purpose, NOBODY)["steps"]}


def test_the_steps_are_in_order_and_a_purpose_skips_the_first_question() -> None:
    assert list(_steps()) == ORDER
    assert list(_steps(None)) == ["purpose", *ORDER]


def test_every_step_says_why_and_every_question_is_one() -> None:
    for step in _steps(None).values():
        assert step["title"]
        assert step["why"].endswith(".")
        assert step["ask"] or step["call"]
        assert all(question["question"].strip() for question in step["ask"])
    asked = [question["id"] for step in _steps(None).values() for question in step["ask"]]
    assert len(asked) == len(set(asked))


def test_the_question_for_the_key_can_never_be_skipped() -> None:
    [key] = [one for one in _steps()["writes"]["ask"] if one["id"] == "dedupe"]
    assert (key["never_skip"], key["skippable"]) == (True, False)
    assert any("never be skipped" in rule for rule in _steps()["writes"]["rules"])


def test_egress_takes_the_whole_phrase_and_a_plain_yes_is_not_enough() -> None:
    egress = _steps()["egress"]
    assert EGRESS_PHRASE == "yes, approve http_fetch"
    [question] = egress["ask"]
    assert question["expects"] == EGRESS_PHRASE
    assert EGRESS_PHRASE in question["question"]
    assert any("plain yes does not" in rule for rule in egress["rules"])


def test_secrets_are_asked_for_by_name_and_a_smoke_test_has_three_rounds() -> None:
    steps = _steps()
    assert any("never for values" in rule for rule in steps["secrets"]["rules"])
    assert any("keeps the automation paused" in rule for rule in steps["secrets"]["rules"])
    assert any("at most 3 rounds" in rule for rule in steps["smoke_test"]["rules"])
    assert steps["smoke_test"]["call"]["arguments"] == {"dry_run": True}
    assert any("cost_usd" in rule for rule in steps["smoke_test"]["rules"])


def test_nothing_is_sent_by_itself_unless_somebody_was_warned() -> None:
    rules = _steps()["writes"]["rules"]
    assert any("never send directly" in rule for rule in rules)
    assert any("always_draft" in rule and "warning" in rule for rule in rules)


def test_every_tool_that_is_named_is_there_and_every_field_is_an_argument_of_the_save() -> None:
    save = WORDS.capabilities["save_automation_draft"].input_schema["properties"]
    for step in _steps(None).values():
        assert set(step["fill"]) <= save.keys()
        if step["call"] is not None:
            assert step["call"]["tool"] in WORDS.capabilities
    fillable = {name for step in _steps(None).values() for name in step["fill"]}
    assert save.keys() - fillable == {"idempotency_key"}


def test_what_to_reach_for_is_said_before_anything_is_made() -> None:
    uses = [entry["use"] for entry in playbook(None, NOBODY)["reach_for"]]
    made = ["proposal", "automation", "automation", "dataset recipe", "board", "workflow", "board"]
    assert uses == made


@pytest.mark.parametrize("skeleton", SKELETONS, ids=lambda one: one.id)
def test_a_filled_skeleton_is_a_script_that_can_be_saved(skeleton: ScriptSkeleton) -> None:
    shown = skeleton.as_dict()
    assert {blank["blank"].strip("_") for blank in shown["blanks"]} == set(skeleton.blanks)
    for wrong in ({}, {**NAMES, "BOARD_ID": '"; evil()'}, {**NAMES, "KEY_FIELD": "a\nb"}):
        with pytest.raises(Invalid):
            fill_skeleton(skeleton, wrong)
    source = fill_skeleton(skeleton, NAMES)
    assert "__" not in source
    document, findings = new_document(
        {
            "name": "a skeleton",
            "source": source,
            "triggers": [{"kind": "cron", "cron": "0 9 * * *", "tz": "UTC"}],
            "tool_grants": shown["tool_grants"],
        }
    )
    assert findings == []
    assert validate(document, WORDS, LIMITS).findings == ()
