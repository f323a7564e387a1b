"""Members who leave: what they made stops, and waits for somebody to take it over.

A member leaves when they are removed from a workspace or disabled. Their active automations are
paused with the reason ``owner_left``, and the webhook tokens that they made are suspended. The
triggers stay armed: what they would start is recorded as a skipped run with its payload, which
can be replayed once somebody has taken the automation over.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.workspace.inbox import leave_message
from mainspring.workspace.webhooks import OWNER_HERE

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

OWNER_LEFT: Final = "owner_left"
_MOST_LISTED: Final = 20

# Whether the member who made the token of a trigger t is a member who was not disabled.
MAKER_HERE = """EXISTS (SELECT FROM members m
            JOIN users u ON u.id = m.user_id AND u.disabled_at IS NULL
            WHERE m.workspace_id = t.workspace_id AND m.user_id = t.secret_made_by)"""
_ACTIVE = """
    SELECT workspace_id, id, name FROM automations
    WHERE created_by = $1 AND ($2::uuid IS NULL OR workspace_id = $2) AND state = 'active'
    ORDER BY id FOR NO KEY UPDATE
"""
_PAUSE = f"""
    UPDATE automations SET state = 'paused', paused_reason = '{OWNER_LEFT}', updated_at = now()
    WHERE (workspace_id, id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))
"""
# A firing locks the row of its trigger, so that nothing starts once this is committed.
_HOLD = """
    SELECT t.workspace_id, t.id, t.slug, t.automation_id, a.name,
        t.secret_hash IS NOT NULL AND t.secret_made_by = $1 AS token
    FROM triggers t
    JOIN automations a ON a.workspace_id = t.workspace_id AND a.id = t.automation_id
    WHERE t.suspended_at IS NULL AND (
        (t.secret_made_by = $1 AND ($2::uuid IS NULL OR t.workspace_id = $2))
        OR (t.workspace_id, t.automation_id) IN (SELECT * FROM unnest($3::uuid[], $4::uuid[])))
    ORDER BY t.id FOR UPDATE OF t
"""
_SUSPEND = """
    UPDATE triggers SET suspended_at = now()
    WHERE (workspace_id, id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))
"""
_RESUME_MEMBER_TRIGGERS = f"""
    UPDATE triggers t SET suspended_at = NULL
    WHERE t.workspace_id = $1 AND t.automation_id = $2 AND t.suspended_at IS NOT NULL
        AND (t.secret_hash IS NULL OR {MAKER_HERE})
"""
_PERSON = "SELECT email, name FROM users WHERE id = $1"
_REMEMBER = """
    INSERT INTO former_members (workspace_id, user_id, email, name)
    SELECT $1, id, email, name FROM users WHERE id = $2
    ON CONFLICT (workspace_id, user_id)
    DO UPDATE SET email = excluded.email, name = excluded.name, left_at = now()
"""
# A token that was suspended and whose maker came back is still to be taken over, by them perhaps.
_LEFT = f"""
    WITH waiting AS (
        SELECT a.created_by AS user_id, a.id AS automation_id, NULL::uuid AS trigger_id
        FROM automations a
        WHERE a.workspace_id = $1 AND a.state <> 'archived' AND NOT {OWNER_HERE}
        UNION ALL
        SELECT t.secret_made_by, NULL, t.id FROM triggers t
        JOIN automations a ON a.workspace_id = t.workspace_id AND a.id = t.automation_id
        WHERE t.workspace_id = $1 AND t.suspended_at IS NOT NULL AND t.secret_hash IS NOT NULL
            AND a.state <> 'archived' AND a.created_by <> t.secret_made_by
            AND (a.paused_reason IS DISTINCT FROM '{OWNER_LEFT}' OR NOT {MAKER_HERE})
    )
    SELECT w.user_id AS id, coalesce(u.email, f.email, '') AS email,
        coalesce(u.name, f.name, '') AS name, f.left_at, u.disabled_at IS NOT NULL AS disabled,
        count(w.automation_id) AS automations, count(w.trigger_id) AS webhooks
    FROM waiting w
    LEFT JOIN former_members f ON f.workspace_id = $1 AND f.user_id = w.user_id
    LEFT JOIN users u ON u.id = w.user_id
    GROUP BY w.user_id, u.email, u.name, u.disabled_at, f.email, f.name, f.left_at
    ORDER BY f.left_at DESC NULLS LAST, w.user_id
"""


@dataclass(slots=True)
class _StoppedResources:
    """What stopped in one workspace."""

    automations: list[str] = field(default_factory=list)
    # Webhooks of automations that go on otherwise, by the name of the automation.
    webhooks: list[str] = field(default_factory=list)


async def stop_all_of(
    tx: Transaction, user_id: UUID, workspace_id: UUID | None = None, *, why: str
) -> None:
    """Stops what a member made in a workspace, or in all of them, and tells who is still there."""
    active = await tx.fetch(_ACTIVE, user_id, workspace_id)
    spaces, ids = _split_columns(active)
    await tx.execute(_PAUSE, spaces, ids)
    triggers = await tx.fetch(_HOLD, user_id, workspace_id, spaces, ids)
    await tx.execute(_SUSPEND, *_split_columns(triggers))
    stopped: dict[UUID, _StoppedResources] = {}
    for row in active:
        stopped.setdefault(row["workspace_id"], _StoppedResources()).automations.append(row["name"])
    for row in triggers:
        if row["token"] and row["automation_id"] not in ids:
            found = stopped.setdefault(row["workspace_id"], _StoppedResources())
            found.webhooks.append(f"{row['name']} ({row['slug']})")
    person = await tx.fetchrow(_PERSON, user_id)
    for space, what in stopped.items():
        await _tell(tx, space, person, what, why)


async def remember_leaver(tx: Transaction, workspace_id: UUID, user_id: UUID) -> None:
    """Keeps who it was, for those who look after what they made; asked while they are a member."""
    await tx.execute(_REMEMBER, workspace_id, user_id)


async def resume_triggers(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> None:
    """The triggers fire again, but for tokens whose maker is still gone."""
    await tx.execute(_RESUME_MEMBER_TRIGGERS, workspace_id, automation_id)


async def list_leavers(tx: Transaction, workspace_id: UUID) -> list[dict[str, Any]]:
    """Those who left automations or webhook tokens that nobody has taken over yet."""
    return [dict(row) for row in await tx.fetch(_LEFT, workspace_id)]


async def _tell(
    tx: Transaction, workspace_id: UUID, person: Any, what: _StoppedResources, why: str
) -> None:
    name = person["name"] or person["email"]
    lines = [f"- {one}" for one in _shorten_names(what.automations)]
    command = f"mainspring members takeover {person['email']}"
    lines += [f"- the webhook token of {one}" for one in _shorten_names(what.webhooks)]
    await leave_message(
        tx,
        workspace_id,
        title=f"{name[:100]} {why}: what they made has stopped",
        message="\n".join(
            [
                "What should have started meanwhile is recorded, and can be replayed.",
                *lines,
                f"Take it over under Settings, Members, or with `{command}`.",
            ]
        ),
        level="warning",
    )


def _shorten_names(names: list[str]) -> list[str]:
    rest = len(names) - _MOST_LISTED
    return [*names[:_MOST_LISTED], *([f"and {rest} more"] if rest > 0 else [])]


def _split_columns(rows: Iterable[Any]) -> tuple[list[UUID], list[UUID]]:
    found = list(rows)
    return [row["workspace_id"] for row in found], [row["id"] for row in found]
