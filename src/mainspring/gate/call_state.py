"""A call on its way through the stages, and what is written down about it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.capability import Capability, Effect
from mainspring.contracts.errors import (
    BudgetExceeded,
    InternalError,
    NotFound,
    PermissionDenied,
    Problem,
    problem_from_dict,
)
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.definition.grants import match
from mainspring.definition.hosts import parse_host_entry
from mainspring.definition.suggestions import find_nearest
from mainspring.gate.call_records import CallRecord, RecordedCall, read_call, write_calls
from mainspring.gate.callers import (
    DirectCall,
    read_direct_call,
    write_audited_call,
    write_direct_calls,
)
from mainspring.gate.capability_call import (
    CapabilityCall,
    CapabilityResult,
    check_fence,
    digest,
    mask_arguments,
)
from mainspring.gate.usage_meter import MeteredRequest
from mainspring.store.audit import AuditRecord, build_audit_record
from mainspring.store.database import WorkspaceDatabase
from mainspring.store.group_commit import ConnectionLossPolicy, GroupWriter
from mainspring.workspace.redaction import redact_arguments

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Connection, Database


# Where the record of a call is kept, and when it is written.
#
# What changes anything is recorded in its own transaction, before its answer. A person's or a
# client's read is not worth a commit: its record is written a moment later, together with
# those of others.


log = logging.getLogger(__name__)

# With so many records still to be written, the caller with the next one waits.
_MOST_WAITING: Final = 2_000
# What came to this is in the record of the call and no news for the audit log.
_CHANGED_NOTHING: Final = frozenset({"read", "nothing", "unclear"})


class CallRecorder:
    """Writes the records of calls that no step writes with its own."""

    def __init__(self, database: Database, limits: Limits) -> None:
        self._database = database
        self._most_bytes = limits.call_result_bytes
        self._reads: GroupWriter[DirectCall, None] = GroupWriter(
            database, self._flush, patience=ConnectionLossPolicy()
        )

    async def keep(self, ask: CapabilityCall, record: CallRecord) -> None:
        """Keep a record that is in no transaction yet."""
        if ask.run is None and record.outcome == "read" and not record.audit:
            await self._later(DirectCall(ask.actor, ask.id, record))
            return
        async with WorkspaceDatabase(self._database, ask.actor.workspace_id).transaction() as tx:
            await check_fence(tx, ask)
            await self.write(tx, ask, record)

    async def write(self, tx: Transaction, ask: CapabilityCall, record: CallRecord) -> None:
        """The record of a call inside a transaction, where calls of its kind are kept."""
        if ask.run is not None:
            await write_calls(tx, [(ask.actor.workspace_id, record)], self._most_bytes)
            return
        entries = list(record.audit)
        if record.outcome not in _CHANGED_NOTHING:
            detail = {"outcome": record.outcome, "call": str(ask.id)}
            if ask.agreed is not None:
                detail["draft"] = str(ask.agreed.draft_id)
                detail["hash"] = ask.agreed.hash
            entries.append(build_audit_record(ask.actor, record.capability, record.subject, detail))
        await write_audited_call(
            tx, DirectCall(ask.actor, ask.id, record), entries, self._most_bytes
        )

    async def before(self, tx: Transaction, ask: CapabilityCall) -> RecordedCall | None:
        """What this very call has on record, if it has anything."""
        if ask.run is None:
            return await read_direct_call(tx, ask.actor.workspace_id, ask.id)
        return await read_call(tx, ask.actor.workspace_id, ask.run, ask.number)

    async def aclose(self) -> None:
        """Writes what is still to be written."""
        await self._reads.aclose()

    async def _later(self, call: DirectCall) -> None:
        done = self._reads.submit(call)
        done.add_done_callback(_log_failed_write)
        if self._reads.waiting > _MOST_WAITING:
            await asyncio.wait({done})

    async def _flush(self, connection: Connection, calls: Sequence[DirectCall]) -> Sequence[None]:
        await write_direct_calls(connection, calls, self._most_bytes)
        return [None] * len(calls)


def _log_failed_write(done: asyncio.Future[None]) -> None:
    if not done.cancelled() and done.exception() is not None:
        log.warning("Could not record a read: %s", done.exception())


NOT_GRANTED = "not_granted"
_NOTHING: Final = Decimal(0)


@dataclass(slots=True)
class CallState:
    """One call, and what has been found out about it so far."""

    ask: CapabilityCall
    capability: Capability
    shown: Mapping[str, Any]
    text: bytes
    started: float
    # Known once the call has been admitted.
    hosts: frozenset[str] | None = None
    effect: Effect = Effect.READ
    # How its arguments were made exact, where the caller should know.
    note: str = ""
    # What it will go over, once it is held.
    connection: Mapping[str, Any] | None = None
    # What the handler has said that it spent, and what was set aside for that.
    spent: Decimal = field(default=Decimal(0))
    price: Decimal = field(default=Decimal(0))
    # The name under which its money is promised and booked, once there is any.
    _money_id: UUID | None = None
    settled: bool = False
    # It was booked in the call's own transaction.
    booked: bool = False
    # Its handler was called.
    begun: bool = False
    # The secrets that left the house with it, each with the host that got it.
    uses: set[tuple[str, str]] = field(default_factory=set)

    # What it asked of models, each ask with a promise of its own.
    asked: list[MeteredRequest] = field(default_factory=list)
    # What it came to beyond that, booked where it was spent: the turns of an agent.
    paid: Decimal = field(default=Decimal(0))

    @property
    def cost(self) -> Decimal:
        """What the call has come to so far."""
        if not (self.asked or self.spent or self.paid):
            # Nearly every call costs nothing.
            return _NOTHING
        return self.spent + self.paid + sum((one.cost for one in self.asked), Decimal(0))

    def noted(self, value: Any) -> Any:
        """What the call answers, with the note beside it."""
        return {**value, "note": self.note} if self.note else value

    @property
    def digest(self) -> bytes:
        """By what its arguments are told from others; of the text as it stands now."""
        return digest(self.text)

    @property
    def costs(self) -> bool:
        """Whether there is money to be booked or to be given back."""
        return bool(self.price or self.spent or self.asked)

    @property
    def money_id(self) -> UUID:
        if self._money_id is None:
            self._money_id = generate_id()
        return self._money_id

    def record(
        self,
        outcome: str,
        error: Problem | None,
        *,
        result: Any,
        subject: str | None,
        ms: int,
        at: datetime,
        most_bytes: int,
    ) -> CallRecord:
        """What is kept of the call, with nothing in it that must not be shown."""
        return CallRecord(
            run=self.ask.run,
            number=self.ask.number,
            capability=self.capability.id,
            outcome=outcome,
            arguments=self._recorded_arguments(most_bytes),
            arguments_hash=self.digest,
            ms=ms,
            at=at,
            result=result,
            error=error,
            cost=self.cost,
            subject=subject,
            audit=self._audit(error),
            name=self.ask.name,
        )

    def _recorded_arguments(self, most_bytes: int) -> Any:
        if len(self.text) > most_bytes:
            return {"left_out": f"{len(self.text)} bytes"}
        return self.ask.known.masked(redact_arguments(mask_arguments(self.shown, self.capability)))

    def _audit(self, error: Problem | None) -> tuple[AuditRecord, ...]:
        """What the audit log is told of this call beside its record."""
        refused = error is not None and error.code == NOT_GRANTED
        if not (self.uses or refused):
            return ()
        ask = self.ask
        told = {"capability": self.capability.id, "call": ask.key}
        entries = [
            build_audit_record(ask.actor, "secret.used", name, {**told, "host": host})
            for name, host in sorted(self.uses)
        ]
        if error is not None and refused:
            detail = {**told, "reason": error.detail}
            entries.append(
                build_audit_record(ask.actor, "grant.refused", self.capability.id, detail)
            )
        return tuple(entries)


def outcome_of(problem: Problem) -> str:
    """The word in the record of a call that came to nothing."""
    return "denied" if isinstance(problem, (PermissionDenied, BudgetExceeded)) else "failed"


def replay_recorded_result(state: CallState, before: RecordedCall) -> CapabilityResult:
    """The answer this call gave before the crash; a different question is a clear failure."""
    if before.capability != state.capability.id or before.arguments_hash != state.digest:
        return CapabilityResult(
            error=InternalError(
                f"After resuming, call {state.ask.key} differs from the recorded one: "
                f"{state.capability.id} now, {before.capability} before.",
                code="call_mismatch",
                retryable=False,
            ),
            outcome="failed",
        )
    if before.error is not None:
        problem = problem_from_dict(before.error)
        return CapabilityResult(
            error=problem, outcome=before.outcome, at=before.at, cost=before.cost
        )
    return CapabilityResult(
        value=before.result, outcome=before.outcome, at=before.at, cost=before.cost
    )


def _normalize_hosts(hosts: Iterable[object]) -> frozenset[str]:
    return frozenset(str(site) for site in map(parse_host_entry, hosts) if site is not None)


def resolve_granted_hosts(state: CallState) -> frozenset[str] | None:
    """Denied without a grant that fits; with one, the hosts that may be reached.

    These are the capability's own where it has fixed ones, else those of the grant.
    """
    capability = state.capability
    if not capability.grantable:
        raise PermissionDenied(
            f"{capability.id} can never be granted to an automation.", code=NOT_GRANTED
        )
    reason: str | None = None
    shown, write = state.shown, capability.write
    if write is not None and write.granted_as is not None:
        shown = write.granted_as(shown)
    for grant in state.ask.posture.grants:
        if grant.capability != capability.id:
            continue
        verdict = match(grant, capability.id, shown)
        reason = verdict.reason
        if verdict:
            if capability.annotations.hosts is not None:
                return capability.annotations.hosts
            hosts = grant.params.get("hosts")
            return None if hosts is None else _normalize_hosts(hosts)
    raise PermissionDenied(
        reason or f"This automation was not granted {capability.id}.",
        code=NOT_GRANTED,
        suggestion="Add the grant to the definition and approve it.",
    )


def unknown(name: str, known: Mapping[str, Any]) -> NotFound:
    """There is no such capability; perhaps one of those that may be known was meant."""
    suggestion = find_nearest(name, list(known))
    return NotFound(
        f"There is no capability named {name!r}.",
        code="unknown_capability",
        suggestion=f"Did you mean {suggestion!r}?" if suggestion else None,
    )
