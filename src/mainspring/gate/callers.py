"""Calls from outside of a plan: a person, a client with their token, or a run with its own.

A run is bound by grants; a person is bound by the role they have in the workspace, and a
client by the role and the list of capabilities of its token. What may not be seen looks as
if it were not there, so that a refusal tells nobody what else there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.capability import Audience, Capability
from mainspring.contracts.context import Actor, ClientWait
from mainspring.contracts.errors import NotFound, Problem
from mainspring.contracts.roles import role_too_small_error
from mainspring.definition.strict_json import dumps
from mainspring.gate.call_records import CallRecord, RecordedCall
from mainspring.gate.run_tokens import RunTokenScope
from mainspring.store.audit import (
    AuditRecord,
    add_audit_to_statement,
    append_audit,
    get_audit_values,
)

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_COLUMNS = """
    workspace_id, id, actor_kind, actor_id, token_id, capability, outcome, arguments_hash,
    arguments, result, error, cost_usd, ms, at
"""
_PARAMETERS: Final = 14
# A record that is sent twice, because nobody knew whether it had arrived, is kept once.
_ADD = f"""
    INSERT INTO direct_calls ({_COLUMNS})
    SELECT c.workspace_id, c.id, c.actor_kind, c.actor_id, c.token_id, c.capability, c.outcome,
        c.arguments_hash, c.arguments::json, c.result::json, c.error::json, c.cost_usd, c.ms, c.at
    FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::uuid[], $6::text[], $7::text[],
        $8::bytea[], $9::text[], $10::text[], $11::text[], $12::numeric[], $13::int4[],
        $14::timestamptz[])
        AS c({_COLUMNS})
    ON CONFLICT DO NOTHING
"""
# One alone is the call of somebody who waits for it.
_ADD_ONE = f"""
    INSERT INTO direct_calls ({_COLUMNS})
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::text::json, $10::text::json, $11::text::json, $12,
        $13, $14)
    ON CONFLICT DO NOTHING
"""
_ADD_TELLING = add_audit_to_statement(_ADD_ONE, _PARAMETERS)

_FIND = """
    SELECT capability, outcome, arguments_hash, result, error, cost_usd AS cost
    FROM direct_calls WHERE workspace_id = $1 AND id = $2
"""
_SHOW = """
    SELECT id, at, actor_kind, actor_id, token_id, capability, outcome, arguments, result, error,
        cost_usd, ms
    FROM direct_calls WHERE workspace_id = $1 AND id = $2
"""


@dataclass(frozen=True, slots=True)
class CapabilityCaller:
    """Whoever stands at the door and is no step of a plan."""

    actor: Actor
    # The only capabilities that a token may call; None: whatever the role allows.
    capabilities: frozenset[str] | None = None
    # Set for a program that shows the token of a run: it calls as that run.
    held: RunTokenScope | None = None
    # How long its client waits for an answer; None: for as long as it takes.
    client_wait: ClientWait | None = None

    def sees(self, capability: Capability) -> bool:
        """Whether it exists at all for this visitor."""
        if self.held is not None:
            return capability.grantable and any(
                grant.capability == capability.id for grant in self.held.posture.grants
            )
        if self.capabilities is not None and capability.id not in self.capabilities:
            return False
        audience = capability.annotations.audience
        if audience is Audience.ADMINISTRATORS:
            return self.actor.administrator
        return audience is not Audience.RUNS

    def refusal(self, capability: Capability) -> Problem | None:
        """Why a visitor who sees it may still not call it; None when they may."""
        role = self.actor.role
        if self.held is not None or capability.annotations.audience is Audience.ADMINISTRATORS:
            # A run's grants are judged with the arguments; an administrator needs no role.
            return None
        if role is not None and role.may(capability.permission):
            return None
        return role_too_small_error(role, capability.permission)

    def may_call(self, capability: Capability) -> bool:
        return self.sees(capability) and self.refusal(capability) is None


@dataclass(frozen=True, slots=True)
class DirectCall:
    """The record of a call that belongs to no run."""

    actor: Actor
    id: UUID
    record: CallRecord


async def write_audited_call(
    tx: Transaction, call: DirectCall, entries: Sequence[AuditRecord], most_bytes: int
) -> None:
    """Keeps the record of a call without a run, and what the audit log is told of it."""
    values = _columns(call, most_bytes)
    if not entries:
        await tx.execute(_ADD_ONE, *values)
        return
    *others, last = entries
    await append_audit(tx, others)
    await tx.execute(_ADD_TELLING, *values, *get_audit_values(last))


async def write_direct_calls(tx: Transaction, calls: Sequence[DirectCall], most_bytes: int) -> None:
    """Keeps the records of calls without a run; a large result is only measured."""
    columns = zip(*(_columns(call, most_bytes) for call in calls), strict=True)
    await tx.execute(_ADD, *map(list, columns))


def _columns(call: DirectCall, most_bytes: int) -> tuple[Any, ...]:
    actor, record = call.actor, call.record
    result = dumps(record.result)
    if result is not None and len(result) > most_bytes:
        result = dumps({"left_out": f"{len(result)} characters"})
    error = None if record.error is None else dumps(record.error.as_dict())
    return (
        actor.workspace_id,
        call.id,
        actor.kind,
        actor.id,
        actor.token_id,
        record.capability,
        record.outcome,
        record.arguments_hash,
        dumps(record.arguments),
        result,
        error,
        record.cost,
        record.ms,
        record.at,
    )


async def read_direct_call(
    tx: Transaction, workspace_id: UUID, call_id: UUID
) -> RecordedCall | None:
    """A call without a run, if it was recorded."""
    row = await tx.fetchrow(_FIND, workspace_id, call_id)
    return None if row is None else RecordedCall(**dict(row))


async def describe_direct_call(
    tx: Transaction, workspace_id: UUID, call_id: UUID
) -> dict[str, Any]:
    """What is kept of a call without a run, with nothing in it that must not be shown."""
    row = await tx.fetchrow(_SHOW, workspace_id, call_id)
    if row is None:
        raise NotFound("There is no record of this call.", code="no_call")
    return dict(row)
