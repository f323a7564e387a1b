"""Drafts and questions are answered in Slack by the linked person, and by nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from uuid import UUID

import httpx2
import pytest_asyncio

from mainspring.contracts.context import Actor
from mainspring.contracts.roles import Role
from mainspring.gate.direct import Visitor
from mainspring.gate.installs import install_id_of
from mainspring.gate.prompting.telling import Chats, Telling
from mainspring.vocabulary import Words
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.api import Api, served
from tests.kit.doubles.slack_app import SIGNING_SECRET, SlackApp, slack_app
from tests.kit.house import Bench
from tests.kit.own_house import own_house

PATIENCE = 20.0


class World:
    """An installation whose owner has connected Slack, and the Slack app over there."""

    def __init__(self, bench: Bench, slack: SlackApp, api: Api) -> None:
        self.bench, self.slack, self.api = bench, slack, api
        house = bench.house
        assert house.lines is not None
        chats = Chats(house.lines, house.clock, "http://localhost:8321")
        self.telling = Telling(house.database, chats, None, None)
        self.url = f"/api/v1/integrations/slack/interactions/{house.workspace_id}"
        self.owner = Actor(house.workspace_id, "member", FIRST_MEMBER, role=Role.OWNER)

    async def call(self, name: str, /, *, actor: Actor | None = None, **given: Any) -> Any:
        return await self.bench.house.gate.direct(Visitor(actor or self.owner), name, given)

    async def connect(self) -> None:
        """The owner signs in to Slack and agrees to the app's bot."""
        await self.call(
            "set_oauth_client", provider="slack", client_id="1.2", client_secret="s3cret"
        )
        link = await self.call("begin_integration_sign_in", integration="slack")
        state = dict(parse_qsl(urlsplit(link["sign_in_url"]).query))["state"]
        words = self.bench.house.registry
        assert isinstance(words, Words)
        await words.reception.finish_sign_in(
            self.owner, "slack", state=state, code="a-code", error=None
        )

    async def deliver(self, body: bytes, **signing: Any) -> httpx2.Response:
        return await self.slack.deliver(self.api.stranger, self.url, body, **signing)

    async def link(self, user: str = "U0ADA", *, actor: Actor | None = None) -> str:
        """Links a Slack account; what its person reads there."""
        begun = await self.call("link_slack", actor=actor)
        text = begun["command"].removeprefix("/mainspring ")
        answer = await self.deliver(self.slack.command(text, user=user))
        assert answer.status_code == 200
        assert answer.json()["response_type"] == "ephemeral"
        return str(answer.json()["text"])

    async def draft(self, text: str) -> str:
        """A message that waits for the owner."""
        made = await self.call(
            "act_on_integration", install_id=str(install_id_of("slack")),
            action_name="slack_post", input={"channel": "C0GEN", "text": text},
        )  # fmt: skip
        return str(made["draft_id"])

    async def asked(self, text: str) -> str:
        """A draft of which the owner was shown a message in Slack."""
        draft = await self.draft(text)
        assert await self.telling.once() == 1
        return draft

    async def press(self, label: str, **who: Any) -> None:
        answer = await self.deliver(self.slack.press(label, **who))
        assert (answer.status_code, answer.content) == (200, b"")

    async def settled(self, is_so: Callable[[], bool]) -> None:
        """Waits for what Slack has been told after its request was acknowledged."""
        async with asyncio.timeout(PATIENCE):
            while not is_so():
                await asyncio.sleep(0.01)

    async def status(self, draft: str) -> str:
        row = await self.bench.house.database.fetchrow(
            "SELECT status FROM drafts WHERE id = $1", UUID(draft)
        )
        assert row is not None
        return str(row["status"])

    def posted(self) -> list[str]:
        """What was sent to the channel."""
        return [one["text"] for one in self.slack.messages if one["channel"] == "C0GEN"]


@pytest_asyncio.fixture
async def world(bench: Bench) -> AsyncIterator[World]:
    async with slack_app() as slack:
        places = {
            "slack.authorize_url": f"{slack.url}/authorize",
            "slack.token_url": f"{slack.url}/oauth.v2.access",
        }
        async with (
            own_house(
                bench, slack_url=slack.url, integration_urls=places,
                egress_allow=frozenset({slack.pair}),
            ) as here,
            served(here.house) as api,
        ):  # fmt: skip
            made = World(here, slack, api)
            await made.connect()
            await made.call(
                "publisher_secret_set", name="SLACK_SIGNING_SECRET", value=SIGNING_SECRET
            )
            yield made


async def test_a_linked_person_approves_a_draft_and_sees_what_came_of_it(world: World) -> None:
    assert "is linked" in await world.link()
    draft = await world.asked("Tom & Jerry <3 *bold* <!channel>")

    assert world.slack.latest["channel"] == "D0ADA"
    assert "Tom & Jerry <3 *bold* <!channel>" in world.slack.text
    assert [one["text"]["text"] for one in world.slack.buttons()] == ["Approve", "Decline"]
    assert world.slack.links() == [f"http://localhost:8321/inbox?draft={draft}"]
    ts = world.slack.latest["ts"]

    await world.press("Approve")
    await world.settled(lambda: not world.slack.buttons(world.slack.shown[ts]))

    assert await world.status(draft) == "confirmed"
    assert world.posted() == ["Tom & Jerry <3 *bold* <!channel>"]
    shown = world.slack.shown[ts]
    assert "Tom & Jerry <3" in str(shown["blocks"][0]["text"]["text"]).replace(
        "&amp;", "&"
    ).replace("&lt;", "<")
    assert "Sent." in str(shown["blocks"][-1])
