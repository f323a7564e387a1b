"""Calls without a run: a person at a page or a command, or a client with their token.

A run is bound by grants; a person is bound by the role they have in the workspace, and a
client by the role and the list of capabilities of its token. What may not be seen looks as
if it were not there, so that a refusal tells nobody what else there is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.contracts.capability import Audience, Capability
from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Denied, Problem
from mainspring.gate.record import CallRecord, RecordedCall, dumps

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.contracts.registry import Vocabulary

_ADD = """
    INSERT INTO direct_calls (workspace_id, id, actor_kind, actor_id, token_id, capability, outcome,
        arguments_hash, arguments, result, error, cost_usd, ms, at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::text::json, $10::text::json, $11::text::json, $12,
        $13, $14)
"""

_FIND = """
    SELECT capability, outcome, arguments_hash, result, error, cost_usd AS cost
    FROM direct_calls WHERE workspace_id = $1 AND id = $2
"""


@dataclass(frozen=True, slots=True)
class Visitor:
    """Whoever stands at the door without a run."""

    actor: Actor
    # The only capabilities that a token may call; None: whatever the role allows.
    capabilities: frozenset[str] | None = None

    def sees(self, capability: Capability) -> bool:
        """Whether it exists at all for this visitor."""
        if self.capabilities is not None and capability.id not in self.capabilities:
            return False
        audience = capability.annotations.audience
        if audience is Audience.ADMINISTRATORS:
            return self.actor.administrator
        return audience is not Audience.RUNS

    def refusal(self, capability: Capability) -> Problem | None:
        """Why a visitor who sees it may still not call it; None when they may."""
        role = self.actor.role
        if capability.annotations.audience is Audience.ADMINISTRATORS:
            return None
        if role is not None and role.may(capability.permission):
            return None
        shown = "no role here" if role is None else f"the role {role.value}"
        return Denied(
            f"Somebody with {shown} may not call {capability.id}.",
            code="role_too_small",
            suggestion=f"It needs a role that may {capability.permission.value}.",
        )

    def may_call(self, capability: Capability) -> bool:
        return self.sees(capability) and self.refusal(capability) is None


def callable_by(vocabulary: Vocabulary, visitor: Visitor) -> Iterator[Capability]:
    """Everything a visitor may call, by name."""
    for name in sorted(vocabulary.capabilities):
        capability = vocabulary.capabilities[name]
        if visitor.may_call(capability):
            yield capability


async def write_direct(
    tx: Transaction, actor: Actor, call_id: UUID, record: CallRecord, most_bytes: int
) -> None:
    """Keeps the record of a call without a run; a large result is only measured."""
    result = dumps(record.result)
    if result is not None and len(result) > most_bytes:
        result = dumps({"left_out": f"{len(result)} characters"})
    error = None if record.error is None else dumps(record.error.as_dict())
    await tx.execute(
        _ADD, actor.workspace_id, call_id, actor.kind, actor.id, actor.token_id, record.capability,
        record.outcome, record.arguments_hash, dumps(record.arguments), result, error, record.cost,
        record.ms, record.at,
    )  # fmt: skip


async def read_direct(tx: Transaction, workspace_id: UUID, call_id: UUID) -> RecordedCall | None:
    """A call without a run, if it was recorded."""
    row = await tx.fetchrow(_FIND, workspace_id, call_id)
    return None if row is None else RecordedCall(**dict(row))
