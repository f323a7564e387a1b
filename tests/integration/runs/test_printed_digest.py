"""The digest of the first format as it is printed: saved, tried and posted to Slack."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest_asyncio

from mainspring.contracts.model import ModelReply
from tests.kit.agents import FINAL, ScriptedModels, agents_bench, calls
from tests.kit.bench import Bench
from tests.kit.documented_examples import DIGEST
from tests.kit.model_doubles import PLAIN_PRICE
from tests.kit.outbound_bench import SENDS, outside_bench
from tests.kit.pages import PageClient
from tests.kit.slack import TOKEN, SlackDouble, slack_double

BULLETS = ["Acme cut its prices by a tenth.", "Bolt opens a shop in Kigali."]
TEXT = "*Competitor digest*\n\n" + "".join(f"• {one}\n" for one in BULLETS)

World = tuple[Bench, SlackDouble]


@pytest_asyncio.fixture
async def world(bench: Bench) -> AsyncIterator[World]:
    """A bench with pages, and with a Slack on loopback that the operator has allowed."""
    await bench.application.vault.set(bench.secret_scope, "slack_bot_token", TOKEN)
    pages = PageClient(bench.application.gate, bench.application.workspace_id)
    for title, tags in (("Acme prices", ["competitor"]), ("Our prices", ["internal"])):
        await pages.write(title, BULLETS[0], type="note", frontmatter={"tags": tags})
    async with slack_double() as slack:
        settings = replace(
            bench.application.settings, slack_url=slack.url, egress_allow=frozenset({slack.pair})
        )
        yield Bench(replace(bench.application, settings=settings), bench.outside), slack


def _minds(*script: ModelReply) -> ScriptedModels:
    """The model that the digest names, at a price that the operator has set."""
    model = DIGEST["plan"][0]["config"]["model"]
    return ScriptedModels(script=list(script), prices={model: PLAIN_PRICE})


def _research() -> ScriptedModels:
    asked = {"tags": ["competitor"], "since": "2026-01-01T00:00:00Z"}
    found = {"bullets": BULLETS, "source_doc_ids": ["one"]}
    return _minds(calls(("search_space_query", asked)), calls((FINAL, found)))


async def _run(world: World, document: dict[str, Any], models: ScriptedModels, **more: Any) -> Any:
    async with agents_bench(world[0], models) as bench:
        run = await bench.run(document, **more)
    assert run["status"] == "succeeded", run["error"]
    return run


def _outputs(run: dict[str, Any]) -> Sequence[Any]:
    return [step["output"] for step in run["steps"]]


async def test_it_finds_tagged_pages_and_drafts_its_message(world: World) -> None:
    models = _research()
    run = await _run(world, deepcopy(DIGEST), models)
    first = models.requests[0]
    assert 'tagged ["competitor"] indexed since 20' in str(first)
    assert "Acme prices" in models.tool_results[0]
    assert "Our prices" not in models.tool_results[0]
    research, deliver = _outputs(run)
    assert research["bullets"] == BULLETS
    assert (deliver["kind"], deliver["payload"]) == ("draft", {"channel": "C0123", "text": TEXT})
    assert world[1].messages == []


async def test_a_dry_run_posts_and_holds_nothing(world: World) -> None:
    run = await _run(world, deepcopy(DIGEST), _research(), mode="dry_run")
    assert _outputs(run)[0]["bullets"] == BULLETS
    drafts = await world[0].application.database.fetchval("SELECT count(*) FROM drafts")
    assert (drafts, world[1].messages) == (0, [])


async def test_it_is_posted_where_the_policy_lets_it_go(world: World) -> None:
    async with outside_bench(
        world[0], free=True, slack_url=world[1].url, egress_allow=frozenset({world[1].pair})
    ) as bench:
        document = {**deepcopy(DIGEST), **SENDS}
        document["plan"] = [
            {
                "step_id": "research",
                "action": "transform_data",
                "output_as": "summary",
                "config": {"output": {"bullets": BULLETS}},
            },
            DIGEST["plan"][1],
        ]
        run = await bench.run(document)
    assert run["status"] == "succeeded", run["error"]
    assert world[1].messages == [{"channel": "C0123", "text": TEXT}]


async def test_an_agent_with_slack_star_posts_as_a_draft(world: World) -> None:
    document = deepcopy(DIGEST)
    document["plan"] = document["plan"][:1]
    document["plan"][0]["config"]["tools"] = ["slack.*"]
    message = {"channel": "C0123", "text": "News"}
    found = {"bullets": BULLETS, "source_doc_ids": []}
    models = _minds(calls(("slack_post", message)), calls((FINAL, found)))
    run = await _run(world, document, models)
    assert [tool.name for tool in models.requests[0].tools if "slack" in tool.name] == [
        "slack_post"
    ]
    assert "draft" in json.dumps(models.tool_results[0])
    assert world[1].messages == []
    assert [call["capability"] for call in run["calls"]] == ["slack_post", "agent.run"]
