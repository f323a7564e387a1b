"""What nobody would ask: a short look with the tool of the long one."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from mainspring.surfaces.rest.openapi import describe
from mainspring.surfaces.rest.request_bodies import JsonAnswer
from mainspring.surfaces.rest.route_access import anyone_known
from mainspring.surfaces.rest.router import router
from scripts.fuzz.known_values import KnownValues, known_in
from scripts.fuzz.people import ROLES, caller_of
from scripts.fuzz.sample_data import live
from scripts.fuzz.schemathesis_run import Plan, look
from tests.kit.api import served
from tests.kit.bench import Bench
from tests.kit.events import matching


class Right(BaseModel):
    """What the broken route says that it answers."""

    number: int


def _broken() -> APIRouter:
    made = router("test")

    @made.get("/broken", summary="Break the word that was given", response_model=Right)
    @anyone_known
    async def read_broken() -> JsonAnswer:
        return JsonAnswer({"number": "seven"})

    @made.get("/raising", summary="Raise what nobody foresaw", response_model=Right)
    @anyone_known
    async def read_raising() -> JsonAnswer:
        raise RuntimeError("unforeseen")

    return made


async def test_every_answer_is_one_that_the_description_has(bench: Bench) -> None:
    # Without a matcher, the server says after a minute that it is unhealthy.
    async with served(bench.application) as api, bench.worker(), matching(bench.application):
        await live(bench.application, api.address, api.token)
        document = describe(api.app)
        known = await known_in(bench.application, api.app, document)
        caller = await caller_of(bench.application, "editor")
        plan = Plan(examples=2, phases="fuzzing", seed=1, headers=caller.headers)
        verdict = await look(api.address, document, known, plan)

    assert verdict.ok, verdict.text
    # All but the streams, which go on until their reader leaves.
    assert verdict.operations > 200
    assert verdict.cases > verdict.operations


async def test_each_role_gets_as_far_as_it_may(bench: Bench) -> None:
    async with served(bench.application) as api, bench.worker():
        await live(bench.application, api.address, api.token)
        output = {}
        for role in ROLES:
            headers = dict((await caller_of(bench.application, role)).headers)
            answers = [
                await api.anonymous.get(f"/api/v1{path}", headers=headers)
                for path in ("/capabilities", "/boards", "/admin/users")
            ]
            output[role] = [answer.status_code for answer in answers]

    known = [200, 200, 404]
    assert output == {
        "none": [401, 401, 401],
        "removed": [401, 401, 401],
        "oauth-client": [403, 403, 403],
        "run": [200, 401, 401],
        "installation-administrator": [200, 200, 200],
        **dict.fromkeys(("viewer", "operator", "editor", "admin", "owner"), known),
        "browser": known,
        "limited-token": known,
    }


async def test_the_look_notices_a_broken_word(bench: Bench) -> None:
    async with served(bench.application, [_broken()]) as api:
        for name in ("read_broken", "read_raising"):
            headers = {"Authorization": f"Bearer {api.token}"}
            plan = Plan(examples=1, phases="fuzzing", only=[name], headers=headers)
            verdict = await look(api.address, describe(api.app), KnownValues(), plan)

            assert not verdict.ok
            assert verdict.findings == 1, verdict.text
