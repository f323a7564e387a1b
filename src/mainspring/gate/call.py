"""The one door: every call of a capability passes through ``Gate.call``.

find → allowed? → arguments valid? → affordable? → perform, hold or pretend → perform →
result valid? → settle → record. A handler knows none of this.

The answer is a value, also when the call failed: its record must be written either way.
A capability that writes our own tables is given a transaction, and the record of its call
commits in that same transaction; every other record is handed back to the caller, who
writes it together with the step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from mainspring.contracts.capability import Capability, Effect
from mainspring.contracts.clock import Clock
from mainspring.contracts.context import Mailer, Transaction
from mainspring.contracts.errors import (
    Clash,
    Denied,
    Fault,
    Invalid,
    Missing,
    OverBudget,
    Problem,
    as_problem,
    from_dict,
)
from mainspring.contracts.ids import new_id
from mainspring.contracts.limits import Limits
from mainspring.contracts.outcome import Done, Nothing, Unchanged, Unclear
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.grants import match
from mainspring.definition.json_schema import Validator, compile_schema
from mainspring.definition.json_text import check_value
from mainspring.definition.words import nearest
from mainspring.gate.ask import Answer, Ask, check_secret_places, digest, plain, spelled
from mainspring.gate.budget import Purse
from mainspring.gate.context import GateContext
from mainspring.gate.direct import Visitor, read_direct, write_direct
from mainspring.gate.drafts import hold
from mainspring.gate.egress import CallHttp, Egress
from mainspring.gate.policy import Posture, decide, effect_of
from mainspring.gate.record import CallRecord, RecordedCall, read_call, write_calls
from mainspring.gate.redact import redact_arguments
from mainspring.store.audit import append_audit, entry_by
from mainspring.store.database import Database, is_lost_connection
from mainspring.store.walls import Walled
from mainspring.workspace.vault import Vault

LEASE_LOST = "lease_lost"
_OUTCOME = {Effect.READ: "read", Effect.KEEP: "kept", Effect.SEND: "sent"}


@dataclass(slots=True)
class _Passage:
    """A call on its way through the stages."""

    ask: Ask
    capability: Capability
    shown: Mapping[str, Any]
    text: bytes
    started: float
    # Known once the call has been admitted.
    hosts: frozenset[str] | None = None
    effect: Effect = Effect.READ
    cost: Decimal = field(default=Decimal(0))


class Gate:
    """Grants, pinned arguments, drafts, budgets, secrets and records, in one place."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        database: Database,
        egress: Egress,
        vault: Vault,
        clock: Clock,
        limits: Limits,
        *,
        mailer: Mailer,
        draft_lifetime: timedelta = timedelta(hours=1),
    ) -> None:
        self._vocabulary = vocabulary
        self._database = database
        self._egress = egress
        self._vault = vault
        self._clock = clock
        self._limits = limits
        self._mailer = mailer
        self._draft_lifetime = draft_lifetime
        self._validators: dict[str, tuple[Validator, Validator]] = {}

    async def call(self, ask: Ask) -> Answer:
        """Decides about one call and performs it if it may be performed."""
        started = self._clock.monotonic()
        capability = self._vocabulary.capabilities.get(ask.capability)
        if capability is None:
            return Answer(error=self._unknown(ask.capability), outcome="denied")
        shown = plain(ask.arguments)
        try:
            text = self._spelled(capability, shown)
        except Problem as problem:
            return self._refused(_Passage(ask, capability, {}, b"", started), problem)
        passage = _Passage(ask, capability, shown, text, started)
        if ask.recorded is not None:
            return _again(passage, ask.recorded)
        try:
            self._admit(passage)
            passage.effect = effect_of(capability, shown)
            ask.purse.reserve()
            return await self._decided(passage)
        except Problem as problem:
            return self._refused(passage, problem)
        except Exception as error:
            return self._refused(passage, as_problem(error))

    async def direct(self, visitor: Visitor, capability: str, arguments: Mapping[str, Any]) -> Any:
        """A call without a run: its value, or its problem raised; recorded either way."""
        found = self._vocabulary.capabilities.get(capability)
        if found is None or not visitor.sees(found):
            raise self._unknown(capability, visitor)
        actor = visitor.actor
        ask = Ask(
            capability, arguments, actor, None, 1, Posture(()), Purse(Decimal("Infinity")),
            id=new_id(),
        )  # fmt: skip
        refusal = visitor.refusal(found)
        answer = await self.call(ask) if refusal is None else self._turned_away(ask, found, refusal)
        if answer.record is not None:
            record = replace(answer.record, result=answer.value)
            async with Walled(self._database, actor.workspace_id).transaction() as tx:
                await self._write(tx, ask, record)
        if answer.error is not None:
            raise answer.error
        return answer.value

    def _turned_away(self, ask: Ask, capability: Capability, problem: Problem) -> Answer:
        passage = _Passage(ask, capability, {}, b"", self._clock.monotonic())
        return self._refused(passage, problem)

    async def _write(self, tx: Transaction, ask: Ask, record: CallRecord) -> None:
        """The record of a call, where calls of its kind are kept."""
        most = self._limits.call_result_bytes
        if ask.run is None:
            await write_direct(tx, ask.actor, ask.id, record, most)
            if record.outcome != "read":
                detail = {"outcome": record.outcome}
                await append_audit(tx, [entry_by(ask.actor, record.capability, ask.id, detail)])
        else:
            await write_calls(tx, [(ask.actor.workspace_id, record)], most)

    def _spelled(self, capability: Capability, shown: Mapping[str, Any]) -> bytes:
        """The arguments as text; what cannot be text or is too much of it goes no further."""
        check_value(shown, self._limits)
        text = spelled(shown)
        if len(text) > self._limits.call_arguments_bytes:
            raise Invalid(
                f"The arguments of {capability.id} are {len(text)} bytes; "
                f"at most {self._limits.call_arguments_bytes} are taken.",
                code="arguments_too_large",
            )
        return text

    def _unknown(self, name: str, visitor: Visitor | None = None) -> Problem:
        known = [
            entry.id
            for entry in self._vocabulary.capabilities.values()
            if visitor is None or visitor.sees(entry)
        ]
        suggestion = nearest(name, known)
        return Missing(
            f"There is no capability called {name!r}.",
            code="unknown_capability",
            suggestion=f"Did you mean {suggestion!r}?" if suggestion else None,
        )

    def _admit(self, passage: _Passage) -> None:
        """Allowed, and valid. The grant is checked first: a refusal reveals no schema."""
        if passage.ask.run is not None:
            passage.hosts = _granted_hosts(passage)
        else:
            passage.hosts = passage.capability.annotations.hosts
        check_secret_places(passage.ask.arguments, passage.capability)
        findings = self._checks(passage.capability)[0].findings(passage.shown, "")
        if findings:
            raise Invalid(
                f"The arguments of {passage.capability.id} are not valid: {findings[0].detail}",
                code="arguments_invalid",
                findings=findings,
            )

    def _checks(self, capability: Capability) -> tuple[Validator, Validator]:
        found = self._validators.get(capability.id)
        if found is None:
            found = (
                compile_schema(capability.input_schema, self._limits),
                compile_schema(capability.output_schema, self._limits),
            )
            self._validators[capability.id] = found
        return found

    async def _decided(self, passage: _Passage) -> Answer:
        verdict = decide(passage.capability, passage.effect, passage.ask.posture)
        if verdict == "pretend":
            return self._done(passage, {"kind": "suppressed"}, "pretended")
        if verdict == "hold":
            return await self._in_transaction(passage, held=True)
        if passage.capability.annotations.transactional:
            return await self._in_transaction(passage, held=False)
        value, outcome = await self._perform(passage, None)
        return self._done(passage, value, outcome)

    async def _perform(self, passage: _Passage, tx: Transaction | None) -> tuple[Any, str]:
        """The only place in the product where a capability's handler is called."""
        ask = passage.ask
        reveal = partial(self._vault.reveal, ask.actor.workspace_id)
        http = self._egress.bound(passage.hosts, reveal)
        context = GateContext(ask.actor, ask.run, self._clock, ask.key, http, self._mailer, tx)
        try:
            returned = await passage.capability.handler(context, ask.arguments)
        finally:
            passage.cost += context.spent
            ask.purse.settle(Decimal(0), context.spent)
        return self._checked(passage, returned, http)

    def _checked(self, passage: _Passage, returned: Any, http: CallHttp) -> tuple[Any, str]:
        if isinstance(returned, (Unclear, Nothing)):
            kind = "unclear" if isinstance(returned, Unclear) else "nothing"
            return returned.as_value(), kind
        value = returned.value if isinstance(returned, (Done, Unchanged)) else returned
        value = http.masked(value)
        check_value(value, self._limits)
        findings = self._checks(passage.capability)[1].findings(value, "")
        if findings:
            raise Fault(
                f"{passage.capability.id} answered in a shape it does not declare: "
                f"{findings[0].detail}",
                code="result_invalid",
                findings=findings,
            )
        # A call that changed nothing came to no more than a read.
        effect = Effect.READ if isinstance(returned, Unchanged) else passage.effect
        return value, _OUTCOME[effect]

    async def _in_transaction(self, passage: _Passage, *, held: bool) -> Answer:
        """Performs and records in one transaction.

        When the connection breaks it is not known whether the commit happened, so the
        next try looks for the record first.
        """
        in_doubt = False
        while True:
            try:
                inside = Walled(self._database, passage.ask.actor.workspace_id)
                async with inside.transaction() as tx:
                    await self._fence(tx, passage.ask)
                    before = await self._before(tx, passage.ask) if in_doubt else None
                    if before is not None:
                        return _again(passage, before)
                    return await self._recorded(passage, tx, held=held)
            except Exception as error:
                if not is_lost_connection(error):
                    raise
                in_doubt = True
                await self._database.recover()

    async def _recorded(self, passage: _Passage, tx: Transaction, *, held: bool) -> Answer:
        if held:
            draft = await hold(tx, passage.ask, passage.capability, passage.shown, self._expiry())
            value, outcome = draft.as_value(), "held"
        else:
            value, outcome = await self._perform(passage, tx)
        answer = self._done(passage, value, outcome)
        assert answer.record is not None
        record = replace(answer.record, result=value)
        await self._write(tx, passage.ask, record)
        return replace(answer, record=None)

    async def _fence(self, tx: Transaction, ask: Ask) -> None:
        if ask.run is None:
            return
        row = await tx.fetchrow(
            "SELECT 1 AS held FROM runs WHERE workspace_id = $1 AND id = $2 AND fence = $3 "
            "AND status = 'running' FOR KEY SHARE",
            ask.actor.workspace_id, ask.run.id, ask.fence,
        )  # fmt: skip
        if row is None:
            raise Clash("Another worker has taken this run over.", code=LEASE_LOST)

    async def _before(self, tx: Transaction, ask: Ask) -> RecordedCall | None:
        if ask.run is None:
            return await read_direct(tx, ask.actor.workspace_id, ask.id)
        return await read_call(tx, ask.actor.workspace_id, ask.run, ask.number)

    def _expiry(self) -> datetime:
        return self._clock.now() + self._draft_lifetime

    def _done(self, passage: _Passage, value: Any, outcome: str) -> Answer:
        record = self._record(passage, outcome, None)
        return Answer(value=value, outcome=outcome, record=record)

    def _refused(self, passage: _Passage, problem: Problem) -> Answer:
        denied = isinstance(problem, (Denied, OverBudget))
        record = self._record(passage, "denied" if denied else "failed", problem)
        return Answer(error=problem, outcome=record.outcome, record=record)

    def _kept_arguments(self, passage: _Passage) -> Any:
        if len(passage.text) > self._limits.call_result_bytes:
            return {"left_out": f"{len(passage.text)} bytes"}
        return redact_arguments(passage.shown)

    def _record(self, passage: _Passage, outcome: str, error: Problem | None) -> CallRecord:
        return CallRecord(
            run=passage.ask.run,
            number=passage.ask.number,
            capability=passage.capability.id,
            outcome=outcome,
            arguments=self._kept_arguments(passage),
            arguments_hash=digest(passage.text),
            ms=round((self._clock.monotonic() - passage.started) * 1000),
            at=self._clock.now(),
            error=error,
            cost=passage.cost,
        )


def _again(passage: _Passage, before: RecordedCall) -> Answer:
    """The answer this call gave before the crash; a different question is a clear failure."""
    if before.capability != passage.capability.id or before.arguments_hash != digest(passage.text):
        return Answer(
            error=Fault(
                f"On resuming, call {passage.ask.key} asks "
                f"something else than it did before: {passage.capability.id} now, "
                f"{before.capability} then.",
                code="call_mismatch",
                retryable=False,
            ),
            outcome="failed",
        )
    if before.error is not None:
        return Answer(error=from_dict(before.error), outcome=before.outcome)
    return Answer(value=before.result, outcome=before.outcome)


def _granted_hosts(passage: _Passage) -> frozenset[str] | None:
    """Denied without a grant that fits; with one, the hosts that may be reached.

    These are the capability's own where it has fixed ones, else those of the grant.
    """
    reason: str | None = None
    for grant in passage.ask.posture.grants:
        if grant.capability != passage.capability.id:
            continue
        verdict = match(grant, passage.capability.id, passage.shown)
        reason = verdict.reason
        if verdict:
            if passage.capability.annotations.hosts is not None:
                return passage.capability.annotations.hosts
            hosts = grant.params.get("hosts")
            return None if hosts is None else frozenset(hosts)
    raise Denied(
        reason or f"This automation was not granted {passage.capability.id}.",
        code="not_granted",
        suggestion="Add the grant to the definition and approve it.",
    )
