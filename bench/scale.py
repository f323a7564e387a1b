"""What grows with what is stored: nothing should.

python -m bench.scale [--most 1000000] [--save]

First finished runs, from a thousand up, over several months' partitions. Then automations,
schedules and event triggers, ten, a hundred and a thousand times as many. At each size the same
small work is done, and what it touches is counted in pages of the database, which is the same on
a busy machine and on an idle one. Next to it is the processor time of draining some runs, for
worker and Postgres together, which is not: it also counts the vacuum of
what was just put in. The last column is the ratio of the last size against the smallest; what
fails the command is a count of pages that has grown by half and is no longer small.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import uvloop

from bench import results
from bench.engine import cpu_seconds, drain_engine
from bench.environment import fresh_house, plan_of, saved
from bench.signals import leave_in_order
from bench.sql_baseline import fill
from mainspring.app import Application, build_scheduler
from mainspring.runs import queue
from mainspring.runs.fleet import read_signals
from mainspring.runs.health import read_health_signals
from mainspring.runs.history import list_runs
from mainspring.runs.metrics import EndedRunMetrics, read_installation_metrics
from mainspring.runs.run_requests import RunRequest
from mainspring.store.events import EventTable
from mainspring.store.partitions import ensure_partitions

DRAINED: Final = 300
TIMES: Final = (1, 10, 100, 1_000)
BAR: Final = 1.5
# A small look may touch a page more or less; up to so many nothing is said of it.
SLACK_PAGES: Final = 40
# Each row of a list may lie on a page of its own, and does so where old pages are filled up again.
LISTED: Final = 50

BEGINNING: Final = ("0", UUID(int=0))

# A run that is over, with the least that a row can have; its id says when it was made.
_FINISHED = """
    INSERT INTO runs (workspace_id, id, automation_id, version, trigger_type, queue, status,
        due_at, created_at, started_at, finished_at, fence)
    SELECT $1, (lpad(to_hex((extract(epoch FROM m.at) * 1000)::int8), 12, '0') || '7'
            || substr(m.noise, 1, 3) || '8' || substr(m.noise, 4, 15))::uuid,
        $2, $3, 'manual', 'fast', 'succeeded', m.at, m.at, m.at, m.at, 1
    FROM (
        SELECT now() - interval '1 hour' - (n::float8 / $4) * interval '80 days' AS at,
            md5(n::text || $5) AS noise
        FROM generate_series(1, $4) AS n
    ) AS m
"""
_OVER = "UPDATE runs SET status = 'succeeded', finished_at = now() WHERE finished_at IS NULL"
# Whole rows again under other names; a table's columns need not be known for that.
_AUTOMATIONS = """
    WITH made AS (
        INSERT INTO automations
        SELECT (jsonb_populate_record(a, jsonb_build_object('id', gen_random_uuid(),
            'name', a.name || $3 || n))).*
        FROM automations a, generate_series(1, $2) AS n WHERE a.id = $1 RETURNING id
    )
    INSERT INTO automation_versions
    SELECT (jsonb_populate_record(v, jsonb_build_object('automation_id', m.id))).*
    FROM automation_versions v, made m WHERE v.automation_id = $1
"""
_TRIGGERS = """
    INSERT INTO triggers (workspace_id, id, automation_id, slug, type, config, armed_at,
        next_due_at)
    SELECT $1, gen_random_uuid(), $2, $3 || '-' || n, $3, $4, now(), $5
    FROM generate_series(1, $6) AS n
"""


@dataclass(slots=True)
class Counted:
    """A connection that counts the pages which its statements touch, and then does them."""

    connection: Any
    pages: int = 0
    statements: list[str] = field(default_factory=list)

    async def fetch(self, query: str, *arguments: Any) -> Any:
        await self._count(query, arguments)
        return await self.connection.fetch(query, *arguments)

    async def fetchrow(self, query: str, *arguments: Any) -> Any:
        await self._count(query, arguments)
        return await self.connection.fetchrow(query, *arguments)

    async def execute(self, query: str, *arguments: Any) -> Any:
        await self._count(query, arguments)
        return await self.connection.execute(query, *arguments)

    async def _count(self, query: str, arguments: tuple[Any, ...]) -> None:
        # What is counted is undone, so that it can be done.
        undone = self.connection.transaction()
        await undone.start()
        try:
            result = await self.connection.fetchval(
                f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query}", *arguments
            )
        finally:
            await undone.rollback()
        plan = result[0]["Plan"]
        self.pages += plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


async def pages_of(application: Application, work: Callable[[Any], Awaitable[Any]]) -> int:
    async with application.database.transaction() as tx:
        # Once to warm up what a first look leaves behind, such as hints about who is dead.
        await work(Counted(tx))
        counted = Counted(tx)
        await work(counted)
    return counted.pages


async def looks(application: Application, worker: int, automation: UUID) -> dict[str, float]:
    """The pages of everything that is asked again and again."""
    space = application.workspace_id

    async def claim(tx: Any) -> None:
        await queue.claim(tx, ["fast", "medium", "long"], 32, worker)

    async def suspects(tx: Any) -> None:
        await queue.claim_suspects(tx, ["fast", "medium", "long"], 1, worker, 32_000)

    async def next_due(tx: Any) -> None:
        await queue.next_due(tx, ["fast", "medium", "long"])

    async def runs(tx: Any) -> None:
        await list_runs(tx, space, most=LISTED)

    expected = await application.dispatcher.prepare(RunRequest(space, automation))
    log, ended = EventTable(application.limits), EndedRunMetrics()

    async def dispatch(tx: Any) -> None:
        await application.dispatcher.take(tx, [expected])

    async def matcher(tx: Any) -> None:
        # Where a reader of the log begins, and what it finds there.
        await log.read(tx, BEGINNING, 32)

    request: dict[str, Callable[[Any], Awaitable[Any]]] = {
        "claim of 32": claim,
        "claim of suspects": suspects,
        "next due": next_due,
        "health": read_health_signals,
        "metrics": read_signals,
        "numbers": read_installation_metrics,
        "ended runs": ended.look,
        "list of runs": runs,
        "dispatch": dispatch,
        "matcher's reading": matcher,
    }
    found: dict[str, float] = {}
    for name, work in request.items():
        found[f"{name}, pages"] = await pages_of(application, work)
    return found


async def figures(application: Application, automation: tuple[UUID, int]) -> dict[str, float]:
    """All that is measured at one size."""
    await application.database.execute("VACUUM ANALYZE")
    async with application.database.transaction() as tx:
        place = queue.WorkerRegistration("scale", "scale", 0, ("fast",), 32)
        worker = await queue.register(tx, place, 3600)
    await fill(application, automation, 64)
    found = await looks(application, worker, automation[0])
    async with application.database.transaction() as tx:
        await tx.execute(_OVER)
        await queue.leave(tx, worker)
    scheduler = build_scheduler(application)
    began = time.process_time()
    for _ in range(10):
        await scheduler.once()
    found["look of the scheduler, CPU ms"] = round((time.process_time() - began) * 100, 2)
    await fill(application, automation, DRAINED)
    before = cpu_seconds(application)
    await drain_engine(application, DRAINED)
    found["drained run, CPU ms"] = round((cpu_seconds(application) - before) * 1000 / DRAINED, 2)
    return found


async def worked_in(application: Application, automation: tuple[UUID, int]) -> None:
    """A database in which nothing was ever done has no pages to touch, and measures nothing."""
    await fill(application, automation, DRAINED)
    await drain_engine(application, DRAINED)


async def finished_runs(sizes: list[int]) -> dict[int, dict[str, float]]:
    """The same work with more and more behind it, in one database that grows."""
    result: dict[int, dict[str, float]] = {}
    async with fresh_house() as application:
        automation = await saved(application, plan_of(1))
        now, there = application.clock.now(), 0
        for days in (90, 60, 30, 0):
            async with application.database.transaction() as tx:
                await ensure_partitions(tx, now - timedelta(days=days))
        await worked_in(application, automation)
        for size in sizes:
            more = size - there
            await application.database.execute(
                _FINISHED, application.workspace_id, *automation, more, str(size)
            )
            there = size
            result[size] = await figures(application, automation)
    return result


async def stored_things(most: int) -> dict[int, dict[str, float]]:
    """Automations, schedules and event triggers, ten of each to begin with."""
    result: dict[int, dict[str, float]] = {}
    async with fresh_house() as application:
        automation = await saved(application, plan_of(1))
        far, there = application.clock.now() + timedelta(days=30), 0
        await worked_in(application, automation)
        cron = {"cron": "0 0 1 1 *", "timezone": "UTC"}
        for size in (10 * times for times in TIMES if 10 * times <= most):
            more, slug = size - there, f"{size}"
            await application.database.execute(_AUTOMATIONS, automation[0], more, f" {size}-")
            for kind, config, due in (
                ("schedule", cron, far),
                ("event", {"event_type": f"never.{slug}"}, None),
            ):
                made = _TRIGGERS.replace("$3 || '-'", f"$3 || '-{slug}-'")
                await application.database.execute(
                    made, application.workspace_id, automation[0], kind, config, due, more
                )
            there = size
            result[size] = await figures(application, automation)
    return result


def show(title: str, result: dict[int, dict[str, float]]) -> bool:
    """A trend table; whether every count of pages stayed where it was."""
    sizes = list(result)
    print(f"{title:>32} " + " ".join(f"{size:>10,}" for size in sizes) + f" {'ratio':>7}")
    flat = True
    for name, first in result[sizes[0]].items():
        values = [result[size][name] for size in sizes]
        ratio = values[-1] / first if first else 1.0
        small = SLACK_PAGES + (LISTED if name.startswith("list") else 0)
        grows = "pages" in name and values[-1] > small and values[-1] > BAR * first
        flat = flat and not grows
        figures_ = " ".join(f"{value:>10,}" for value in values)
        print(f"{name:>32} {figures_} {ratio:>7.2f}{'   grows' if grows else ''}")
    return flat


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=1_000_000)
    results.add_options(parser)
    chosen = parser.parse_args()
    leave_in_order()
    sizes = [size for size in (1_000, 10_000, 100_000, 1_000_000) if size < chosen.most]
    runs = uvloop.run(finished_runs([*sizes, chosen.most]))
    flat = show("finished runs", runs)
    things = uvloop.run(stored_things(10_000))
    flat &= show("automations, schedules, events", things)
    results.keep(chosen, {"scale": {"finished runs": runs, "automations and triggers": things}})
    raise SystemExit(0 if flat else 1)


if __name__ == "__main__":
    main()
