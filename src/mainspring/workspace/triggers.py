"""Triggers as they are kept: armed while they are enabled and their automation is active.

A trigger is known by its slug: it keeps its id, its history and its webhook token while
the slug stays in the definition. Whoever fires a trigger holds its row, and whoever pauses
it changes that row, so nothing starts once a pause has been answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import NotFound
from mainspring.contracts.ids import generate_id
from mainspring.definition.cron import parse_cron
from mainspring.definition.model import Definition
from mainspring.definition.strict_json import is_same_value
from mainspring.definition.upgrade import upgrade
from mainspring.workspace.consent_rows import remove_trigger_from_consent

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


# A stored definition together with the truth of the trigger table.


def merge_stored_triggers(
    document: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """The definition with each trigger as its row has it; nothing that belongs to one place
    alone (an id, a token, a moment) goes along.
    """
    # A definition that was stored by an older release says what it does in today's format.
    document, _ = upgrade(document)
    found = {row["slug"]: row for row in rows}
    entries = document.get("triggers", [])
    triggers = [_merge_trigger(entry, found.get(entry.get("id"))) for entry in entries]
    return {**document, "triggers": triggers} if "triggers" in document else dict(document)


def agree(document: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the rows say what the definition says."""
    return is_same_value(
        document.get("triggers", []), merge_stored_triggers(document, rows).get("triggers", [])
    )


def _merge_trigger(entry: Mapping[str, Any], row: Mapping[str, Any] | None) -> dict[str, Any]:
    if row is None:
        return dict(entry)
    shown = {name: row[name] for name in ("type", "config", "inputs", "enabled")}
    return {**entry, **shown}


# A schedule that was changed begins anew; an unchanged one keeps the moment it waits for.
_KEEP = """
    INSERT INTO triggers (workspace_id, id, automation_id, slug, type, config, inputs, enabled)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (workspace_id, automation_id, slug) DO UPDATE
        SET type = excluded.type, config = excluded.config, inputs = excluded.inputs,
            enabled = excluded.enabled,
            next_due_at = CASE WHEN triggers.config = excluded.config
                AND triggers.type = excluded.type THEN triggers.next_due_at END,
            secret_hash = CASE WHEN triggers.type = excluded.type THEN triggers.secret_hash END,
            secret_hint = CASE WHEN triggers.type = excluded.type THEN triggers.secret_hint END,
            secret_made_at = CASE WHEN triggers.type = excluded.type
                THEN triggers.secret_made_at END,
            secret_made_by = CASE WHEN triggers.type = excluded.type
                THEN triggers.secret_made_by END
"""
_DROP = """
    DELETE FROM triggers
    WHERE workspace_id = $1 AND automation_id = $2 AND NOT slug = ANY($3::text[])
"""
# In the order of those who fire several of them at once.
_HOLD = """
    SELECT id FROM triggers
    WHERE (workspace_id, automation_id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))
    ORDER BY id FOR UPDATE
"""
# The time as it is now: a transaction that waited for others began long before.
_OF_AUTOMATION = """
    SELECT id, type, config, enabled, next_due_at, clock_timestamp() AS now FROM triggers
    WHERE workspace_id = $1 AND automation_id = $2 ORDER BY id FOR UPDATE
"""
_ARM = """
    UPDATE triggers SET armed_at = coalesce(armed_at, now()), next_due_at = $3
    WHERE workspace_id = $1 AND id = $2
"""
# What a member left stays armed, so that what it misses is recorded, also when it is edited.
_DISARM = """
    UPDATE triggers t SET armed_at = NULL, next_due_at = NULL
    WHERE t.workspace_id = $1 AND t.id = $2 AND NOT (t.suspended_at IS NOT NULL AND EXISTS (
        SELECT FROM automations a WHERE a.workspace_id = t.workspace_id AND a.id = t.automation_id
            AND a.state = 'paused' AND a.paused_reason = 'owner_left'))
"""
_MOVE_EPOCH = """
    INSERT INTO trigger_epochs (workspace_id) VALUES ($1)
    ON CONFLICT (workspace_id) DO UPDATE SET epoch = trigger_epochs.epoch + 1
"""
_LIST = """
    SELECT id, automation_id, slug, type, config, inputs, enabled, armed_at, next_due_at,
        last_fired_at, secret_hint, secret_made_at, created_at
    FROM triggers WHERE workspace_id = $1 AND automation_id = $2 ORDER BY slug
"""


async def hold_triggers(tx: Transaction, automations: Sequence[tuple[UUID, UUID]]) -> None:
    """Every trigger of these automations stays as it is until the transaction ends.

    Automations are named by workspace and id; their own rows are held already.
    """
    spaces, ids = [space for space, _ in automations], [one for _, one in automations]
    await tx.execute(_HOLD, spaces, ids)


async def keep_triggers(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, definition: Definition
) -> None:
    """Makes the rows what the definition says; those it no longer names are gone."""
    slugs = [trigger.id for trigger in definition.triggers]
    await tx.execute(_DROP, workspace_id, automation_id, slugs)
    for trigger in definition.triggers:
        await tx.execute(
            _KEEP,
            workspace_id,
            generate_id(),
            automation_id,
            trigger.id,
            trigger.type,
            trigger.config,
            trigger.inputs,
            trigger.enabled,
        )


async def arm(tx: Transaction, workspace_id: UUID, automation_id: UUID, *, active: bool) -> None:
    """Brings every trigger in line with its automation: armed, or at rest.

    A schedule that is armed waits for its next moment from now on: what passed while it
    was at rest was not missed.
    """
    for row in await tx.fetch(_OF_AUTOMATION, workspace_id, automation_id):
        if active and row["enabled"]:
            await tx.execute(_ARM, workspace_id, row["id"], _compute_next_due(row))
        else:
            await tx.execute(_DISARM, workspace_id, row["id"])
    await tx.execute(_MOVE_EPOCH, workspace_id)


def _compute_next_due(row: Any) -> datetime | None:
    if row["type"] != "schedule" or row["next_due_at"] is not None:
        found: datetime | None = row["next_due_at"]
        return found
    config = row["config"]
    return parse_cron(config["cron"]).after(row["now"], config["timezone"])


async def list_triggers(
    tx: Transaction, workspace_id: UUID, automation_id: UUID
) -> list[dict[str, Any]]:
    """The triggers of an automation; never the hash of a token."""
    return [dict(row) for row in await tx.fetch(_LIST, workspace_id, automation_id)]


# One trigger: looked at, turned on, turned off.

_EXISTS = "SELECT 1 AS one FROM automations WHERE workspace_id = $1 AND id = $2"
_STATE = "SELECT state FROM automations WHERE workspace_id = $1 AND id = $2 FOR NO KEY UPDATE"
_SWITCH = """
    UPDATE triggers SET enabled = $4
    WHERE workspace_id = $1 AND automation_id = $2 AND slug = $3 RETURNING id
"""


async def read_triggers(
    tx: Transaction, workspace_id: UUID, automation_id: UUID
) -> list[dict[str, Any]]:
    """The triggers of an automation that is there."""
    if await tx.fetchrow(_EXISTS, workspace_id, automation_id) is None:
        raise NotFound("There is no such automation.", code="no_automation")
    return await list_triggers(tx, workspace_id, automation_id)


async def read_trigger(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, slug: str
) -> dict[str, Any]:
    """One trigger by its slug."""
    found = await read_triggers(tx, workspace_id, automation_id)
    for trigger in found:
        if trigger["slug"] == slug:
            return trigger
    raise _no_trigger_error()


async def switch(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, slug: str, *, enabled: bool
) -> None:
    """Turns a trigger on or off; it is armed or at rest when this commits."""
    row = await tx.fetchrow(_STATE, workspace_id, automation_id)
    if row is None:
        raise NotFound("There is no such automation.", code="no_automation")
    await hold_triggers(tx, [(workspace_id, automation_id)])
    if await tx.fetchrow(_SWITCH, workspace_id, automation_id, slug, enabled) is None:
        raise _no_trigger_error()
    if not enabled:
        await remove_trigger_from_consent(tx, workspace_id, automation_id, slug)
    await arm(tx, workspace_id, automation_id, active=row["state"] == "active")


def _no_trigger_error() -> NotFound:
    return NotFound("This automation has no such trigger.", code="no_trigger")
