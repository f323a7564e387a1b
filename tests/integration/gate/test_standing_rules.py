"""Drafts that people confirmed again and again: a rule is proposed, accepted, used and lost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Denied
from mainspring.contracts.roles import Role
from mainspring.gate.direct import Visitor
from mainspring.gate.standing.patterns import ENOUGH
from mainspring.runs.arrivals import Request
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.house import Bench, document, step
from tests.kit.own_house import own_house
from tests.kit.slack import TOKEN, SlackDouble, slack_double

PLAN = document(
    step("post", "slack_post", {"channel": "{{ inputs.channel }}", "text": "{{ inputs.text }}"}),
    inputs={
        "schema": {
            "type": "object",
            "properties": {
                "channel": {"type": "string", "default": "C0TEAM"},
                "text": {"type": "string", "default": "Hello"},
            },
        }
    },
)


class World:
    """A bench whose owner's bot posts to Slack, once somebody agrees."""

    def __init__(self, bench: Bench, slack: SlackDouble) -> None:
        self.bench, self.slack = bench, slack
        self.automation: Any = None

    async def call(self, name: str, *, program: bool = False, **given: Any) -> Any:
        actor = Actor(
            self.bench.house.workspace_id, "client" if program else "member", FIRST_MEMBER,
            role=Role.OWNER,
        )  # fmt: skip
        return await self.bench.house.gate.direct(Visitor(actor), name, given)

    async def run(self, **inputs: str) -> dict[str, Any]:
        """One run of the automation, to its end."""
        house = self.bench.house
        made = await house.dispatcher.dispatch(
            Request(house.workspace_id, self.automation, inputs=inputs)
        )
        return await self.bench.until(made.run_id)

    async def waiting(self) -> list[str]:
        return [one["draft_id"] for one in (await self.call("list_pending_actions"))["drafts"]]

    async def confirmed(self, times: int) -> None:
        for number in range(times):
            await self.run(text=f"Hello {number}")
            (draft,) = await self.waiting()
            answer = await self.call("confirm_action", draft_id=draft)
            assert answer["status"] == "confirmed"

    async def rules(self, status: str) -> list[dict[str, Any]]:
        return list((await self.call("list_standing_rules", status=status))["rules"])


@pytest_asyncio.fixture
async def world(bench: Bench) -> AsyncIterator[World]:
    await bench.house.vault.set(bench.drawer, "slack_bot_token", TOKEN)
    async with (
        slack_double() as slack,
        own_house(bench, slack_url=slack.url, egress_allow=frozenset({slack.pair})) as house,
    ):
        found = World(house, slack)
        found.automation = (await house.save(PLAN)).automation_id
        async with house.worker():
            yield found


async def test_what_was_agreed_to_often_may_go_once_a_person_accepts_it(world: World) -> None:
    await world.confirmed(ENOUGH - 1)
    assert await world.rules("proposed") == []
    await world.confirmed(1)
    (rule,) = await world.rules("proposed")
    assert rule["pattern"] == {"channel": "C0TEAM"}
    assert rule["seen"] == ENOUGH

    # Proposed is not accepted: it waits as before, and no program can accept it.
    assert (await world.run())["outcome"] == "drafts_waiting"
    (kept,) = await world.waiting()
    with pytest.raises(Denied):
        await world.call(
            "decide_standing_rule", program=True, rule_id=rule["rule_id"], decision="accept"
        )
    await world.call("decide_standing_rule", rule_id=rule["rule_id"], decision="accept")

    sent = len(world.slack.messages)
    run = await world.run(text="By itself")
    assert run["outcome"] == "effects"
    assert [one["text"] for one in world.slack.messages[sent:]] == ["By itself"]
    # Another receiver is another shape.
    assert (await world.run(channel="C0OTHER"))["outcome"] == "drafts_waiting"
    assert len(world.slack.messages) == sent + 1
    told = await world.bench.house.database.fetch(
        "SELECT subject FROM audit_log WHERE action = 'standing_rule.used'"
    )
    assert [row["subject"] for row in told] == [rule["rule_id"]]

    # A rejection of one like it, made before the rule, ends it.
    await world.call("discard_action", draft_id=kept)
    (ended,) = await world.rules("withdrawn")
    assert (ended["ended_reason"], ended["uses"]) == ("rejected", 1)
    assert (await world.run())["outcome"] == "drafts_waiting"


async def test_an_edit_earns_nothing_and_another_version_earns_anew(world: World) -> None:
    await world.confirmed(ENOUGH - 1)
    await world.run(text="Helo")
    (draft,) = await world.waiting()
    await world.call("confirm_action", draft_id=draft, edits={"text": "Hello"})
    assert await world.rules("proposed") == []

    await world.confirmed(ENOUGH)
    (rule,) = await world.rules("proposed")
    await world.call("decide_standing_rule", rule_id=rule["rule_id"], decision="accept")
    assert (await world.run())["outcome"] == "effects"
    await world.bench.save({**PLAN, "goal": "Show another promise."})
    assert (await world.run())["outcome"] == "drafts_waiting"
    taken = await world.call("withdraw_standing_rule", rule_id=rule["rule_id"])
    assert taken["status"] == "withdrawn"
