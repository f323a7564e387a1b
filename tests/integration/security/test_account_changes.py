"""A program does not decide which account an agreed automation writes with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest_asyncio

from mainspring.contracts.roles import Role
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.people.workspaces import add_workspace
from tests.kit.api import Api, served
from tests.kit.bench import Bench, document, step
from tests.kit.people import ROOT, browser, token_of

POST = step("post", "slack_post", {"channel": "#team", "text": "Hello"}, approval="automatic")
OURS, THEIRS = "xoxb-ours-0123456789", "xoxb-theirs-0123456789"


@pytest_asyncio.fixture
async def api(bench: Bench) -> AsyncIterator[Api]:
    async with served(bench.application, own_app=True) as made:
        yield made


async def _editor(bench: Bench) -> dict[str, str]:
    application = bench.application
    return await token_of(
        application.database, application.workspace_id, FIRST_MEMBER, role=Role.EDITOR
    )


async def _set(api: Api, header: dict[str, str], name: str, value: str) -> tuple[int, Any]:
    body = {"name": name, "value": value}
    answer = await api.anonymous.post(f"{ROOT}/secrets", json=body, headers=header)
    return answer.status_code, answer.json()


async def _agreed(api: Api, *steps: Any, name: str = "Digest") -> str:
    """What a person made, and agreed to with that."""
    answer = await api.client.post(f"{ROOT}/automations", json=document(*steps, name=name))
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def _approving(api: Api, *automations: str) -> dict[str, str]:
    """A token with the permission approve for these automations."""
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    wanted = {"name": "rotates", "approves": list(automations), "expires_at": soon}
    async with browser(api, FIRST_MEMBER) as page:
        answer = await page.ask("POST", "/tokens", json=wanted)
    assert answer.status_code == 201, answer.text
    return {"Authorization": f"Bearer {answer.json()['text']}"}


async def test_an_editor_token_gives_an_agreed_automation_no_other_account(
    api: Api, bench: Bench
) -> None:
    header = await _editor(bench)
    # Before anything agreed uses it, a program may set it.
    assert (await _set(api, header, "slack_bot_token", OURS))[0] == 201
    await _agreed(api, POST)
    status, problem = await _set(api, header, "slack_bot_token", THEIRS)
    assert (status, problem["code"]) == (403, "person_needed")
    assert "'Digest'" in problem["detail"]
    assert problem["url"].startswith("http")
    assert problem["url"].endswith("/secrets")
    assert "mainspring secrets set slack_bot_token" in problem["suggestion"]
    kept = await bench.application.vault.reveal(bench.secret_scope, ["slack_bot_token"])
    assert kept == {"slack_bot_token": OURS}

    # Forgetting it first is no way around.
    await api.anonymous.delete(f"{ROOT}/secrets/slack_bot_token", headers=header)
    assert (await _set(api, header, "slack_bot_token", THEIRS))[0] == 403
    body = {"name": "slack_bot_token", "value": OURS}
    assert (await api.client.post(f"{ROOT}/secrets", json=body)).status_code == 201


async def test_a_secret_counts_where_a_write_uses_it_and_not_where_a_read_does(
    api: Api, bench: Bench
) -> None:
    def fetch(name: str, secret: str, **more: Any) -> Any:
        headers = {"Authorization": f"Bearer {{{{ secrets.{secret} }}}}"}
        return step(name, "http_fetch", {"url": "https://a.example/", "headers": headers, **more})

    header = await _editor(bench)
    await _agreed(api, fetch("read", "reading"), fetch("send", "sending", method="POST"))
    unseen = fetch("send", "unseen", method="POST")
    made = await api.anonymous.post(
        f"{ROOT}/automations", json=document(unseen, name="Unseen"), headers=header
    )
    assert made.json()["consent"] is not None
    assert {
        name: (await _set(api, header, name, "a value of eight"))[0]
        for name in ("reading", "sending", "unseen", "unused", "slack_bot_token")
    } == {"reading": 201, "sending": 403, "unseen": 201, "unused": 201, "slack_bot_token": 201}


async def test_a_token_that_approves_all_of_these_automations_replaces_a_secret(
    api: Api, bench: Bench
) -> None:
    one = await _agreed(api, POST, name="One")
    assert (await _set(api, await _approving(api, one), "slack_bot_token", OURS))[0] == 201
    two = await _agreed(api, POST, name="Two")
    status, problem = await _set(api, await _approving(api, one), "slack_bot_token", THEIRS)
    assert (status, "'Two'" in problem["detail"]) == (403, True)
    assert "'One'" not in problem["detail"]
    both = await _approving(api, one, two)
    assert (await _set(api, both, "slack_bot_token", THEIRS))[0] == 201


ASK = step("ask", "automation_llm_complete", {"prompt": "What is new?"})
MODEL = {"name": "local", "base_url": "https://models.example/v1", "models": ["small"]}


async def _connect_model(api: Api, header: dict[str, str], **more: Any) -> tuple[int, Any]:
    place = f"{ROOT}/capabilities/connect_model"
    answer = await api.anonymous.post(place, json={**MODEL, **more}, headers=header)
    return answer.status_code, answer.json()


async def test_a_refused_model_names_the_page_and_the_command_of_a_person(api: Api) -> None:
    await _agreed(api, ASK, name="Digest")
    await _agreed(api, ASK, name="Report")
    refused = await api.program.post(f"{ROOT}/capabilities/connect_model", json=MODEL)
    problem = refused.json()
    assert (refused.status_code, problem["code"]) == (403, "person_needed")
    assert problem["detail"] == (
        "The model connection local decides which model 'Digest' and 'Report' use. Only a person "
        "can change it."
    )
    assert problem["url"].startswith("http")
    assert problem["url"].endswith("/models")
    assert "mainspring models connect local" in problem["suggestion"]


async def test_a_token_that_approves_all_of_these_automations_changes_a_model(
    api: Api, bench: Bench
) -> None:
    one = await _agreed(api, ASK, name="One")
    approving = await _approving(api, one)
    assert (await _connect_model(api, approving))[0] == 200
    two = await _agreed(api, ASK, name="Two")
    status, problem = await _connect_model(api, approving, models=["large"])
    assert (status, "'Two'" in problem["detail"]) == (403, True)
    both = await _approving(api, one, two)
    assert (await _connect_model(api, both, models=["large"]))[0] == 200


async def test_a_model_counts_in_the_agreed_version_that_a_program_has_left(
    api: Api, bench: Bench
) -> None:
    """Otherwise it would change the model meanwhile, and bring the agreed version back."""
    made = await _agreed(api, ASK)
    fetch = step("read", "http_fetch", {"url": "https://other.example/"})
    place = f"{ROOT}/automations/{made}"
    shown = await api.program.get(place)
    left = await api.program.put(
        place, json=document(fetch, name="Digest"), headers={"If-Match": shown.headers["ETag"]}
    )
    assert left.status_code == 200, left.text
    assert left.json()["consent"] is not None
    refused = await api.program.post(f"{ROOT}/capabilities/connect_model", json=MODEL)
    assert (refused.status_code, refused.json()["code"]) == (403, "person_needed")


async def test_a_refusal_names_no_automation_of_another_workspace(api: Api, bench: Bench) -> None:
    async with bench.application.database.transaction() as tx:
        other = await add_workspace(tx, FIRST_MEMBER, "Other", Role.OWNER)
    async with browser(api, FIRST_MEMBER) as page:
        await page.ask("POST", "/session/workspace", json={"workspace_id": str(other)})
        made = await page.ask("POST", "/automations", json=document(ASK, name="Theirs"))
    assert made.status_code == 201, made.text
    place = f"{ROOT}/capabilities/admin_connect_model"
    refused = (await api.program.post(place, json=MODEL)).json()
    assert refused["detail"] == (
        "The model connection local decides which model an automation of another workspace uses. "
        "Only a person can change it."
    )
    assert "--for-everyone" in refused["suggestion"]
    await _agreed(api, ASK, name="Ours")
    refused = (await api.program.post(place, json=MODEL)).json()
    assert "'Ours' and an automation of another workspace use." in refused["detail"]
