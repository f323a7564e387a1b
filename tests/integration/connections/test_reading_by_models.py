"""A request in words over real provider clients: whichever is connected, and when it refuses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from mainspring.contracts.errors import Problem
from tests.kit.author_model import plain
from tests.kit.bench import Bench, document, step
from tests.kit.model_connections import KEY, Providing, providing
from tests.kit.model_server import Answer, Call, ModelServer, model_server

NOTE = {"to": ["ada@example.com"], "subject": "Parcel", "body": "It has come."}
PLAIN = "Write to ada@example.com about the parcel saying it has come"
CHOSEN = Answer(calls=(Call("send_email", NOTE),), keep=True)
KINDS = ("anthropic", "openai", "groq")


async def _connect(connected_bench: Providing, server: ModelServer, name: str, **more: Any) -> None:
    base = server.url if name == "anthropic" else server.openai_url
    await connected_bench.call("connect_model", name=name, base_url=base, key=KEY, **more)


async def _act(
    connected_bench: Providing, request: str = "Tell Ada that it has come."
) -> Mapping[str, Any]:
    made: Mapping[str, Any] = await connected_bench.call(
        "act_on_integration", source="email", request=request
    )
    return made


@pytest.mark.parametrize("kind", KINDS)
async def test_any_one_connection_is_enough_to_read_a_request(bench: Bench, kind: str) -> None:
    async with (
        model_server([CHOSEN], key=KEY) as server,
        providing(bench, [server.pair]) as connected_bench,
    ):
        await _connect(connected_bench, server, kind)
        draft = await _act(connected_bench)
    assert server.refusals == []
    assert (draft["kind"], draft["payload"]["input"]) == ("draft", NOTE)
    assert "note" not in draft


@pytest.mark.parametrize("model", ["claude-opus-4-7", "claude-fable-5-2", "claude-sonnet-5-5"])
async def test_a_model_with_few_settings_reads_a_request(bench: Bench, model: str) -> None:
    async with (
        model_server([CHOSEN], key=KEY) as server,
        providing(bench, [server.pair]) as connected_bench,
    ):
        await _connect(connected_bench, server, "anthropic", usual_model=model)
        given = {f"{one}_usd_per_million": 1 for one in ("input", "output")}
        await connected_bench.call(
            "admin_set_model_price", connected_bench.operator, model=model, **given
        )
        draft = await _act(connected_bench)
    assert server.refusals == []
    assert draft["payload"]["input"] == NOTE


@pytest.mark.parametrize("status", [400, 401, 402, 404])
async def test_rules_read_what_the_provider_refuses_and_say_why(bench: Bench, status: int) -> None:
    refused = Answer(status=status, error="temperature: Extra inputs are not permitted", keep=True)
    async with (
        model_server([refused], key=KEY) as server,
        providing(bench, [server.pair]) as connected_bench,
    ):
        await _connect(connected_bench, server, "anthropic")
        draft = await _act(connected_bench, PLAIN)
        asked = await _act(connected_bench)
    assert draft["kind"] == "draft"
    assert draft["payload"]["input"]["to"] == ["ada@example.com"]
    assert "so rules did" in draft["note"]
    assert "anthropic" in draft["note"]
    assert asked["kind"] == "clarification"
    assert "so rules did" in asked["question"]
    assert "send_email (to" in asked["question"]


async def test_rules_read_what_the_model_declines(bench: Bench) -> None:
    async with (
        model_server([Answer(finish="refusal", keep=True)], key=KEY) as server,
        providing(bench, [server.pair]) as connected_bench,
    ):
        await _connect(connected_bench, server, "anthropic")
        draft = await _act(connected_bench, PLAIN)
    assert server.count == 1
    assert draft["kind"] == "draft"
    assert "declined" in draft["note"]


async def test_a_busy_provider_is_a_problem_that_can_be_tried_again(bench: Bench) -> None:
    async with (
        model_server([Answer(status=529, error="Overloaded", keep=True)], key=KEY) as server,
        providing(bench, [server.pair]) as connected_bench,
    ):
        await _connect(connected_bench, server, "anthropic")
        with pytest.raises(Problem) as busy:
            await _act(connected_bench, PLAIN)
    assert (busy.value.code, busy.value.retryable) == ("model_busy", True)


@pytest.mark.parametrize("fence", ["{}", "```json\n{}\n```", "```\n{}\n```\n"])
async def test_the_input_of_an_action_may_come_as_text(bench: Bench, fence: str) -> None:
    text = fence.replace("{}", json.dumps(NOTE))
    async with (
        model_server([text, '{"question": "Which Ada?"}'], key=KEY) as server,
        providing(bench, [server.pair]) as connected_bench,
    ):
        await _connect(connected_bench, server, "openai")
        draft = await _act(connected_bench)
        asked = await _act(connected_bench)
    assert draft["payload"]["input"] == NOTE
    assert asked == {"kind": "clarification", "question": "Which Ada?"}


async def test_words_become_a_definition_over_the_one_connection_there_is(bench: Bench) -> None:
    handed = Answer(calls=(Call("hand_in", {"definition": plain()}),), when="hand_in")
    review = Answer(calls=(Call("review", {"summary": "A word every morning."}),))
    async with (
        model_server([handed, review], key=KEY) as server,
        providing(bench, [server.pair]) as connected_bench,
    ):
        await _connect(connected_bench, server, "openai")
        made = await connected_bench.call(
            "propose_automation", text="every day at 9 leave me a word"
        )
    assert server.refusals == []
    assert (made["made_by"]["by"], made["made_by"]["model"]) == ("model", "gpt-5.4")


@pytest.mark.parametrize("kind", KINDS)
async def test_agents_and_completions_find_the_one_connection_there_is(
    bench: Bench, kind: str
) -> None:
    """The name of the default model is in every automation that was saved without another."""
    plan = [
        step(
            "ask", "automation_llm_complete", {"prompt": "Well?", "temperature": 0}, max_retries=0
        ),
        step("think", "agent_task", {"prompt": "Do it."}, max_retries=0),
    ]
    async with (
        model_server([Answer("Done.", keep=True)], key=KEY) as server,
        providing(bench, [server.pair]) as connected_bench,
    ):
        await _connect(connected_bench, server, kind)
        for execution in ({}, {"model": "claude-sonnet-4-6"}):
            run = await connected_bench.run(
                document(*plan, name=f"{execution}", execution=execution)
            )
            assert (run["status"], run["error"]) == ("succeeded", None)
    assert server.refusals == []
    assert server.count == 4


async def test_reading_a_request_is_in_the_ledger_with_who_asked(bench: Bench) -> None:
    async with (
        model_server([CHOSEN], key=KEY) as server,
        providing(bench, [server.pair]) as connected_bench,
    ):
        await _connect(connected_bench, server, "anthropic")
        await _act(connected_bench)
    rows = await bench.application.database.fetch("SELECT caller, input_tokens FROM llm_usage")
    assert [row["caller"] for row in rows] == ["act_on_integration"]
    assert rows[0]["input_tokens"] > 0
