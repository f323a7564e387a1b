"""A person answers the question as it is now: the same one wherever it is shown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import PersonRequired
from mainspring.contracts.ids import generate_id
from mainspring.contracts.registry import Vocabulary
from mainspring.contracts.roles import Role
from mainspring.workspace.account_changes import (
    AccountChange,
    check_account_change,
    writes_with_secret,
)
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.consents import answer_consent
from tests.kit.api import Api, served
from tests.kit.bench import Bench, document, step
from tests.kit.mcp import connected, problem_of
from tests.kit.people import ROOT

POST = step("post", "slack_post", {"channel": "#team", "text": "Hello"}, approval="automatic")


@pytest_asyncio.fixture
async def api(bench: Bench) -> AsyncIterator[Api]:
    async with served(bench.application, own_app=True) as made:
        yield made


async def _post(client: Any, path: str, body: Any = None) -> tuple[int, Any]:
    answer = await client.post(f"{ROOT}{path}", json=body)
    return answer.status_code, answer.json()


async def _connect(api: Api, account: str) -> None:
    """The owner's Slack account; another one takes its place."""
    await api.application.database.execute(
        """
        INSERT INTO integration_connections
            (workspace_id, id, owner_id, integration, label, auth, state, scopes, account)
        VALUES ($1, $2, $3, 'slack', 'slack', 'token', 'ready', '{}', $4)
        ON CONFLICT (workspace_id, owner_id, integration) DO UPDATE SET account = excluded.account
        """,
        api.application.workspace_id,
        generate_id(),
        FIRST_MEMBER,
        account,
    )


async def _ask(api: Api, *steps: Any) -> dict[str, Any]:
    """The question about what a program has made."""
    status, made = await _post(api.program, "/automations", document(*steps, name="Digest"))
    assert status == 201, made
    return dict(made["consent"])


async def test_an_answer_to_another_account_than_the_one_connected_now_is_refused(
    api: Api,
) -> None:
    await _connect(api, "ours")
    asked = await _ask(api, POST)
    assert any("as ours" in one["says"] for one in asked["additions"]), asked
    await _connect(api, "theirs")
    place, yes = f"/consents/{asked['consent_id']}", {"digest": asked["digest"], "agree": True}
    status, problem = await _post(api.client, f"{place}/answer", yes)
    assert (status, problem["code"]) == (409, "consent_changed"), problem
    assert "another account" in problem["detail"]
    # What is shown now names the account of now, and can be answered.
    shown = (await api.client.get(f"{ROOT}{place}")).json()
    listed = (await api.client.get(f"{ROOT}/consents")).json()["consents"]
    assert any("as theirs" in one["says"] for one in shown["additions"]), shown
    assert [one["digest"] for one in listed] == [shown["digest"]]
    status, answered = await _post(
        api.client, f"{place}/answer", {**yes, "digest": shown["digest"]}
    )
    assert (status, answered["consent"]["additions"]) == (200, shown["additions"]), answered
    # What was agreed to is on record as it was shown.
    await _connect(api, "third")
    assert (await api.client.get(f"{ROOT}{place}")).json()["additions"] == shown["additions"]


async def test_a_refused_question_is_agreed_to_with_the_account_of_then(api: Api) -> None:
    await _connect(api, "ours")
    asked = await _ask(api, POST)
    place = f"/consents/{asked['consent_id']}"
    no = {"digest": asked["digest"], "agree": False}
    status, refused = await _post(api.client, f"{place}/answer", no)
    assert status == 200, refused
    await _connect(api, "theirs")
    yes = {"digest": refused["consent"]["digest"], "agree": True}
    assert (await _post(api.client, f"{place}/answer", yes))[0] == 409
    shown = (await api.client.get(f"{ROOT}{place}")).json()
    assert any("as theirs" in one["says"] for one in shown["additions"]), shown
    assert (await _post(api.client, f"{place}/answer", {**yes, "digest": shown["digest"]}))[
        0
    ] == 200


async def test_an_answer_about_another_version_than_the_one_in_force_is_refused(
    api: Api,
) -> None:
    asked = await _ask(api, POST)
    await api.application.database.execute(
        "UPDATE consents SET version = 7 WHERE id = $1", UUID(asked["consent_id"])
    )
    status, problem = await _post(
        api.client,
        f"/consents/{asked['consent_id']}/answer",
        {"digest": asked["digest"], "agree": True},
    )
    assert (status, problem["code"]) == (409, "consent_overtaken"), problem
    assert problem["detail"] == "This concerns version 7, and version 1 is active."


async def _edit(client: Any, automation: str, *steps: Any) -> Any:
    place = f"{ROOT}/automations/{automation}"
    shown = await client.get(place)
    saved = await client.put(
        place, json=document(*steps, name="Digest"), headers={"If-Match": shown.headers["ETag"]}
    )
    assert saved.status_code == 200, saved.text
    return saved.json()


def _send(text: str) -> Any:
    return step(
        "send", "http_fetch", {"url": "https://a.example/", "method": "POST", "json": {"t": text}}
    )


async def test_every_place_that_asks_about_a_version_asks_the_same(api: Api) -> None:
    """A draft's text too: only the declarations of the step say that it sends something."""
    status, made = await _post(api.client, "/automations", document(_send("one"), name="Digest"))
    assert status == 201, made
    asked = (await _edit(api.program, made["id"], _send("two")))["consent"]
    says = [one["says"] for one in asked["additions"]]
    assert (
        "It now sends something else at the step send (http_fetch): json t was “one” and is now "
        "“two”."
    ) in says
    # As after an upgrade from a version that recorded no agreement.
    await api.application.database.execute("DELETE FROM consents")
    for path in ("activate", "run"):
        status, problem = await _post(api.program, f"/automations/{made['id']}/{path}", {})
        assert (status, problem["code"]) == (409, "consent_needed"), problem
        assert [one["says"] for one in problem["consent"]["additions"]] == says


async def test_a_run_that_sent_another_text_is_not_repeated_by_a_program(
    bench: Bench, api: Api
) -> None:
    status, made = await _post(api.client, "/automations", document(_send("one"), name="Digest"))
    assert status == 201, made
    status, run = await _post(api.client, f"/automations/{made['id']}/run", {})
    assert status == 202, run
    await api.application.control.cancel(bench.application.workspace_id, UUID(run["run_id"]))
    await _edit(api.client, made["id"], _send("two"))
    status, problem = await _post(api.program, f"/runs/{run['run_id']}/replay")
    assert (status, problem["code"]) == (409, "consent_needed"), problem
    assert any("sends something else" in one["says"] for one in problem["consent"]["additions"])


async def test_an_account_is_not_replaced_while_a_person_agrees_to_it(api: Api) -> None:
    body = {"name": "slack_bot_token", "value": "xoxb-ours-0123456789"}
    assert (await _post(api.program, "/secrets", body))[0] == 201
    asked = await _ask(api, POST)
    database = api.application.database
    replacing = None
    async with database.transaction() as tx:
        await answer_consent(
            tx,
            api.application.workspace_id,
            UUID(asked["consent_id"]),
            asked["digest"],
            FIRST_MEMBER,
            agree=True,
        )
        other = {**body, "value": "xoxb-theirs-0123456789"}
        replacing = asyncio.create_task(_post(api.program, "/secrets", other))
        async with asyncio.timeout(60):
            while not replacing.done() and not await database.fetchval(
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            ):
                await asyncio.sleep(0.02)
    status, problem = await replacing
    assert (status, problem["code"]) == (403, "person_needed"), problem


async def test_the_vocabulary_is_loaded_once_for_all_agreed_automations(
    bench: Bench, api: Api
) -> None:
    for number in range(3):
        status, _ = await _post(api.client, "/automations", document(POST, name=f"No {number}"))
        assert status == 201
    loads: list[int] = []

    async def words(space: UUID, documents: Any) -> Vocabulary:
        loads.append(len(documents))
        return await bench.application.registry.of(space)

    space = bench.application.workspace_id
    program = Actor(space, "client", FIRST_MEMBER, generate_id(), Role.EDITOR)
    change = AccountChange(
        "The secret", writes_with_secret("slack_bot_token"), words, space, None, "/secrets"
    )
    async with bench.application.database.transaction() as tx:
        with pytest.raises(PersonRequired):
            await check_account_change(tx, program, change)
    assert loads == [3]


async def test_all_of_the_text_that_is_agreed_to_is_shown_over_rest_and_mcp(api: Api) -> None:
    """The end of a long text counts as much as its beginning."""
    end = "and send everything to 11111111-2222-4333-8444-555555555555."
    text = "Good morning.\n" + "x" * 5_000 + end
    post = {**POST, "config": {"channel": "#team", "text": text}}
    status, made = await _post(api.program, "/automations", document(post, name="Digest"))
    assert status == 201, made
    whole = f"without approval: “{text.replace(chr(10), ' ↵ ')}”."
    (asked,) = [one["says"] for one in made["consent"]["additions"] if "without" in one["says"]]
    assert asked.endswith(whole)

    status, problem = await _post(api.program, f"/automations/{made['id']}/activate")
    assert (status, problem["code"]) == (409, "consent_needed")
    assert asked in [one["says"] for one in problem["consent"]["additions"]]
    shown = await api.client.get(f"{ROOT}/consents/{made['consent']['consent_id']}")
    assert asked in [one["says"] for one in shown.json()["additions"]]
    async with connected(api.address, api.token, query="toolset=all") as client:
        given = {"automation_id": made["id"], "dry_run": False}
        refused = await client.call_tool("run_automation_once", given)
    told = problem_of({"structuredContent": refused.structured_content, "_meta": refused.meta})
    assert (refused.is_error, told["code"]) == (True, "consent_needed")
    assert asked in [one["says"] for one in told["consent"]["additions"]]
