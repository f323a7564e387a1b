"""Tokens with the permission approve: what they may agree to, and every way to get more."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
from asyncpg import CheckViolationError

from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.workspace.automations import FIRST_MEMBER, FIRST_WORKSPACE
from mainspring.workspace.tokens import APPROVE_WARNING
from tests.kit.api import Api
from tests.kit.bench import document, step
from tests.kit.mcp import VERSIONS, RawMcpClient
from tests.kit.people import ROOT, Browser, browser, make_person

DAILY = {"type": "schedule", "config": {"cron": "0 9 * * *", "timezone": "UTC"}}
ANSWER = step("answer", "transform_data", {"output": {"n": 42}})
SEND = step("send", "http_fetch", {"url": "https://elsewhere.example/"})


def soon(hours: float = 1) -> str:
    return (datetime.now(UTC) + timedelta(hours=hours)).isoformat()


@dataclass(frozen=True, slots=True)
class Team:
    """A workspace without anybody at a screen: an automation that waits, and its owner."""

    api: Api
    page: Browser

    async def waiting(self, name: str = "Counter") -> dict[str, Any]:
        """An automation that came from a file; nobody has agreed to it."""
        file = document(ANSWER, name=name, triggers=[DAILY])
        header = {"Authorization": f"Bearer {self.api.token}"}
        answer = await self.api.anonymous.post(f"{ROOT}/import", json=file, headers=header)
        (made,) = answer.json()["imported"]
        found: dict[str, Any] = made
        return found

    async def make(self, *automations: str, **more: Any) -> httpx2.Response:
        expected = {"name": "deploys", "approves": list(automations), "expires_at": soon(), **more}
        return await self.page.ask("POST", "/tokens", json=expected)

    async def made(self, *automations: str, **more: Any) -> dict[str, str]:
        answer = await self.make(*automations, **more)
        assert answer.status_code == 201, answer.text
        return {"Authorization": f"Bearer {answer.json()['text']}"}

    async def answer(self, waits: dict[str, Any], header: dict[str, str]) -> httpx2.Response:
        consent = waits["consent"]
        body = {"digest": consent["digest"], "agree": True, "activate": True}
        path = f"{ROOT}/consents/{consent['consent_id']}/answer"
        return await self.api.anonymous.post(path, json=body, headers=header)

    async def state(self, waits: dict[str, Any]) -> str:
        header = {"Authorization": f"Bearer {self.api.token}"}
        found = await self.api.anonymous.get(f"{ROOT}/automations/{waits['id']}", headers=header)
        state: str = found.json()["state"]
        return state


@asynccontextmanager
async def team(api: Api) -> AsyncIterator[Team]:
    async with browser(api, FIRST_MEMBER) as page:
        yield Team(api, page)


def refused(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


async def test_a_token_agrees_to_the_automations_that_a_person_named_and_is_marked(
    api: Api,
) -> None:
    async with team(api) as here:
        waits = await here.waiting()
        answer = await here.make(waits["id"], role="editor")
        made = answer.json()["token"]
        assert (made["approves"], made["warning"]) == ([waits["id"]], APPROVE_WARNING)
        header = {"Authorization": f"Bearer {answer.json()['text']}"}
        listed = (await here.page.ask("GET", "/tokens")).json()["tokens"]
        assert [(one["approves"], one["warning"]) for one in listed] == [
            (None, None),
            ([waits["id"]], APPROVE_WARNING),
        ]

        done = await here.answer(waits, header)
        assert (done.status_code, done.json()["state"]) == (200, "active")
        entries = (await here.page.ask("GET", "/audit")).json()["items"]
        created = next(one for one in entries if one["action"] == "create_token")
        assert created["detail"]["approves"] == [waits["id"]]
        caused = [one for one in entries if one["token_id"] == made["id"]]
        assert "answer_consent" in {one["action"] for one in caused}
        assert all(one["detail"]["approve_token"] is True for one in caused)
        answered = next(one for one in caused if one["action"] == "answer_consent")
        assert answered["detail"]["channel"] == "token"
        # What anybody else does bears no mark.
        assert not any(
            "approve_token" in one["detail"] for one in entries if one["token_id"] != made["id"]
        )


async def test_what_is_missing_from_such_a_token_is_named_by_its_place(api: Api) -> None:
    async with team(api) as here:
        waits = await here.waiting()
        other = str(generate_id())
        wrong: list[tuple[dict[str, Any], str]] = [
            ({"expires_at": None}, "/expires_at"),
            ({"approves": []}, "/approves"),
            ({"approves": [waits["id"], other]}, "/approves/1"),
            ({"approves": ["Counter"]}, "/approves/0"),
            ({"role": "operator"}, "/role"),
            ({"capabilities": ["search"]}, "/capabilities"),
        ]
        for given, pointer in wrong:
            answer = await here.make(waits["id"], **given)
            assert answer.status_code == 422, (given, answer.text)
            assert answer.json()["errors"][0]["pointer"] == pointer
        assert len((await here.page.ask("GET", "/tokens")).json()["tokens"]) == 1


async def test_no_token_makes_a_token_that_approves(api: Api) -> None:
    async with team(api) as here:
        waits = await here.waiting()
        own = await here.made(waits["id"])
        expected = {"name": "more", "approves": [waits["id"]], "expires_at": soon(0.5)}
        for header in ({"Authorization": f"Bearer {api.token}"}, own):
            answer = await api.anonymous.post(f"{ROOT}/tokens", json=expected, headers=header)
            assert refused(answer) == (403, "person_needed")
            assert answer.json()["errors"][0]["pointer"] == "/approves"


async def test_a_token_approves_no_automation_that_it_does_not_name(api: Api) -> None:
    async with team(api) as here:
        one, other = await here.waiting(), await here.waiting("Other")
        header = await here.made(one["id"])
        assert refused(await here.answer(other, header)) == (403, "person_needed")
        assert refused(await here.answer(one, {"Authorization": f"Bearer {api.token}"})) == (
            403,
            "person_needed",
        )
        assert [await here.state(each) for each in (one, other)] == ["paused", "paused"]
        stale = {**one, "consent": {**one["consent"], "digest": "0" * 64}}
        assert refused(await here.answer(stale, header)) == (409, "consent_changed")


async def test_a_token_approves_nothing_over_mcp(api: Api) -> None:
    async with team(api) as here:
        waits = await here.waiting()
        header = await here.made(waits["id"])
        token = header["Authorization"].removeprefix("Bearer ")
        given = {
            "consent_id": waits["consent"]["consent_id"],
            "digest": waits["consent"]["digest"],
            "agree": True,
        }
        wire = RawMcpClient(api.anonymous, api.address, token)
        answer = await wire.send("tools/call", {"name": "answer_consent", "arguments": given})
        assert "person_needed" in answer.text or "error" in answer.json(), answer.text
        assert await here.state(waits) == "paused"
        assert (await here.answer(waits, header)).status_code == 200


@pytest.mark.parametrize("version", VERSIONS)
async def test_no_tool_of_mcp_counts_the_permission_approve(api: Api, version: str) -> None:
    """Whatever the tool and the version of the protocol are; over REST the same token agrees."""
    async with team(api) as here:
        waits = await here.waiting(f"Counter {version}")
        header = await here.made(waits["id"])
        token = header["Authorization"].removeprefix("Bearer ")
        wire = RawMcpClient(api.anonymous, api.address, token, version, "toolset=all")
        own = {"automation_id": waits["id"]}
        consent = waits["consent"]
        answer = {"consent_id": consent["consent_id"], "digest": consent["digest"], "agree": True}
        for name, given in (
            ("answer_consent", answer),
            ("update_automation", {**own, "state": "active"}),
            ("run_automation_once", {**own, "dry_run": False}),
        ):
            said = await wire.send("tools/call", {"name": name, "arguments": given})
            codes = ("person_needed", "consent_needed", "unknown_tool", '"code":-32602')
            assert any(code in said.text.replace(" ", "") for code in codes), (name, said.text)
        assert await here.state(waits) == "paused"
        runs = await here.page.ask("GET", f"/runs?automation_id={waits['id']}")
        assert runs.json()["items"] == []
        assert (await here.answer(waits, header)).status_code == 200


async def test_no_oauth_client_has_a_token_that_approves(api: Api) -> None:
    async with team(api) as here:
        waits = await here.waiting()
        header = await here.made(waits["id"])
        with pytest.raises(CheckViolationError):
            await api.application.database.execute(
                "UPDATE access_tokens SET client_id = $1 WHERE approves IS NOT NULL", generate_id()
            )
        with pytest.raises(CheckViolationError):
            await api.application.database.execute(
                "UPDATE access_tokens SET expires_at = NULL WHERE approves IS NOT NULL"
            )
        assert (await here.answer(waits, header)).status_code == 200


async def test_a_token_approves_nothing_after_it_expired_or_was_revoked(api: Api) -> None:
    async with team(api) as here:
        waits = await here.waiting()
        answer = await here.make(waits["id"])
        header = {"Authorization": f"Bearer {answer.json()['text']}"}
        await here.page.ask("DELETE", f"/tokens/{answer.json()['token']['id']}")
        assert refused(await here.answer(waits, header)) == (401, "unknown_token")
        header = await here.made(waits["id"])
        await api.application.database.execute(
            "UPDATE access_tokens SET expires_at = now() WHERE approves IS NOT NULL"
        )
        assert refused(await here.answer(waits, header)) == (401, "unknown_token")
        assert await here.state(waits) == "paused"


async def test_a_token_approves_nothing_once_its_maker_lost_the_role(api: Api) -> None:
    database = api.application.database
    async with team(api) as here:
        waits = await here.waiting()
        editor = await make_person(
            database, "ed@example.test", workspace_id=FIRST_WORKSPACE, role=Role.EDITOR
        )
        async with browser(api, editor.id) as page:
            await page.ask(
                "POST", "/session/workspace", json={"workspace_id": str(FIRST_WORKSPACE)}
            )
            theirs = Team(api, page)
            wider = await theirs.make(waits["id"], role="owner")
            assert refused(wider) == (403, "role_too_small")
            header = await theirs.made(waits["id"])
            lowered = await here.page.ask("PATCH", f"/members/{editor.id}", json={"role": "viewer"})
            assert lowered.status_code == 200
            assert refused(await here.answer(waits, header)) == (403, "role_too_small")
            assert refused(await theirs.make(waits["id"], role="viewer"))[0] == 422
        await here.page.ask("DELETE", f"/members/{editor.id}")
        assert refused(await here.answer(waits, header)) == (401, "unknown_token")
        assert await here.state(waits) == "paused"


async def test_a_proposal_is_recognized_by_its_steps_whatever_their_settings_are(
    api: Api,
) -> None:
    """A program that changes a little of it before it saves is not its author with that."""
    async with team(api) as here:
        waits = await here.waiting()
        header = await here.made(waits["id"])
        assert (await here.answer(waits, header)).status_code == 200
        asked = {"text": "start it every 5 minutes instead", "automation_id": waits["id"]}
        answer = await api.anonymous.post(
            f"{ROOT}/capabilities/propose_automation", json=asked, headers=header
        )
        assert answer.status_code == 200, answer.text
        proposal = answer.json().get("result", answer.json())
        first, *rest = proposal["definition"]["plan"]
        changed = {**proposal["definition"], "plan": [{**first, "timeout_seconds": 77}, *rest]}
        put = await api.anonymous.put(
            f"{ROOT}/automations/{waits['id']}",
            json=changed,
            headers={"Authorization": f"Bearer {api.token}"},
        )
        assert put.status_code == 200, put.text
        laundered = await here.answer({**waits, "consent": put.json()["consent"]}, header)
        assert refused(laundered) == (403, "person_needed")
        assert "words" in laundered.json()["detail"]


async def test_no_token_approves_what_was_written_from_words(api: Api) -> None:
    """Neither the proposal itself, nor its definition when a program saves that instead."""
    async with team(api) as here:
        waits = await here.waiting()
        owner = {"Authorization": f"Bearer {api.token}"}
        header = await here.made(waits["id"])
        assert (await here.answer(waits, header)).status_code == 200
        asked = {"text": "start it every 5 minutes instead"}
        place = f"{ROOT}/capabilities"
        answer = await api.anonymous.post(
            f"{place}/propose_automation",
            json={**asked, "automation_id": waits["id"]},
            headers=header,
        )
        assert answer.status_code == 200, answer.text
        proposal = answer.json()
        proposal = proposal.get("result", proposal)
        saved = await api.anonymous.post(
            f"{place}/save_proposal",
            json={"proposal_id": proposal["proposal_id"], "digest": proposal["digest"]},
            headers=header,
        )
        assert refused(saved) == (403, "person_needed")

        definition = proposal["definition"]
        assert proposal["status"] == "ready", proposal
        put = await api.anonymous.put(
            f"{ROOT}/automations/{waits['id']}", json=definition, headers=owner
        )
        assert put.status_code == 200, put.text
        again = {**waits, "consent": put.json()["consent"]}
        laundered = await here.answer(again, header)
        assert refused(laundered) == (403, "person_needed")
        assert "words" in laundered.json()["detail"]
        assert await here.state(waits) == "paused"

        # Other words around the same plan, and a proposal that is thrown away, change nothing.
        for change in ("goal", "discard", "goal"):
            if change == "goal":
                definition = {**definition, "goal": f"{definition['goal']} Again."}
                put = await api.anonymous.put(
                    f"{ROOT}/automations/{waits['id']}", json=definition, headers=owner
                )
                again = {**waits, "consent": put.json()["consent"]}
            else:
                named = {"proposal_id": proposal["proposal_id"]}
                gone = await api.anonymous.post(
                    f"{place}/discard_proposal", json=named, headers=header
                )
                assert gone.status_code == 200, gone.text
            assert "words" in again["consent"]["additions"][-1]["says"]
            assert refused(await here.answer(again, header)) == (403, "person_needed")
        path = f"/consents/{again['consent']['consent_id']}/answer"
        given = {"digest": again["consent"]["digest"], "agree": True}
        assert (await here.page.ask("POST", path, json=given)).status_code == 200
