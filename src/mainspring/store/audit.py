"""The audit log: what was done and by whom, added to and never changed.

An entry commits with the change that it tells of, so neither stands without the other. The
database itself refuses to change or remove an entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.context import Actor
from mainspring.contracts.ids import new_id

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# Where entries stand that belong to no workspace, such as a sign-in of nobody we know.
INSTALLATION = UUID(int=0)

_ADD = """
    INSERT INTO audit_log (workspace_id, id, actor_kind, actor_id, token_id, action, subject,
        detail)
    SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::uuid[], $6::text[],
        $7::text[], $8::jsonb[])
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that was done. Its detail never holds a secret."""

    workspace_id: UUID
    # member, client, run, engine or stranger
    actor_kind: str
    actor_id: UUID | None
    action: str
    subject: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    token_id: UUID | None = None


def entry_by(
    actor: Actor, action: str, subject: object = None, detail: Mapping[str, Any] | None = None
) -> Entry:
    """An entry about something that an actor did."""
    return Entry(
        actor.workspace_id, actor.kind, actor.id, action,
        None if subject is None else str(subject), detail or {}, actor.token_id,
    )  # fmt: skip


async def append_audit(tx: Transaction, entries: Sequence[Entry]) -> None:
    """Adds entries inside the caller's transaction, in one statement."""
    if not entries:
        return
    await tx.execute(
        _ADD,
        [entry.workspace_id for entry in entries],
        [new_id() for _ in entries],
        [entry.actor_kind for entry in entries],
        [entry.actor_id for entry in entries],
        [entry.token_id for entry in entries],
        [entry.action for entry in entries],
        [entry.subject for entry in entries],
        [dict(entry.detail) for entry in entries],
    )
