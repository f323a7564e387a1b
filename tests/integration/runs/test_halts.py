"""The kill switch: what is halted is stalled, loses nothing, and goes on where it was."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Conflict, Invalid, NotFound, PermissionDenied
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.runs.halts import finish_releases
from mainspring.runs.run_requests import RunRequest
from mainspring.workspace.automation_list import read_automation
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.bench import Bench, document, step
from tests.kit.codex import Codex, automation, bundle
from tests.kit.lock_waits import until_in_line
from tests.kit.members import member
from tests.kit.tenants import add_workspace

WHY = "It writes to the wrong list."
N = {"schema": {"type": "object", "properties": {"n": {"type": "integer"}}}}


async def call(bench: Bench, capability: str, **value: Any) -> dict[str, Any]:
    actor = Actor(
        bench.application.workspace_id, "member", FIRST_MEMBER, role=Role.OWNER, administrator=True
    )
    answer = await bench.application.gate.direct(CapabilityCaller(actor), capability, value)
    assert isinstance(answer, dict)
    return answer


async def parked(bench: Bench) -> set[UUID]:
    rows = await bench.application.database.fetch(
        "SELECT id FROM runs WHERE parked_due_at IS NOT NULL"
    )
    return {row["id"] for row in rows}


async def until_parked(bench: Bench, *runs: UUID) -> None:
    async with asyncio.timeout(60):
        while await parked(bench) != set(runs):
            await asyncio.sleep(0.01)


async def audited(bench: Bench) -> list[tuple[str, str]]:
    rows = await bench.application.database.fetch(
        "SELECT action, subject FROM audit_log WHERE action LIKE '%\\_work' ORDER BY id"
    )
    return [(row["action"], row["subject"]) for row in rows]


async def test_what_makes_no_sense_is_refused_with_its_place(bench: Bench) -> None:
    anonymous = str(generate_id())
    wrong: list[tuple[type[Exception], str, str, dict[str, Any]]] = [
        (Invalid, "halt_work", "/scope", {"scope": "planet", "reason": WHY}),
        (Invalid, "halt_work", "/reason", {"scope": "workspace", "reason": "  "}),
        (Invalid, "halt_work", "/automation_id", {"scope": "automation", "reason": WHY}),
        (Invalid, "halt_work", "/recipe", {"scope": "recipe", "reason": WHY}),
        (
            Invalid,
            "halt_work",
            "/recipe",
            {"scope": "workspace", "recipe": "digest", "reason": WHY},
        ),
        (
            NotFound,
            "halt_work",
            "/automation_id",
            {"scope": "automation", "automation_id": anonymous, "reason": WHY},
        ),
        (NotFound, "halt_work", "/recipe", {"scope": "recipe", "recipe": "digest", "reason": WHY}),
        (NotFound, "release_work", "/scope", {"scope": "workspace"}),
        (
            NotFound,
            "release_work",
            "/automation_id",
            {"scope": "automation", "automation_id": anonymous},
        ),
        (NotFound, "admin_halt_recipe", "/recipe", {"recipe": "digest", "reason": WHY}),
        (NotFound, "admin_release_recipe", "/recipe", {"recipe": "digest"}),
        (NotFound, "admin_drain_workers", "/worker", {"worker": "nobody/1"}),
        (NotFound, "admin_drain_workers", "/host", {"host": "nowhere"}),
        (Invalid, "admin_drain_workers", "/worker", {}),
        (Invalid, "admin_drain_workers", "/worker", {"worker": "a", "host": "b"}),
    ]
    for kind, capability, pointer, given in wrong:
        with pytest.raises(kind) as refused:
            await call(bench, capability, **given)
        findings = getattr(refused.value, "findings", ())
        assert [one.pointer for one in findings] == [pointer], (capability, given)
    assert await call(bench, "list_halts") == {"halts": []}
    viewer = await member(bench.application.database, bench.application.workspace_id, Role.VIEWER)
    with pytest.raises(PermissionDenied):
        await bench.application.gate.direct(
            viewer, "halt_work", {"scope": "workspace", "reason": WHY}
        )
    with pytest.raises(NotFound):
        await bench.application.gate.direct(viewer, "admin_list_workers", {})
    assert await bench.application.gate.direct(viewer, "list_halts", {}) == {"halts": []}


async def test_a_step_under_way_is_interrupted_and_goes_on_with_the_same_key(
    bench: Bench,
) -> None:
    plan = document(
        step("a", "test.note", {"mark": "a"}),
        step("b", "test.hang"),
        step("c", "test.echo"),
        execution={"concurrency": "allow_parallel"},
    )
    bystander = document(step("a", "test.echo"), name="bystander")
    async with bench.worker() as worker:
        made = await bench.dispatch(plan)
        await bench.outside.started.wait()
        automation_id = str((await bench.read(made.run_id))["automation_id"])
        result = await call(
            bench, "halt_work", scope="automation", automation_id=automation_id, reason=WHY
        )
        assert result["halt"]["automation"] == "a test"
        await until_parked(bench, made.run_id)
        assert len(bench.outside.stopped) == 1
        later = await bench.dispatch(plan)
        await until_parked(bench, made.run_id, later.run_id)
        other = await bench.dispatch(bystander)
        assert (await bench.until(other.run_id))["status"] == "succeeded"
        await bench.until_idle(worker)
        held = await bench.read(made.run_id)
        assert (held["status"], held["halted"], held["takeovers"]) == ("pending", WHY, 0)
        assert held["due_at"] <= datetime.now(UTC)
        assert [one["step"] for one in held["steps"]] == ["a"]
        (halt,) = (await call(bench, "list_halts"))["halts"]
        assert (halt["held"], halt["under_way"], halt["reason"]) == (2, 0, WHY)
        async with bench.application.database.acquire() as tx:
            shown = await read_automation(tx, bench.application.workspace_id, UUID(automation_id))
        assert shown["halted"] == WHY

        bench.outside.release.set()
        result = await call(bench, "release_work", scope="automation", automation_id=automation_id)
        assert result["back"] == 2
        for run_id in (made.run_id, later.run_id):
            run = await bench.until(run_id)
            assert (run["status"], run["halted"], run["attempt"]) == ("succeeded", None, 1)
    assert set(bench.outside.keys.values()) == {1}
    assert bench.outside.tries[bench.outside.stopped[0]] == 2
    subject = f"automation/{automation_id}"
    assert await audited(bench) == [("halt_work", subject), ("release_work", subject)]
    with pytest.raises(NotFound):
        await call(bench, "release_work", scope="automation", automation_id=automation_id)


async def test_what_waits_keeps_its_moment_and_lanes_keep_their_order(bench: Bench) -> None:
    line = document(
        step("a", "test.note", {"mark": "{{ inputs.n }}"}),
        inputs=N,
        execution={"concurrency": "queue"},
        name="in line",
    )
    sleeper = document(
        step("wait", "delay", {"seconds": 3600}), step("a", "test.echo"), name="sleeper"
    )
    async with bench.worker():
        asleep = await bench.dispatch(sleeper)
        before = await bench.until(asleep.run_id, "waiting")
        await call(bench, "halt_work", scope="workspace", reason=WHY)
        again = await call(bench, "halt_work", scope="workspace", reason="Another reason.")
        assert again["halt"]["reason"] == WHY
        runs = [await bench.dispatch(line, inputs={"n": n}) for n in range(4)]
        await until_parked(bench, runs[0].run_id)
        # Those that wait in the queue behind the first are held with it.
        (halt,) = (await call(bench, "list_halts"))["halts"]
        assert halt["held"] == 4
        during = await bench.read(asleep.run_id)
        assert (during["status"], during["due_at"]) == ("waiting", before["due_at"])
        # The first of a line that is cancelled lets the next one come up, and it is held too.
        await bench.application.control.cancel(bench.application.workspace_id, runs[0].run_id)
        await until_parked(bench, runs[1].run_id)
        assert bench.outside.order == []
        await call(bench, "release_work", scope="workspace")
        for made in runs[1:]:
            assert (await bench.until(made.run_id))["status"] == "succeeded"
        after = await bench.read(asleep.run_id)
    assert bench.outside.order == ["1", "2", "3"]
    assert (after["status"], after["due_at"]) == ("waiting", before["due_at"])
    assert await audited(bench) == [("halt_work", "workspace"), ("release_work", "workspace")]


async def test_other_workspaces_are_untouched_and_an_administrator_reaches_all(
    bench: Bench,
) -> None:
    application, elsewhere = bench.application, generate_id()
    await add_workspace(application.database, elsewhere, "Elsewhere")
    here, there = Codex(application), Codex(application, elsewhere)
    await here.publish(automation("checker"), bundle("both", "checker"), shared=True)
    await here.apply("both")
    installed = {
        application.workspace_id: await application.database.fetchval(
            "SELECT entity_id FROM recipe_installs WHERE slug = 'checker' AND workspace_id = $1",
            application.workspace_id,
        ),
        elsewhere: UUID((await there.apply("checker"))["created"]["id"]),
    }
    await application.database.execute(
        "UPDATE automations SET state = 'active', paused_reason = NULL, agreed_version = version, "
        "agreed_via = 'page'"
    )

    async def start(space: UUID) -> UUID:
        made = await application.dispatcher.dispatch(RunRequest(space, installed[space]))
        return made.run_id

    async def ended(space: UUID, run_id: UUID) -> None:
        async with asyncio.timeout(60):
            while await status(space, run_id) != "succeeded":
                await asyncio.sleep(0.01)

    async def status(space: UUID, run_id: UUID) -> str:
        return str(
            await application.database.fetchval(
                "SELECT status FROM runs WHERE workspace_id = $1 AND id = $2", space, run_id
            )
        )

    async with bench.worker():
        await call(bench, "halt_work", scope="recipe", recipe="both", reason=WHY)
        ours, theirs = await start(application.workspace_id), await start(elsewhere)
        await ended(elsewhere, theirs)
        await until_parked(bench, ours)
        await call(bench, "admin_halt_recipe", recipe="checker", reason="Everywhere.")
        theirs = await start(elsewhere)
        await until_parked(bench, ours, theirs)
        await call(bench, "release_work", scope="recipe", recipe="both")
        assert await parked(bench) == {ours, theirs}
        shown = await there.call("list_halts")
        assert [(one["everywhere"], one["held"]) for one in shown["halts"]] == [(True, 1)]
        await call(bench, "admin_release_recipe", recipe="checker")
        await ended(application.workspace_id, ours)
        await ended(elsewhere, theirs)
    assert (await call(bench, "list_halts"))["halts"] == []
    # A release that was cut off is brought to its end, and only then is the halt forgotten.
    await application.database.execute(
        "UPDATE halts SET released_at = released_at - interval '1 hour'"
    )
    await finish_releases(application.database)
    assert await application.database.fetchval("SELECT count(*) FROM halts") == 0


async def test_cancelling_instead_of_holding_and_drafts_that_stay(bench: Bench) -> None:
    hangs = document(step("b", "test.hang"), name="hangs", execution={"concurrency": "queue"})
    writes = document(step("w", "test.mail", {"mark": "m"}), name="writes")
    async with bench.worker():
        wrote = await bench.until((await bench.dispatch(writes)).run_id)
        draft_id = wrote["output"]["draft_id"]
        first = await bench.dispatch(hangs)
        await bench.outside.started.wait()
        second = await bench.dispatch(hangs)
        result = await call(bench, "halt_work", scope="workspace", reason=WHY, cancel=True)
        assert result["cancelled"] == 2
        for made in (first, second):
            assert (await bench.until(made.run_id))["status"] == "cancelled"
        with pytest.raises(Conflict) as refused:
            await call(bench, "confirm_action", draft_id=draft_id)
        assert refused.value.code == "halted"
        assert WHY in refused.value.detail
        bench.outside.release.set()
        third = await bench.dispatch(hangs)
        await until_parked(bench, third.run_id)
        await call(bench, "release_work", scope="workspace")
        assert (await bench.until(third.run_id))["status"] == "succeeded"
        await call(bench, "confirm_action", draft_id=draft_id)
    assert bench.outside.order == ["m"]


async def test_what_is_handed_back_while_a_halt_cancels_is_cancelled_too(bench: Bench) -> None:
    hangs = document(step("b", "test.hang"), name="hangs")
    sleeps = document(step("w", "delay", {"seconds": 3_600}), name="sleeps")
    async with bench.worker():
        asleep = await bench.dispatch(sleeps)
        await bench.until(asleep.run_id, "waiting")
        under_way = await bench.dispatch(hangs)
        await bench.outside.started.wait()
        async with bench.application.database.transaction() as tx:
            # As long as somebody holds the one row, the halt cannot get past it.
            await tx.execute("SELECT FROM runs WHERE id = $1 FOR UPDATE", asleep.run_id)
            halting = asyncio.create_task(
                call(bench, "halt_work", scope="workspace", reason=WHY, cancel=True)
            )
            await until_in_line(bench.application.database)
            await bench.until(under_way.run_id, "pending")
        result = await halting
        assert result["cancelled"] == 2
        for made in (asleep, under_way):
            assert (await bench.until(made.run_id))["status"] == "cancelled"
    assert result["halt"]["held"] == 0


async def test_a_halt_does_not_hold_what_was_cancelled(bench: Bench) -> None:
    hangs = document(step("b", "test.hang"), name="hangs")
    made = await bench.dispatch(hangs)
    # As its worker leaves it that stops right after somebody cancelled it.
    await bench.application.database.execute("UPDATE runs SET cancel_at = now()")
    await call(bench, "halt_work", scope="workspace", reason=WHY)
    async with bench.worker():
        assert (await bench.until(made.run_id))["status"] == "cancelled"
    assert bench.outside.stopped == []
    assert not bench.outside.started.is_set()


async def test_a_release_says_when_something_else_still_holds(bench: Bench) -> None:
    await Codex(bench.application).publish(automation("checker"))
    made = (await Codex(bench.application).apply("checker"))["created"]["id"]
    one = {"scope": "automation", "automation_id": made}
    recipe = {"scope": "recipe", "recipe": "checker"}
    for scope in (one, recipe, {"scope": "workspace"}):
        await call(bench, "halt_work", reason=f"For the {scope['scope']}.", **scope)
    result = [(await call(bench, "release_work", **scope))["says"] for scope in (one, recipe)]
    begun = "It is released, but still halted, because of"
    assert result == [
        f"{begun} its recipe is halted: For the recipe.",
        f"{begun} the workspace is halted: For the workspace.",
    ]
    assert "It goes on." in (await call(bench, "release_work", scope="workspace"))["says"]
