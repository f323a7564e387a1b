"""A restarted worker is another process, although it has the host name and the number of the old.

In a container the worker is process 1, and a restarted container keeps its host name.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace
from typing import Any

from mainspring.runs import queue
from mainspring.runs.worker import rescue
from mainspring.store.application_name import get_process_id
from tests.kit.bench import Bench, document, step
from tests.kit.lost_worker import LEASES_OVER

# What a process sees that is the first one of a container.
_IN_CONTAINER = """
import json, os
os.getpid, os.getppid = lambda: 1, lambda: 0
from mainspring.store.application_name import get_parent_process_id, get_process_id
print(json.dumps([get_parent_process_id(), get_process_id()]))
"""
REBOOTED = "another-boot"


async def _container() -> queue.WorkerRegistration:
    """Where the worker of a container lives; its process has ended since."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _IN_CONTAINER, stdout=asyncio.subprocess.PIPE
    )
    result, _ = await child.communicate()
    launcher, mark = json.loads(result)
    return queue.WorkerRegistration("pod/1", "pod", 1, ("fast",), 1, launcher, mark)


async def _lose(
    bench: Bench, first: queue.WorkerRegistration, second: queue.WorkerRegistration
) -> dict[str, Any]:
    """A run whose worker is lost, and put back when the second worker has a lease."""
    database = bench.application.database
    made = await bench.dispatch(document(step("a", "test.note")))
    async with database.transaction() as tx:
        worker = await queue.register(tx, first, 3600)
        assert [run.id for run in await queue.claim(tx, ["fast"], 1, worker)] == [made.run_id]
    await database.execute(LEASES_OVER)
    async with database.transaction() as tx:
        await queue.register(tx, second, 3600)
    await rescue(database, bench.application.limits)
    run = await database.fetchrow("SELECT status, takeovers, losses FROM runs")
    assert run is not None
    assert run["status"] == "pending"
    return dict(run)


async def test_a_worker_that_was_restarted_under_the_same_name_has_died(bench: Bench) -> None:
    run = await _lose(bench, await _container(), await _container())
    assert (run["takeovers"], run["losses"]) == (1, 1)


async def test_a_worker_with_another_lease_of_the_same_process_is_alive(bench: Bench) -> None:
    place = await _container()
    run = await _lose(bench, place, place)
    assert (run["takeovers"], run["losses"]) == (0, 1)


async def test_a_container_that_was_restarted_with_its_machine_does_not_count(
    bench: Bench,
) -> None:
    first, second = await _container(), await _container()
    boot = first.launcher.partition(":")[0]
    assert boot
    before = replace(
        first,
        launcher=first.launcher.replace(boot, REBOOTED),
        mark=first.mark.replace(boot, REBOOTED),
    )
    run = await _lose(bench, before, second)
    assert (run["takeovers"], run["losses"]) == (0, 0)


async def test_a_worker_registers_the_mark_of_its_process(bench: Bench) -> None:
    async with bench.worker(), asyncio.timeout(60):
        while not (marks := await bench.application.database.fetch("SELECT mark FROM workers")):
            await asyncio.sleep(0.01)
    assert [row["mark"] for row in marks] == [get_process_id()]
