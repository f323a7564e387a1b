"""A storm over matchers, and the verdict: one run for each match, none missed, none twice.

Nothing executes here: the rows of the runs are the evidence. Each event carries a number,
so a run says which event it belongs to.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from typing import Any
from uuid import UUID

from mainspring.contracts.event import EventRow
from mainspring.contracts.ids import generate_id
from mainspring.store.database import Connection
from mainspring.store.events import append_events
from mainspring.workspace.automations import set_state
from tests.crash.crash_bench import CrashBench

EVENT_TYPE = "storm.struck"
_PATIENCE = 120.0
# An automation and the number of the event that its run belongs to.
Pair = tuple[UUID, int]


def _filter(number: int) -> dict[str, Any]:
    """Most triggers ask for one value; some ask for more than an index can answer."""
    if number % 20 == 19:
        return {"number": {"gte": number}, "kind": {"in": ["a", "b"]}, "key": number // 20}
    return {"key": number}


def _holds(number: int, event: dict[str, Any]) -> bool:
    """The same in plain Python, for the verdict."""
    if number % 20 == 19:
        return bool(
            event["number"] >= number and event["kind"] in "ab" and event["key"] == number // 20
        )
    return bool(event["key"] == number)


def _event(number: int, triggers: int) -> dict[str, Any]:
    return {"number": number, "key": number * 7 % triggers, "kind": "abc"[number % 3]}


async def plant(bench: CrashBench, triggers: int) -> list[UUID]:
    """So many automations, each with one trigger."""
    made = []
    for number in range(triggers):
        trigger = {
            "id": "on_event",
            "type": "event",
            "config": {"event_type": EVENT_TYPE, "filters": _filter(number)},
        }
        automation_id = await bench.save(
            {
                "schema_version": "1.2",
                "name": f"listener {number}",
                "goal": "Be started once for each event that is meant.",
                "plan": [{"step_id": "a", "action": "transform_data", "config": {"output": 1}}],
                "triggers": [trigger],
                "execution": {"concurrency": "allow_parallel"},
            }
        )
        async with bench.application.database.transaction() as tx:
            await set_state(tx, bench.application.workspace_id, automation_id, "active")
        made.append(automation_id)
    return made


async def tell(bench: CrashBench, numbers: range, triggers: int) -> None:
    """Appends events, a few in each transaction, as many writers would."""
    space = bench.application.workspace_id
    for first in range(numbers.start, numbers.stop, 20):
        few = range(first, min(first + 20, numbers.stop))
        rows = [
            EventRow(space, generate_id(), EVENT_TYPE, "storm", _json(_event(number, triggers)))
            for number in few
        ]
        async with bench.application.database.transaction() as tx:
            await append_events(tx, rows)


def _json(payload: dict[str, Any]) -> str:
    return "{" + ", ".join(f'"{key}": {_value(value)}' for key, value in payload.items()) + "}"


def _value(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def expected(automations: list[UUID], events: int) -> set[Pair]:
    """Every event and trigger that match, found without an index."""
    triggers = len(automations)
    return {
        (automation, number)
        for number in range(events)
        for n, automation in enumerate(automations)
        if _holds(n, _event(number, triggers))
    }


async def started(bench: CrashBench) -> Counter[Pair]:
    """The runs there are, by the event they belong to."""

    async def read(connection: Connection) -> list[Any]:
        return await connection.fetch("SELECT automation_id, payload FROM runs")

    rows = await bench.ask(read)
    return Counter((row["automation_id"], row["payload"]["number"]) for row in rows)


def offences(wanted: set[Pair], found: Counter[Pair]) -> list[str]:
    """Everything that breaks the promise."""
    against = [f"missed: {pair}" for pair in wanted - found.keys()]
    against += [f"started for nothing: {pair}" for pair in found.keys() - wanted]
    against += [f"started {count} times: {pair}" for pair, count in found.items() if count > 1]
    return against


async def strike_matchers(
    bench: CrashBench,
    chance: random.Random,
    *,
    automations: list[UUID],
    events: int,
    kills: int,
    pause: float,
) -> None:
    """Events in even portions; in the middle of each, one of two matchers is killed."""
    triggers = len(automations)
    for _ in range(2):
        bench.pool.start(role="matcher")
    for number in range(kills):
        portion = range(events * number // kills, events * (number + 1) // kills)
        telling = asyncio.create_task(tell(bench, portion, triggers))
        await asyncio.sleep(chance.uniform(0, pause))
        chance.choice(bench.pool.alive).kill()
        bench.pool.start(role="matcher")
        await telling


async def until_read(bench: CrashBench) -> float:
    """Waits until the cursor is at the end of the log; answers the seconds."""

    async def at_the_end() -> bool:
        async def read(connection: Connection) -> bool:
            row = await connection.fetchrow(
                "SELECT c.xid = e.xid AND c.id = e.id AS done FROM event_cursors c, "
                "(SELECT xid, id FROM events ORDER BY xid DESC, id DESC LIMIT 1) AS e"
            )
            return row is not None and bool(row["done"])

        done: bool = await bench.ask(read)
        return done

    return await bench.until(at_the_end, _PATIENCE, "the log has been read to its end")


async def calm_speed(bench: CrashBench, automations: list[UUID], events: int, first: int) -> float:
    """Events matched per second by one matcher that nobody disturbs."""
    for member in bench.pool.alive:
        member.kill()
    await tell(bench, range(first, first + events), len(automations))
    began = time.monotonic()
    bench.pool.start(role="matcher")
    await until_read(bench)
    return events / (time.monotonic() - began)
