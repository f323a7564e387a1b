"""A mailbox comes in over its member's connection, and a mail leaves with files of a page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import pytest

from mainspring.connections.installed_integrations import install_id_of
from mainspring.contracts.errors import ReconnectRequired
from mainspring.contracts.ids import generate_id
from mainspring.runs.run_requests import RunRequest
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.sealing import connection_scope
from tests.kit.bench import Bench
from tests.kit.boards import Boards
from tests.kit.configured_bench import open_own_application
from tests.kit.doubles.gmail import GmailDouble, attached, branch, gmail_double, leaf
from tests.kit.doubles.google import TOKEN

LONG_AGO, NOW = 1_780_000_000, 4_000_000_000


@asynccontextmanager
async def mailbox(bench: Bench) -> AsyncIterator[tuple[Bench, Boards, GmailDouble]]:
    """An application whose owner is connected to a mailbox."""
    async with gmail_double() as double:
        places = {"gmail": double.url}
        async with open_own_application(
            bench, integration_urls=places, egress_allow=frozenset({double.pair})
        ) as here:
            space, own = here.application.workspace_id, generate_id()
            await here.application.database.execute(
                "INSERT INTO integration_connections (workspace_id, id, owner_id, integration, "
                "label, account, auth, state) "
                "VALUES ($1, $2, $3, 'gmail', 'Gmail', 'me@example.com', 'oauth', 'ready')",
                space,
                own,
                FIRST_MEMBER,
            )
            await here.application.vault.set(connection_scope(space, own), "token", TOKEN)
            yield here, Boards(here.application), double


async def _told(here: Bench) -> list[dict[str, Any]]:
    rows = await here.application.database.fetch(
        "SELECT payload FROM events WHERE type = 'gmail.message_received' ORDER BY id"
    )
    return [row["payload"] for row in rows]


async def _run(here: Bench, automation: UUID) -> dict[str, Any]:
    made = await here.application.dispatcher.dispatch(
        RunRequest(here.application.workspace_id, automation)
    )
    return await here.until(made.run_id)


async def _revoke(here: Bench) -> None:
    own = await here.application.database.fetchval("SELECT id FROM integration_connections")
    scope = connection_scope(here.application.workspace_id, own)
    await here.application.vault.set(scope, "token", "revoked")


async def test_mail_comes_in_by_an_automation_and_leaves_as_a_draft(bench: Bench) -> None:
    async with mailbox(bench) as (here, member, gmail):
        message = branch(
            "multipart/mixed",
            leaf("text/plain", b"Here it is."),
            attached("plan.pdf", "application/pdf", b"%PDF-1"),
        )
        gmail.put(
            "m1",
            "t1",
            message,
            at=LONG_AGO,
            From="noah@a16z.com",
            To="me@example.com",
            Subject="The plan",
        )
        found = await member.call("fetch_from_integration", source="gmail", request="from:noah")
        (slug,) = found["page_slugs"]
        page = await member.call("get_page", slug=slug)
        assert (page["type"], page["source"], page["title"]) == ("email", "gmail", "The plan")
        assert await _told(here) == [], "what has been there for years is no news"

        watched = await member.call("watch_integration", source="gmail")
        automation = UUID(watched["automation_id"])
        remembered = await here.application.database.fetchval(
            "SELECT automation_id FROM integration_connections"
        )
        assert (watched["name"], remembered) == ("Read Gmail", automation)

        async with here.worker():
            first = await _run(here, automation)
            assert first["status"] == "succeeded", first["error"]
            gmail.put(
                "m2",
                "t1",
                leaf("text/plain", b"And?"),
                at=NOW,
                From="noah@a16z.com",
                To="me@example.com",
                Subject="Re: The plan",
            )
            second, third = await _run(here, automation), await _run(here, automation)
            assert second["output"]["page_slugs"] == [slug], (
                "a reply changes the page of its thread"
            )
            assert third["output"]["ingested_count"] == 0
            (news,) = await _told(here)
            assert (news["message_id"], news["page_slug"]) == ("m2", slug)

            draft = await member.call(
                "act_on_integration",
                install_id=str(install_id_of("gmail")),
                action_name="send_email",
                attach_from_page=slug,
                input={
                    "to": ["noah@a16z.com"],
                    "subject": "Re: The plan",
                    "body": "We're in.",
                    "thread_id": "t1",
                },
            )
            assert (draft["kind"], draft["action"]) == ("draft", "send_email")
            assert "noah@a16z.com" in draft["preview"]
            assert gmail.sent == []
            sent = await member.call("confirm_action", draft_id=draft["draft_id"])
            assert sent["status"] == "confirmed", sent
            (mail,) = gmail.sent
            assert [part.get_filename() for part in mail.iter_attachments()] == ["plan.pdf"]  # type: ignore[attr-defined]

            # Once it is not accepted any more, a run is blocked and everybody is notified.
            await _revoke(here)
            blocked = await _run(here, automation)
            assert (blocked["status"], blocked["outcome"]) == ("failed", "blocked")
            assert "Gmail" in blocked["error"]["detail"]
        with pytest.raises(ReconnectRequired):
            await member.call("fetch_from_integration", source="gmail", request="from:noah")
