"""Changes to automations with triggers: nothing vanishes, nobody waits in a circle."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.errors import Conflict
from mainspring.store.database import Connection
from mainspring.triggers import scheduler
from mainspring.triggers.trigger_changes import change
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.import_export import (
    add_renamed_candidates,
    import_validated,
    validate_import,
)
from tests.integration.triggers.test_schedule import (
    armed,
    due_of,
    recorded,
    runs_of,
    schedule,
    scheduler_of,
)
from tests.kit.api import Api
from tests.kit.bench import PATIENCE, Bench, document, step

V1 = "/api/v1"
COLLIDE = "DO $$ BEGIN RAISE SQLSTATE '40P01'; END $$"
_BLOCKED = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


def _written(*triggers: dict[str, Any], text: str = "a") -> dict[str, Any]:
    plan = step(text, "test.echo")
    return document(plan, name="a test", triggers=list(triggers))


async def _blocked(bench: Bench) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await bench.application.database.fetchval(_BLOCKED):
            await asyncio.sleep(0.01)


CHANGES: list[tuple[str, str, str, Any, dict[str, int]]] = [
    ("pause", "POST", "/pause", None, {"missed_paused": 181}),
    ("archive", "POST", "/archive", None, {"missed_paused": 181}),
    ("switch off", "PATCH", "/triggers/clock", {"enabled": False}, {"missed_paused": 181}),
    ("edit", "PUT", "", _written(schedule("0 9 * * *")), {"missed_edited": 181}),
    ("other slug", "PUT", "", _written(schedule(slug="other")), {"missed_edited": 181}),
    ("no trigger", "PUT", "", _written(), {"missed_edited": 181}),
    ("roll back", "POST", "/rollback", {"version": 1}, {"missed_edited": 181}),
    ("same schedule", "PUT", "", _written(schedule(), text="b"), {}),
]


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [pytest.param(*one, id=name) for name, *one in CHANGES],
)
async def test_a_moment_that_came_before_a_change_is_recorded(
    bench: Bench, api: Api, method: str, path: str, body: Any, expected: dict[str, int]
) -> None:
    await bench.save(_written())
    automation = await armed(bench, schedule())
    await bench.application.database.execute(
        "UPDATE triggers SET next_due_at = date_trunc('minute', now()) - interval '3 hours'"
    )
    answer = await api.client.request(method, f"{V1}/automations/{automation}{path}", json=body)
    assert answer.status_code == 200, answer.text
    found = await recorded(bench)
    # A minute may end in the middle of this.
    assert {reason: min(moments, 181) for reason, moments in found.items()} == expected


async def test_what_was_recorded_is_not_fired_and_the_schedule_goes_on(
    bench: Bench, api: Api
) -> None:
    # Once a year, so that no other moment comes in the middle of this.
    automation = await armed(bench, schedule("0 0 1 1 *", misfire="fire_all"))
    await bench.application.database.execute(
        "UPDATE triggers SET next_due_at = now() - interval '1 s'"
    )
    for act in ("pause", "activate"):
        assert (await api.client.post(f"{V1}/automations/{automation}/{act}")).is_success
    assert await recorded(bench) == {"missed_paused": 1}
    due = await due_of(bench)
    assert await scheduler_of(bench).once(due) == 1
    assert [run["status"] for run in await runs_of(bench)] == ["pending"]


async def test_changing_several_automations_locks_their_triggers_in_one_order(
    bench: Bench, api: Api
) -> None:
    """Those who fire hold triggers by id, whichever automations they belong to."""
    hook = {"id": "hook", "type": "webhook", "config": {}}
    first = await armed(bench, hook, name="first")
    second = await armed(bench, hook, name="second")
    await armed(bench, {**hook, "id": "later"}, name="first")
    database = bench.application.database
    low, high = [
        row["id"]
        for row in await database.fetch(
            "SELECT id FROM triggers ORDER BY array_position($1::uuid[], automation_id)",
            [second, first],
        )
    ]
    assert low < high
    assert first < second
    files = [
        document(step("b", "test.echo"), name="first", triggers=[hook | {"id": "later"}]),
        document(step("b", "test.echo"), name="second", triggers=[hook]),
    ]
    bundle = {"format": "mainspring.export", "version": 1, "automations": files}
    async with database.transaction() as tx:
        await tx.execute("SELECT 1 FROM triggers WHERE id = $1 FOR SHARE", low)
        importing = asyncio.create_task(
            api.client.post(f"{V1}/import?on_clash=new_version", json=bundle)
        )
        await _blocked(bench)
        await tx.execute("SELECT 1 FROM triggers WHERE id = $1 FOR SHARE NOWAIT", high)
    assert (await importing).status_code == 200


async def test_a_change_that_gave_way_is_made_again_and_then_reported_as_retryable(
    bench: Bench,
) -> None:
    application = bench.application
    tries: list[int] = []

    async def collides(tx: Connection, times: int) -> int:
        tries.append(1)
        if len(tries) <= times:
            await tx.execute(COLLIDE)
        return len(tries)

    where = (application.database, application.limits, application.workspace_id)
    assert await change(*where, lambda tx: collides(tx, 2)) == 3
    tries.clear()
    with pytest.raises(Conflict) as caught:
        await change(*where, lambda tx: collides(tx, 9))
    assert (caught.value.code, caught.value.retryable) == ("database_collision", True)
    assert len(tries) == 3


async def test_a_pause_that_waited_for_a_save_finds_its_automation(bench: Bench, api: Api) -> None:
    automation = await armed(bench, schedule())
    place = f"{V1}/automations/{automation}"
    for act, version in (("pause", 2), ("activate", 3)):
        async with bench.application.database.transaction() as tx:
            await tx.execute("SELECT 1 FROM automations WHERE id = $1 FOR UPDATE", automation)
            acting = asyncio.create_task(api.client.post(f"{place}/{act}"))
            await _blocked(bench)
            await tx.execute(
                "INSERT INTO automation_versions "
                "SELECT workspace_id, automation_id, $2, definition_hash, grants, author "
                "FROM automation_versions WHERE automation_id = $1 AND version = 1",
                automation,
                version,
            )
            # A person saves it, and agrees with that.
            await tx.execute(
                "UPDATE automations SET version = $2, agreed_version = $2 WHERE id = $1",
                automation,
                version,
            )
        assert (await acting).status_code == 200


async def test_an_import_that_switches_a_trigger_on_leaves_its_automation_paused(
    bench: Bench, api: Api
) -> None:
    automation = await armed(bench, schedule())
    exported = await api.client.get(f"{V1}/automations/{automation}/export")
    await api.client.patch(f"{V1}/automations/{automation}/triggers/clock", json={"enabled": False})
    place = f"{V1}/import?on_clash=new_version"
    (imported,) = (await api.client.post(place, json=exported.json())).json()["imported"]
    assert (imported["changed"], imported["state"]) == (False, "paused")
    assert await due_of(bench) is None


async def test_a_renamed_import_is_judged_before_names_are_held(bench: Bench) -> None:
    application = bench.application
    await bench.save(_written())
    candidates = await validate_import(_written(), application.registry, application.limits)
    async with application.database.acquire() as connection:
        candidates = await add_renamed_candidates(
            connection,
            application.workspace_id,
            candidates,
            application.registry,
            application.limits,
        )
    # Nothing could be judged any more.
    narrow = replace(application.limits, json_bytes=1, steps=0)
    async with application.database.transaction() as tx:
        (made,) = await import_validated(
            tx,
            application.workspace_id,
            candidates,
            FIRST_MEMBER,
            application.registry,
            narrow,
            "rename",
        )
    assert (made.name, made.renamed_from) == ("a test (2)", "a test")


async def test_what_is_ready_starts_before_the_time_of_a_batch_is_up(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "_MOST_SECONDS", 0.0)
    for name in ("one", "two", "three"):
        await armed(bench, schedule(slug=name), name=name)
    due = await due_of(bench, "one")
    fires = scheduler_of(bench)
    assert [await fires.once(due) for _ in range(4)] == [1, 1, 1, 0]
    runs: list[UUID] = [run["id"] for run in await runs_of(bench)]
    assert len(runs) == 3
