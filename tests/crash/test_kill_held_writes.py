"""Workers killed around a held write: one draft, one message, and the run uses its result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mainspring.contracts.context import Actor
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.store.database import Connection
from mainspring.store.embedded import EmbeddedServer
from mainspring.workspace.automations import FIRST_MEMBER
from tests.crash.crash_bench import CrashBench, open_crash_bench
from tests.crash.fork_server import ForkServer

PLAN: dict[str, Any] = {
    "schema_version": "1.1",
    "name": "a held write",
    "goal": "Send one message after an approval, whatever happens to the workers.",
    "plan": [
        {"step_id": "post", "action": "ledger.post", "config": {"text": "Hello"}},
        {
            "step_id": "after",
            "action": "ledger.keep",
            "config": {"mark": "{{ steps.post.ts }} {{ steps.post.sent.text }}"},
        },
    ],
}


async def _fetch(bench: CrashBench, query: str) -> Sequence[Any]:
    async def read(connection: Connection) -> Sequence[Any]:
        return await connection.fetch(query)

    found: Sequence[Any] = await bench.ask(read)
    return found


async def _status(bench: CrashBench) -> str:
    return (await bench.statuses(bench.runs))[bench.runs[0]]


async def _die_at(bench: CrashBench, point: str, nth: int = 1) -> None:
    """A worker works until it reaches a commit point, and is killed there."""
    doomed = bench.pool.start(point=point, nth=nth, lease=600)

    async def dead() -> bool:
        return not doomed.alive

    await bench.until(dead, 40, f"the worker was killed at {point}")
    await bench.let_leases_run_out()


async def _kill_while_it_waits(bench: CrashBench) -> None:
    worker = bench.pool.start()

    async def waits() -> bool:
        return await _status(bench) == "waiting"

    await bench.until(waits, 40, "the run waits")
    worker.kill()
    await bench.let_leases_run_out()


async def _confirm(bench: CrashBench, **more: Any) -> Any:
    [draft] = await _fetch(bench, "SELECT id FROM drafts")
    person = CapabilityCaller(
        Actor(bench.application.workspace_id, "member", FIRST_MEMBER, role=Role.OWNER)
    )
    given = {"draft_id": str(draft["id"]), **more}
    return await bench.application.gate.direct(person, "confirm_action", given)


async def test_a_run_that_waits_for_a_draft_survives_the_death_of_its_workers(
    durable_server: EmbeddedServer, fork_server: ForkServer, folder: Path
) -> None:
    async with open_crash_bench(
        # The witness writes from triggers, which a person who confirms is not allowed to.
        durable_server,
        fork_server,
        folder,
        lease=5.0,
        poll=0.2,
        watched=False,
    ) as bench:
        await bench.dispatch(await bench.save(PLAN), 1)
        # The draft is there, and the record that the run waits for it is not.
        await _die_at(bench, "end.before")
        await _kill_while_it_waits(bench)
        answer = await _confirm(bench, edits={"text": "Good morning"})
        # The message has left, and the step that sent it is not recorded.
        await _die_at(bench, "step.before")
        again = await _confirm(bench)
        bench.pool.start()
        await bench.until_final(300)
        status = await _status(bench)
        steps = await _fetch(bench, "SELECT step, status, output FROM steps ORDER BY finished_at")
        drafts = await _fetch(bench, "SELECT status, outcome FROM drafts")
        sent = [one for one in bench.ledger.entries() if one.key.startswith("draft/")]

    assert status == "succeeded"
    assert again == answer
    assert [(one["status"], one["outcome"]) for one in drafts] == [("confirmed", "sent")]
    assert [one.phase for one in sent] == ["begin", "end"]
    outputs = {one["step"]: one["output"] for one in steps}
    assert outputs["post"]["said"] == "Good morning"
    assert outputs["after"]["mark"] == "1503435956.000001 Good morning"
    assert [one["status"] for one in steps] == ["succeeded", "succeeded"]
