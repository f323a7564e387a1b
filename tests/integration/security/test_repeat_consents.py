"""A refusal names a question that a person can answer, also for a run of an older version."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from mainspring.contracts.context import Actor
from mainspring.contracts.roles import Role
from mainspring.runs.inbox_counts import waiting_for
from mainspring.runs.run_requests import RunRequest
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.api import Api, served
from tests.kit.bench import Bench, document, step
from tests.kit.people import ROOT

NOTE = step("note", "transform_data", {"output": "x"})
FETCH = step("get", "http_fetch", {"url": "https://a.example/"})
WIDE, NARROW = document(NOTE, FETCH, name="Digest"), document(NOTE, name="Digest")


@pytest_asyncio.fixture
async def api(bench: Bench) -> AsyncIterator[Api]:
    async with served(bench.application, own_app=True) as made:
        yield made


async def _post(client: Any, path: str, body: Any = None) -> tuple[int, Any]:
    answer = await client.post(f"{ROOT}{path}", json=body)
    return answer.status_code, answer.json()


async def _narrowed(bench: Bench, api: Api) -> tuple[str, str]:
    """An automation, and a run of its first version, which may do more than the second one."""
    made = await bench.dispatch(WIDE)
    await api.application.control.cancel(bench.application.workspace_id, made.run_id)
    saved = await bench.save(NARROW)
    return str(saved.automation_id), str(made.run_id)


async def _refused(api: Api, path: str, body: Any = None) -> dict[str, Any]:
    """What a program is refused for, as the person finds it."""
    status, problem = await _post(api.program, path, body)
    assert (status, problem["code"]) == (409, "consent_needed"), problem
    result = problem["consent"]
    shown = await api.client.get(f"{ROOT}/consents/{result['consent_id']}")
    assert shown.status_code == 200, shown.text
    found = shown.json()
    assert (found["digest"], found["additions"]) == (result["digest"], result["additions"])
    assert f"mainspring consents agree {result['consent_id']}" in problem["suggestion"]
    return dict(result)


@pytest.mark.parametrize("repeat", ["retry", "replay"])
async def test_a_person_agrees_that_a_run_of_an_older_version_is_repeated(
    bench: Bench, api: Api, repeat: str
) -> None:
    automation, run = await _narrowed(bench, api)
    path = f"/runs/{run}/{repeat}"
    result = await _refused(api, path)
    assert "a.example" in result["additions"][0]["says"]
    assert result["url"].endswith(f"/runs/{run}")
    place, yes = (
        f"/consents/{result['consent_id']}/answer",
        {"digest": result["digest"], "agree": True},
    )
    assert (await _post(api.program, place, yes))[0] == 403
    assert (await _post(api.client, place, {**yes, "digest": "0" * 64}))[0] == 409
    assert (await _post(api.client, place, {**yes, "activate": True}))[0] == 422
    status, answered = await _post(api.client, place, yes)
    assert (status, answered["consent"]["status"]) == (200, "agreed"), answered
    # The version in force is what it was, and so is the agreement to it.
    shown = (await api.client.get(f"{ROOT}/automations/{automation}")).json()
    assert (shown["version"], shown["agreed"]["version"], shown["state"]) == (2, 2, "paused")
    status, repeated = await _post(api.program, path)
    assert status == 202, repeated
    # Another agreement ends this one.
    await bench.save(document(step("other", "transform_data", {"output": "x"}), name="Digest"))
    again = await _refused(api, path)
    assert again["digest"] != result["digest"]


async def _listed(api: Api) -> list[dict[str, Any]]:
    """The consents in the inbox, which are as many as its number says."""
    found = (await api.client.get(f"{ROOT}/consents")).json()["consents"]
    owner = Actor(api.application.workspace_id, "member", FIRST_MEMBER, role=Role.OWNER)
    async with api.application.database.transaction() as tx:
        assert (await waiting_for(tx, owner))["consents"] == len(found)
    return list(found)


async def test_a_run_that_a_program_wants_to_repeat_is_listed_until_it_is_answered(
    bench: Bench, api: Api
) -> None:
    automation, run = await _narrowed(bench, api)
    assert await _listed(api) == []
    told = await _refused(api, f"/runs/{run}/retry")
    # Asked twice it is one question, beside the one about the version in force.
    await _refused(api, f"/runs/{run}/retry")
    (one,) = await _listed(api)
    assert (one["consent_id"], one["run_id"], one["digest"]) == (run, run, told["digest"])
    place = f"{ROOT}/automations/{automation}"
    shown = await api.program.get(place)
    wider = document(NOTE, step("get", "http_fetch", {"url": "https://b.example/"}), name="Digest")
    asked = await api.program.put(place, json=wider, headers={"If-Match": shown.headers["ETag"]})
    both = await _listed(api)
    assert [item["run_id"] for item in both] in ([run, None], [None, run])
    # Another agreement makes it another question, which is asked when a program tries again.
    consent = asked.json()["consent"]
    yes = {"digest": consent["digest"], "agree": True}
    answered = await _post(api.client, f"/consents/{consent['consent_id']}/answer", yes)
    assert answered[0] == 200, answered
    assert await _listed(api) == []
    again = await _refused(api, f"/runs/{run}/retry")
    assert [item["digest"] for item in await _listed(api)] == [again["digest"]]
    no = {"digest": again["digest"], "agree": False}
    assert (await _post(api.client, f"/consents/{run}/answer", no))[0] == 200
    assert await _listed(api) == []


async def test_what_is_refused_to_be_repeated_can_be_agreed_to_after_all(
    bench: Bench, api: Api
) -> None:
    _, run = await _narrowed(bench, api)
    result = await _refused(api, f"/runs/{run}/retry")
    place = f"/consents/{result['consent_id']}/answer"
    no = {"digest": result["digest"], "agree": False}
    status, answered = await _post(api.client, place, no)
    assert (status, answered["consent"]["status"]) == (200, "refused"), answered
    status, problem = await _post(api.program, f"/runs/{run}/retry")
    assert (status, problem["code"]) == (409, "consent_refused"), problem
    assert (await _post(api.client, place, {**no, "agree": True}))[0] == 409
    yes = {"digest": problem["consent"]["digest"], "agree": True}
    assert (await _post(api.client, place, yes))[0] == 200
    assert (await _post(api.program, f"/runs/{run}/retry"))[0] == 202


async def test_the_answer_to_an_older_version_leaves_the_open_question(
    bench: Bench, api: Api
) -> None:
    automation, run = await _narrowed(bench, api)
    other = document(NOTE, step("get", "http_fetch", {"url": "https://b.example/"}), name="Digest")
    place = f"{ROOT}/automations/{automation}"
    shown = await api.program.get(place)
    saved = await api.program.put(place, json=other, headers={"If-Match": shown.headers["ETag"]})
    asked = saved.json()["consent"]
    result = await _refused(api, f"/runs/{run}/retry")
    yes = {"digest": result["digest"], "agree": True}
    assert (await _post(api.client, f"/consents/{result['consent_id']}/answer", yes))[0] == 200
    status, problem = await _post(api.program, f"/automations/{automation}/activate")
    assert (status, problem["consent"]["consent_id"]) == (409, asked["consent_id"])


@pytest.mark.parametrize(
    ("start", "agreed"), [("activate", False), ("run", True), ("replay", True)]
)
async def test_what_nobody_was_asked_about_is_asked_when_it_is_refused(
    bench: Bench, api: Api, start: str, agreed: bool
) -> None:
    """As after an upgrade from a version that recorded no agreement."""
    if agreed:
        await bench.save(NARROW)
    saved = await bench.save(WIDE, via=None)
    path, body = f"/automations/{saved.automation_id}/{start}", {}
    if start == "replay":
        request = RunRequest(bench.application.workspace_id, saved.automation_id, mode="dry_run")
        tried = await bench.application.dispatcher.dispatch(request)
        path, body = f"/runs/{tried.run_id}/replay", {"mode": "live"}
    result = await _refused(api, path, body)
    yes = {"digest": result["digest"], "agree": True}
    status, answered = await _post(api.client, f"/consents/{result['consent_id']}/answer", yes)
    assert (status, answered["consent"]["status"]) == (200, "agreed"), answered


async def test_a_rollback_by_a_program_names_its_question(bench: Bench, api: Api) -> None:
    automation, _ = await _narrowed(bench, api)
    status, back = await _post(api.program, f"/automations/{automation}/rollback", {"version": 1})
    assert status == 200, back
    result = back["consent"]
    yes = {"digest": result["digest"], "agree": True}
    assert (await _post(api.client, f"/consents/{result['consent_id']}/answer", yes))[0] == 200
