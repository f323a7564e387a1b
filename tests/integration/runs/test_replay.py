"""Replay: a new run with what an earlier one was given."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Conflict, Invalid, NotFound, PermissionDenied
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.runs.dispatch import DispatchResult
from mainspring.runs.replay import replay
from mainspring.workspace.automations import FIRST_MEMBER, set_state
from tests.kit.bench import Bench, document, step

GREETS = {
    "inputs": {
        "schema": {
            "type": "object",
            "properties": {"n": {"type": "integer", "default": 1}},
            "additionalProperties": False,
        }
    }
}


def says(text: str, **more: Any) -> dict[str, Any]:
    return document(step("a", "transform_data", {"output": text}), **GREETS, **more)


async def again(bench: Bench, run_id: UUID, **how: Any) -> DispatchResult:
    application = bench.application
    return await replay(
        application.database,
        application.dispatcher,
        application.limits,
        application.workspace_id,
        run_id,
        **how,
    )


async def test_a_replay_has_the_payload_the_inputs_and_the_version_of_then(bench: Bench) -> None:
    first = await bench.run(
        says("first {{ trigger.x }} {{ inputs.n }}"), inputs={"n": 7}, payload={"x": [1, 2]}
    )
    await bench.save(says("second"))
    made = await again(bench, first["id"])
    async with bench.worker():
        second = await bench.until(made.run_id)
    assert second["output"] == first["output"]
    assert (second["version"], second["replay_of"]) == (1, first["id"])
    assert (second["inputs"], second["payload"]) == ({"n": 7}, {"x": [1, 2]})


async def test_a_replay_in_the_active_version_follows_the_change(bench: Bench) -> None:
    first = await bench.run(says("first"))
    await bench.save(says("second {{ inputs.n }}"))
    made = await again(bench, first["id"], version="active", inputs={"n": 3})
    async with bench.worker():
        second = await bench.until(made.run_id)
    assert second["version"] == 2
    assert [row["output"] for row in second["steps"]] == ["second 3"]


async def test_inputs_that_do_not_fit_are_answered_and_nothing_is_stored(bench: Bench) -> None:
    first = await bench.run(says("x"))
    with pytest.raises(Invalid) as caught:
        await again(bench, first["id"], inputs={"n": "three"})
    assert caught.value.findings[0].pointer == "/inputs/n"
    assert await bench.application.database.fetchval("SELECT count(*) FROM runs") == 1


async def test_a_run_refused_for_its_inputs_is_mapped_anew(bench: Bench) -> None:
    def hooked(path: str) -> dict[str, Any]:
        hook = {"id": "hook", "type": "webhook", "config": {"input_mapping": {"n": path}}}
        return says("{{ inputs.n }}", triggers=[hook])

    saved = await bench.save(hooked("$.wrong"))
    database = bench.application.database
    async with database.transaction() as tx:
        await set_state(tx, bench.application.workspace_id, saved.automation_id, "active")
    trigger_id = await database.fetchval("SELECT id FROM triggers")
    failed = await bench.dispatch(
        hooked("$.wrong"),
        trigger_type="webhook",
        trigger_id=trigger_id,
        inputs={"n": "text"},
        payload={"right": 5},
    )
    assert (failed.status, failed.reason) == ("failed", "invalid_inputs")
    await bench.save(hooked("$.right"))
    made = await again(bench, failed.run_id, version="active")
    assert (await bench.read(made.run_id))["inputs"] == {"n": 5}


async def test_a_paused_automation_can_be_replayed_and_an_archived_one_not(bench: Bench) -> None:
    first = await bench.run(says("x"))
    assert (await again(bench, first["id"])).status == "pending"
    async with bench.application.database.transaction() as tx:
        await set_state(tx, bench.application.workspace_id, first["automation_id"], "archived")
    with pytest.raises(Conflict):
        await again(bench, first["id"])
    with pytest.raises(NotFound):
        await again(bench, generate_id())


def _person(bench: Bench, member_id: UUID) -> Actor:
    return Actor(bench.application.workspace_id, "member", member_id, role=Role.OWNER)


def _fetches(host: str, *headers: str) -> dict[str, Any]:
    config = {
        "url": f"https://{host}/",
        "headers": {f"X-{name}": f"{{{{ secrets.{name} }}}}" for name in headers},
    }
    return step("a", "http_fetch", config)


@pytest.mark.parametrize(
    ("then", "now", "code"),
    [
        (_fetches("one.test", "key"), _fetches("one.test"), "secrets_widened"),
        (_fetches("one.test", "key"), _fetches("two.test", "key"), "secrets_widened"),
        (_fetches("one.test"), _fetches("two.test"), "grants_withdrawn"),
        (_fetches("one.test"), _fetches("one.test", "key"), None),
    ],
)
async def test_what_the_owner_has_taken_out_is_replayed_by_nobody_else(
    bench: Bench, then: dict[str, Any], now: dict[str, Any], code: str | None
) -> None:
    first = (await bench.dispatch(document(then))).run_id
    # As long as it is in force, anyone who may run it may replay it.
    await again(bench, first, by=_person(bench, generate_id()))
    await bench.save(document(now))
    count = await bench.application.database.fetchval("SELECT count(*) FROM runs")
    if code is None:
        await again(bench, first, by=_person(bench, generate_id()))
        return
    with pytest.raises(PermissionDenied) as refused:
        await again(bench, first, by=_person(bench, generate_id()))
    assert refused.value.code == code
    assert refused.value.findings
    assert await bench.application.database.fetchval("SELECT count(*) FROM runs") == count
    owner, other = _person(bench, FIRST_MEMBER), _person(bench, generate_id())
    for how in ({"by": owner}, {}, {"by": other, "version": "active"}):
        assert (await again(bench, first, **how)).status == "pending"


async def test_many_replays_of_versions_that_nobody_has_in_memory_do_not_wait_for_each_other(
    bench: Bench,
) -> None:
    """Each holds a connection; none may need a second one to go on."""
    runs = []
    for number in range(24):
        name = f"old {number}"
        runs.append((await bench.dispatch(says("one", name=name))).run_id)
        await bench.save(says("two", name=name))
    bench.application.versions.forget()
    async with asyncio.timeout(60):
        made = await asyncio.gather(*(again(bench, run_id) for run_id in runs))
    assert {one.status for one in made} == {"pending"}
