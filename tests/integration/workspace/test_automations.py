"""Automations as they are kept: names, versions, states, and edits that race with fires."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.errors import Conflict, NotFound, Problem
from mainspring.contracts.ids import generate_id
from mainspring.definition.validate import validate
from mainspring.definition.validate.outline import ValidationReport
from mainspring.runs.run_requests import RunRequest
from mainspring.workspace.automation_list import list_automations, read_automation
from mainspring.workspace.automation_states import acknowledge, activate, archive, pause, restore
from mainspring.workspace.automations import (
    FIRST_MEMBER,
    SavedAutomation,
    create,
    set_state,
    switch,
    update,
)
from tests.kit.bench import Bench, document, step

HOOK = {"id": "hook", "type": "webhook"}
DAILY = {"id": "daily", "type": "schedule", "config": {"cron": "0 9 * * *", "timezone": "UTC"}}


def _says(text: str, **more: Any) -> dict[str, Any]:
    return document(step("say", "transform_data", {"output": text}), **more)


def _judged(bench: Bench, written: Mapping[str, Any]) -> ValidationReport:
    report = validate(written, bench.application.registry, bench.application.limits)
    assert report.ok, report.findings
    return report


async def _create(bench: Bench, written: Mapping[str, Any]) -> SavedAutomation:
    report = _judged(bench, written)
    async with bench.application.database.transaction() as tx:
        return await create(
            tx,
            bench.application.workspace_id,
            report.accepted(),
            report.grants,
            FIRST_MEMBER,
            via="page",
        )


async def _update(
    bench: Bench, automation_id: UUID, written: Mapping[str, Any], expected: int | None = None
) -> SavedAutomation:
    report = _judged(bench, written)
    async with bench.application.database.transaction() as tx:
        return await update(
            tx,
            bench.application.workspace_id,
            automation_id,
            report.accepted(),
            report.grants,
            FIRST_MEMBER,
            expected_version=expected,
            via="page",
        )


async def _activate(bench: Bench, automation_id: UUID) -> str:
    application = bench.application
    async with application.database.transaction() as tx:
        return await activate(
            tx, application.workspace_id, automation_id, application.registry, application.limits
        )


async def _do(bench: Bench, act: Any, automation_id: UUID) -> Any:
    async with bench.application.database.transaction() as tx:
        return await act(tx, bench.application.workspace_id, automation_id)


async def _read(bench: Bench, automation_id: UUID) -> dict[str, Any]:
    async with bench.application.database.acquire() as connection:
        return await read_automation(connection, bench.application.workspace_id, automation_id)


async def _names(bench: Bench, **more: Any) -> list[str]:
    async with bench.application.database.acquire() as connection:
        rows = await list_automations(connection, bench.application.workspace_id, **more)
    return [row["name"] for row in rows]


async def _counted(bench: Bench, table: str) -> int:
    return int(await bench.application.database.fetchval(f"SELECT count(*) FROM {table}"))


async def test_a_new_automation_is_paused_and_tells_what_it_may_do(bench: Bench) -> None:
    saved = await _create(bench, document(step("note", "test.note")))
    assert (saved.version, saved.changed, saved.state) == (1, True, "paused")
    assert [grant.capability for grant in saved.widened] == ["test.note"]
    found = await _read(bench, saved.automation_id)
    assert (found["state"], found["paused_reason"], found["failures"]) == ("paused", None, 0)
    assert found["last_run"] is None


async def test_a_name_that_is_taken_is_refused_and_nothing_is_stored(bench: Bench) -> None:
    await _create(bench, _says("one"))
    with pytest.raises(Conflict) as caught:
        await _create(bench, _says("two"))
    assert [finding.pointer for finding in caught.value.findings] == ["/name"]
    assert await _counted(bench, "automations") == 1
    assert await _counted(bench, "definitions") == 1


async def test_one_of_many_who_take_a_name_at_once_gets_it(bench: Bench) -> None:
    tries = [_create(bench, _says(str(n))) for n in range(12)]
    made = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(one, SavedAutomation) for one in made) == 1
    assert all(isinstance(one, SavedAutomation | Conflict) for one in made)


async def test_the_second_of_two_editors_hears_of_the_first(bench: Bench) -> None:
    saved = await _create(bench, _says("one"))
    await _update(bench, saved.automation_id, _says("two"), expected=1)
    with pytest.raises(Conflict) as caught:
        await _update(bench, saved.automation_id, _says("three"), expected=1)
    assert caught.value.code == "version_changed"
    found = await _read(bench, saved.automation_id)
    assert (found["version"], found["definition"]["plan"][0]["config"]["output"]) == (2, "two")


async def test_of_many_editors_of_one_version_one_is_heard(bench: Bench) -> None:
    saved = await _create(bench, _says("start"))
    edits = [_update(bench, saved.automation_id, _says(str(n)), expected=1) for n in range(10)]
    made = await asyncio.gather(*edits, return_exceptions=True)
    assert sum(isinstance(one, SavedAutomation) for one in made) == 1
    assert (await _read(bench, saved.automation_id))["version"] == 2


async def test_an_automation_is_renamed_only_to_a_free_name(bench: Bench) -> None:
    one = await _create(bench, _says("x", name="one"))
    await _create(bench, _says("x", name="two"))
    with pytest.raises(Conflict) as caught:
        await _update(bench, one.automation_id, _says("x", name="two"))
    assert caught.value.findings[0].pointer == "/name"
    await _update(bench, one.automation_id, _says("x", name="three"))
    assert sorted(await _names(bench)) == ["three", "two"]


async def test_two_who_swap_their_names_do_not_wait_for_each_other_for_ever(
    bench: Bench,
) -> None:
    one = await _create(bench, _says("x", name="one"))
    two = await _create(bench, _says("x", name="two"))
    async with asyncio.timeout(60):
        made = await asyncio.gather(
            _update(bench, one.automation_id, _says("y", name="two")),
            _update(bench, two.automation_id, _says("y", name="one")),
            return_exceptions=True,
        )
    assert all(isinstance(each, Conflict) for each in made)


async def test_an_edit_tells_what_it_may_do_that_it_might_not_before(bench: Bench) -> None:
    saved = await _create(bench, document(step("a", "test.echo")))
    wider = await _update(
        bench, saved.automation_id, document(step("a", "test.echo"), step("b", "test.note"))
    )
    assert [grant.capability for grant in wider.widened] == ["test.note"]
    narrower = await _update(bench, saved.automation_id, document(step("b", "test.note")))
    assert (narrower.changed, narrower.widened) == (True, ())


async def test_a_definition_that_says_the_same_sets_its_triggers_anew(bench: Bench) -> None:
    """The table is the truth; saving writes it anew."""
    written = _says("x", triggers=[{**DAILY, "enabled": True}])
    saved = await _create(bench, written)
    async with bench.application.database.transaction() as tx:
        await switch(
            tx, bench.application.workspace_id, saved.automation_id, "daily", enabled=False
        )
    shown = (await _read(bench, saved.automation_id))["definition"]["triggers"]
    assert [trigger["enabled"] for trigger in shown] == [False]
    again = await _update(bench, saved.automation_id, written)
    assert (again.changed, again.version) == (False, 1)
    shown = (await _read(bench, saved.automation_id))["definition"]["triggers"]
    assert [trigger["enabled"] for trigger in shown] == [True]


async def test_activation_arms_its_schedule_and_a_pause_takes_the_moment_away(
    bench: Bench,
) -> None:
    saved = await _create(bench, _says("x", triggers=[DAILY]))
    assert (await _read(bench, saved.automation_id))["next_due_at"] is None
    assert await _activate(bench, saved.automation_id) == "active"
    assert (await _read(bench, saved.automation_id))["next_due_at"] is not None
    assert await _activate(bench, saved.automation_id) == "active"
    assert await _do(bench, pause, saved.automation_id) == "paused"
    assert (await _read(bench, saved.automation_id))["next_due_at"] is None


async def test_a_definition_that_no_longer_fits_is_not_activated(bench: Bench) -> None:
    saved = await _create(bench, _says("x"))
    await bench.application.database.execute(
        """UPDATE definitions SET document =
           jsonb_set(document::jsonb, '{plan,0,action}', '"no_such_action"')::json"""
    )
    with pytest.raises(Conflict) as caught:
        await _activate(bench, saved.automation_id)
    assert [finding.pointer for finding in caught.value.findings] == ["/plan/0/action"]
    assert (await _read(bench, saved.automation_id))["state"] == "paused"


async def test_an_archived_automation_gives_its_name_back_and_is_left_alone(
    bench: Bench,
) -> None:
    saved = await _create(bench, _says("old"))
    assert await _do(bench, archive, saved.automation_id) == "archived"
    assert await _do(bench, archive, saved.automation_id) == "archived"
    assert await _names(bench) == []
    assert await _names(bench, state="archived") == ["a test"]
    for attempt in (
        _update(bench, saved.automation_id, _says("new")),
        _activate(bench, saved.automation_id),
        _do(bench, pause, saved.automation_id),
    ):
        with pytest.raises(Conflict) as caught:
            await attempt
        assert caught.value.code == "archived"
    await _create(bench, _says("new"))
    with pytest.raises(Conflict) as caught:
        await _do(bench, restore, saved.automation_id)
    assert caught.value.code == "name_taken"


async def test_a_restored_automation_is_paused(bench: Bench) -> None:
    saved = await _create(bench, _says("old", triggers=[DAILY]))
    await _activate(bench, saved.automation_id)
    await _do(bench, archive, saved.automation_id)
    assert await _do(bench, restore, saved.automation_id) == "paused"
    found = await _read(bench, saved.automation_id)
    assert (found["state"], found["next_due_at"]) == ("paused", None)


async def test_runs_under_way_finish_after_their_automation_was_archived(bench: Bench) -> None:
    made = await bench.dispatch(document(step("hang", "test.hang")))
    found = await bench.read(made.run_id)
    async with bench.worker():
        await bench.outside.started.wait()
        await _do(bench, archive, found["automation_id"])
        bench.outside.release.set()
        assert (await bench.until(made.run_id))["status"] == "succeeded"


async def test_what_is_not_there_is_missing_in_every_way(bench: Bench) -> None:
    nobody = generate_id()
    for attempt in (
        _read(bench, nobody),
        _update(bench, nobody, _says("x")),
        _activate(bench, nobody),
        *(_do(bench, act, nobody) for act in (pause, archive, restore, acknowledge)),
    ):
        with pytest.raises(NotFound):
            await attempt


async def test_an_automation_of_another_workspace_is_not_there(bench: Bench) -> None:
    saved = await _create(bench, _says("x"))
    other = generate_id()
    async with bench.application.database.transaction() as tx:
        for act in (pause, archive, restore, acknowledge):
            with pytest.raises(NotFound):
                await act(tx, other, saved.automation_id)
        assert await list_automations(tx, other) == []


async def test_automations_are_found_by_a_part_of_their_name(bench: Bench) -> None:
    for name in ("Daily digest", "Weekly digest", "100% sure_thing"):
        await _create(bench, _says("x", name=name))
    assert await _names(bench, search="DIGEST") == ["Weekly digest", "Daily digest"]
    assert await _names(bench, search="%") == ["100% sure_thing"]
    assert await _names(bench, search="_") == ["100% sure_thing"]
    assert await _names(bench, search="nothing") == []


async def test_the_list_goes_on_where_the_page_before_ended(bench: Bench) -> None:
    made = [await _create(bench, _says("x", name=f"n{n}")) for n in range(5)]
    assert await _names(bench, most=2) == ["n4", "n3"]
    assert await _names(bench, most=2, after=made[3].automation_id) == ["n2", "n1"]


async def test_an_automation_shows_how_its_last_run_ended(bench: Bench) -> None:
    run = await bench.run(_says("x"))
    found = await _read(bench, run["automation_id"])
    assert (found["last_run"]["id"], found["last_run"]["status"]) == (run["id"], "succeeded")
    assert found["last_run"]["at"] == run["finished_at"]


async def _trigger_id(bench: Bench, automation_id: UUID) -> UUID:
    return UUID(str((await _read(bench, automation_id))["triggers"][0]["id"]))


async def test_no_run_starts_after_a_pause_was_answered_while_fires_race(bench: Bench) -> None:
    saved = await _create(
        bench, _says("x", triggers=[HOOK], execution={"concurrency": "allow_parallel"})
    )
    await _activate(bench, saved.automation_id)
    trigger_id = await _trigger_id(bench, saved.automation_id)
    application = bench.application

    async def fire(number: int) -> str:
        request = RunRequest(
            application.workspace_id,
            saved.automation_id,
            "webhook",
            trigger_id,
            key=f"key:{number}",
        )
        return (await application.dispatcher.dispatch(request)).status

    racing = [asyncio.create_task(fire(number)) for number in range(25)]
    pausing = asyncio.create_task(_do(bench, pause, saved.automation_id))
    racing += [asyncio.create_task(fire(number)) for number in range(25, 50)]
    await pausing
    started = "SELECT count(*) FROM runs WHERE status <> 'skipped'"
    at_the_answer = await application.database.fetchval(started)
    statuses = await asyncio.gather(*racing)
    assert await application.database.fetchval(started) == at_the_answer
    assert len(statuses) == await _counted(bench, "runs") == 50
    assert await fire(99) == "skipped"


async def test_a_pause_is_not_answered_while_a_fire_is_half_way(bench: Bench) -> None:
    saved = await _create(bench, _says("x", triggers=[HOOK]))
    await _activate(bench, saved.automation_id)
    trigger_id = await _trigger_id(bench, saved.automation_id)
    application = bench.application
    request = RunRequest(application.workspace_id, saved.automation_id, "webhook", trigger_id)
    await application.dispatcher.dispatch(request)
    async with application.database.transaction() as tx:
        await application.dispatcher.take(tx, [request])
        pausing = asyncio.create_task(_do(bench, pause, saved.automation_id))
        async with asyncio.timeout(60):
            while not await application.database.fetchval(
                "SELECT 1 FROM pg_locks WHERE NOT granted"
            ):
                assert not pausing.done()
                await asyncio.sleep(0.01)
    assert await pausing == "paused"
    assert await _counted(bench, "runs WHERE status = 'pending'") == 2
    assert (await application.dispatcher.dispatch(request)).status == "skipped"


async def test_each_run_is_wholly_of_one_version_while_edits_race_with_fires(
    bench: Bench,
) -> None:
    def version(text: str) -> dict[str, Any]:
        """Every part says the same number, so a mixture of two would show."""
        return document(
            step("a", "transform_data", {"output": text}),
            step("b", "transform_data", {"output": text}),
            step("c", "test.echo", {"said": "{{ inputs.said }}"}),
            inputs={"schema": {"type": "object", "properties": {"said": {"default": text}}}},
            triggers=[HOOK],
            execution={"concurrency": "allow_parallel"},
        )

    saved = await _create(bench, version("0"))
    await _activate(bench, saved.automation_id)
    trigger_id = await _trigger_id(bench, saved.automation_id)
    application = bench.application

    async def fire() -> UUID:
        request = RunRequest(application.workspace_id, saved.automation_id, "webhook", trigger_id)
        return (await application.dispatcher.dispatch(request)).run_id

    async def edit() -> None:
        for number in range(1, 31):
            await _update(bench, saved.automation_id, version(str(number)))

    editing = asyncio.create_task(edit())
    fired: list[UUID] = []
    while not editing.done():
        fired += await asyncio.gather(*(fire() for _ in range(4)))
    await editing
    async with bench.worker():
        runs = [await bench.until(run_id) for run_id in fired]
    for run in runs:
        assert run["status"] == "succeeded", run["error"]
        outputs = {row["step"]: row["output"] for row in run["steps"]}
        text = str(run["version"] - 1)
        assert outputs == {"a": text, "b": text, "c": {"said": text}}
    assert len({run["version"] for run in runs}) > 1


async def test_an_edit_never_blocks_a_worker_that_records_spending(
    bench: Bench,
) -> None:
    """Booking money looks at the automation's key; holding its row for an edit leaves it free."""
    made = await bench.dispatch(document(step("a", "test.costly", {"usd": "0.01"})))
    found = await bench.read(made.run_id)
    async with bench.application.database.transaction() as tx:
        await set_state(tx, bench.application.workspace_id, found["automation_id"], "paused")
        async with bench.worker():
            assert (await bench.until(made.run_id))["status"] == "succeeded"


async def test_a_problem_of_ours_is_never_a_driver_s_error(bench: Bench) -> None:
    """Names raced for by every way there is: each attempt is saved or refused with a reason."""
    one = await _create(bench, _says("x", name="one"))
    gone = await _create(bench, _says("x", name="wanted"))
    await _do(bench, archive, gone.automation_id)
    made = await asyncio.gather(
        _create(bench, _says("x", name="wanted")),
        _update(bench, one.automation_id, _says("x", name="wanted")),
        _do(bench, restore, gone.automation_id),
        bench.save(_says("x", name="wanted")),
        return_exceptions=True,
    )
    assert all(not isinstance(each, Exception) or isinstance(each, Problem) for each in made)
    assert await _names(bench, search="wanted") == ["wanted"]
