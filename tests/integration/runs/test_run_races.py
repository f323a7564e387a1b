"""Two who meet at one run: nobody's word is lost, and nobody is shown what is not so."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Expired, NotFound
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.definition.validate import validate
from mainspring.gate.callers import CapabilityCaller
from mainspring.gate.retention import forget_calls
from mainspring.runs.control import RunControl
from mainspring.runs.rows import RunEvent
from mainspring.runs.run_requests import RunRequest, lane_of, lock_lanes
from mainspring.runs.step import LeaseLost
from mainspring.runs.worker import rescue
from mainspring.workspace.automations import FIRST_MEMBER, save
from tests.kit.bench import Bench, document, step
from tests.kit.codex import Codex, automation
from tests.kit.lock_waits import until_in_line
from tests.kit.tenants import add_workspace


async def call(bench: Bench, capability: str, **value: Any) -> Any:
    actor = Actor(
        bench.application.workspace_id, "member", FIRST_MEMBER, role=Role.OWNER, administrator=True
    )
    return await bench.application.gate.direct(CapabilityCaller(actor), capability, value)


async def test_a_late_rejection_is_answered_with_a_conflict(bench: Bench) -> None:
    database = bench.application.database
    plan = document(
        step("ask", "approval", {"title": "Pay?", "default": None, "on_decline": "fail"}),
        step("pay", "test.hang"),
    )
    made = await bench.dispatch(plan)
    async with bench.worker() as worker:
        await bench.until(made.run_id, "waiting")
        await bench.until_idle(worker)
        (asked,) = (await call(bench, "list_approvals"))["approvals"]
        question = UUID(asked["approval_id"])
        async with database.transaction() as tx:
            await tx.execute("UPDATE runs SET due_at = now() + interval '1 second'")
            await tx.execute("UPDATE approvals SET expires_at = now() + interval '1 second'")
        async with database.transaction() as tx:
            await tx.execute("SELECT FROM approvals WHERE id = $1 FOR UPDATE", question)
            # In good time; and then the run, whose time is over, wants to go on without it.
            answer = {"approval_id": asked["approval_id"], "decision": "declined"}
            saying_no = asyncio.create_task(call(bench, "answer_approval", **answer))
            paid = asyncio.create_task(bench.outside.started.wait())
            in_line = asyncio.create_task(until_in_line(database, 2))
            await asyncio.wait({paid, in_line}, return_when=asyncio.FIRST_COMPLETED)
            in_line.cancel()
        await asyncio.wait({saying_no})
        ended = asyncio.create_task(bench.until(made.run_id))
        await asyncio.wait({paid, ended}, return_when=asyncio.FIRST_COMPLETED)
        if bench.outside.started.is_set():
            assert isinstance(saying_no.exception(), Expired), saying_no
        else:
            assert saying_no.result()["status"] == "declined"
            assert ended.result()["error"]["code"] == "approval_declined"
        paid.cancel()
        ended.cancel()


async def test_an_answer_is_not_forgotten_when_the_run_is_handed_back(bench: Bench) -> None:
    made = await bench.dispatch(document(step("ask", "approval", {"title": "Go on?"})))

    def dies(point: str) -> None:
        if point == "end.before":
            raise LeaseLost

    # The question is asked; its worker is lost before the run sleeps, and another puts it back.
    async with bench.worker(hook=dies):
        async with asyncio.timeout(60):
            while not (await call(bench, "list_approvals"))["approvals"]:
                await asyncio.sleep(0.01)
        await bench.until(made.run_id, "pending")
        await bench.application.database.execute(
            "UPDATE runs SET due_at = now() + interval '1 hour'"
        )
    (asked,) = (await call(bench, "list_approvals"))["approvals"]
    await call(bench, "answer_approval", approval_id=asked["approval_id"], decision="approved")
    await bench.application.database.execute("UPDATE runs SET due_at = now()")
    handed_back = asyncio.Event()

    def stops(event: RunEvent) -> None:
        """The next worker is asked to stop before it begins a step: it hands the run back."""
        if event.kind == "run_resumed" and not handed_back.is_set():
            event.detail.stopping = True
        if event.kind == "run_ended":
            handed_back.set()

    async with bench.worker(watch=stops):
        await asyncio.wait_for(handed_back.wait(), 20)
        assert (await bench.until(made.run_id, "succeeded"))["status"] == "succeeded"


async def test_retrying_what_is_being_deleted_is_reported_plainly(bench: Bench) -> None:
    database, space = bench.application.database, bench.application.workspace_id
    failed = await bench.run(document(step("b", "test.wrong_shape")))
    assert failed["status"] == "failed"
    control = RunControl(database, bench.application.wakeup_sender)
    async with database.transaction() as tx:
        await forget_calls(tx, [(space, failed["id"])])
        await tx.execute("DELETE FROM steps WHERE run_id = $1", failed["id"])
        await tx.execute("DELETE FROM runs WHERE id = $1", failed["id"])
        again = asyncio.create_task(control.retry(space, failed["id"]))
        await until_in_line(database)
    with pytest.raises(NotFound):
        await again


@pytest.mark.parametrize("backwards", [False, True])
async def test_a_halt_that_gives_way_to_a_worker_cancels_all_the_same(
    bench: Bench, backwards: bool
) -> None:
    """In one of the two orders the halt and a writer of two ends would deadlock."""
    database = bench.application.database
    runs = [
        (await bench.dispatch(document(step("b", "test.hang"), name=name))).run_id
        for name in ("one", "two")
    ]
    writes = "UPDATE runs SET nudged_at = NULL WHERE id = $1"
    # Its worker hears of the halt after all of this.
    async with bench.worker(poll_seconds=60.0):
        for run_id in runs:
            await bench.until(run_id, "running")
        first, second = reversed(runs) if backwards else runs
        async with database.transaction() as tx:
            # The one that the database gives up is the other.
            await tx.execute("SET LOCAL deadlock_timeout = '60s'")
            await tx.execute(writes, first)
            halting = asyncio.create_task(
                call(bench, "halt_work", scope="workspace", reason="Stop.", cancel=True)
            )
            await until_in_line(database)
            await tx.execute(writes, second)
        assert (await halting)["cancelled"] == 2
        bench.outside.release.set()
        gone = await database.fetch("SELECT FROM runs WHERE cancel_at IS NULL")
        assert len(gone) == 0


# The workflow comes from a recipe, and the automation from a template of it.
_FROM_RECIPE = """
    INSERT INTO recipe_installs (workspace_id, id, recipe_id, slug, version, digest, kind,
        entity_kind, entity_id, name, bundle_id, overrides, base, dependencies, installed_by)
    SELECT workspace_id, $1, recipe_id, 'flow', version, digest, kind, 'workflow', $2, name,
        bundle_id, overrides, base, dependencies, installed_by
    FROM recipe_installs WHERE slug = 'checker'
"""


async def test_what_leaves_a_halted_recipe_goes_on(bench: Bench) -> None:
    application, database = bench.application, bench.application.database
    codex = Codex(application)
    await codex.publish(automation("checker"))
    made = UUID((await codex.apply("checker"))["created"]["id"])
    await database.execute(
        "UPDATE automations SET agreed_version = version, agreed_via = 'page', "
        "state = 'active', paused_reason = NULL"
    )
    flow = UUID((await call(bench, "create_workflow", title="Flow"))["id"])
    both = {"workflow_id": str(flow), "automation_id": str(made)}
    await call(bench, "attach_automation", **both)
    await database.execute("UPDATE workflow_automations SET template = 'first'")
    await database.execute(_FROM_RECIPE, generate_id(), flow)
    async with bench.worker(lease_seconds=3.0):
        await call(bench, "halt_work", scope="recipe", recipe="flow", reason="Wrong list.")
        held = (
            await application.dispatcher.dispatch(RunRequest(application.workspace_id, made))
        ).run_id
        async with asyncio.timeout(60):
            while await database.fetchval("SELECT parked_due_at FROM runs") is None:
                await asyncio.sleep(0.01)
        await call(bench, "detach_automation", **both)
        assert (await bench.until(held, "succeeded"))["status"] == "succeeded"


async def saved(bench: Bench, space: UUID, name: str) -> UUID:
    words = await bench.application.registry.of(space)
    queued = document(step("n", "notification", {"title": "Hi"}), name=name)
    report = validate(queued, words, bench.application.limits)
    assert report.definition is not None
    async with bench.application.database.transaction() as tx:
        made = await save(tx, space, report.definition, report.grants, FIRST_MEMBER, via="page")
    return made.automation_id


async def test_firing_several_triggers_and_ending_them_do_not_deadlock(
    bench: Bench,
) -> None:
    application, second = bench.application, generate_id()
    first = application.workspace_id
    assert first < second
    await add_workspace(application.database, second, "Elsewhere")
    here = await saved(bench, first, "here")
    there = await saved(bench, second, "there 0")
    # Lanes have numbers at random: one that comes before the other, in the later workspace.
    for number in range(1, 50):
        if lane_of(there, None) < lane_of(here, None):
            break
        there = await saved(bench, second, f"there {number}")
    else:
        pytest.fail("No lane of fifty came before the other.")
    asked = [
        [await application.dispatcher.prepare(RunRequest(space, one))]
        for space, one in ((first, here), (second, there))
    ]
    between, goes_on = asyncio.Event(), asyncio.Event()

    async def fires() -> None:
        """As the scheduler, the matcher and the recorder of webhooks do it."""
        async with application.database.transaction() as tx:
            await application.dispatcher.take(tx, asked[0])
            between.set()
            await goes_on.wait()
            await application.dispatcher.take(tx, asked[1])

    async def records() -> None:
        """As a worker does it that writes the ends of a run of each."""
        async with application.database.transaction() as tx:
            await lock_lanes(tx, [(second, lane_of(there, None)), (first, lane_of(here, None))])

    firing = asyncio.create_task(fires())
    await between.wait()
    recording = asyncio.create_task(records())
    await until_in_line(application.database)
    goes_on.set()
    # Neither of them was given up by the database.
    await asyncio.gather(firing, recording)


@pytest.mark.parametrize("rescued", [False, True])
async def test_a_worker_that_was_asked_to_leave_while_it_was_held_up_leaves(
    bench: Bench, rescued: bool
) -> None:
    database = bench.application.database
    async with bench.worker(heartbeat_seconds=1.0) as worker:
        async with asyncio.timeout(60):
            while not await database.fetchval("SELECT count(*) FROM workers"):
                await asyncio.sleep(0.01)
        # It hears nothing until its lease is over; perhaps another has put its runs back by then.
        await database.execute("UPDATE workers SET drain_at = now(), lease_until = now()")
        if rescued:
            await rescue(database, bench.application.limits)
        async with asyncio.timeout(60):
            while not worker.drained:
                await asyncio.sleep(0.01)
