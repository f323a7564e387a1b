"""Automations that listen to events, events to publish, and a matcher."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import orjson

from mainspring.app import Application
from mainspring.contracts.event import EventRow
from mainspring.contracts.ids import generate_id
from mainspring.store.events import EVENTS_CHANNEL, EventTable, append_events
from mainspring.store.wakeups import WakeupListener
from mainspring.triggers.matcher import CONSUMER, EventMatcher
from mainspring.workspace.automations import set_state
from tests.kit.bench import PATIENCE, Bench, document, step

_AHEAD = """
    SELECT EXISTS (SELECT 1 FROM events e, event_cursors c
        WHERE c.consumer = $1 AND (e.xid, e.id) > (c.xid, c.id))
"""
ECHO = step("say", "transform_data", {"output": "{{ trigger }}"})


async def listen(
    bench: Bench,
    name: str,
    event_type: str,
    filters: Mapping[str, Any] | None = None,
    *plan: Mapping[str, Any],
    **more: Any,
) -> UUID:
    """An active automation with one event trigger; answers its id."""
    config: dict[str, Any] = {"event_type": event_type}
    if filters is not None:
        config["filters"] = filters
    trigger = {"id": "on_event", "type": "event", "config": config, **more.pop("trigger", {})}
    saved = await bench.save(document(*(plan or (ECHO,)), name=name, triggers=[trigger], **more))
    async with bench.application.database.transaction() as tx:
        await set_state(tx, bench.application.workspace_id, saved.automation_id, "active")
    return saved.automation_id


async def tell(
    application: Application,
    event_type: str,
    *payloads: Mapping[str, Any],
    space: UUID | None = None,
    run_id: UUID | None = None,
) -> list[UUID]:
    """Appends one event for each payload, in one transaction; answers their ids."""
    rows = [
        EventRow(
            space or application.workspace_id,
            generate_id(),
            event_type,
            "test",
            orjson.dumps(payload).decode(),
            run_id,
        )
        for payload in payloads
    ]
    async with application.database.transaction() as tx:
        await append_events(tx, rows)
    return [row.id for row in rows]


def matcher_of(application: Application, *, hints: bool = False) -> EventMatcher:
    listener = WakeupListener(application.database, EVENTS_CHANNEL) if hints else None
    return EventMatcher(
        application.database,
        EventTable(application.limits),
        application.dispatcher,
        application.limits,
        listener=listener,
    )


async def match_all(application: Application, matcher: EventMatcher | None = None) -> int:
    """Reads the log to its end; answers how many events were passed.

    An older transaction that is still open, also one of another database, hides newer events.
    """
    reader, total = (matcher or matcher_of(application)).reader, 0
    async with asyncio.timeout(PATIENCE):
        while (passed := await reader.once()) or await is_behind(application, CONSUMER):
            total += passed
            if not passed:
                await asyncio.sleep(0.01)
    return total


async def is_behind(application: Application, consumer: str) -> bool:
    """Whether the log has events after the cursor of a consumer."""
    return bool(await application.database.fetchval(_AHEAD, consumer))


@asynccontextmanager
async def matching(application: Application, count: int = 1) -> AsyncIterator[None]:
    """Matchers at work until the block ends."""
    stop = asyncio.Event()
    tasks = [
        asyncio.create_task(matcher_of(application, hints=True).reader.run(stop))
        for _ in range(count)
    ]
    try:
        yield
    finally:
        stop.set()
        await asyncio.gather(*tasks)


async def runs_of(
    application: Application, automation_id: UUID | None = None
) -> list[dict[str, Any]]:
    """The runs that events started, oldest first."""
    rows: Sequence[Any] = await application.database.fetch(
        "SELECT * FROM runs WHERE workspace_id = $1 AND trigger_type = 'event' "
        "AND ($2::uuid IS NULL OR automation_id = $2) ORDER BY id",
        application.workspace_id,
        automation_id,
    )
    return [dict(row) for row in rows]
