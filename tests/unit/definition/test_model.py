"""The model: strict, exact about money, and the same after a round trip."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from mainspring.definition.model import PARTS, Definition, read_steps
from mainspring.definition.strict_json import hash_content

STEP = {"step_id": "one", "action": "transform_data", "config": {"output": None}}


def document(**more: Any) -> dict[str, Any]:
    return {"schema_version": "1.2", "name": "n", "goal": "g", "plan": [STEP], **more}


def read(**more: Any) -> Definition:
    return Definition.from_json(document(**more))


def refused_at(**more: Any) -> tuple[str | int, ...]:
    with pytest.raises(ValidationError) as caught:
        read(**more)
    (error,) = caught.value.errors()
    return error["loc"]


def test_what_is_left_out_has_the_documented_default() -> None:
    execution = read().execution
    assert execution.timeout_seconds == 600
    assert execution.max_retries == 2
    assert execution.retry_backoff == "exponential"
    assert execution.concurrency == "queue"
    assert execution.concurrency_key is None
    assert execution.budget_cap_usd == Decimal(1)
    assert execution.cost_cap_daily_usd == Decimal(1)
    assert execution.max_llm_tokens == 200_000
    assert execution.write_policy == "always_draft"
    assert execution.on_failure == ()
    assert read().retention.runs_days == 90
    assert read().grants is None
    assert read().triggers == ()
    assert read().inputs.shape == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("bad", "place"),
    [
        ({"execution": {"timeout_seconds": "600"}}, ("execution", "timeout_seconds")),
        ({"execution": {"timeout_seconds": 600.5}}, ("execution", "timeout_seconds")),
        ({"execution": {"timeout_seconds": 86_401}}, ("execution", "timeout_seconds")),
        ({"execution": {"max_retries": True}}, ("execution", "max_retries")),
        ({"execution": {"max_llm_tokens": 99}}, ("execution", "max_llm_tokens")),
        ({"execution": {"max_llm_tokens": 2_000_001}}, ("execution", "max_llm_tokens")),
        ({"execution": {"concurrency_key": ""}}, ("execution", "concurrency_key")),
        ({"name": 5}, ("name",)),
        ({"triggers": [{"type": "schedule", "enabled": 1}]}, ("triggers", 0, "enabled")),
        ({"triggers": [{"type": "schedule", "id": "A"}]}, ("triggers", 0, "id")),
        ({"triggers": [{"type": "schedule", "id": ""}]}, ("triggers", 0, "id")),
        ({"triggers": {"0": {}}}, ("triggers",)),
        ({"metadata": {"tags": "a"}}, ("metadata", "tags")),
        ({"retention": {"runs_days": 3_651}}, ("retention", "runs_days")),
        ({"plan": [{**STEP, "config": []}]}, ("plan", 0, "config")),
        ({"plan": [{**STEP, "step_id": "a\n"}]}, ("plan", 0, "step_id")),
        ({"plan": [{**STEP, "on_failure": []}]}, ("plan", 0, "on_failure")),
        ({"inputs": {"schema": []}}, ("inputs", "schema")),
    ],
)
def test_nothing_is_taken_for_something_else(
    bad: dict[str, Any], place: tuple[str | int, ...]
) -> None:
    assert refused_at(**bad) == place


@pytest.mark.parametrize(
    ("written", "amount"),
    [
        (1.50, "1.5"),
        ("1.50", "1.5"),
        (0.1, "0.1"),
        ("0.000001", "0.000001"),
        (0, "0"),
        (100, "100"),
        ("100.000000", "100"),
        (1e-6, "0.000001"),
    ],
)
def test_money_is_kept_exactly_and_spelt_one_way(written: Any, amount: str) -> None:
    made = read(execution={"budget_cap_usd": written})
    assert made.execution.budget_cap_usd == Decimal(amount)
    assert made.as_dict()["execution"]["budget_cap_usd"] == amount


@pytest.mark.parametrize(
    "written",
    [
        -0.01,
        "-1",
        "1e2",
        "1_000",
        " 1",
        "",
        "NaN",
        float("nan"),
        float("inf"),
        True,
        None,
        [1],
        "0.0000001",
        0.0000001,
        1_000_001,
        "12345678",
    ],
)
def test_money_that_is_not_an_amount_is_refused(written: Any) -> None:
    assert refused_at(execution={"budget_cap_usd": written}) == ("execution", "budget_cap_usd")


def test_a_day_costs_at_most_a_hundred() -> None:
    assert read(execution={"cost_cap_daily_usd": "100"}).execution.cost_cap_daily_usd == 100
    assert refused_at(execution={"cost_cap_daily_usd": 100.01}) == (
        "execution",
        "cost_cap_daily_usd",
    )


def test_triggers_without_an_id_are_given_one_that_is_free() -> None:
    kinds = [{"type": "webhook"}, {"type": "webhook", "id": "trigger-1"}, {"type": "webhook"}]
    assert [trigger.id for trigger in read(triggers=kinds).triggers] == [
        "trigger-2",
        "trigger-1",
        "trigger-3",
    ]


def test_the_canonical_form_reads_back_as_the_same_definition() -> None:
    made = read(
        triggers=[{"type": "event", "config": {"event_type": "a.b", "filters": {"x": None}}}],
        plan=[{**STEP, "when": "true", "config": {"output": {"a": None, "b": [None]}}}],
        metadata={"tags": ["x"], "note": {"deep": None}},
        grants=[{"capability": "c", "params": {"id": None}}],
    )
    again = Definition.from_json(made.as_dict())
    assert again == made
    assert made.as_dict()["plan"][0]["config"] == {"output": {"a": None, "b": [None]}}
    assert made.as_dict()["grants"][0]["params"] == {"id": None}


def test_definitions_that_mean_the_same_have_one_hash() -> None:
    short = read(execution={"budget_cap_usd": 1})
    long = read(execution={"budget_cap_usd": "1.00", "max_retries": 2}, triggers=[])
    other = read(execution={"budget_cap_usd": "1.01"})
    assert hash_content(short.as_dict()) == hash_content(long.as_dict())
    assert hash_content(short.as_dict()) != hash_content(other.as_dict())


def test_an_output_is_called_by_its_own_name_or_by_the_step() -> None:
    first, second = read_steps([STEP, {**STEP, "step_id": "two", "output_as": "rows"}])
    assert first.output_name == "one"
    assert second.output_name == "rows"


def test_a_definition_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        read().name = "other"


def test_every_part_is_listed_at_its_position() -> None:
    made = read(
        triggers=[{"type": "webhook"}],
        grants=[{"capability": "c"}],
        execution={"on_failure": [STEP]},
        writes={"boards": []},
    )
    for place, part in PARTS.items():
        found: Any = made
        for name in place:
            found = found[0] if name == "*" else getattr(found, name)
        assert isinstance(found, part)
