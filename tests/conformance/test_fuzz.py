"""What nobody would ask: a short look with the tool of the long one."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from mainspring.surfaces.rest.answers import Answer
from mainspring.surfaces.rest.ground import router
from mainspring.surfaces.rest.marks import anyone_known
from mainspring.surfaces.rest.openapi import describe
from scripts.fuzz_api import furnish, fuzz
from tests.kit.api import served
from tests.kit.house import Bench


class Right(BaseModel):
    """What the broken route says that it answers."""

    number: int


def _broken() -> APIRouter:
    made = router("test")

    @made.get("/broken", summary="Break the word that was given", response_model=Right)
    @anyone_known
    async def read_broken() -> Answer:
        return Answer({"number": "seven"})

    @made.get("/raising", summary="Raise what nobody foresaw", response_model=Right)
    @anyone_known
    async def read_raising() -> Answer:
        raise RuntimeError("unforeseen")

    return made


async def test_every_answer_is_one_that_the_description_has(bench: Bench) -> None:
    known = await furnish(bench.house)
    async with served(bench.house) as api, bench.worker():
        verdict = await fuzz(
            api.address, describe(api.app), api.token, known, examples=2, phases="fuzzing"
        )

    assert verdict.ok, verdict.text
    assert verdict.operations > 8
    assert verdict.cases > verdict.operations


async def test_the_look_notices_a_broken_word(bench: Bench) -> None:
    async with served(bench.house, [_broken()]) as api:
        for name in ("read_broken", "read_raising"):
            verdict = await fuzz(
                api.address, describe(api.app), api.token, {}, examples=1, phases="fuzzing",
                only=name,
            )  # fmt: skip

            assert not verdict.ok
            assert verdict.findings == 1, verdict.text
