"""Notifications in a person's own browsers: subscribing, what is sent, and who gets nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import pytest_asyncio

from mainspring.contracts.context import Actor
from mainspring.contracts.roles import Role
from mainspring.gate.direct import Visitor
from mainspring.gate.web_push import PushDelivery
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.api import Api, served
from tests.kit.house import Bench
from tests.kit.own_house import own_house
from tests.kit.people import PASSWORD, Browser, browser, cheap, make_person
from tests.kit.push_service import PushServiceDouble, SubscribedBrowser, push_service

SUBSCRIPTIONS = "/me/push/subscriptions"


@dataclass(slots=True)
class World:
    """The first member's browser, and the push service that it subscribes to."""

    bench: Bench
    api: Api
    at: Browser
    service: PushServiceDouble

    @property
    def delivery(self) -> PushDelivery:
        return PushDelivery(self.api.house.database, self.api.house.push)

    async def browser(self, at: Browser | None = None) -> SubscribedBrowser:
        """A browser that has been given the server's key."""
        found = (await (at or self.at).ask("GET", "/me/push")).json()
        return self.service.subscribe(found["public_key"])

    async def subscribe(
        self, at: Browser | None = None, **more: Any
    ) -> tuple[SubscribedBrowser, dict[str, Any]]:
        made = await self.browser(at)
        answer = await (at or self.at).ask("POST", SUBSCRIPTIONS, json=made.as_json(**more))
        assert answer.status_code == 200, answer.text
        return made, answer.json()

    async def listed(self, at: Browser | None = None) -> list[dict[str, Any]]:
        answer = await (at or self.at).ask("GET", "/me/push")
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()["subscriptions"]
        return found

    async def draft(self, member_id: UUID = FIRST_MEMBER, role: Role = Role.OWNER) -> str:
        """A write that waits for its person."""
        space = self.api.house.workspace_id
        visitor = Visitor(Actor(space, "member", member_id, role=role))
        given = {"to": "eve@example.org", "subject": "PRIVATE-SUBJECT", "body": "PRIVATE-BODY"}
        made = await self.api.house.gate.direct(visitor, "test.send", given)
        return str(made["draft_id"])


@pytest_asyncio.fixture
async def world(bench: Bench) -> AsyncIterator[World]:
    async with push_service() as service, _world(bench, service) as made:
        yield made


@asynccontextmanager
async def _world(bench: Bench, service: PushServiceDouble) -> AsyncIterator[World]:
    async with (
        own_house(bench, egress_allow=frozenset({service.pair})) as own,
        served(replace(own.house, passwords=cheap())) as api,
        browser(api, FIRST_MEMBER) as at,
    ):
        yield World(own, api, at, service)


async def test_a_test_notification_reaches_the_browser(world: World) -> None:
    made, saved = await world.subscribe()
    assert saved["kinds"] == ["drafts", "questions", "failures"]
    assert saved["endpoint_hash"] == made.endpoint_hash
    assert made.endpoint not in str(await world.listed())
    sent = await world.at.ask("POST", f"{SUBSCRIPTIONS}/{saved['id']}/test")
    assert sent.status_code == 204, sent.text
    (shown,) = made.shown
    assert shown == {
        "title": "Notifications work", "body": "Mainspring can reach this device.",
        "link": "/settings/you", "tag": "test",
    }  # fmt: skip
    (one,) = await world.listed()
    assert one["current"]
    assert one["sent_at"] is not None
