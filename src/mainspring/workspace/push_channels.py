"""What is registered at providers, so that they report changes to the sources of poll triggers.

A channel belongs to one trigger while the trigger is on. The statements cross workspaces on
purpose: one loop serves all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.ids import generate_id
from mainspring.definition.strict_json import dumps

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# A report is followed by a look when the provider's own lists have caught up, and reports that come
# closely one after another share it.
_SETTLE: Final = timedelta(seconds=2)

# What nobody has agreed to is not registered, as it is not read.
_WANTED = """
    SELECT t.workspace_id, t.id AS trigger_id, t.automation_id, t.type, t.config,
        a.created_by AS owner_id
    FROM triggers t JOIN automations a ON a.workspace_id = t.workspace_id AND a.id = t.automation_id
    WHERE t.type = ANY($1::text[]) AND t.armed_at IS NOT NULL AND t.suspended_at IS NULL
      AND t.config ->> 'push' = 'true'
      AND a.state = 'active' AND a.agreed_version = a.version
"""
_HELD = """
    SELECT workspace_id, id, trigger_id, owner_id, config, address, renew_at FROM push_channels
    WHERE trigger_id IS NOT NULL
"""
_ADD = """
    INSERT INTO push_channels (workspace_id, id, trigger_id, automation_id, owner_id, integration,
        config, address, complete)
    VALUES ($1, $2, $3, $4, $5, $6, $7::text::json, $8, $9)
    ON CONFLICT (workspace_id, trigger_id) WHERE trigger_id IS NOT NULL DO NOTHING
"""
_RETIRE = """
    UPDATE push_channels SET trigger_id = NULL, failures = 0, next_try_at = now() + $3::interval
    WHERE workspace_id = $1 AND id = $2 AND trigger_id IS NOT NULL
"""
_CLAIM = """
    WITH due AS (
        SELECT workspace_id, id FROM push_channels
        WHERE next_try_at <= now() AND (leased_until IS NULL OR leased_until <= now())
          AND (remote IS NULL OR trigger_id IS NULL)
        ORDER BY next_try_at LIMIT $1 FOR UPDATE SKIP LOCKED
    )
    UPDATE push_channels p SET lease = $2, leased_until = now() + $3::interval
    FROM due d WHERE p.workspace_id = d.workspace_id AND p.id = d.id
    RETURNING p.*, (SELECT name FROM automations a
        WHERE a.workspace_id = p.workspace_id AND a.id = p.automation_id) AS name
"""
_REGISTERED = """
    UPDATE push_channels SET remote = $4::text::json, expires_at = $5,
        renew_at = now() + ($5::timestamptz - now()) * 0.75, lease = NULL,
        leased_until = NULL, failures = 0, problem = NULL
    WHERE workspace_id = $1 AND id = $2 AND lease = $3
"""
_FAILED = """
    UPDATE push_channels SET lease = NULL, leased_until = NULL, failures = failures + 1,
        next_try_at = now() + $4::interval, problem = $5::text::json,
        reported_at = CASE WHEN $6 THEN now() ELSE reported_at END
    WHERE workspace_id = $1 AND id = $2 AND lease = $3
"""
_DELETE = "DELETE FROM push_channels WHERE workspace_id = $1 AND id = $2"
_FIND = "SELECT * FROM push_channels WHERE workspace_id = $1 AND id = $2"
_NOTIFIED = """
    UPDATE push_channels SET notified_at = now()
    WHERE workspace_id = $1 AND id = $2 RETURNING trigger_id
"""
# A trigger that fails keeps its backoff.
_HASTEN = """
    UPDATE poll_states SET next_look_at = least(next_look_at, now() + $3::interval)
    WHERE workspace_id = $1 AND trigger_id = $2 AND next_look_at < 'infinity' AND failures = 0
"""
_OF_TRIGGER = """
    SELECT notified_at,
        complete AND remote IS NOT NULL AND (expires_at IS NULL OR expires_at > now())
        AS healthy
    FROM push_channels WHERE workspace_id = $1 AND trigger_id = $2
"""
_OF_TRIGGERS = """
    SELECT trigger_id, remote IS NOT NULL AS registered, notified_at, expires_at, problem
    FROM push_channels WHERE workspace_id = $1 AND trigger_id = ANY($2::uuid[])
"""


@dataclass(frozen=True, slots=True)
class PushChannel:
    """A claimed channel: to be registered, or to be removed."""

    workspace_id: UUID
    id: UUID
    trigger_id: UUID | None
    automation_id: UUID
    owner_id: UUID | None
    integration: str
    config: Mapping[str, Any]
    address: str
    remote: Mapping[str, Any] | None
    failures: int
    reported_at: datetime | None
    lease: UUID | None
    # Of the automation; None when it was deleted.
    name: str | None


@dataclass(frozen=True, slots=True)
class TriggerPush:
    """How the changes of one trigger are reported."""

    notified_at: datetime | None
    healthy: bool


async def list_wanted(tx: Transaction, types: list[str]) -> list[Any]:
    """The triggers that ask for reports now."""
    return list(await tx.fetch(_WANTED, types))


async def list_held(tx: Transaction) -> list[Any]:
    """The channels that belong to a trigger."""
    return list(await tx.fetch(_HELD))


async def add_channel(
    tx: Transaction, row: Any, integration: str, address: str, *, complete: bool
) -> None:
    """A channel to be registered; nothing when another process was faster."""
    await tx.execute(
        _ADD,
        row["workspace_id"],
        generate_id(),
        row["trigger_id"],
        row["automation_id"],
        row["owner_id"],
        integration,
        dumps(row["config"]),
        address,
        complete,
    )


async def retire_channel(
    tx: Transaction, workspace_id: UUID, channel_id: UUID, after: timedelta = timedelta(0)
) -> None:
    """Have a channel removed at its provider."""
    await tx.execute(_RETIRE, workspace_id, channel_id, after)


async def claim_channels(tx: Transaction, most: int, lease: timedelta) -> list[PushChannel]:
    """Claim channels that are to be registered or removed now."""
    return [_build(row) for row in await tx.fetch(_CLAIM, most, generate_id(), lease)]


def _build(row: Any) -> PushChannel:
    return PushChannel(
        row["workspace_id"],
        row["id"],
        row["trigger_id"],
        row["automation_id"],
        row["owner_id"],
        row["integration"],
        row["config"],
        row["address"],
        row["remote"],
        row["failures"],
        row["reported_at"],
        row["lease"],
        row["name"],
    )


async def record_registered(
    tx: Transaction, channel: PushChannel, remote: Mapping[str, Any], expires_at: datetime | None
) -> None:
    await tx.execute(
        _REGISTERED, channel.workspace_id, channel.id, channel.lease, dumps(remote), expires_at
    )


async def record_push_failure(
    tx: Transaction,
    channel: PushChannel,
    delay: timedelta,
    problem: Mapping[str, Any],
    *,
    reported: bool,
) -> None:
    await tx.execute(
        _FAILED,
        channel.workspace_id,
        channel.id,
        channel.lease,
        delay,
        dumps(problem),
        reported,
    )


async def delete_channel(tx: Transaction, channel: PushChannel) -> None:
    await tx.execute(_DELETE, channel.workspace_id, channel.id)


async def find_channel(tx: Transaction, workspace_id: UUID, channel_id: UUID) -> Any:
    """A channel by its id, for a notification."""
    return await tx.fetchrow(_FIND, workspace_id, channel_id)


async def record_notified(tx: Transaction, workspace_id: UUID, channel_id: UUID) -> bool:
    """Make the trigger look at once; False when no trigger needs the channel any more."""
    row = await tx.fetchrow(_NOTIFIED, workspace_id, channel_id)
    if row is None or row["trigger_id"] is None:
        return False
    await tx.execute(_HASTEN, workspace_id, row["trigger_id"], _SETTLE)
    return True


async def read_trigger_push(tx: Transaction, workspace_id: UUID, trigger_id: UUID) -> TriggerPush:
    """How the changes of a trigger are reported, for the time of its next look."""
    row = await tx.fetchrow(_OF_TRIGGER, workspace_id, trigger_id)
    return TriggerPush(None, False) if row is None else TriggerPush(*row.values())


async def list_trigger_pushes(
    tx: Transaction, workspace_id: UUID, triggers: list[UUID]
) -> dict[UUID, dict[str, Any]]:
    """How the changes of some triggers are reported, for display."""
    rows = await tx.fetch(_OF_TRIGGERS, workspace_id, triggers)
    return {row["trigger_id"]: dict(row) for row in rows}
