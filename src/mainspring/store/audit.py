"""The audit log: what was done and by whom, append-only.

An entry commits with the change that it records, so neither exists without the other. The database
itself refuses to change or delete an entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.context import Actor
from mainspring.contracts.ids import generate_id

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# The workspace id of entries that belong to no workspace, such as a failed sign-in.
INSTALLATION = UUID(int=0)
# The key in the detail of every entry caused by a token with the permission ``approve``.
APPROVE_MARK: Final = "approve_token"
# Decisions of a person: their entries name the channel, such as page, terminal or slack.
DECISIONS: Final = frozenset(
    {
        "answer_approval",
        "answer_consent",
        "confirm_action",
        "confirm_actions",
        "decide_standing_rule",
        "discard_action",
        "discard_actions",
        "draft.approved",
        "draft.discarded",
    }
)

_COLUMNS: Final = (
    "workspace_id",
    "id",
    "actor_kind",
    "actor_id",
    "token_id",
    "action",
    "subject",
    "detail",
)
_ADD = f"""
    INSERT INTO audit_log ({", ".join(_COLUMNS)})
    SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::uuid[], $6::text[],
        $7::text[], $8::jsonb[])
"""


def _add_one(after: int) -> str:
    """SQL that adds one entry, whose parameters follow ``after`` others."""
    places = ", ".join(f"${after + place}" for place in range(1, len(_COLUMNS) + 1))
    return f"INSERT INTO audit_log ({', '.join(_COLUMNS)}) VALUES ({places})"


# Most changes add one entry, and a single row is cheaper for the database than arrays.
_ADD_ONE = _add_one(0)


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One audited operation. Its detail never contains a secret."""

    workspace_id: UUID
    # member, client, run, engine or stranger
    actor_kind: str
    actor_id: UUID | None
    action: str
    subject: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    token_id: UUID | None = None


def build_audit_record(
    actor: Actor, action: str, subject: object = None, detail: Mapping[str, Any] | None = None
) -> AuditRecord:
    """An entry about an actor's operation.

    Everything done with the permission ``approve`` of a token is marked. A decision names its
    channel.
    """
    told = dict(detail or {})
    if action in DECISIONS and actor.channel is not None:
        told["channel"] = actor.channel
    if actor.approves is not None:
        told[APPROVE_MARK] = True
    return AuditRecord(
        actor.workspace_id,
        actor.kind,
        actor.id,
        action,
        None if subject is None else str(subject),
        told,
        actor.token_id,
    )


def add_audit_to_statement(statement: str, parameters: int) -> str:
    """The statement extended with an insert of one audit entry, in the same round trip.

    The values of the entry, in the order of ``get_audit_values``, follow its own parameters.
    """
    return f"WITH told AS ({_add_one(parameters)}) {statement}"


def get_audit_values(entry: AuditRecord) -> tuple[Any, ...]:
    """The values of an entry, with a new id."""
    return (
        entry.workspace_id,
        generate_id(),
        entry.actor_kind,
        entry.actor_id,
        entry.token_id,
        entry.action,
        entry.subject,
        dict(entry.detail),
    )


async def append_audit(tx: Transaction, entries: Sequence[AuditRecord]) -> None:
    """Insert entries inside the caller's transaction, in one statement."""
    if len(entries) == 1:
        await tx.execute(_ADD_ONE, *get_audit_values(entries[0]))
    elif entries:
        columns = zip(*map(get_audit_values, entries), strict=True)
        await tx.execute(_ADD, *map(list, columns))


async def audit_installation(
    tx: Transaction,
    actor: Actor,
    action: str,
    subject: object,
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Add an entry for the installation; the call itself is audited in the caller's workspace."""
    entry = build_audit_record(actor, action, subject, detail)
    await append_audit(tx, [replace(entry, workspace_id=INSTALLATION)])
