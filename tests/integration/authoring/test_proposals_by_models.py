"""A model's proposals are judged, paid for and reported honestly; nothing of them is ever saved."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from mainspring.contracts.errors import BudgetExceeded, Problem, UpstreamError
from mainspring.contracts.model import ModelReply, ToolCall
from tests.kit.authoring import CapabilityClient
from tests.kit.bench import Bench
from tests.kit.model_doubles import FakeModels, models_bench

REQUEST = "every Monday at 9 Berlin time remind me of the invoices"
GOOD: dict[str, Any] = {
    "schema_version": "1.2",
    "name": "Invoices",
    "goal": "Remind somebody of the invoices.",
    "triggers": [
        {
            "id": "start",
            "type": "schedule",
            "config": {"cron": "0 9 * * 1", "timezone": "Europe/Berlin"},
        }
    ],
    "plan": [
        {"step_id": "tell", "action": "notification", "config": {"title": "Send the invoices"}}
    ],
}
INVENTED = {**GOOD, "plan": [{"step_id": "x", "action": "invoices.send_all", "config": {}}]}
BAD_TEMPLATE = {
    **GOOD,
    "plan": [{**GOOD["plan"][0], "config": {"title": "{{ steps.nowhere.text }}"}}],
}


def says(name: str, **arguments: Any) -> ModelReply:
    """An ask that takes a thousandth of a dollar."""
    call = ToolCall("one", name, arguments)
    return ModelReply("", "outside-1", 900, 100, calls=(call,), provider="outside")


def hands_in(document: dict[str, Any], **more: Any) -> ModelReply:
    return says("hand_in", definition=document, **more)


REVIEWED = says("review", summary="It reminds you.", flags=[])


async def proposed(bench: Bench, *script: ModelReply | Problem, **more: Any) -> dict[str, Any]:
    models = FakeModels(list(script))
    async with models_bench(bench, models) as own_bench:
        client = CapabilityClient(own_bench)
        made: dict[str, Any] = await client.call("propose_automation", {"text": REQUEST, **more})
        assert (await client.call("list_automations", {}))["automations"] == []
    assert models.script == []
    return made


async def ledger(bench: Bench) -> list[Decimal]:
    rows = await bench.application.database.fetch("SELECT cost_usd, caller, run_id FROM llm_usage")
    assert {(row["caller"], row["run_id"]) for row in rows} <= {("propose_automation", None)}
    return [row["cost_usd"] for row in rows]


async def test_what_was_refused_is_reported_and_what_it_all_cost_is_in_the_ledger(
    bench: Bench,
) -> None:
    made = await proposed(bench, hands_in(BAD_TEMPLATE), hands_in(GOOD), REVIEWED)
    assert (made["status"], made["definition"]["plan"]) == ("ready", GOOD["plan"])
    by = made["made_by"]
    assert (by["by"], by["model"], by["rounds"], by["cost_usd"]) == (
        "model",
        "outside-1",
        2,
        "0.003",
    )
    assert "nowhere" in by["refused"][0]
    assert made["review"]["reviewed_by"]["by"] == "model"
    assert await ledger(bench) == [Decimal("0.001")] * 3


async def test_a_model_that_keeps_inventing_is_corrected_three_times_and_rules_take_its_place(
    bench: Bench,
) -> None:
    made = await proposed(bench, *[hands_in(INVENTED)] * 3, REVIEWED)
    by = made["made_by"]
    assert (by["by"], by["rounds"], by["model"]) == ("rules", 3, None)
    assert len(by["refused"]) == 3
    assert "invoices.send_all" not in str(made["definition"])
    assert "Rules generated this instead" in by["note"]
    assert made["status"] == "ready", (made["questions"], made["problems"])
    assert len(await ledger(bench)) == 4


async def test_a_model_that_only_looks_around_is_stopped_and_reported(bench: Bench) -> None:
    looks = [says("list_resources", kind="boards") for _ in range(12)]
    made = await proposed(bench, *looks, REVIEWED)
    assert (made["made_by"]["by"], made["made_by"]["rounds"]) == ("rules", 0)
    assert made["made_by"]["note"].endswith("Rules generated this instead.")


async def test_a_provider_that_fails_leaves_it_to_the_rules_unless_a_model_was_asked_for(
    bench: Bench,
) -> None:
    busy = UpstreamError("The model's provider is busy.", code="model_busy")
    made = await proposed(bench, busy, busy)
    assert made["made_by"]["by"] == "rules"
    assert "The model's provider is busy." in made["made_by"]["note"]
    assert "did not return a review" in made["review"]["reviewed_by"]["note"]
    with pytest.raises(UpstreamError):
        await proposed(bench, busy, by="model")
    assert await ledger(bench) == []


async def test_a_proposal_costs_no_more_than_was_allowed(bench: Bench) -> None:
    with pytest.raises(BudgetExceeded):
        await proposed(bench, by="model", max_usd=0.001)
    made = await proposed(bench, max_usd=0.001)
    assert made["made_by"]["by"] == "rules"
    assert await ledger(bench) == []


async def test_a_schedule_that_rules_and_model_read_differently_is_asked(bench: Bench) -> None:
    late = {"cron": "0 21 * * 1", "timezone": "Europe/Berlin"}
    wrong = {**GOOD, "triggers": [{**GOOD["triggers"][0], "config": late}]}
    made = await proposed(bench, hands_in(wrong))
    assert made["status"] == "asks"
    (question,) = made["questions"]
    values = [one["value"] for one in question["choices"]]
    assert values == [GOOD["triggers"][0]["config"], late]


async def test_braces_in_the_words_are_words_and_cost_no_round(bench: Bench) -> None:
    text = f"{REQUEST}, and put {{{{ secrets.bank_key }}}} in"
    made = await proposed(bench, hands_in(GOOD), REVIEWED, text=text)
    assert (made["made_by"]["by"], made["made_by"]["rounds"]) == ("model", 1), made["made_by"]


async def test_rules_alone_ask_no_model(bench: Bench) -> None:
    made = await proposed(bench, by="rules")
    assert made["made_by"]["note"].endswith("no model was used.")
    assert await ledger(bench) == []


async def test_half_a_character_or_a_name_full_of_orders_costs_a_round_at_most(
    bench: Bench,
) -> None:
    deep: dict[str, Any] = {}
    for _ in range(5_000):
        deep = {"a": deep}
    odd = replace(hands_in({**BAD_TEMPLATE, "goal": "a\ud800\x00"}), model="m\ud800\x00" * 9_000)
    named = replace(hands_in({**GOOD, "goal": "a\ud800\x00"}), model="out\x1b[31mside\x00\ud800")
    made = await proposed(bench, odd, hands_in(deep), named, replace(REVIEWED, model="m\x00\ud800"))
    assert (made["status"], made["made_by"]["rounds"]) == ("ready", 3), made["problems"]
    assert made["made_by"]["model"] == "out [31mside"
    assert made["definition"]["goal"] == "a\ufffd\ufffd"
    assert await ledger(bench) == [Decimal("0.001")] * 4
