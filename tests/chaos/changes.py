"""Automations that are changed while they run: R17."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from typing import Any
from uuid import UUID

from mainspring.runs.rows import FINAL
from mainspring.workspace.automations import set_state
from tests.chaos.check import CheckOptions, Verdict, at_least, exactly, none_of
from tests.chaos.started_server import StartedServer, standing
from tests.crash.crash_bench import CrashBench, own_arena
from tests.crash.test_stop import hanging

_STEPS = ("enter", "middle", "leave")


def _version(number: int) -> dict[str, Any]:
    """A plan that names its own number in every step."""
    return {
        "schema_version": "1.2",
        "name": "changing",
        "goal": f"Be version {number} wholly.",
        "plan": [
            {"step_id": name, "action": "ledger.apply", "config": {"mark": str(number)}}
            for name in _STEPS
        ],
        "execution": {"concurrency": "allow_parallel"},
    }


async def changed(asked: CheckOptions) -> Verdict:
    """R17."""
    edits = asked.of(60, 200, check=40)
    async with own_arena(lease=30.0, heartbeat=10.0, least_ms=5, most_ms=30) as (bench, _):
        pool = [bench.pool.start() for _ in range(2)]
        await bench.until_at_work(*pool)
        mixed, seen = await _raced(bench, edits)
        stored = await _grants_kept(bench)
        deleted = await _archived(bench)
    after, before, skipped = await _paused(asked.of(150, 600, check=100))
    return Verdict(
        [
            none_of(f"of {edits} runs that are not one version wholly", mixed),
            at_least("versions that runs were of", seen, 2),
            exactly("a run whose next version may do less", stored, "succeeded"),
            exactly("a run whose automation was archived", deleted, "succeeded"),
            exactly("runs made after the answer to a pause", after, 0),
            at_least("runs made before it", before, 1),
            at_least("calls after it, kept as skipped because of it", skipped, 1),
        ],
        mixed,
    )


async def _raced(bench: CrashBench, edits: int) -> tuple[list[str], int]:
    """Edits and fires side by side; answers the runs that are no one version, and how many were."""
    automation = await bench.save(_version(0))

    async def edit() -> None:
        for number in range(1, edits):
            # Every fourth time an earlier one comes back.
            await bench.save(_version(number if number % 4 else number // 2))
            await asyncio.sleep(0.005)

    async def fire() -> None:
        for _ in range(edits):
            await bench.dispatch(automation, 1)
            await asyncio.sleep(0.005)

    first = len(bench.runs)
    await asyncio.gather(edit(), fire())
    await bench.until_final(120)
    rows = await bench.application.database.fetch(
        "SELECT r.id, r.status, r.version, v.definition_hash AS hash, d.document, "
        "array(SELECT s.output ->> 'mark' FROM steps s WHERE s.run_id = r.id) AS marks "
        "FROM runs r JOIN automation_versions v ON v.workspace_id = r.workspace_id "
        "AND v.automation_id = r.automation_id AND v.version = r.version "
        "JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash "
        "WHERE r.id = ANY($1::uuid[])",
        bench.runs[first:],
    )
    mixed = [
        f"run {row['id']}: {row['marks']} of version {row['version']}"
        for row in rows
        if not _is_whole(row)
    ]
    if len(rows) != edits:
        mixed.append(f"{edits - len(rows)} runs are of no version")
    return mixed, len({row["version"] for row in rows})


def _is_whole(row: Any) -> bool:
    """Whether what was done, by its hash, is what the version of the run says."""
    output = [step["config"]["mark"] for step in row["document"]["plan"]]
    return row["status"] == "succeeded" and _hash(row["marks"]) == _hash(output)


def _hash(marks: list[str]) -> str:
    return hashlib.sha256(json.dumps(sorted(marks)).encode()).hexdigest()


async def _under_way(bench: CrashBench, name: str) -> tuple[UUID, UUID]:
    """An automation with a run that hangs in its middle; its last step is still to come."""
    automation = await bench.save(hanging(name))
    (run,) = await bench.dispatch(automation, 1)

    async def hangs() -> bool:
        return any(one.is_at("hang") and one.place[0] == run for one in bench.ledger.begun())

    await bench.until(hangs, 30, f"{name} is under way")
    return automation, run


async def _ended(bench: CrashBench, name: str, run: UUID) -> str:
    (bench.folder / name).touch()
    await bench.until_final(30, [run])
    return (await bench.statuses([run]))[run]


async def _grants_kept(bench: CrashBench) -> str:
    """The next version may not do what the run still has to do."""
    _, run = await _under_way(bench, "granted")
    less = {**hanging("granted")}
    less["plan"] = [{"step_id": "a", "action": "transform_data", "config": {"output": 1}}]
    await bench.save(less)
    return await _ended(bench, "granted", run)


async def _archived(bench: CrashBench) -> str:
    automation, run = await _under_way(bench, "archived")
    async with bench.application.database.transaction() as tx:
        await set_state(tx, bench.application.workspace_id, automation, "archived")
    return await _ended(bench, "archived", run)


# A call of a paused automation is on record, as one that nothing was done for.
_BEGUN = """
    SELECT count(*) FROM runs WHERE (status, reason) IS DISTINCT FROM ('skipped', 'paused')
"""


async def _paused(calls: int) -> tuple[int, int, int]:
    """Webhooks against a whole server while it is asked to pause: runs after and before."""
    async with standing() as server:
        automation, token = await server.hooked("to be paused")
        paused = asyncio.Event()
        firing = asyncio.create_task(_fire(server, automation, token, calls, paused))
        while await server.ask("SELECT count(*) FROM runs") < calls // 4:
            await asyncio.sleep(0.005)
        await server.call("POST", f"/automations/{automation}/pause")
        answered = time.time()
        paused.set()
        before = await server.ask(_BEGUN)
        statuses = await firing
        later = f"{_BEGUN} AND extract(epoch FROM created_at)::float8 > $1"
        # Whatever was committed after a look that came after the answer, or began after it.
        grown = await server.ask(_BEGUN) - before
        after = max(grown, await server.ask(later, answered))
        left = "SELECT count(*) FROM runs WHERE status <> ALL($1::text[])"
        while await server.ask(left, list(FINAL)):
            await asyncio.sleep(0.05)
        made = await server.ask("SELECT count(*) FROM runs")
        assert made == statuses.count(202), f"{made} runs of {statuses.count(202)} accepted calls"
    return after, before, made - before - grown


async def _fire(
    server: StartedServer, automation: str, token: str, calls: int, paused: asyncio.Event
) -> list[int]:
    """So many calls, and more until there is one by each sender after the pause was answered."""

    async def some(count: int) -> list[int]:
        statuses: list[int] = []
        while len(statuses) < count or not paused.is_set():
            statuses.append(await server.fire(automation, token))
        return [*statuses, await server.fire(automation, token)]

    found = await asyncio.gather(*(some(calls // 10) for _ in range(10)))
    return [status for part in found for status in part]
