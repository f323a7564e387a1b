"""Calls over a connection: renewed once, blocked when refused, and never reported elsewhere."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from mainspring.contracts.context import Actor
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.workspace.automations import FIRST_MEMBER, FIRST_WORKSPACE
from tests.integration.connections.accounts.test_signing_in import connected
from tests.kit.accounts import Accounts, house_of
from tests.kit.bench import document, step
from tests.kit.doubles.oauth_provider import ACCOUNT, CLIENT_SECRET
from tests.kit.leaks import Haystack, add_tables
from tests.kit.members import member
from tests.kit.scripted_server import http_answer

pytestmark = pytest.mark.asyncio(loop_scope="module")
OWNER = CapabilityCaller(Actor(FIRST_WORKSPACE, "member", FIRST_MEMBER, role=Role.OWNER))


def reading(name: str, capability: str = "notebook.read", **config: Any) -> dict[str, Any]:
    """A plan that reads and then would go on."""
    return document(step("read", capability, config), step("after", "notebook.read"), name=name)


async def test_twenty_calls_of_two_processes_renew_once(here: Accounts) -> None:
    await connected(here)
    await here.expire_here()
    async with house_of(here.application.settings, here.provider) as other:
        answers = await asyncio.gather(
            *(
                (here.application, other)[number % 2].gate.direct(OWNER, "notebook.read", {})
                for number in range(20)
            )
        )
    tokens = {token for path, token in here.provider.calls if path == "/api/notes"}

    assert all(answer["who"] == ACCOUNT for answer in answers)
    assert len(here.provider.asked_for("refresh_token")) == 1
    assert len(tokens) == 1
    assert (await here.shown("notebook"))["connection"]["health"] == "ok"


async def test_a_token_that_is_refused_early_is_renewed_and_the_request_sent_again(
    here: Accounts,
) -> None:
    await connected(here)
    here.provider.expire()
    async with house_of(here.application.settings, here.provider) as other:
        answers = await asyncio.gather(
            *(
                (here.application, other)[number % 2].gate.direct(OWNER, "notebook.read", {})
                for number in range(8)
            )
        )

    assert all(answer["notes"] for answer in answers)
    assert all(answer["echo"].startswith("[secret connection.token") for answer in answers)
    assert len(here.provider.asked_for("refresh_token")) == 1


async def test_what_was_taken_back_blocks_the_run_until_somebody_connects_again(
    here: Accounts,
) -> None:
    await connected(here)
    fine = await here.run(reading("before"))
    here.provider.end()
    blocked = await here.run(reading("after"))
    asked = len(here.provider.asked_for("refresh_token"))
    calls = len(here.provider.calls)
    again = await here.run(reading("once more"))
    direct = await here.call("notebook.read")
    spent = (len(here.provider.asked_for("refresh_token")), len(here.provider.calls))
    shown = await here.shown("notebook")
    tested = await here.ask("POST", "/integrations/notebook/test")
    await connected(here)
    mended = await here.run(reading("mended"))

    assert (fine["status"], mended["status"]) == ("succeeded", "succeeded")
    assert (blocked["outcome"], again["outcome"]) == ("blocked", "blocked")
    assert "Notebook" in str(blocked["error"])
    assert ACCOUNT in str(blocked["error"])
    assert "/integrations/notebook" in str(blocked["error"])
    # Nothing further was spent: neither a renewal nor a call.
    assert asked == 1
    assert spent == (asked, calls)
    assert (direct.status_code, direct.json()["code"]) == (403, "reconnect_needed")
    assert (shown["connected"], shown["state"]) == (False, "reconnect")
    assert shown["connection"]["health"] == "reconnect"
    assert (tested["works"], tested["problem"]["code"]) == (False, "reconnect_needed")
    assert (await here.shown("notebook"))["state"] == "ready"


async def test_an_integration_that_finds_it_refused_need_not_know_its_name(here: Accounts) -> None:
    await connected(here)
    here.provider.script.append(http_answer(500, b"{}"))
    failed = await here.call("notebook.read")
    failing = (await here.shown("notebook"))["connection"]
    await here.call("notebook.read")
    better = (await here.shown("notebook"))["connection"]
    answer = (await here.call("notebook.read", text="refuse")).json()
    shown = await here.shown("notebook")
    here.provider.shut = True
    await here.ask("POST", "/integrations/notebook/test")
    here.provider.shut = False
    healed = await here.ask("POST", "/integrations/notebook/test")

    assert (failed.status_code, failing["health"], failing["failures_in_row"]) == (
        502,
        "failing",
        1,
    )
    assert "500" in failing["last_error"]["detail"]
    assert (better["health"], better["last_error"]) == ("ok", None)
    assert answer["code"] == "scope_missing"
    assert "Too little was agreed to." in answer["detail"]
    assert ACCOUNT in answer["detail"]
    assert shown["state"] == "reconnect"
    assert (healed["works"], healed["integration"]["state"]) == (True, "ready")


async def test_the_token_goes_to_no_other_host_and_is_read_nowhere(
    here: Accounts, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await connected(here)
    first = next(iter(here.provider.families[0].access))
    run = await here.run(reading("kept"))
    away = await here.call("notebook.away")
    here.provider.expire()
    later = await here.run(reading("kept again"))
    direct = (await here.call("notebook.read")).json()
    family = here.provider.families[0]
    planted = {
        "first": first,
        "access": next(iter(family.access)),
        "refresh": family.refresh,
        "client": CLIENT_SECRET,
    }
    hay = Haystack()
    columns = await add_tables(hay, here.application.database)
    hay.add("the log", caplog.text)
    for result in (run, later, direct, away.json(), await here.ask("GET", "/integrations")):
        hay.add("an answer", str(result))

    assert columns > 100
    assert first != planted["access"]
    assert (away.status_code, away.json()["code"]) == (403, "host_not_approved")
    assert not here.unknown_provider.requests
    assert hay.found(planted) == []


async def test_each_member_has_their_own_and_nobody_uses_anothers(here: Accounts) -> None:
    await connected(here)
    other = await member(here.application.database, FIRST_WORKSPACE, Role.EDITOR)
    theirs = await here.application.gate.direct(other, "list_integrations", {})
    lists = [
        next(
            one
            for one in await here.application.gate.offers(caller)
            if one.capability.id == "test.pick"
        )
        for caller in (OWNER, other)
    ]
    with pytest.raises(Exception, match="not connected"):
        await here.application.gate.direct(other, "notebook.read", {})
    gone = await here.application.gate.direct(
        other, "disconnect_integration", {"integration": "notebook"}
    )
    with pytest.raises(Exception, match="may not"):
        await here.application.gate.direct(
            other, "set_oauth_client", {"provider": "acme", "client_id": "mine"}
        )
    viewer = await member(here.application.database, FIRST_WORKSPACE, Role.VIEWER)
    with pytest.raises(Exception, match="may not"):
        await here.application.gate.direct(
            viewer, "connect_integration", {"integration": "notebook"}
        )

    mine, others = (one.input_schema["properties"]["source"] for one in lists)
    assert "notebook" in mine["enum"]
    assert "notebook" not in others.get("enum", [])
    state = {one["name"]: one["connected"] for one in theirs["integrations"]}
    assert state["notebook"] is False
    assert gone == {"disconnected": False}
    assert (await here.shown("notebook"))["connected"] is True
    revoked = await here.ask("DELETE", "/integrations/notebook/connection")
    assert revoked == {"disconnected": True}
    assert here.provider.families[0].ended


async def test_a_draft_uses_the_connection_of_the_automations_author(
    here: Accounts,
) -> None:
    await connected(here)
    plan = document(step("post", "notebook.post", {"text": "hello"}), name="posts")
    run = await here.run(plan)
    other = await member(here.application.database, FIRST_WORKSPACE, Role.OPERATOR)
    waiting = await here.application.database.fetchrow(
        "SELECT id, bound_hash FROM drafts WHERE run_id = $1", run["id"]
    )
    assert waiting is not None
    before = len(here.provider.calls)
    sent = await here.application.gate.direct(
        other, "confirm_action", {"draft_id": str(waiting["id"])}
    )

    assert run["outcome"] == "drafts_waiting"
    assert (sent["outcome"], sent["result"]["who"]) == ("sent", ACCOUNT)
    assert [path for path, _ in here.provider.calls[before:]] == ["/api/post"]


async def test_an_automatic_write_is_sent_over_the_connection(here: Accounts) -> None:
    await connected(here)
    post = step("post", "notebook.post", {"text": "hello"}, approval="automatic")
    before = len(here.provider.calls)
    run = await here.run(document(post, name="posts by itself"))

    assert (run["status"], run["outcome"]) == ("succeeded", "effects"), run["error"]
    assert [path for path, _ in here.provider.calls[before:]] == ["/api/post"]
