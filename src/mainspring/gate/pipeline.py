"""The stages of a call.

find → allowed? → arguments valid? → affordable? → perform, hold or pretend → perform →
result valid? → settle → record. A handler knows none of this.

The answer is a value, also when the call failed: its record must be written either way.
A capability that writes our own tables is given a transaction, and the record of its call
commits in that same transaction; every other record is handed back to the caller, who
writes it together with the step.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any, Final, NamedTuple

from mainspring.contracts.agent import AGENT_RUN
from mainspring.contracts.capability import Capability, Effect
from mainspring.contracts.clock import Clock
from mainspring.contracts.context import Mailer, Transaction
from mainspring.contracts.errors import Conflict, Finding, InternalError, Invalid, NotFound, Problem
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import ModelCatalog, ModelReply, ModelRequest
from mainspring.contracts.outcome import (
    Done,
    NeedsClarification,
    NothingToDo,
    ResolvedArguments,
    Unchanged,
)
from mainspring.contracts.registry import WorkspaceVocabularies
from mainspring.definition.json_schema import Validator, compile_schema
from mainspring.definition.strict_json import check_value
from mainspring.definition.tool_patterns import HOSTED
from mainspring.gate.agency import AgentServices, GateAgentSession
from mainspring.gate.artifacts.blobs import BlobStore
from mainspring.gate.budget_reservations import (
    build_reservation,
    reserve_budget,
    run_to_completion,
    settle_run_budget,
    validate_price,
)
from mainspring.gate.call_records import CallRecord
from mainspring.gate.call_state import (
    CallState,
    outcome_of,
    replay_recorded_result,
    resolve_granted_hosts,
    unknown,
)
from mainspring.gate.capability_call import (
    CapabilityCall,
    CapabilityResult,
    canonical_json,
    check_secret_arguments,
    check_unknown_arguments,
    has_secret,
    mask_arguments,
    mask_result,
    show_secret_names,
)
from mainspring.gate.connected.account_connections import AccountConnections
from mainspring.gate.connected.call_connections import CallConnections, connection_binding
from mainspring.gate.context import DraftConfirmer, GateContext
from mainspring.gate.draft_sending import ANSWERING, DraftSender, confirming_came_to
from mainspring.gate.drafting.envelopes import route_of
from mainspring.gate.drafting.resume import NullResumer, Resumer
from mainspring.gate.drafts import DraftLifetimes, hold_call
from mainspring.gate.egress import Egress
from mainspring.gate.fence import check_fence
from mainspring.gate.keeping import CallRecorder
from mainspring.gate.policy import Verdict, decide, effect_of
from mainspring.gate.preapproval import claim_preapproved
from mainspring.gate.rate_limit import count_egress, count_send
from mainspring.gate.rehearsal_recording import RECORDED, ReplayedAnswer, replay_answer
from mainspring.gate.run_tokens import hold_pass
from mainspring.gate.secret_placeholders import with_secrets
from mainspring.gate.usage_meter import ModelMeter, book
from mainspring.store.database import Connection, Database, is_lost_connection
from mainspring.store.database_errors import log_and_convert_error
from mainspring.store.workspace_database import WorkspaceDatabase
from mainspring.workspace.people.email_addresses import find_member_address
from mainspring.workspace.vault import Vault

# What a call answers that was only pretended.

MARK: Final[Mapping[str, str]] = {"kind": "suppressed"}


def stub_of(capability: Capability, arguments: Mapping[str, Any]) -> Any:
    """The answer of a call that was not made; an object carries the mark."""
    own, declared = capability.annotations.stub, capability.output_schema
    samples = declared.get("examples", ())
    value = own(arguments) if own is not None else next(iter(samples), {})
    if not isinstance(value, Mapping) or MARK.keys() & declared.get("properties", {}).keys():
        return value
    return {**value, **MARK}


# What a call was done to, in the words of the audit log.

# The first of these that is there; a thing's own name comes after whose part it is.
_NAMES: Final = (
    "board_id",
    "page_id",
    "user_id",
    "automation_id",
    "run_id",
    "event_id",
    "artifact_id",
    "draft_id",
    "slug",
    "id",
    "name",
    "key",
    "email",
    "message_id",
)
_ANY_NAME: Final = frozenset(_NAMES)
_LONGEST: Final = 200


def subject_of(capability: Capability, arguments: Mapping[str, Any], result: Any) -> str | None:
    """The thing that a call touched; None where neither side names one."""
    given, answered = mask_arguments(arguments, capability), mask_result(result, capability)
    own = capability.annotations.subject
    found = _usual(capability, given, answered) if own is None else own(given, answered)
    # What was refused may be of any shape.
    return found[:_LONGEST] if isinstance(found, str) else None


def _usual(capability: Capability, given: Mapping[str, Any], answered: Any) -> str | None:
    annotations = capability.annotations
    hidden = annotations.hidden_arguments | annotations.hidden_results
    # Most sides name nothing of the kind, which one look at all their names tells.
    places = [
        side
        for side in (given, answered)
        if isinstance(side, Mapping) and not _ANY_NAME.isdisjoint(side)
    ]
    for name in _NAMES if places else ():
        for side in places:
            value = side.get(name)
            if name not in hidden and isinstance(value, str) and value:
                return value
    return None


# The schemas of capabilities, compiled once and kept at hand.

MOST_OUTSIDE: Final = 128


class CapabilityChecks(NamedTuple):
    """A capability, and what checks its arguments and its answers."""

    capability: Capability
    arguments: Validator
    answers: Validator


class CapabilityValidators:
    """Checks by capability; a name alone may mean another tool in another workspace."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._ours: dict[str, CapabilityChecks] = {}
        self._outside: OrderedDict[tuple[str, str], CapabilityChecks] = OrderedDict()

    def of(self, capability: Capability) -> CapabilityChecks:
        """The checks of just this capability, compiled now if they are not at hand."""
        mark = capability.annotations.pin
        if not mark:
            found = self._ours.get(capability.id)
            if found is None or found.capability is not capability:
                found = self._ours[capability.id] = self._compiled(capability)
            return found
        key = (capability.id, mark)
        found = self._outside.pop(key, None)
        if found is None or found.capability is not capability:
            found = self._compiled(capability)
        self._outside[key] = found
        if len(self._outside) > MOST_OUTSIDE:
            self._outside.popitem(last=False)
        return found

    def _compiled(self, capability: Capability) -> CapabilityChecks:
        return CapabilityChecks(
            capability,
            compile_schema(capability.input_schema, self._limits),
            compile_schema(capability.output_schema, self._limits),
        )


_OUTCOME: Final = {Effect.READ: "read", Effect.KEEP: "kept", Effect.SEND: "sent"}


@dataclass(slots=True)
class Pipeline:
    """Grants, pinned arguments, drafts, budgets, secrets and records, in one place."""

    vocabulary: WorkspaceVocabularies
    database: Database
    egress: Egress
    vault: Vault
    clock: Clock
    limits: Limits
    mailer: Mailer
    keeping: CallRecorder
    lifetimes: DraftLifetimes
    models: ModelCatalog
    blobs: BlobStore
    # Where the first person is reached while they have no address of their own.
    owner_mail: str | None = None
    # The ways over members' connections; none where no integration is at hand.
    lines: AccountConnections | None = None
    # Resumes runs that wait for a draft.
    resumer: Resumer = field(default_factory=NullResumer)
    _validators: CapabilityValidators = field(init=False)

    def __post_init__(self) -> None:
        self._validators = CapabilityValidators(self.limits)

    async def call(self, ask: CapabilityCall) -> CapabilityResult:
        """Decides about one call and performs it if it may be performed."""
        started = self.clock.monotonic()
        capability = self.vocabulary.capabilities.get(ask.capability)
        if capability is None:
            words = await self.vocabulary.of(ask.actor.workspace_id, needing=[ask.capability])
            capability = words.capabilities.get(ask.capability)
            if capability is None:
                return CapabilityResult(
                    error=unknown(ask.capability, words.capabilities), outcome="denied"
                )
        try:
            ask = with_secrets(ask, capability)
            shown = show_secret_names(ask.arguments)
            text = self._spelled(capability, shown)
        except Problem as problem:
            return self.refused(CallState(ask, capability, {}, b"", started), problem)
        passage = CallState(ask, capability, shown, text, started)
        if ask.recorded is not None:
            return replay_recorded_result(passage, ask.recorded)
        try:
            self._admit(passage)
            passage.effect = effect_of(capability, shown)
            ask.purse.reserve()
            return await self._decided(passage)
        except Problem as problem:
            return self.refused(passage, problem)
        except Exception as error:
            return self.refused(passage, log_and_convert_error(error))

    def turned_away(
        self, ask: CapabilityCall, capability: Capability, problem: Problem
    ) -> CapabilityResult:
        """A caller who may not call it at all; their arguments are not looked at."""
        return self.refused(CallState(ask, capability, {}, b"", self.clock.monotonic()), problem)

    def _spelled(self, capability: Capability, shown: Mapping[str, Any]) -> bytes:
        """The arguments as text; what cannot be text or is too much of it goes no further."""
        check_unknown_arguments(shown, capability)
        check_value(shown, self.limits)
        text = canonical_json(shown)
        most = capability.annotations.arguments_bytes or self.limits.call_arguments_bytes
        if len(text) > most:
            raise Invalid(
                f"The arguments of {capability.id} are {len(text)} bytes; "
                f"at most {most} are taken.",
                code="arguments_too_large",
            )
        return canonical_json(mask_arguments(shown, capability)) if _hides(capability) else text

    def _admit(self, passage: CallState) -> None:
        """Allowed, and valid. The grant is checked first: a refusal reveals no schema."""
        if passage.ask.agreed is not None:
            passage.hosts = passage.ask.agreed.hosts
        elif passage.ask.run is not None:
            passage.hosts = resolve_granted_hosts(passage)
        else:
            passage.hosts = passage.capability.annotations.hosts
        self._check_arguments(passage)

    def _check_arguments(self, passage: CallState) -> None:
        check_secret_arguments(passage.ask.arguments, passage.capability)
        findings = self._findings(passage)
        if findings:
            raise Invalid(
                f"The arguments of {passage.capability.id} are not valid: {findings[0].detail}",
                code="arguments_invalid",
                findings=findings,
            )

    def _findings(self, passage: CallState) -> Sequence[Finding]:
        """What is wrong with the arguments: their shape, and then what they say."""
        wrong = self._validators.of(passage.capability).arguments.findings(passage.shown, "")
        judge = passage.capability.annotations.judge
        return wrong if wrong or judge is None else judge(passage.shown)

    async def _decided(self, passage: CallState) -> CapabilityResult:
        verdict: Verdict = "perform"
        if passage.ask.agreed is None:
            run = passage.ask.run
            verdict = decide(
                passage.capability,
                passage.effect,
                passage.ask.posture,
                "" if run is None else run.step,
                passage.shown,
            )
            if _needs_agreement(passage):
                verdict = "pretend"
        memory = passage.ask.memory
        if memory is not None:
            then = replay_answer(memory, passage.capability, passage.digest, verdict)
            if then is not None:
                return self._as_then(passage, then)
        try:
            asks = passage.ask.posture.agreed and (memory is None or memory.live)
            back = await self._resolved(passage) if asks else None
            if back is not None:
                return await self._answer_and_book(passage, *back)
            if verdict == "pretend" or await self._nobody_to_ask(passage):
                value = passage.ask.known.masked(stub_of(passage.capability, passage.shown))
                return self._done(passage, passage.noted(value), "pretended")
            if verdict in ("hold", "send"):
                passage.connection = await self._connection(passage)
                gone = await self._let_go(passage, agreed=verdict == "send")
                return gone or await self._in_transaction(passage, held=True)
            await self._reserve(passage)
            if passage.capability.annotations.transactional:
                return await self._in_transaction(passage, held=False)
            value, outcome = await self._perform(passage, None)
            return await self._answer_and_book(passage, value, outcome)
        finally:
            if passage.costs and not passage.settled:
                await run_to_completion(self._settle(passage))

    def _as_then(self, passage: CallState, then: ReplayedAnswer) -> CapabilityResult:
        """The answer of the run that is rehearsed; it was paid for then."""
        if then.arguments is not None:
            passage.shown = then.arguments
        if then.problem is None:
            return self._done(passage, passage.ask.known.masked(then.value), then.outcome)
        answer = self.refused(passage, then.problem)
        assert answer.record is not None
        record = replace(answer.record, outcome=RECORDED)
        return replace(answer, outcome=RECORDED, record=record)

    async def _resolved(self, passage: CallState) -> tuple[Any, str] | None:
        """Makes the arguments exact, where a write may be asked for otherwise.

        What it answers instead is a question back, or that there is nothing to do.
        """
        ask, write = passage.ask, passage.capability.write
        if ask.agreed is not None or write is None or write.resolve is None:
            return None
        resolve = write.resolve
        made, visit = await self._visited(passage, None, lambda ctx: resolve(ctx, ask.arguments))
        if isinstance(made, (NeedsClarification, NothingToDo)):
            return self._checked(passage, made, visit)
        if isinstance(made, ResolvedArguments):
            passage.note = made.note
            made = made.arguments
        passage.ask, passage.shown = replace(ask, arguments=made), show_secret_names(made)
        self._check_arguments(passage)
        if ask.run is not None:
            # Once more as it is now: so it will be judged when somebody agrees to it.
            passage.hosts = resolve_granted_hosts(passage)
        return None

    async def _connection(self, passage: CallState) -> Mapping[str, Any] | None:
        """What a call that is held will go over.

        Nothing waits for a person that could not leave once they have agreed.
        """
        ask = passage.ask
        route = route_of(passage.capability, ask.arguments, self.vocabulary.capabilities)
        if route is None or self.lines is None:
            return None
        way = await CallConnections(ask, self.egress, self.vault, self.lines).connect(route)
        return connection_binding(way.account)

    async def _let_go(self, passage: CallState, *, agreed: bool) -> CapabilityResult | None:
        """What came of it, where a person has agreed to exactly this.

        They did so for its step, or they accepted a standing rule.
        """
        ask, capability = passage.ask, passage.capability
        if ask.run is None or capability.write is None:
            return None
        if not agreed and not capability.write.wording:
            return None
        async with WorkspaceDatabase(self.database, ask.actor.workspace_id).transaction() as tx:
            await check_fence(tx, ask)
            await hold_pass(tx, ask)
            going = await claim_preapproved(
                tx, passage, self.clock.now(), self.lifetimes, by_step=agreed
            )
        if going is None:
            return None
        if going.problem is not None:
            raise going.problem
        taken = going.agreed
        if taken is None:
            return self._done(passage, going.result, "sent")
        # Its secrets are marked already, in the arguments that are on their way.
        made = replace(ask, id=going.call_id, agreed=taken, spelt=None)
        ends: list[CapabilityResult] = []

        async def work() -> None:
            ends.append(await self._sending().let_go(made, capability, taken.draft_id))

        # Whoever asked may go away meanwhile; what was begun is brought to its end.
        await run_to_completion(work())
        return ends[0]

    async def _nobody_to_ask(self, passage: CallState) -> bool:
        """A dry run goes on where its model cannot be asked; any other run is told so."""
        ask = passage.ask
        if ask.posture.mode != "dry_run" or not passage.capability.annotations.asks_models:
            return False
        if ask.memory is not None and ask.memory.talks and passage.capability.id == AGENT_RUN:
            # Its turns may be on record; one that is not asks for itself.
            return False
        if not await self.models.connected(ask.actor.workspace_id):
            return True
        name = passage.shown.get("model") or ask.posture.model or ""
        try:
            return (await self.models.find(ask.actor.workspace_id, name)).price is None
        except (Conflict, NotFound):
            return True

    async def _reserve(self, passage: CallState) -> None:
        """What has to be there before the handler is called: a turn to send, and money."""
        ask, capability = passage.ask, passage.capability
        if ask.run is not None and capability.write is not None and capability.id not in HOSTED:
            await count_send(
                self.database,
                ask.actor.workspace_id,
                ask.run.automation_id,
                capability.id,
                self.limits.sends_per_minute,
            )
        if ask.run is not None and capability.id in HOSTED and self.limits.egress_day_bytes:
            await count_egress(
                self.database,
                ask.actor.workspace_id,
                ask.run.automation_id,
                len(passage.text),
                self.limits.egress_day_bytes,
            )
        price = capability.annotations.price
        if price is None:
            return
        usd = validate_price(capability.id, price(passage.shown))
        ask.purse.reserve(usd)
        passage.price = usd
        promise = build_reservation(ask, passage.money_id, usd)
        lasts = timedelta(seconds=self.limits.reservation_seconds)
        try:
            async with self.database.transaction() as tx:
                await reserve_budget(tx, promise, ask, lasts)
        except BaseException:
            ask.purse.settle(usd, Decimal(0))
            passage.settled = True
            raise

    async def _answer_and_book(
        self, passage: CallState, value: Any, outcome: str
    ) -> CapabilityResult:
        """The answer of a call; one that cost money is recorded where its cost is booked.

        So whoever takes the run over does not pay again for an answer that was paid for.
        """
        # One that was held is on record with its draft.
        alone = passage.ask.run is None or passage.ask.agreed is not None
        if alone or not passage.cost:
            return self._done(passage, value, outcome)
        kept = mask_result(value, passage.capability)
        record = self._record(passage, outcome, None, value, result=kept)

        async def work(tx: Transaction) -> None:
            await check_fence(tx, passage.ask)
            await self._book(passage, tx)
            await self.keeping.write(tx, passage.ask, record)

        inside = WorkspaceDatabase(self.database, passage.ask.actor.workspace_id)
        try:
            await run_to_completion(inside.run_retrying(work))
        except BaseException:
            # Nothing of it is there: the cost is booked by itself.
            passage.booked = False
            raise
        return CapabilityResult(value=value, outcome=outcome, at=record.at, cost=passage.cost)

    async def _book(self, passage: CallState, tx: Transaction) -> None:
        """Books the cost in the transaction that records the call."""
        ask = passage.ask
        if passage.price or passage.spent:
            promise = build_reservation(ask, passage.money_id, passage.price)
            await settle_run_budget(tx, ask.purse, promise, passage.spent)
        await book(tx, ask, passage.asked)
        passage.booked = passage.costs

    async def _settle(self, passage: CallState) -> None:
        """Books what the call came to, once; what had no price and cost nothing has no row."""
        passage.settled = True
        purse = passage.ask.purse
        purse.settle(passage.price, passage.spent)
        for one in passage.asked:
            purse.settle(one.promise.usd, one.cost)
        if not passage.booked:
            await self.database.run_retrying(lambda link: self._booked_alone(passage, link))

    async def _booked_alone(self, passage: CallState, link: Connection) -> None:
        async with link.transaction():
            await self._book(passage, link)

    async def _perform(self, passage: CallState, tx: Transaction | None) -> tuple[Any, str]:
        """The only place in the product where a capability's handler is called."""

        async def work(context: GateContext) -> Any:
            passage.begun = True
            return await passage.capability.handler(context, passage.ask.arguments)

        returned, visit = await self._visited(passage, tx, work)
        return self._checked(passage, returned, visit)

    async def _visited(
        self,
        passage: CallState,
        tx: Transaction | None,
        work: Callable[[GateContext], Awaitable[Any]],
    ) -> tuple[Any, CallConnections]:
        """Does the work of a call with all that it is given, and says what it has used."""
        ask = passage.ask
        visit = CallConnections(ask, self.egress, self.vault, self.lines)
        out = await visit.open(passage.hosts, passage.capability.annotations.route)
        context = GateContext(
            ask.actor,
            ask.run,
            self.clock,
            ask.key,
            out.http,
            self.mailer,
            partial(self._owner_address, ask),
            ask.posture.model or "",
            partial(self._complete_on_meter, passage),
            tx,
            out.account,
            visit.connect,
            confirm=self._confirming(passage),
            agency=self._agency(passage),
            mode=ask.posture.mode,
            client_wait=ask.client_wait,
            repeated=ask.repeated,
        )
        try:
            returned = await work(context)
        except Exception as error:
            named = await visit.ended(error)
            if named is not None:
                raise named from None
            raise
        finally:
            if context.spent:
                passage.spent += context.spent
            passage.uses |= visit.uses
        await visit.ended(None)
        return returned, visit

    async def _owner_address(self, ask: CapabilityCall) -> str | None:
        whose = ask.drawer
        return await find_member_address(
            self.database, whose.workspace_id, whose.owner_id, self.owner_mail
        )

    async def _complete_on_meter(self, passage: CallState, request: ModelRequest) -> ModelReply:
        meter = ModelMeter(
            self.models,
            self.database,
            self.clock,
            self.limits,
            passage.ask,
            passage.capability.id,
            passage.asked,
        )
        return await meter.complete(request)

    def _confirming(self, passage: CallState) -> DraftConfirmer | None:
        """The way to perform a draft, which those that answer drafts have and no other."""
        if passage.capability.id not in ANSWERING:
            return None
        return partial(self._sending().confirm, passage.ask)

    def _sending(self) -> DraftSender:
        return DraftSender(
            self.vocabulary,
            self.database,
            self.keeping,
            self.call,
            self.turned_away,
            self._judged,
            self.resumer,
        )

    def _judged(
        self, ask: CapabilityCall, capability: Capability, shown: Mapping[str, Any]
    ) -> list[Finding]:
        """What is wrong with the arguments of a draft that somebody has edited."""
        self._spelled(capability, shown)
        return list(self._findings(CallState(ask, capability, shown, b"", 0.0)))

    def _agency(self, passage: CallState) -> GateAgentSession | None:
        """The way to turns of a model and to tools, which one capability has and no other."""
        if passage.capability.id != AGENT_RUN:
            return None
        house = AgentServices(
            self.vocabulary,
            self.database,
            self.clock,
            self.limits,
            self.models,
            self.keeping,
            self.blobs,
            self.call,
        )
        return GateAgentSession(house, passage)

    def _checked(
        self, passage: CallState, returned: Any, visit: CallConnections
    ) -> tuple[Any, str]:
        if isinstance(returned, (NeedsClarification, NothingToDo)):
            kind = "unclear" if isinstance(returned, NeedsClarification) else "nothing"
            return passage.ask.known.masked(returned.as_value()), kind
        value = returned.value if isinstance(returned, (Done, Unchanged)) else returned
        value = passage.ask.known.masked(visit.masked(value))
        check_value(value, self.limits)
        findings = self._validators.of(passage.capability).answers.findings(value, "")
        if findings:
            raise InternalError(
                f"{passage.capability.id} answered in a shape it does not declare: "
                f"{findings[0].detail}",
                code="result_invalid",
                findings=findings,
            )
        # A call that changed nothing came to no more than a read.
        effect = Effect.READ if isinstance(returned, Unchanged) else passage.effect
        if effect is Effect.SEND and passage.capability.id in ANSWERING:
            return value, confirming_came_to(value)
        return value, _OUTCOME[effect]

    async def _in_transaction(self, passage: CallState, *, held: bool) -> CapabilityResult:
        """Performs and records in one transaction.

        When the connection breaks it is not known whether the commit happened, so the
        next try looks for the record first.
        """
        in_doubt = False
        while True:
            try:
                inside = WorkspaceDatabase(self.database, passage.ask.actor.workspace_id)
                async with inside.transaction() as tx:
                    await check_fence(tx, passage.ask)
                    await hold_pass(tx, passage.ask)
                    before = await self.keeping.before(tx, passage.ask) if in_doubt else None
                    if before is not None:
                        return replay_recorded_result(passage, before)
                    return await self._recorded(passage, tx, held=held)
            except BaseException as error:
                passage.booked = False
                if not isinstance(error, Exception) or not is_lost_connection(error):
                    raise
                in_doubt = True
                await self.database.recover()

    async def _recorded(
        self, passage: CallState, tx: Transaction, *, held: bool
    ) -> CapabilityResult:
        if held:
            draft = await hold_call(
                tx,
                passage.ask,
                passage.capability,
                passage.shown,
                self.clock.now(),
                self.lifetimes,
                passage.connection,
            )
            value, outcome = passage.noted(draft.as_value()), "held"
        else:
            value, outcome = await self._perform(passage, tx)
        await self._book(passage, tx)
        kept = mask_result(value, passage.capability)
        record = self._record(passage, outcome, None, value, result=kept)
        await self.keeping.write(tx, passage.ask, record)
        return CapabilityResult(value=value, outcome=outcome, at=record.at, cost=passage.cost)

    def _done(self, passage: CallState, value: Any, outcome: str) -> CapabilityResult:
        record = self._record(passage, outcome, None, value)
        return CapabilityResult(
            value=value, outcome=outcome, record=record, at=record.at, cost=passage.cost
        )

    def refused(self, passage: CallState, problem: Problem) -> CapabilityResult:
        passage.ask.known.hide_in(problem)
        if isinstance(problem, Invalid) and _hides(passage.capability):
            # What is not valid may be the hidden value itself, in the wrong place.
            passage = replace(passage, shown={}, text=b"")
        record = self._record(passage, outcome_of(problem), problem)
        return CapabilityResult(
            error=problem,
            outcome=record.outcome,
            record=record,
            at=record.at,
            begun=passage.begun,
            cost=passage.cost,
        )

    def _record(
        self,
        passage: CallState,
        outcome: str,
        error: Problem | None,
        value: Any = None,
        *,
        result: Any = None,
    ) -> CallRecord:
        touched = None
        if passage.ask.run is None:
            touched = subject_of(passage.capability, passage.shown, value)
        return passage.record(
            outcome,
            error,
            result=result,
            subject=passage.ask.known.masked(touched),
            ms=round((self.clock.monotonic() - passage.started) * 1000),
            at=self.clock.now(),
            most_bytes=self.limits.call_result_bytes,
        )


def _needs_agreement(passage: CallState) -> bool:
    """A dry run of what nobody has agreed to uses no secret and no account."""
    ask = passage.ask
    if ask.posture.agreed:
        return False
    return passage.capability.uses_accounts or has_secret(dict(ask.arguments))


def _hides(capability: Capability) -> bool:
    return bool(capability.annotations.hidden_arguments)
