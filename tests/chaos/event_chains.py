"""Events: runs that start runs, and matchers that are killed: R12, R14."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from mainspring.contracts.event import EventRow
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.definition.validate import validate
from mainspring.runs.run_requests import RunRequest
from mainspring.store.events import append_events
from mainspring.workspace.automations import FIRST_MEMBER, save, set_state
from mainspring.workspace.people.workspaces import add_workspace
from tests.chaos.check import (
    CheckOptions,
    Figure,
    Verdict,
    at_least,
    at_most,
    exactly,
    none_of,
    percentile,
    told,
)
from tests.crash import matchers
from tests.crash.crash_bench import CrashBench, own_arena

_WIDTH = 10
_SPACED = 0.05


def _document(name: str, filters: Mapping[str, Any] | None, **more: Any) -> dict[str, Any]:
    """An automation that one automation's end, or whatever these filters name, starts."""
    made: dict[str, Any] = {
        "schema_version": "1.2",
        "name": name,
        "goal": "Start others.",
        "plan": [{"step_id": "a", "action": "transform_data", "config": {"output": 1}}],
        "execution": {"concurrency": "allow_parallel"},
        **more,
    }
    if filters is not None:
        config = {"event_type": "automation.run.succeeded", "filters": filters}
        made["triggers"] = [{"id": "on_end", "type": "event", "config": config}]
    return made


def _end_of(*names: str) -> dict[str, Any]:
    ends = [{"automation_name": {"equals": name}} for name in names]
    return ends[0] if len(ends) == 1 else {"$or": ends}


async def _planted(
    bench: CrashBench, *documents: Mapping[str, Any], space: UUID | None = None
) -> UUID:
    """Saves and activates; answers the first of them."""
    application, made = bench.application, []
    for document in documents:
        report = validate(document, application.registry, application.limits)
        assert report.definition is not None, report.findings
        async with application.database.transaction() as tx:
            where = space or application.workspace_id
            stored = await save(
                tx, where, report.definition, report.grants, FIRST_MEMBER, via="page"
            )
            await set_state(tx, where, stored.automation_id, "active")
        made.append(stored.automation_id)
    return made[0]


async def loops(asked: CheckOptions) -> Verdict:
    """R12."""
    async with own_arena(watched=False, slots=64, lease=30.0, heartbeat=10.0) as (bench, _):
        async with bench.application.database.transaction() as tx:
            space = await add_workspace(tx, FIRST_MEMBER, "neighbours", Role.OWNER)
        other_tenant = await _planted(bench, _document("neighbour", None), space=space)
        pool = [bench.pool.start() for _ in range(2)]
        await bench.until_at_work(*pool)
        bench.pool.start(role="matcher")
        ping = await _planted(
            bench, _document("ping", _end_of("pong")), _document("pong", _end_of("ping"))
        )
        itself = validate(
            _document("self", _end_of("self")), bench.application.registry, bench.application.limits
        )
        root = await _planted(bench, _document("root", None), *_tree())
        # Not how long processes and connections take to come up is to be compared.
        await _beside(bench, other_tenant, space, 2.0)
        for _ in range(5):
            await asyncio.gather(*(_begin(bench, other_tenant, space) for _ in range(4)))
        alone = await _beside(bench, other_tenant, space, asked.of(8.0, 30.0, check=5.0))
        async with _neighbours(bench, other_tenant, space) as waits:
            roots = {
                name: await _begin(bench, automation)
                for name, automation in (("A→B→A", ping), ("fan-out", root))
            }
            figures = [
                await _came_to_rest(bench, name, one, count)
                for (name, one), count in zip(roots.items(), _led_to(bench), strict=True)
            ]
            for _ in range(asked.of(2, 9, check=1)):
                again = await _begin(bench, root)
                await _came_to_rest(bench, "fan-out", again, _led_to(bench)[1])
    ratio = asked.slowest(waits) / asked.slowest(alone)
    return Verdict(
        [
            *(figure for one in figures for figure in one),
            exactly(
                "one that starts itself is refused when saved:",
                ", ".join(finding.code for finding in itself.findings),
                "self_subscription",
            ),
            asked.at_most("slowest of another tenant, times that alone", ratio, 1.5, ""),
            told("p99 alone", f"{percentile(alone, 0.99) * 1000:.0f} ms"),
            told(
                "its median alone",
                f"{percentile(alone, 0.5) * 1000:.1f} ms, beside "
                f"{percentile(waits, 0.5) * 1000:.1f} ms",
            ),
            told("calls of the other tenant", f"{len(alone)} alone, {len(waits)} beside"),
        ]
    )


def _tree() -> list[dict[str, Any]]:
    """Three levels of ten; each end on one level starts the whole next one."""
    made: list[dict[str, Any]] = []
    above: tuple[str, ...] = ("root",)
    for level in range(3):
        names = tuple(f"level {level} {number}" for number in range(_WIDTH))
        made += [_document(name, _end_of(*above)) for name in names]
        above = names
    return made


async def _begin(bench: CrashBench, automation: UUID, space: UUID | None = None) -> UUID:
    application = bench.application
    made = await application.dispatcher.dispatch(
        RunRequest(space or application.workspace_id, automation)
    )
    return made.run_id


def _led_to(bench: CrashBench) -> tuple[int, int]:
    """How many runs each first one leads to, the one that is refused at the end included."""
    deep = bench.application.limits.chain_depth + 1
    return deep, _WIDTH + _WIDTH**2 + _WIDTH**3


async def _came_to_rest(bench: CrashBench, name: str, root: UUID, count: int) -> Sequence[Figure]:
    """What a first run led to, once nothing of it is under way any more."""
    database = bench.application.database

    async def rests() -> bool:
        row = await database.fetchrow(
            "SELECT count(*) AS made, count(finished_at) AS ended FROM runs WHERE root_id = $1",
            root,
        )
        return row is not None and row["made"] == row["ended"] >= count

    await bench.until(rests, 120, f"{name} has come to rest")
    rows = await database.fetch("SELECT status, reason, depth FROM runs WHERE root_id = $1", root)
    ran = [row for row in rows if row["status"] != "skipped"]
    limits = bench.application.limits
    reasons = {row["reason"] for row in rows if row["status"] == "skipped"}
    expected = {"chain_runs" if name == "fan-out" else "chain_depth"}
    return (
        at_most(f"{name}: runs", len(ran), limits.chain_runs),
        at_most("depth", max(row["depth"] for row in ran), limits.chain_depth),
        exactly("recorded as", ", ".join(sorted(map(str, reasons))), ", ".join(expected)),
    )


async def _beside(bench: CrashBench, automation: UUID, space: UUID, seconds: float) -> list[float]:
    async with _neighbours(bench, automation, space) as waits:
        await asyncio.sleep(seconds)
    return waits


@asynccontextmanager
async def _neighbours(
    bench: CrashBench, automation: UUID, space: UUID
) -> AsyncIterator[list[float]]:
    """Runs of another tenant, one after the other; seconds from handing in to the end."""
    waits: list[float] = []
    runs: list[UUID] = []

    async def call() -> None:
        while True:
            runs.append(await _begin(bench, automation, space))
            await asyncio.sleep(_SPACED)

    calling = asyncio.create_task(call())
    try:
        yield waits
    finally:
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)

    async def ended() -> bool:
        rows = await bench.application.database.fetch(
            "SELECT extract(epoch FROM finished_at - created_at)::float8 AS s FROM runs "
            "WHERE id = ANY($1::uuid[]) AND finished_at IS NOT NULL",
            runs,
        )
        waits[:] = [row["s"] for row in rows]
        return len(waits) == len(runs)

    await bench.until(ended, 60, "the other tenant's runs have ended")


async def matched(asked: CheckOptions) -> Verdict:
    """R14."""
    events, triggers, kills = asked.of((1_000, 200, 8), (10_000, 1_000, 20), check=(500, 100, 5))
    async with own_arena(watched=False, lease=2.0) as (bench, _):
        automations = await matchers.plant(bench, triggers)
        await matchers.strike_matchers(
            bench, asked.chance(), automations=automations, events=events, kills=kills, pause=0.5
        )
        await matchers.until_read(bench)
        speed = await matchers.calm_speed(bench, automations, events, events)
        expected = matchers.expected(automations, 2 * events)
        against = matchers.offences(expected, await matchers.started(bench))
        delay = await _after_an_unreadable_one(bench)
    return Verdict(
        [
            none_of(f"of {len(expected):,} matches missed, doubled or made up", against),
            told("events/s", f"{speed:.0f}")
            if asked.is_shared
            else at_least(f"events/s with {triggers:,} triggers", speed, 500),
            asked.at_most("delay of the event after one that cannot be read", delay, 1),
            told("kills", kills),
        ],
        against,
    )


async def _after_an_unreadable_one(bench: CrashBench) -> float:
    """Seconds from telling an event to its run, with one that is damaged before it."""
    automation = await _planted(
        bench,
        {
            **_document("brave", None),
            "triggers": [{"id": "on", "type": "event", "config": {"event_type": "storm.passed"}}],
        },
    )
    application = bench.application
    rows = [
        EventRow(application.workspace_id, generate_id(), "storm.passed", "storm", text)
        for text in ('{"n": 0}', '{"n": 1}')
    ]
    async with application.database.transaction() as tx:
        await append_events(tx, rows)
        await tx.execute("UPDATE events SET payload = '{\"n\": 1e400}' WHERE id = $1", rows[0].id)
    told_at = time.time()

    async def there() -> bool:
        query = "SELECT count(*) FROM runs WHERE automation_id = $1"
        return bool(await application.database.fetchval(query, automation))

    await bench.until(there, 60, "the readable event has started its run")
    made = await application.database.fetchval(
        "SELECT extract(epoch FROM min(created_at))::float8 FROM runs WHERE automation_id = $1",
        automation,
    )
    return max(float(made) - told_at, 0.0)
