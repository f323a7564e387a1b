"""A program never confirms a draft, over whatever surface and with whatever it sends."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import PermissionDenied
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.people.sessions import build_csrf_token, start_session
from tests.kit.api import Api, served
from tests.kit.bench import Bench
from tests.kit.drafts import Office, office
from tests.kit.mcp import NEW, OLD, RawMcpClient, problem_of

DRAFTS = "/api/v1/drafts"


def _program(api: Api) -> dict[str, str]:
    return {"Authorization": f"Bearer {api.token}"}


async def _person(api: Api) -> dict[str, str]:
    """What the browser of the signed-in owner sends."""
    async with api.application.database.transaction() as tx:
        _, plain = await start_session(tx, FIRST_MEMBER, api.application.workspace_id, "a test")
    return {"Cookie": f"mainspring={plain}", "X-CSRF-Token": build_csrf_token(plain)}


async def _drafted(api: Api, text: str) -> dict[str, Any]:
    """A draft that the program makes itself, as it is listed to it."""
    made = await api.anonymous.post(
        "/api/v1/capabilities/telegram_push", json={"text": text}, headers=_program(api)
    )
    shown = await api.anonymous.get(f"{DRAFTS}/{made.json()['draft_id']}", headers=_program(api))
    found: dict[str, Any] = shown.json()
    return found


@pytest.mark.parametrize("with_hash", [False, True])
async def test_a_token_cannot_confirm_the_draft_it_made_over_rest(
    bench: Bench, with_hash: bool
) -> None:
    async with office(bench) as here, served(here.bench.application) as api:
        draft = await _drafted(api, "by a program")
        body = {"hash": draft["hash"]} if with_hash else {}
        place = f"{DRAFTS}/{draft['id']}"
        calls = (
            (f"{place}/confirm", body),
            ("/api/v1/capabilities/confirm_action", {"draft_id": draft["id"], **body}),
        )
        for path, given in calls:
            answer = await api.anonymous.post(path, json=given, headers=_program(api))
            result = answer.json()
            assert (answer.status_code, result["code"]) == (403, "person_needed"), result
            assert result["url"].endswith(f"/inbox?draft={draft['id']}")
            assert result["url"] in result["suggestion"]
        both = {"draft_ids": [draft["id"]]}
        several = await api.anonymous.post(f"{DRAFTS}/confirm", json=both, headers=_program(api))
        (one,) = several.json()["results"]
        assert (one["status"], one["error"]["code"]) == ("failed", "person_needed")
        assert here.telegram.requests == []
        assert (await here.row(draft["id"]))["status"] == "pending"

        sent = await api.anonymous.post(
            f"{place}/confirm", json={"hash": draft["hash"]}, headers=await _person(api)
        )
        assert (sent.status_code, sent.json()["outcome"]) == (200, "sent")
        # What came of it is no secret from the program that asked.
        again = await api.anonymous.post(f"{place}/confirm", json=body, headers=_program(api))
        assert again.json() == sent.json()
        assert [one["text"] for one in here.telegram.messages] == ["by a program"]


@pytest.mark.parametrize("with_hash", [False, True])
@pytest.mark.parametrize("version", [OLD, NEW])
async def test_a_client_cannot_confirm_the_draft_it_made_over_mcp(
    bench: Bench, version: str, with_hash: bool
) -> None:
    async with office(bench) as here, served(here.bench.application) as api:
        wire = RawMcpClient(api.anonymous, api.address, api.token, version)
        made = (await wire.call("telegram_push", {"text": "by a client"}))["structuredContent"]
        listed = (await wire.call("list_pending_actions", {}))["structuredContent"]["drafts"]
        given = {"draft_id": made["draft_id"]}
        if with_hash:
            given["hash"] = listed[0]["hash"]

        refused = await wire.call("confirm_action", given)
        several = await wire.call("confirm_actions", {"draft_ids": [made["draft_id"]]})

        assert refused["isError"]
        result = problem_of(refused)
        assert result["code"] == "person_needed"
        assert result["url"].endswith(f"/inbox?draft={made['draft_id']}")
        assert result["url"] in refused["content"][0]["text"]
        assert several["structuredContent"]["results"][0]["error"]["code"] == "person_needed"
        assert here.telegram.requests == []


async def test_an_assistant_on_the_owners_machine_is_a_program(bench: Bench) -> None:
    async with office(bench) as here:
        draft = await here.nudge("by an assistant")
        space = here.bench.application.workspace_id
        actor = Actor(space, "member", FIRST_MEMBER, role=Role.OWNER, by_program=True)
        with pytest.raises(PermissionDenied) as refused:
            await here.confirm(draft, CapabilityCaller(actor))
        assert refused.value.code == "person_needed"
        assert here.telegram.requests == []


async def test_what_a_program_edits_is_shown_to_the_person_and_sent_by_them_alone(
    bench: Bench,
) -> None:
    async with office(bench) as here, served(here.bench.application) as api:
        draft = await _drafted(api, "first words")
        place = f"{DRAFTS}/{draft['id']}"
        asked = {"edits": {"text": "other words"}}
        for _ in range(2):
            answer = await api.anonymous.post(f"{place}/confirm", json=asked, headers=_program(api))
            assert answer.json()["code"] == "person_needed"
        person = await _person(api)
        shown = (await api.anonymous.get(place, headers=person)).json()
        assert (shown["arguments"]["text"], shown["revision"]) == ("other words", 2)
        stale = await api.anonymous.post(
            f"{place}/confirm", json={"hash": draft["hash"]}, headers=person
        )
        assert stale.json()["code"] == "draft_changed"
        assert here.telegram.requests == []
        seen = {"hash": shown["hash"]}
        sent = await api.anonymous.post(f"{place}/confirm", json=seen, headers=person)
        assert sent.json()["outcome"] == "sent"
        assert _texts(here) == ["other words"]


def _texts(here: Office) -> list[str]:
    return [one["text"] for one in here.telegram.messages]
