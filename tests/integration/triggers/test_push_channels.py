"""Providers are asked to report changes; a report makes the trigger look, and fires nothing itself.

The double of GitHub enforces its rules for webhooks: one per address, only for admins.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal
from uuid import UUID

import pytest

from mainspring.app import build_poller, build_push_channels
from mainspring.definition.poll_descriptions import describe_poll
from mainspring.outbound.public_address import classify_address
from mainspring.triggers.push import CATCH_UP, PushChannels
from mainspring.workspace.accounts import rows
from mainspring.workspace.automations import FIRST_MEMBER, set_state
from mainspring.workspace.sealing import publisher_scope
from tests.integration.triggers.test_poll import activate, alerts, look, payloads, state
from tests.kit.api import Api, served
from tests.kit.bench import Bench
from tests.kit.configured_bench import open_own_application
from tests.kit.doubles.calendar import CalendarDouble, calendar_double
from tests.kit.doubles.drive import drive_double
from tests.kit.doubles.github import TOKEN, GitHubDouble, Repository, github_double
from tests.kit.doubles.google import TOKEN as GOOGLE_TOKEN

REPOSITORY = "octo/hello"
PUBLIC = "https://hooks.example.com"
CONFIG = {"repository": REPOSITORY, "event": "issue_opened", "push": True}


@dataclass(frozen=True, slots=True)
class Scene:
    """An application with a connected GitHub account, and its server."""

    own: Bench
    api: Api
    github: GitHubDouble
    channels: PushChannels

    @property
    def repository(self) -> Repository:
        return self.github.repositories[REPOSITORY]

    @property
    def hooks(self) -> list[dict[str, Any]]:
        return self.repository.hooks

    async def deliver(self, event: str = "issues", *, forged: bytes | None = None) -> int:
        """Send a signed delivery of a webhook; returns the status of the answer."""
        hook = self.hooks[0]
        body, headers = self.github.deliver(hook, event, {"action": "opened"})
        path = hook["config"]["url"].removeprefix(PUBLIC)
        sent = {name.encode(): value.encode() for name, value in headers.items()}
        if forged is not None:
            sent[b"X-Hub-Signature-256"] = forged
        answer = await self.api.anonymous.post(path, content=body, headers=sent)
        return answer.status_code

    async def rows(self) -> list[dict[str, Any]]:
        found = await self.own.application.database.fetch("SELECT * FROM push_channels")
        return [dict(row) for row in found]

    async def set_state(self, automation: UUID, state: Literal["paused", "archived"]) -> None:
        async with self.own.application.database.transaction() as tx:
            await set_state(tx, self.own.application.workspace_id, automation, state)


async def connect(own: Bench, integration: str, token: str) -> None:
    """An account that the owner has signed in to."""
    application = own.application
    await application.vault.set(publisher_scope(application.workspace_id), "UNUSED", "made")
    async with application.database.transaction() as tx:
        row = await rows.begin_connection(
            tx, application.workspace_id, FIRST_MEMBER, integration, "", "oauth"
        )
        await application.vault.put(tx, row.secret_scope, "token", token)
        await rows.mark_connected(tx, row, label="", account="mona", auth="oauth", settings={})


@asynccontextmanager
async def scene(bench: Bench, *, public_url: str | None = PUBLIC) -> AsyncIterator[Scene]:
    async with github_double() as github:
        github.repositories[REPOSITORY] = Repository()
        settings: dict[str, Any] = {
            "egress_allow": frozenset({github.pair}),
            "integration_urls": {"github": github.url},
            "public_url": public_url,
        }
        async with (
            open_own_application(bench, **settings) as own,
            served(own.application, own_app=True) as api,
        ):
            await connect(own, "github", TOKEN)
            channels = build_push_channels(own.application)
            assert channels is not None
            yield Scene(own, api, github, channels)


def trigger(**more: Any) -> dict[str, Any]:
    return {"id": "t", "type": "github", "config": {**CONFIG, **more}}


async def test_an_active_automation_registers_one_webhook_however_often_it_is_compared(
    bench: Bench,
) -> None:
    async with scene(bench) as found:
        await activate(found.own, trigger())
        assert await found.channels.once() == 1
        assert await found.channels.once() == 0
        # After a restart, and in another process.
        other = build_push_channels(found.own.application)
        assert other is not None
        assert await other.once() == 0
        [hook] = found.hooks
        assert hook["events"] == ["issues"]
        assert hook["config"]["url"].startswith(f"{PUBLIC}/api/v1/push-channels/")


async def test_without_push_or_without_a_public_address_nothing_is_registered(
    bench: Bench,
) -> None:
    for public_url, push in ((PUBLIC, False), (None, True), ("https://10.0.0.8", True)):
        async with scene(bench, public_url=public_url) as found:
            await activate(found.own, trigger(push=push))
            await found.channels.once()
            assert found.hooks == []


async def test_a_delivery_makes_the_trigger_look_and_one_event_starts_one_run(
    bench: Bench,
) -> None:
    async with scene(bench) as found:
        await activate(found.own, trigger())
        await look(found.own)
        await found.channels.once()
        # The rare poll while push works.
        await look(found.own)
        waiting = await state(found.own)
        assert waiting["next_look_at"] - waiting["last_look_at"] >= CATCH_UP - timedelta(minutes=1)

        found.github.issue(REPOSITORY, 7, "2026-03-03T10:00:00Z")
        assert await found.deliver() == 204
        hurried = await state(found.own)
        assert hurried["next_look_at"] - hurried["last_look_at"] < timedelta(minutes=1)
        # The same delivery again, as GitHub may send it, and the poll that comes anyway.
        assert await found.deliver() == 204
        for _ in range(3):
            await look(found.own)
        assert [one["item"]["number"] for one in await payloads(found.own)] == [7]


async def test_a_report_during_a_look_makes_it_look_again(bench: Bench) -> None:
    async with scene(bench) as found:
        await activate(found.own, trigger())
        await look(found.own)
        await found.channels.once()
        poller = build_poller(found.own.application)
        database = found.own.application.database
        await database.execute("UPDATE poll_states SET next_look_at = now()")
        [claimed] = await poller._claim(1)
        result = await poller._read(claimed)
        # It has read the source, and the change comes before it is written.
        found.github.issue(REPOSITORY, 7, "2026-03-03T10:00:00Z")
        assert await found.deliver() == 204
        await poller._write(claimed, result)
        assert await payloads(found.own) == []
        assert await poller.once() == 1
        assert [one["item"]["number"] for one in await payloads(found.own)] == [7]


@pytest.mark.parametrize("forged", [b"sha256=" + b"0" * 64, b"", "sha256=ä".encode()])
async def test_a_forged_delivery_is_refused_and_makes_nothing_look(
    bench: Bench, forged: bytes
) -> None:
    async with scene(bench) as found:
        await activate(found.own, trigger())
        await look(found.own)
        await found.channels.once()
        before = (await state(found.own))["next_look_at"]
        assert await found.deliver(forged=forged) == 401
        assert (await state(found.own))["next_look_at"] == before
        url = found.hooks[0]["config"]["url"].removeprefix(PUBLIC)
        unknown = url[:-1] + ("0" if url[-1] != "0" else "1")
        assert (await found.api.anonymous.post(unknown, content=b"{}")).status_code == 404


async def test_the_ping_of_a_new_webhook_makes_nothing_look(bench: Bench) -> None:
    async with scene(bench) as found:
        await activate(found.own, trigger())
        await look(found.own)
        await found.channels.once()
        before = (await state(found.own))["next_look_at"]
        assert await found.deliver("ping") == 204
        assert (await state(found.own))["next_look_at"] == before


@pytest.mark.parametrize("state_after", ["paused", "archived"])
async def test_the_webhook_is_removed_when_the_automation_is_turned_off(
    bench: Bench, state_after: Literal["paused", "archived"]
) -> None:
    async with scene(bench) as found:
        automation = await activate(found.own, trigger())
        await found.channels.once()
        assert len(found.hooks) == 1
        await found.set_state(automation, state_after)
        await found.channels.once()
        assert found.hooks == []
        assert await found.rows() == []


async def test_another_public_address_moves_the_webhook(bench: Bench) -> None:
    async with scene(bench) as found:
        await activate(found.own, trigger())
        await found.channels.once()
        application = found.own.application
        connections = application.account_connections
        assert connections is not None
        moved = PushChannels(
            application.database,
            connections,
            application.vault,
            application.clock,
            "https://new.example.com",
        )
        await moved.once()
        await moved.once()
        [hook] = found.hooks
        assert hook["config"]["url"].startswith("https://new.example.com/")


async def test_a_lost_answer_makes_no_second_webhook_and_leaves_no_orphan(bench: Bench) -> None:
    async with scene(bench) as found:
        automation = await activate(found.own, trigger())
        await found.channels.once()
        database = found.own.application.database
        # As after a crash between GitHub's answer and the commit.
        await database.execute("UPDATE push_channels SET remote = NULL")
        await found.channels.once()
        [hook] = found.hooks
        [row] = await found.rows()
        assert row["remote"] == {"id": hook["id"]}
        await database.execute("UPDATE push_channels SET remote = NULL")
        await found.set_state(automation, "paused")
        await found.channels.once()
        assert found.hooks == []


async def test_without_access_to_webhooks_it_polls_and_says_so_once(bench: Bench) -> None:
    async with scene(bench) as found:
        found.repository.admin = False
        await activate(found.own, trigger(), name="Triage")
        await look(found.own)
        for _ in range(2):
            await found.own.application.database.execute(
                "UPDATE push_channels SET next_try_at = now()"
            )
            await found.channels.once()
        assert await alerts(found.own) == [("warning", "Triage polls instead of being notified")]
        [message] = await found.own.application.database.fetch("SELECT message FROM notifications")
        assert "admin:repo_hook" in message["message"]
        # It polls at its own interval.
        await look(found.own)
        waiting = await state(found.own)
        assert waiting["next_look_at"] - waiting["last_look_at"] < CATCH_UP
        # With access, the next attempt registers it.
        found.repository.admin = True
        await found.own.application.database.execute("UPDATE push_channels SET next_try_at = now()")
        await found.channels.once()
        assert len(found.hooks) == 1


async def test_a_revoked_token_leaves_the_trigger_polling_and_ends_the_channel(
    bench: Bench,
) -> None:
    async with scene(bench) as found:
        automation = await activate(found.own, trigger())
        await found.channels.once()
        found.github.script.append(
            b"HTTP/1.1 401 -\r\nContent-Length: 29\r\n\r\n" + b'{"message":"Bad credentials"}'
        )
        await found.set_state(automation, "paused")
        await found.channels.once()
        # Nothing can be removed without access, and reports of what is left are refused.
        assert await found.rows() == []
        assert await found.deliver() == 404


@asynccontextmanager
async def google(bench: Bench, kind: str) -> AsyncIterator[tuple[Bench, Any, PushChannels, Api]]:
    """An application with a connected Google account."""
    async with (drive_double if kind == "drive" else calendar_double)() as double:
        if isinstance(double, CalendarDouble):
            double.calendar("ada@example.com", "Ada")
        settings: dict[str, Any] = {
            "egress_allow": frozenset({double.pair}),
            "integration_urls": {kind: double.url},
            "public_url": PUBLIC,
        }
        async with (
            open_own_application(bench, **settings) as own,
            served(own.application, own_app=True) as api,
        ):
            await connect(own, kind, GOOGLE_TOKEN)
            channels = build_push_channels(own.application)
            assert channels is not None
            yield own, double, channels, api


GOOGLE = {
    "drive": {"type": "file_added", "config": {"query": "invoice", "push": True}},
    "calendar": {"type": "calendar_event", "config": {"push": True}},
}


@pytest.mark.parametrize("kind", ["drive", "calendar"])
async def test_google_reports_changes_to_a_channel_that_is_renewed_and_stopped(
    bench: Bench, kind: str
) -> None:
    async with google(bench, kind) as (own, double, channels, api):
        automation = await activate(own, {"id": "t", **GOOGLE[kind]})
        await look(own)
        assert (await state(own))["problem"] is None
        assert await channels.once() == 1
        assert await channels.once() == 0
        [first] = double.channels.values()
        path = first["address"].removeprefix(PUBLIC)
        before = (await state(own))["next_look_at"]
        for headers, status in (
            (double.notify(first, "sync"), 204),
            ({**double.notify(first, "exists"), "X-Goog-Channel-Token": "guessed"}, 401),
            ({**double.notify(first, "exists"), "X-Goog-Channel-ID": "another"}, 401),
        ):
            assert (await api.anonymous.post(path, headers=headers)).status_code == status
            assert (await state(own))["next_look_at"] == before
        answer = await api.anonymous.post(path, headers=double.notify(first, "exists"))
        assert answer.status_code == 204
        assert (await state(own))["next_look_at"] < before

        # Three quarters of its lifetime have passed.
        database = own.application.database
        await database.execute("UPDATE push_channels SET renew_at = now()")
        assert await channels.once() == 1
        # Both are open for a moment, so that no change is missed.
        assert len(double.channels) == 2
        await database.execute("UPDATE push_channels SET next_try_at = now()")
        await channels.once()
        [second] = double.channels.values()
        assert second["id"] != first["id"]

        async with database.transaction() as tx:
            await set_state(tx, own.application.workspace_id, automation, "paused")
        await channels.once()
        assert double.channels == {}


async def test_a_channel_whose_answer_was_lost_is_replaced(bench: Bench) -> None:
    async with google(bench, "drive") as (own, double, channels, _):
        await activate(own, {"id": "t", **GOOGLE["drive"]})
        await channels.once()
        await own.application.database.execute("UPDATE push_channels SET remote = NULL")
        # Its id is refused, and the next one works.
        await channels.once()
        await channels.once()
        rows = await own.application.database.fetch("SELECT remote FROM push_channels")
        assert [row["remote"]["id"] in double.channels for row in rows] == [True]
        assert len(double.channels) == 2


async def test_the_review_and_the_list_of_triggers_name_what_is_registered(bench: Bench) -> None:
    async with scene(bench) as found:
        automation = await activate(found.own, trigger())
        await found.channels.once()
        shown = (await found.api.client.get(f"/api/v1/automations/{automation}/triggers/t")).json()
        assert shown["poll"]["push"]["registered"] is True
        said = describe_poll("github", CONFIG, repr)
        assert said.endswith(
            "register a webhook in the repository, which reports changes to this server"
        )


def test_only_an_address_that_providers_can_reach_counts() -> None:
    reachable = ["https://hooks.example.com", "https://8.8.8.8", "https://a.example.com:8443/x"]
    local = [
        None,
        "http://hooks.example.com",
        "https://localhost",
        "https://10.1.2.3",
        "https://[::1]",
        "https://printer.local",
        "https://mainspring",
    ]
    assert {classify_address(url) for url in reachable} == {"public"}
    assert "public" not in {classify_address(url) for url in local}
