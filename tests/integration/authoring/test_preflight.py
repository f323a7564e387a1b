"""What a definition needs and would not find here is reported before a run fails of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from mainspring.connections.preflight import InstallationPreflight
from mainspring.contracts.errors import Conflict, Invalid
from mainspring.contracts.ids import generate_id
from mainspring.contracts.preflight import DefinitionOwner
from mainspring.settings import Settings
from mainspring.store.database import Connection, Database
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.authoring import CapabilityClient
from tests.kit.bench import Bench, document, step

MAIL_ME = "every Monday at 9 Berlin time email me 'the invoices are due'"


def _preflight(bench: Bench, **more: Any) -> InstallationPreflight:
    known = {"has_mail": True, "owner_mail": None, **more}
    allow = known.pop("allow", frozenset())
    return InstallationPreflight(
        bench.application.database, allow, bench.application.account_connections, **known
    )


async def _found(bench: Bench, made: dict[str, Any], **more: Any) -> list[tuple[str, str]]:
    space = bench.application.workspace_id
    words = await bench.application.registry.of(space)
    whose = DefinitionOwner(space, author_id=FIRST_MEMBER)
    found = await _preflight(bench, **more).findings(made, words, whose)
    assert all(one.suggestion for one in found)
    return [(one.pointer, one.code) for one in found]


async def _blocked(client: CapabilityClient, automation_id: str, code: str) -> None:
    with pytest.raises(Conflict) as refused:
        await client.call("update_automation", {"automation_id": automation_id, "state": "active"})
    assert refused.value.code == "parts_missing"
    assert [(one.pointer, one.code) for one in refused.value.findings] == [("/plan/0", code)]
    assert refused.value.findings[0].suggestion


def _get(url: str) -> dict[str, Any]:
    return document(step("get", "http_fetch", {"url": url}))


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9000/x",
        "https://10.1.2.3/",
        "http://192.168.0.1/{{ inputs.a }}",
        "http://169.254.169.254/latest/meta-data",
        "http://[::1]/",
        "http://localhost:8080/",
        "http://api.localhost/",
        "http://metadata.google.internal/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]:8080/",
        "http://nas.local/",
        "https://db.corp.internal/x?a=1",
        "http://printer.home.arpa/{{ inputs.a }}",
    ],
)
async def test_an_address_that_the_guard_refuses_is_found(bench: Bench, url: str) -> None:
    assert await _found(bench, _get(url)) == [("/plan/0/config/url", "address_not_public")]


@pytest.mark.parametrize(
    "url",
    [
        "http://0x7f000001/",
        "http://127.1/",
        "http://2130706433/",
        "http://0177.0.0.1/x",
        "http://0x7f.0.0.1/{{ inputs.a }}",
        "http://[::1%25lo]/",
        "http://me:pw@example.com/",
    ],
)
async def test_a_url_that_the_guard_cannot_read_is_found(bench: Bench, url: str) -> None:
    assert await _found(bench, _get(url)) == [("/plan/0/config/url", "bad_url")]


async def test_a_public_or_an_allowed_address_is_not(bench: Bench) -> None:
    for url in ("https://example.com/", "https://1.1.1.1/", "{{ inputs.url }}"):
        assert await _found(bench, _get(url)) == []
    allow = frozenset({"127.0.0.1:9000", "localhost:80", "nas.local:443"})
    assert await _found(bench, _get("https://nas.local/x"), allow=allow) == []
    assert await _found(bench, _get("http://127.0.0.1:9000/x"), allow=allow) == []
    assert await _found(bench, _get("http://localhost/x"), allow=allow) == []
    assert await _found(bench, _get("http://127.0.0.1:9001/x"), allow=allow) != []


async def test_steps_inside_of_others_and_after_failures_are_looked_at(bench: Bench) -> None:
    inside = step("inner", "http_fetch", {"url": "http://127.0.0.1/"})
    loop = step("all", "for_each", {"items": "{{ inputs.names }}", "steps": [inside]})
    made = {**document(loop), "execution": {"on_failure": [inside]}}
    assert await _found(bench, made) == [
        ("/plan/0/config/steps/0/config/url", "address_not_public"),
        ("/execution/on_failure/0/config/url", "address_not_public"),
    ]


async def test_mail_needs_a_server_and_an_owner_with_an_address(bench: Bench) -> None:
    mine = document(step("tell", "email.notify_owner", {"subject": "a", "text": "b"}))
    theirs = document(
        step("mail", "send_email", {"to": ["a@example.com"], "subject": "a", "text": "b"})
    )
    assert await _found(bench, mine, has_mail=False) == [("/plan/0", "mail_not_set_up")]
    assert await _found(bench, theirs, has_mail=False) == [("/plan/0", "mail_not_set_up")]
    assert await _found(bench, mine) == [("/plan/0", "owner_mail_missing")]
    assert await _found(bench, theirs) == []
    assert await _found(bench, mine, owner_mail="owner@example.com") == []


async def test_a_step_over_an_integration_that_nobody_connected_is_found(bench: Bench) -> None:
    post = step("post", "slack_post", {"channel": "#a", "text": "hello"})
    assert await _found(bench, document(post)) == [("/plan/0", "not_connected")]
    named = {**post["config"], "token": "{{ secrets.my_bot }}"}
    assert await _found(bench, document({**post, "config": named})) == []
    await bench.application.vault.set(bench.secret_scope, "slack_bot_token", "xoxb-1")
    assert await _found(bench, document(post)) == []


async def test_a_sign_in_without_a_scope_that_is_asked_for_today_is_found(bench: Bench) -> None:
    issue = {"owner": "octo", "repo": "hello", "title": "x"}
    made = document(step("open", "github.open_issue", issue))
    asked = bench.application.account_connections
    assert asked is not None
    scopes = list(asked.shelf["github"].manifest["auth"]["scopes"])
    assert scopes
    insert = """
        INSERT INTO integration_connections
            (workspace_id, id, owner_id, integration, label, auth, state, scopes)
        VALUES ($1, $2, $3, 'github', 'GitHub', 'oauth', 'ready', $4)
    """
    known = (bench.application.workspace_id, generate_id(), FIRST_MEMBER)
    await bench.application.database.execute(insert, *known, scopes)
    assert await _found(bench, made) == []
    await bench.application.database.execute(
        "UPDATE integration_connections SET scopes = '{gist}' WHERE id = $1", known[1]
    )
    assert await _found(bench, made) == [("/plan/0", "scope_missing")]


class _Watched(Database):
    """Counts the connections that are taken from its pools, and how many at the same time."""

    taken = held = most = 0

    @asynccontextmanager
    async def _count(self) -> AsyncIterator[None]:
        self.taken, self.held = self.taken + 1, self.held + 1
        self.most = max(self.most, self.held)
        try:
            yield
        finally:
            self.held -= 1

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[Connection]:
        async with self._count(), super().acquire() as connection:
            yield connection

    @asynccontextmanager
    async def inside(self, workspace_id: UUID) -> AsyncIterator[Connection]:
        async with self._count(), super().inside(workspace_id) as connection:
            yield connection


async def test_many_steps_over_an_integration_take_one_connection_at_a_time(
    bench: Bench, database_url: str
) -> None:
    post = {"channel": "#a", "text": "hello"}
    issue = {"owner": "octo", "repo": "hello", "title": "x"}
    steps = [step(f"s{n}", "slack_post", post) for n in range(15)]
    steps += [step(f"g{n}", "github.open_issue", issue) for n in range(15)]
    watched = await _Watched.open(Settings(database_url=database_url))
    assert isinstance(watched, _Watched)
    whose = DefinitionOwner(bench.application.workspace_id, author_id=FIRST_MEMBER)
    words = await bench.application.registry.of(bench.application.workspace_id)
    preflight = InstallationPreflight(
        watched, frozenset(), bench.application.account_connections, has_mail=True, owner_mail=None
    )
    try:
        watched.taken = watched.most = 0
        found = await preflight.findings(document(*steps), words, whose)
    finally:
        await watched.close()
    assert [one.pointer for one in found] == [f"/plan/{n}" for n in range(30)]
    assert {one.code for one in found} == {"not_connected"}
    # One for the owner and their secrets, and one for each of the two integrations.
    assert (watched.taken, watched.most) == (3, 1)


async def test_a_proposal_that_calls_a_refused_address_is_not_ready(bench: Bench) -> None:
    client = CapabilityClient(bench)
    made = await client.call(
        "propose_automation",
        {
            "text": "every Monday at 9 Berlin time check http://127.0.0.1:9/health and tell me",
            "by": "rules",
        },
    )
    assert made["status"] == "invalid", made["questions"]
    (problem,) = made["problems"]
    assert problem["code"] == "address_not_public"
    assert problem["pointer"].endswith("/config/url")
    assert "127.0.0.1:9 to MAINSPRING_EGRESS_ALLOW" in problem["suggestion"]
    with pytest.raises(Invalid) as refused:
        await client.call(
            "save_proposal", {"proposal_id": made["proposal_id"], "digest": made["digest"]}
        )
    assert refused.value.code == "address_not_public"
    assert refused.value.findings[0].pointer == problem["pointer"]


async def test_mail_without_a_server_warns_at_save_and_blocks_activation(bench: Bench) -> None:
    assert bench.application.settings.smtp_url is None
    client = CapabilityClient(bench)
    made = await client.call("propose_automation", {"text": MAIL_ME, "by": "rules"})
    assert made["status"] == "ready", (made["questions"], made["problems"])
    flags = {one["code"]: one for one in made["review"]["flags"]}
    assert flags["mail_not_set_up"]["level"] == "warning"
    assert "MAINSPRING_SMTP_URL" in flags["mail_not_set_up"]["suggestion"]
    saved = await client.call(
        "save_proposal", {"proposal_id": made["proposal_id"], "digest": made["digest"]}
    )
    assert "mail_not_set_up" in {one["code"] for one in saved["warnings"]}
    await _blocked(client, saved["automation_id"], "mail_not_set_up")


async def test_a_missing_connection_warns_at_save_and_blocks_activation(bench: Bench) -> None:
    client = CapabilityClient(bench)
    made = await client.call("propose_automation", {"text": MAIL_ME, "by": "rules"})
    post = step("post", "slack_post", {"channel": "#a", "text": "hello"})
    whole = {**made["definition"], "plan": [post]}
    made = await client.call(
        "refine_proposal", {"proposal_id": made["proposal_id"], "definition": whole}
    )
    flags = {one["code"]: one for one in made["review"]["flags"]}
    assert flags["not_connected"]["pointer"] == "/plan/0"
    saved = await client.call(
        "save_proposal", {"proposal_id": made["proposal_id"], "digest": made["digest"]}
    )
    assert "not_connected" in {one["code"] for one in saved["warnings"]}
    await _blocked(client, saved["automation_id"], "not_connected")
    await bench.application.vault.set(bench.secret_scope, "slack_bot_token", "xoxb-1")
    active = await client.call(
        "update_automation", {"automation_id": saved["automation_id"], "state": "active"}
    )
    assert active["state"] == "active"


async def test_a_secret_that_is_not_kept_is_reported_in_every_review_and_at_save(
    bench: Bench,
) -> None:
    client = CapabilityClient(bench)
    text = "every day at 9 post 'good morning' to #general on Slack"
    made = await client.call("propose_automation", {"text": text, "by": "rules"})
    assert made["status"] == "asks"
    flags = {one["code"]: one for one in made["review"]["flags"]}
    assert flags["not_connected"]["level"] == "warning"
    answers = {"time-zone": "UTC", "slack-token": "{{ secrets.slack_bot_token }}"}
    result = {"proposal_id": made["proposal_id"], "answers": answers}
    made = await client.call("refine_proposal", result)
    assert made["status"] == "ready", (made["questions"], made["problems"])
    flags = {one["code"]: one for one in made["review"]["flags"]}
    assert flags["secret_missing"]["level"] == "warning"
    assert "slack_bot_token" in flags["secret_missing"]["suggestion"]
    saved = await client.call(
        "save_proposal", {"proposal_id": made["proposal_id"], "digest": made["digest"]}
    )
    assert [one["code"] for one in saved["warnings"]].count("secret_missing") == 1
    with pytest.raises(Conflict) as refused:
        await client.call(
            "update_automation", {"automation_id": saved["automation_id"], "state": "active"}
        )
    assert refused.value.code == "secrets_missing"


async def test_a_secret_that_is_kept_is_not_reported(bench: Bench) -> None:
    await bench.application.vault.set(bench.secret_scope, "slack_bot_token", "xoxb-1")
    made = await CapabilityClient(bench).call(
        "propose_automation",
        {"text": "every day at 9 UTC post 'good morning' to #general on Slack", "by": "rules"},
    )
    codes = {one["code"] for one in made["review"]["flags"]}
    assert made["status"] == "ready"
    assert not codes & {"secret_missing", "not_connected"}


async def test_an_owner_who_verifies_an_address_is_reached(bench: Bench) -> None:
    made = document(step("tell", "email.notify_owner", {"subject": "a", "text": "b"}))
    change = "UPDATE users SET email = 'me@example.com', email_state = $2 WHERE id = $1"
    await bench.application.database.execute(change, FIRST_MEMBER, "unverified")
    assert await _found(bench, made) == [("/plan/0", "owner_mail_missing")]
    await bench.application.database.execute(change, FIRST_MEMBER, "pre_existing")
    assert await _found(bench, made) == [("/plan/0", "owner_mail_unverified")]
    await bench.application.database.execute(change, FIRST_MEMBER, "verified")
    assert await _found(bench, made) == []
    nobody = replace(DefinitionOwner(bench.application.workspace_id), author_id=None)
    words = await bench.application.registry.of(bench.application.workspace_id)
    assert await _preflight(bench).findings(made, words, nobody) == ()
