"""The approval mode of an outside write: what is sent at once, what waits, and what stays."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from mainspring.contracts.context import Actor
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.runs.run_requests import RunRequest
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.bench import Bench, document, step
from tests.kit.configured_bench import open_own_application
from tests.kit.members import member
from tests.kit.scripted_server import ScriptedDouble, http_answer, serving
from tests.kit.slack import TOKEN, SlackDouble, slack_double

SECRET = "s3cr3t-value-42"


class Hook(ScriptedDouble):
    """A system outside that takes every request and keeps it."""

    def _respond(self, head: bytes, headers: dict[str, str], body: bytes) -> bytes:
        self.messages.append(
            {"head": head.decode().splitlines()[0], "headers": headers, "body": body.decode()}
        )
        return http_answer(200, b'{"id": 7}', "Content-Type: application/json")


class World:
    """A bench whose owner's bot posts to Slack, and a system that takes requests."""

    def __init__(self, bench: Bench, slack: SlackDouble, hook: Hook) -> None:
        self.bench, self.slack, self.hook = bench, slack, hook

    async def call(self, name: str, **value: Any) -> Any:
        actor = Actor(self.bench.application.workspace_id, "member", FIRST_MEMBER, role=Role.OWNER)
        return await self.bench.application.gate.direct(CapabilityCaller(actor), name, value)

    async def run(self, *plan: Any, **more: Any) -> dict[str, Any]:
        return await self.bench.run(document(*plan, **more))

    async def waiting(self) -> list[dict[str, Any]]:
        return list((await self.call("list_pending_actions"))["drafts"])

    def post(self, **more: Any) -> dict[str, Any]:
        config = {"channel": "C0TEAM", "text": "Hello {{ run.automation_name }}"}
        return step("post", "slack_post", config, **more)

    def fetch(self, method: str = "POST", **more: Any) -> dict[str, Any]:
        config = {
            "url": f"http://{self.hook.pair}/notes",
            "method": method,
            "headers": {"Authorization": "Bearer {{ secrets.hook_token }}"},
            "json": {"title": "Weekly report"},
        }
        return step("send", "http_fetch", config, **more)


@pytest_asyncio.fixture
async def world(bench: Bench) -> AsyncIterator[World]:
    await bench.application.vault.set(bench.secret_scope, "slack_bot_token", TOKEN)
    await bench.application.vault.set(bench.secret_scope, "hook_token", SECRET)
    async with slack_double() as slack, serving(Hook()) as hook:
        allowed = frozenset({slack.pair, hook.pair})
        async with open_own_application(
            bench, slack_url=slack.url, egress_allow=allowed
        ) as own_bench:
            yield World(own_bench, slack, hook)


async def test_an_automatic_write_is_sent_and_its_step_has_the_real_answer(world: World) -> None:
    run = await world.run(
        world.post(approval="automatic"),
        step("after", "transform_data", {"output": "{{ steps.post.ts }}"}),
    )
    assert (run["status"], run["outcome"]) == ("succeeded", "effects"), run["error"]
    (message,) = world.slack.messages
    assert (message["channel"], message["text"]) == ("C0TEAM", "Hello a test")
    assert run["output"] == "1503435956.000001"
    assert await world.waiting() == []
    row = await world.bench.application.database.fetchrow("SELECT * FROM drafts")
    assert row is not None
    assert (row["status"], row["outcome"], row["answered_kind"]) == ("confirmed", "sent", "step")


async def test_a_write_that_says_nothing_asks_and_so_does_one_that_says_so(world: World) -> None:
    assert (await world.run(world.post()))["outcome"] == "drafts_waiting"
    assert (await world.run(world.post(approval="ask")))["outcome"] == "drafts_waiting"
    assert world.slack.messages == []
    assert len(await world.waiting()) == 2


async def test_an_automatic_write_that_may_have_left_is_not_sent_again(world: World) -> None:
    world.slack.script = [http_answer(504, b"late")]
    run = await world.run(world.post(approval="automatic", max_retries=3))
    assert (run["status"], len(world.slack.requests)) == ("failed", 1)
    row = await world.bench.application.database.fetchrow("SELECT * FROM drafts")
    assert row is not None
    assert (row["status"], row["outcome"]) == ("failed", "unknown")


async def test_where_two_people_must_agree_nothing_is_automatic(world: World) -> None:
    application = world.bench.application
    await member(application.database, application.workspace_id, Role.OWNER)
    await world.call("set_approval_policy", approvers=2)
    assert (await world.run(world.post(approval="automatic")))["outcome"] == "drafts_waiting"
    assert world.slack.messages == []


async def test_data_that_mentions_a_channel_is_held(world: World) -> None:
    text = {"type": "string", "default": "<!channel> look here"}
    config = {"channel": "C0TEAM", "text": "{{ inputs.text }}"}
    run = await world.run(
        step("post", "slack_post", config, approval="automatic"),
        inputs={"schema": {"type": "object", "properties": {"text": text}}},
    )
    assert run["outcome"] == "drafts_waiting"


@pytest.mark.parametrize("policy", ["always_draft", "auto_confirm_safe"])
async def test_a_request_that_changes_something_waits_and_can_be_read_and_sent(
    world: World, policy: str
) -> None:
    run = await world.run(world.fetch(), execution={"write_policy": policy})
    assert (run["status"], run["outcome"]) == ("succeeded", "drafts_waiting"), run["error"]
    assert world.hook.messages == []
    (draft,) = await world.waiting()
    url = f"http://{world.hook.pair}/notes"
    assert draft["preview"] == f'Send a POST request to {url}: {{"title":"Weekly report"}}'
    assert draft["payload"]["method"] == "POST"
    assert draft["payload"]["url"] == url
    assert draft["payload"]["headers"] == {"Authorization": "Bearer [secret hook_token]"}
    assert draft["payload"]["json"] == {"title": "Weekly report"}
    assert SECRET not in json.dumps(draft)

    answer = await world.call(
        "confirm_action", draft_id=draft["draft_id"], edits={"json": {"title": "Report"}}
    )
    assert (answer["status"], answer["result"]["json"]) == ("confirmed", {"id": 7})
    (sent,) = world.hook.messages
    assert sent["head"].startswith("POST /notes")
    assert sent["headers"]["authorization"] == f"Bearer {SECRET}"
    assert sent["headers"]["idempotency-key"] == f"draft/{draft['draft_id']}"
    assert json.loads(sent["body"]) == {"title": "Report"}


async def test_an_automatic_request_is_sent_and_tried_again_as_before(world: World) -> None:
    world.hook.script = [http_answer(503, b"busy", "Retry-After: 0")]
    run = await world.run(world.fetch("PUT", approval="automatic"))
    assert (run["status"], run["outcome"]) == ("succeeded", "effects"), run["error"]
    assert run["output"]["json"] == {"id": 7}
    assert len(world.hook.requests) == 2
    assert await world.waiting() == []


async def test_a_request_that_only_asks_never_waits(world: World) -> None:
    config = {"url": f"http://{world.hook.pair}/notes"}
    run = await world.run(step("get", "http_fetch", config))
    assert (run["status"], len(world.hook.messages)) == ("succeeded", 1), run["error"]


async def test_a_callback_waits_unless_its_step_is_automatic(world: World) -> None:
    config = {"url": f"http://{world.hook.pair}/hook", "body": {"run": "{{ run.id }}"}}
    run = await world.run(step("tell", "callback_webhook", config))
    assert (run["status"], run["outcome"]) == ("succeeded", "drafts_waiting"), run["error"]
    (draft,) = await world.waiting()
    assert run["output"]["draft_id"] == draft["draft_id"]
    assert world.hook.messages == []
    sent = await world.run(step("tell", "callback_webhook", config, approval="automatic"))
    assert (sent["outcome"], sent["output"]) == ("effects", {"status": 200, "json": {"id": 7}})


async def test_a_stored_definition_of_the_older_format_sends_what_it_sent(world: World) -> None:
    application = world.bench.application
    saved = await world.bench.save(
        document(world.fetch(approval="automatic"), world.post(), name="From before")
    )
    # As the release before has stored it.
    await application.database.execute(
        """UPDATE definitions SET document = (
            jsonb_set(document::jsonb, '{schema_version}', '"1.1"') #- '{plan,0,approval}'
        )"""
    )
    made = await application.dispatcher.dispatch(
        RunRequest(application.workspace_id, saved.automation_id)
    )
    async with world.bench.worker():
        run = await world.bench.until(made.run_id)
    assert run["status"] == "succeeded", run["error"]
    assert len(world.hook.messages) == 1
    assert world.slack.messages == []
    (draft,) = await world.waiting()
    assert draft["action"] == "slack_post"
