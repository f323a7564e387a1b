"""Drafts that people confirmed again and again: a rule is proposed, accepted, used and lost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from mainspring.contracts.context import Actor, RunRef
from mainspring.contracts.errors import Conflict, PermissionDenied
from mainspring.contracts.roles import Role
from mainspring.gate.call_state import CallState
from mainspring.gate.callers import CapabilityCaller
from mainspring.gate.capability_call import CapabilityCall
from mainspring.gate.drafts import DraftLifetimes
from mainspring.gate.policy import RunPolicy
from mainspring.gate.preapproval import claim_preapproved
from mainspring.gate.run_budget import ENDLESS, RunBudget
from mainspring.gate.standing.rules import ENOUGH
from mainspring.runs.run_requests import RunRequest
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.bench import Bench, document, step
from tests.kit.configured_bench import open_own_application
from tests.kit.members import member
from tests.kit.scripted_server import http_answer
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

    async def call(self, name: str, *, program: bool = False, **value: Any) -> Any:
        actor = Actor(
            self.bench.application.workspace_id,
            "client" if program else "member",
            FIRST_MEMBER,
            role=Role.OWNER,
        )
        return await self.bench.application.gate.direct(CapabilityCaller(actor), name, value)

    async def run(self, **inputs: str) -> dict[str, Any]:
        """One run of the automation, to its end."""
        application = self.bench.application
        made = await application.dispatcher.dispatch(
            RunRequest(application.workspace_id, self.automation, inputs=inputs)
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
    await bench.application.vault.set(bench.secret_scope, "slack_bot_token", TOKEN)
    async with (
        slack_double() as slack,
        open_own_application(
            bench, slack_url=slack.url, egress_allow=frozenset({slack.pair})
        ) as own_bench,
    ):
        found = World(own_bench, slack)
        found.automation = (await own_bench.save(PLAN)).automation_id
        async with own_bench.worker():
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
    (stored,) = await world.waiting()
    with pytest.raises(PermissionDenied):
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
    # And so is one that calls somebody.
    assert (await world.run(text="<!channel> hello"))["outcome"] == "drafts_waiting"
    assert len(world.slack.messages) == sent + 1
    result = await world.bench.application.database.fetch(
        "SELECT subject FROM audit_log WHERE action = 'standing_rule.used'"
    )
    assert [row["subject"] for row in result] == [rule["rule_id"]]

    # A rejection of one like it, made before the rule, ends it.
    await world.call("discard_action", draft_id=stored)
    (ended,) = await world.rules("withdrawn")
    assert (ended["ended_reason"], ended["uses"]) == ("rejected", 1)
    assert (await world.run())["outcome"] == "drafts_waiting"


async def test_an_edit_earns_nothing_and_a_version_that_sends_the_same_keeps_its_rule(
    world: World,
) -> None:
    await world.confirmed(ENOUGH - 1)
    await world.run(text="Helo")
    (draft,) = await world.waiting()
    await world.call("confirm_action", draft_id=draft, edits={"text": "Hello"})
    assert await world.rules("proposed") == []

    await world.confirmed(ENOUGH)
    (rule,) = await world.rules("proposed")
    await world.call("decide_standing_rule", rule_id=rule["rule_id"], decision="accept")
    assert (await world.run())["outcome"] == "effects"
    before = step("count", "transform_data", {"output": 1})
    same = {**PLAN, "goal": "Show another promise.", "plan": [before, *PLAN["plan"]]}
    await world.bench.save(same)
    assert (await world.run())["outcome"] == "effects"
    # Another template is nothing that anybody has agreed to.
    config = {"channel": "{{ inputs.channel }}", "text": "Pay now: {{ inputs.text }}"}
    await world.bench.save({**PLAN, "plan": [step("post", "slack_post", config)]})
    assert (await world.run())["outcome"] == "drafts_waiting"
    # What is rejected there ends the rule for all of them.
    (draft,) = await world.waiting()
    await world.call("discard_action", draft_id=draft)
    assert [one["rule_id"] for one in await world.rules("withdrawn")] == [rule["rule_id"]]
    accepted = await world.call("withdraw_standing_rule", rule_id=rule["rule_id"])
    assert accepted["status"] == "withdrawn"


async def test_a_rule_sends_once_and_has_no_more_rights_than_its_approver(
    world: World,
) -> None:
    application = world.bench.application
    await world.confirmed(ENOUGH)
    (rule,) = await world.rules("proposed")
    bob = await member(application.database, application.workspace_id, Role.EDITOR)
    await member(application.database, application.workspace_id, Role.OWNER)
    await world.call("set_approval_policy", approvers=2)
    accept = {"rule_id": rule["rule_id"], "decision": "accept"}
    with pytest.raises(Conflict):
        await application.gate.direct(bob, "decide_standing_rule", accept)
    await world.call("set_approval_policy", approvers=1)
    await application.gate.direct(bob, "decide_standing_rule", accept)

    # It may have arrived: it is tried no second time, and it is reported where it was sent.
    asked = len(world.slack.requests)
    world.slack.script = [http_answer(504, b"late")]
    run = await world.run(text="Pay 100")
    assert (run["status"], len(world.slack.requests) - asked) == ("failed", 1)
    row = await application.database.fetchrow(
        "SELECT id, status, outcome, answered_kind, rule_id, call_id, run_id FROM drafts"
        " WHERE rule_id IS NOT NULL"
    )
    assert row is not None
    assert tuple(row)[1:5] == ("failed", "unknown", "rule", UUID(rule["rule_id"]))
    # A worker that takes the run over sees it; another try of the step waits for a person.
    (same,) = await _taken_again(world, row["run_id"], "Pay 100", 1)
    assert same.problem is not None
    assert (same.problem.code, same.problem.retryable) == ("send_in_doubt", False)
    assert await _taken_again(world, row["run_id"], "Pay 100", 2) == [None]
    # Refused for certain, another try is made, and the step ends with the real answer.
    world.slack.script = [http_answer(429, b"{}", "Retry-After: 0")]
    run = await world.run(text="Pay 10")
    assert run["outcome"] == "effects"
    assert run["output"]["ts"]
    (done,) = await _taken_again(world, run["id"], "Pay 10", 2)
    assert done.result == run["output"]

    # It rests while its accepter could not approve, and ends when they have left.
    await world.call("set_approval_policy", roles=["owner"])
    assert (await world.run())["outcome"] == "drafts_waiting"
    await world.call("set_approval_policy", roles=[])
    assert (await world.run())["outcome"] == "effects"
    await application.database.execute("DELETE FROM members WHERE user_id = $1", bob.actor.id)
    assert (await world.run())["outcome"] == "drafts_waiting"
    (ended,) = await world.rules("withdrawn")
    assert ended["ended_reason"] == "accepter_left"


async def test_what_was_edited_before_it_was_drafted_again_and_what_was_declined_earn_nothing(
    world: World,
) -> None:
    await world.run(text="bad words")
    (draft,) = await world.waiting()
    await world.call("edit_action", draft_id=draft, edits={"text": "good words"})
    await world.bench.application.database.execute(
        "UPDATE drafts SET expires_at = now() - interval '1 second' WHERE id = $1", UUID(draft)
    )
    again = await world.call("redraft_action", draft_id=draft)
    await world.call("confirm_action", draft_id=again["draft_id"], hash=again["hash"])
    await world.confirmed(ENOUGH - 1)
    assert await world.rules("proposed") == []
    await world.confirmed(1)
    (rule,) = await world.rules("proposed")
    await world.call("decide_standing_rule", rule_id=rule["rule_id"], decision="decline")

    await world.confirmed(ENOUGH - 1)
    assert await world.rules("proposed") == []
    await world.confirmed(1)
    assert len(await world.rules("proposed")) == 1


async def _taken_again(world: World, run_id: UUID, text: str, attempt: int) -> list[Any]:
    """What a rule says to the first call of a step in one of its tries, once more."""
    application = world.bench.application
    run = RunRef(run_id, world.automation, "post", "", attempt)
    given = {"channel": "C0TEAM", "text": text}
    actor = Actor(application.workspace_id, "run", run_id)
    ask = CapabilityCall("slack_post", given, actor, run, 1, RunPolicy(()), RunBudget(ENDLESS))
    state = CallState(ask, application.registry.capabilities["slack_post"], given, b"", 0.0)
    async with application.database.transaction() as tx:
        return [await claim_preapproved(tx, state, application.clock.now(), DraftLifetimes())]
