"""Trying a look: reads a poll's source once, and says what it would start."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import ConsentRequired, Invalid
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.definition.polls import POLL_TYPES, read_poll
from mainspring.gate.call import Gate
from mainspring.runs.versions import VersionCache
from mainspring.triggers.poll_changes import find_items, plan_look
from mainspring.triggers.poller import call_source
from mainspring.workspace.polls import (
    DueLook,
    read_poll_states,
    read_seen,
    read_waiting,
)

if TYPE_CHECKING:
    from mainspring.store.database import Database

_SAMPLE: Final = 3
_AUTOMATION = """
    SELECT name, version, agreed_version FROM automations WHERE workspace_id = $1 AND id = $2
"""


async def try_look(
    gate: Gate,
    database: Database,
    versions: VersionCache,
    limits: Limits,
    workspace_id: UUID,
    trigger: Mapping[str, Any],
) -> dict[str, Any]:
    """What a look would find now; nothing is started, and nothing is remembered."""
    if trigger["type"] not in POLL_TYPES:
        raise Invalid(
            f"A trigger of the type {trigger['type']} does not poll a source.",
            code="not_a_poll",
        )
    automation = await database.fetchrow(_AUTOMATION, workspace_id, trigger["automation_id"])
    assert automation is not None
    if automation["agreed_version"] != automation["version"]:
        raise ConsentRequired(
            "A person must consent to what the trigger reads first.",
            consent={"version": automation["version"]},
        )
    look = DueLook(
        workspace_id,
        trigger["id"],
        trigger["automation_id"],
        automation["name"],
        automation["version"],
        trigger["slug"],
        trigger["type"],
        trigger["config"],
        trigger["inputs"],
        generate_id(),
        datetime.now(UTC),
        0,
    )
    settings = read_poll(look.type, look.config)
    loaded = await versions.get(workspace_id, look.automation_id, look.version)
    value = await call_source(gate, database, look, settings, loaded, mode="dry_run")
    found = await asyncio.to_thread(find_items, settings, value, limits)
    async with database.acquire() as connection:
        states = await read_poll_states(connection, workspace_id, [look.trigger_id])
        state = states.get(look.trigger_id)
        first = state is None or state["source_hash"] != settings.source_hash
        hashes = [one.id_hash for one in found.items]
        seen = await read_seen(connection, workspace_id, look.trigger_id, hashes, waiting=first)
        waiting = await read_waiting(connection, look, settings.max_items)
    planned = plan_look(settings, found.items, seen, waiting, first=first, arrivals=0)
    runs = len(planned.fire)
    if settings.batches:
        runs = len({one.change for one in planned.fire})
    return {
        "sentence": _describe(len(found.items), planned.counts, runs, first=first),
        "items": len(found.items),
        "new": planned.counts["new"],
        "changed": planned.counts["changed"],
        "skipped": found.skipped,
        "runs": runs,
        "first_look": first,
        "sample": [one.item for one in planned.fire[:_SAMPLE]],
    }


def _describe(items: int, counts: Mapping[str, int], runs: int, *, first: bool) -> str:
    found = f"It would look and find {items:,} {'item' if items == 1 else 'items'}"
    news = f"{counts['new']:,} new and {counts['changed']:,} changed"
    starts = f"start {runs:,} {'run' if runs == 1 else 'runs'}" if runs else "start nothing"
    look = "As its first look, it would" if first else "It would"
    return f"{found}, {news}. {look} {starts}."
