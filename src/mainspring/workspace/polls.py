"""The state of poll triggers: when each looks next, what it has seen, and how it fails.

One poller serves all workspaces, so the statements that claim looks cross them on purpose. A look
calls an outside system, so it holds no transaction: it is leased, and its result is written only
while the lease is its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.ids import generate_id
from mainspring.definition.strict_json import dumps

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# An item that the source no longer lists is forgotten after this time.
REMEMBERED: Final = timedelta(days=90)
# The time of the last sight is updated to about a day: a look at unchanged items writes nothing.
_SIGHT: Final = timedelta(days=1)

# A trigger that was off or failing looks at once; any other waits no longer than its interval.
_ARM = """
    INSERT INTO poll_states (workspace_id, trigger_id) VALUES ($1, $2)
    ON CONFLICT (workspace_id, trigger_id) DO UPDATE SET next_look_at = CASE
        WHEN poll_states.next_look_at = 'infinity' OR poll_states.failures > 0 THEN now()
        ELSE least(poll_states.next_look_at, now() + $3::interval) END
"""
_REST = """
    UPDATE poll_states SET next_look_at = 'infinity', lease = NULL, leased_until = NULL
    WHERE workspace_id = $1 AND trigger_id = $2
"""
_NEXT = """
    SELECT min(greatest(next_look_at, leased_until)) AS due FROM poll_states
    WHERE next_look_at < 'infinity'
"""
# SKIP LOCKED: another process may be claiming the same looks. What nobody has agreed to is not
# read, and neither is what its owner left.
_CLAIM = """
    WITH due AS (
        SELECT p.workspace_id, p.trigger_id FROM poll_states p
        JOIN triggers t ON t.workspace_id = p.workspace_id AND t.id = p.trigger_id
        JOIN automations a ON a.workspace_id = t.workspace_id AND a.id = t.automation_id
        WHERE p.next_look_at <= $1 AND (p.leased_until IS NULL OR p.leased_until <= $1)
          AND t.type = ANY($4::text[]) AND t.armed_at IS NOT NULL AND t.suspended_at IS NULL
          AND a.state = 'active' AND a.agreed_version = a.version
        ORDER BY p.next_look_at LIMIT $2 FOR UPDATE OF p SKIP LOCKED
    ), claimed AS (
        UPDATE poll_states p SET lease = $5, leased_until = $1 + $3::interval
        FROM due d WHERE p.workspace_id = d.workspace_id AND p.trigger_id = d.trigger_id
        RETURNING p.*
    )
    SELECT c.workspace_id, c.trigger_id, c.lease, c.next_look_at, c.failures, t.automation_id,
        t.slug, t.type, t.config, t.inputs, a.version, a.name
    FROM claimed c
    JOIN triggers t ON t.workspace_id = c.workspace_id AND t.id = c.trigger_id
    JOIN automations a ON a.workspace_id = t.workspace_id AND a.id = t.automation_id
    ORDER BY c.next_look_at
"""
# The trigger first, in the order in which a change of it takes the same locks.
_HOLD_TRIGGER = """
    SELECT config, inputs, armed_at IS NOT NULL AND suspended_at IS NULL AS armed FROM triggers
    WHERE workspace_id = $1 AND id = $2 FOR SHARE
"""
_HOLD = """
    SELECT * FROM poll_states
    WHERE workspace_id = $1 AND trigger_id = $2 AND lease = $3 FOR UPDATE
"""
_READ = "SELECT * FROM poll_states WHERE workspace_id = $1 AND trigger_id = ANY($2::uuid[])"
_WAITING_COUNTS = """
    SELECT trigger_id, count(*) AS waiting FROM poll_items
    WHERE workspace_id = $1 AND trigger_id = ANY($2::uuid[]) AND arrival IS NOT NULL
    GROUP BY trigger_id
"""
_RELEASE = """
    UPDATE poll_states SET lease = NULL, leased_until = NULL
    WHERE workspace_id = $1 AND trigger_id = $2 AND lease = $3
"""
# Items that wait were found, whatever is read now.
_FORGET = """
    DELETE FROM poll_items WHERE workspace_id = $1 AND trigger_id = $2 AND arrival IS NULL
"""
_SEEN = """
    SELECT id_hash, value_hash, revision, change FROM poll_items
    WHERE workspace_id = $1 AND trigger_id = $2 AND id_hash = ANY($3::bytea[])
      AND (NOT $4 OR arrival IS NOT NULL)
"""
_WAITING = """
    SELECT id_hash, value_hash, revision, change, item FROM poll_items
    WHERE workspace_id = $1 AND trigger_id = $2 AND arrival IS NOT NULL
    ORDER BY arrival LIMIT $3
"""
_REMEMBER = """
    INSERT INTO poll_items (workspace_id, trigger_id, id_hash, value_hash, revision, arrival,
        change, item)
    SELECT $1, $2, n.id_hash, n.value_hash, n.revision, n.arrival, n.change, n.item::json
    FROM unnest($3::bytea[], $4::bytea[], $5::int4[], $6::int8[], $7::text[], $8::text[])
        AS n(id_hash, value_hash, revision, arrival, change, item)
    ON CONFLICT (workspace_id, trigger_id, id_hash) DO UPDATE
        SET value_hash = excluded.value_hash, revision = excluded.revision, seen_at = now(),
            arrival = excluded.arrival, change = excluded.change, item = excluded.item
"""
_SIGHTED = """
    UPDATE poll_items SET seen_at = now()
    WHERE workspace_id = $1 AND trigger_id = $2 AND id_hash = ANY($3::bytea[])
      AND seen_at < now() - $4::interval
"""
_EXPIRE = """
    DELETE FROM poll_items
    WHERE workspace_id = $1 AND trigger_id = $2 AND arrival IS NULL
      AND seen_at < now() - $3::interval AND NOT id_hash = ANY($4::bytea[])
"""
# Those that the source listed last are kept.
_TRIM = """
    DELETE FROM poll_items WHERE workspace_id = $1 AND trigger_id = $2 AND id_hash IN (
        SELECT id_hash FROM poll_items
        WHERE workspace_id = $1 AND trigger_id = $2 AND arrival IS NULL
          AND NOT id_hash = ANY($4::bytea[])
        ORDER BY seen_at DESC OFFSET greatest($3 - cardinality($4::bytea[]), 0))
"""
_SUCCEED = """
    UPDATE poll_states SET lease = NULL, leased_until = NULL, source_hash = $3, next_look_at = $4,
        last_look_at = now(), succeeded_at = now(), items = $5, skipped = $6, arrivals = $7,
        failures = 0, failing_since = NULL, reported_at = NULL, problem = NULL,
        recovered_at = CASE WHEN failures > 0 THEN now() ELSE recovered_at END
    WHERE workspace_id = $1 AND trigger_id = $2
"""
_FAIL = """
    UPDATE poll_states SET lease = NULL, leased_until = NULL, next_look_at = $3,
        last_look_at = now(), failures = failures + 1,
        failing_since = coalesce(failing_since, now()), problem = $4::text::json,
        reported_at = CASE WHEN $5 THEN now() ELSE reported_at END
    WHERE workspace_id = $1 AND trigger_id = $2
"""
_FIRED = "UPDATE triggers SET last_fired_at = now() WHERE workspace_id = $1 AND id = $2"


@dataclass(frozen=True, slots=True)
class DueLook:
    """A claimed look."""

    workspace_id: UUID
    trigger_id: UUID
    automation_id: UUID
    # The automation and the version whose grants apply.
    name: str
    version: int
    slug: str
    type: str
    # As stored, which may be invalid.
    config: Any
    inputs: Any
    lease: UUID
    due_at: datetime
    failures: int


@dataclass(frozen=True, slots=True)
class SeenItem:
    """An item that a trigger has seen."""

    id_hash: bytes
    value_hash: bytes
    revision: int
    # What a later look starts a run for; None: nothing.
    change: str | None = None


@dataclass(frozen=True, slots=True)
class RememberedItem:
    """An item to store, with its content when it waits."""

    id_hash: bytes
    value_hash: bytes
    revision: int
    arrival: int | None = None
    change: str | None = None
    item: Any = None


async def arm_poll(tx: Transaction, workspace_id: UUID, trigger_id: UUID, every: timedelta) -> None:
    """Make a trigger look at its interval; it looks at once if it did not before."""
    await tx.execute(_ARM, workspace_id, trigger_id, every)


async def rest_poll(tx: Transaction, workspace_id: UUID, trigger_id: UUID) -> None:
    """Make a trigger look no more; what it has seen is kept."""
    await tx.execute(_REST, workspace_id, trigger_id)


async def load_next_look(tx: Transaction) -> datetime | None:
    """The time of the next look of any trigger."""
    row = await tx.fetchrow(_NEXT)
    found: datetime | None = row and row["due"]
    return found


async def claim_looks(
    tx: Transaction, now: datetime, most: int, lease: timedelta, types: Sequence[str]
) -> list[DueLook]:
    """Claim due looks that no other process holds, most overdue first."""
    rows = await tx.fetch(_CLAIM, now, most, lease, list(types), generate_id())
    return [
        DueLook(
            row["workspace_id"],
            row["trigger_id"],
            row["automation_id"],
            row["name"],
            row["version"],
            row["slug"],
            row["type"],
            row["config"],
            row["inputs"],
            row["lease"],
            row["next_look_at"],
            row["failures"],
        )
        for row in rows
    ]


async def hold_look(tx: Transaction, look: DueLook) -> Mapping[str, Any] | None:
    """The state, locked; None when the look is no longer this process's to write.

    That is so when the trigger was changed or turned off meanwhile, or when the lease expired and
    another process has looked.
    """
    trigger = await tx.fetchrow(_HOLD_TRIGGER, look.workspace_id, look.trigger_id)
    if trigger is None or not trigger["armed"] or trigger["config"] != look.config:
        return None
    row = await tx.fetchrow(_HOLD, look.workspace_id, look.trigger_id, look.lease)
    return None if row is None else dict(row)


async def release_look(tx: Transaction, look: DueLook) -> None:
    """Give up a lease, so that the look is due again."""
    await tx.execute(_RELEASE, look.workspace_id, look.trigger_id, look.lease)


async def forget_items(tx: Transaction, look: DueLook) -> None:
    """Forget what was seen of another source; items that wait still start their runs."""
    await tx.execute(_FORGET, look.workspace_id, look.trigger_id)


async def read_seen(
    tx: Transaction,
    workspace_id: UUID,
    trigger_id: UUID,
    hashes: Collection[bytes],
    *,
    waiting: bool = False,
) -> dict[bytes, SeenItem]:
    """Those of some items that were seen before; ``waiting``: only those that wait."""
    rows = await tx.fetch(_SEEN, workspace_id, trigger_id, list(hashes), waiting)
    return {
        row["id_hash"]: SeenItem(row["id_hash"], row["value_hash"], row["revision"], row["change"])
        for row in rows
    }


async def read_waiting(tx: Transaction, look: DueLook, most: int) -> list[RememberedItem]:
    """Items that earlier looks found and left, oldest first."""
    rows = await tx.fetch(_WAITING, look.workspace_id, look.trigger_id, most)
    return [
        RememberedItem(
            row["id_hash"], row["value_hash"], row["revision"], 0, row["change"], row["item"]
        )
        for row in rows
    ]


async def remember_items(tx: Transaction, look: DueLook, items: Sequence[RememberedItem]) -> None:
    """Store items, all in one statement."""
    if not items:
        return
    await tx.execute(
        _REMEMBER,
        look.workspace_id,
        look.trigger_id,
        [one.id_hash for one in items],
        [one.value_hash for one in items],
        [one.revision for one in items],
        [one.arrival for one in items],
        [one.change for one in items],
        [None if one.arrival is None else dumps(one.item) or "null" for one in items],
    )


async def trim_items(tx: Transaction, look: DueLook, listed: Sequence[bytes], most: int) -> None:
    """Keep the memory of a trigger within its limits."""
    own = (look.workspace_id, look.trigger_id)
    await tx.execute(_SIGHTED, *own, list(listed), _SIGHT)
    await tx.execute(_EXPIRE, *own, REMEMBERED, list(listed))
    await tx.execute(_TRIM, *own, most, list(listed))


async def record_success(
    tx: Transaction,
    look: DueLook,
    source_hash: bytes,
    next_look: datetime,
    *,
    items: int,
    skipped: int,
    arrivals: int,
) -> None:
    await tx.execute(
        _SUCCEED,
        look.workspace_id,
        look.trigger_id,
        source_hash,
        next_look,
        items,
        skipped,
        arrivals,
    )


async def record_failure(
    tx: Transaction,
    look: DueLook,
    next_look: datetime,
    problem: Mapping[str, Any],
    *,
    reported: bool,
) -> None:
    await tx.execute(_FAIL, look.workspace_id, look.trigger_id, next_look, dumps(problem), reported)


async def record_fired(tx: Transaction, look: DueLook) -> None:
    await tx.execute(_FIRED, look.workspace_id, look.trigger_id)


async def read_poll_states(
    tx: Transaction, workspace_id: UUID, triggers: Sequence[UUID]
) -> dict[UUID, dict[str, Any]]:
    """How some triggers poll, for display."""
    rows = await tx.fetch(_READ, workspace_id, list(triggers))
    waiting = {
        row["trigger_id"]: row["waiting"]
        for row in await tx.fetch(_WAITING_COUNTS, workspace_id, list(triggers))
    }
    return {
        row["trigger_id"]: {**dict(row), "waiting": waiting.get(row["trigger_id"], 0)}
        for row in rows
    }
