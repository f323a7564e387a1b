"""The stages of a call.

find → allowed? → arguments valid? → affordable? → perform, hold or pretend → perform →
result valid? → settle → record. A handler knows none of this.

A draft that was approved begins at ``perform_approved``: it does not pass the decision again.

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

from mainspring.connections.accounts.account_connections import AccountConnections
from mainspring.connections.call_context import DraftConfirmer, GateContext
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
from mainspring.gate.budget_reservations import (
    build_reservation,
    reserve_budget,
    settle_run_budget,
    validate_price,
)
from mainspring.gate.call_connections import CallConnections, connection_binding
from mainspring.gate.call_records import CallRecord
from mainspring.gate.call_state import (
    CallRecorder,
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
    check_fence,
    check_secret_arguments,
    check_unknown_arguments,
    has_secret,
    mask_arguments,
    mask_result,
    show_secret_names,
    with_secrets,
)
from mainspring.gate.draft_sending import ANSWERING, DraftSender, confirming_came_to
from mainspring.gate.drafting.envelopes import route_of
from mainspring.gate.drafting.resume import NullResumer, Resumer
from mainspring.gate.drafts import DraftLifetimes, hold_call
from mainspring.gate.policy import decide, effect_of
from mainspring.gate.preapproval import claim_preapproved
from mainspring.gate.rate_limit import count_egress, count_send
from mainspring.gate.rehearsal_recording import RECORDED, ReplayedAnswer, replay_answer
from mainspring.gate.run_tokens import hold_pass
from mainspring.gate.usage_meter import ModelMeter, book
from mainspring.outbound.egress import Egress
from mainspring.store.database import Connection, Database, WorkspaceDatabase, is_lost_connection
from mainspring.store.database_errors import log_and_convert_error
from mainspring.store.shield import run_to_completion
from mainspring.workspace.artifacts.blobs import BlobStore
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


def _usual(capability: Capability, arguments: Mapping[str, Any], answered: Any) -> str | None:
    annotations = capability.annotations
    hidden = annotations.hidden_arguments | annotations.hidden_results
    # Most sides name nothing of the kind, which one look at all their names tells.
    places = [
        side
        for side in (arguments, answered)
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


_Stage = Callable[[CallState], Awaitable[CapabilityResult]]
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
        return await self._pass(ask, capability, started, self._decided)

    async def perform_approved(
        self, ask: CapabilityCall, capability: Capability
    ) -> CapabilityResult:
        """Performs the call of a draft that was approved.

        Grants, mode and approval were decided when it was held and when it was approved, so
        only what depends on this moment is checked again: its arguments and its price.
        """
        return await self._pass(ask, capability, self.clock.monotonic(), self._perform_and_settle)

    async def _pass(
        self, ask: CapabilityCall, capability: Capability, started: float, stage: _Stage
    ) -> CapabilityResult:
        """Checks the arguments of a call and hands it to a stage; a problem is its answer."""
        try:
            ask = with_secrets(ask, capability)
            shown = show_secret_names(ask.arguments)
            text = self._spelled(capability, shown)
        except Problem as problem:
            return self.refused(CallState(ask, capability, {}, b"", started), problem)
        state = CallState(ask, capability, shown, text, started)
        if ask.recorded is not None:
            return replay_recorded_result(state, ask.recorded)
        try:
            self._admit(state)
            state.effect = effect_of(capability, shown)
            if ask.run is not None:
                ask.budget.reserve()
            return await stage(state)
        except Problem as problem:
            return self.refused(state, problem)
        except Exception as error:
            return self.refused(state, log_and_convert_error(error))

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
                f"The arguments of {capability.id} are {len(text)} bytes; the maximum is {most}.",
                code="arguments_too_large",
            )
        return canonical_json(mask_arguments(shown, capability)) if _hides(capability) else text

    def _admit(self, state: CallState) -> None:
        """Allowed, and valid. The grant is checked first: a refusal reveals no schema."""
        if state.ask.agreed is not None:
            state.hosts = state.ask.agreed.hosts
        elif state.ask.run is not None or state.ask.automation_id is not None:
            state.hosts = resolve_granted_hosts(state)
        else:
            state.hosts = state.capability.annotations.hosts
        self._check_arguments(state)

    def _check_arguments(self, state: CallState) -> None:
        check_secret_arguments(state.ask.arguments, state.capability)
        findings = self._findings(state)
        if findings:
            raise Invalid(
                f"The arguments of {state.capability.id} are invalid: {findings[0].detail}",
                code="arguments_invalid",
                findings=findings,
            )

    def _findings(self, state: CallState) -> Sequence[Finding]:
        """What is wrong with the arguments: their shape, and then what they say."""
        wrong = self._validators.of(state.capability).arguments.findings(state.shown, "")
        judge = state.capability.annotations.judge
        return wrong if wrong or judge is None else judge(state.shown)

    async def _decided(self, state: CallState) -> CapabilityResult:
        """Whether the call is performed, held or only pretended; and what came of it."""
        run = state.ask.run
        verdict = decide(
            state.capability,
            state.effect,
            state.ask.posture,
            "" if run is None else run.step,
            state.shown,
        )
        if _needs_agreement(state):
            verdict = "pretend"
        memory = state.ask.memory
        if memory is not None:
            then = replay_answer(memory, state.capability, state.digest, verdict)
            if then is not None:
                return self._as_then(state, then)
        try:
            asks = state.ask.posture.agreed and (memory is None or memory.live)
            back = await self._resolved(state) if asks else None
            if back is not None:
                return await self._answer_and_book(state, *back)
            if verdict == "pretend" or await self._nobody_to_ask(state):
                value = state.ask.known.masked(stub_of(state.capability, state.shown))
                return self._done(state, state.noted(value), "pretended")
            if verdict in ("hold", "send"):
                state.connection = await self._connection(state)
                gone = await self._send_preapproved(state, agreed=verdict == "send")
                return gone or await self._in_transaction(state, held=True)
            return await self._perform_and_settle(state)
        finally:
            await self._settle_open(state)

    async def _perform_and_settle(self, state: CallState) -> CapabilityResult:
        """Reserves what the call may cost, performs it, and books what it came to."""
        try:
            await self._reserve(state)
            if state.capability.annotations.transactional:
                return await self._in_transaction(state, held=False)
            value, outcome = await self._perform(state, None)
            return await self._answer_and_book(state, value, outcome)
        finally:
            await self._settle_open(state)

    async def _settle_open(self, state: CallState) -> None:
        if state.costs and not state.settled:
            await run_to_completion(self._settle(state))

    def _as_then(self, state: CallState, then: ReplayedAnswer) -> CapabilityResult:
        """The answer of the run that is rehearsed; it was paid for then."""
        if then.arguments is not None:
            state.shown = then.arguments
        if then.problem is None:
            return self._done(state, state.ask.known.masked(then.value), then.outcome)
        answer = self.refused(state, then.problem)
        assert answer.record is not None
        record = replace(answer.record, outcome=RECORDED)
        return replace(answer, outcome=RECORDED, record=record)

    async def _resolved(self, state: CallState) -> tuple[Any, str] | None:
        """Makes the arguments exact, where a write may be asked for otherwise.

        What it answers instead is a question back, or that there is nothing to do.
        """
        ask, write = state.ask, state.capability.write
        if write is None or write.resolve is None:
            return None
        resolve = write.resolve
        made, visit = await self._visited(state, None, lambda ctx: resolve(ctx, ask.arguments))
        if isinstance(made, (NeedsClarification, NothingToDo)):
            return self._checked(state, made, visit)
        if isinstance(made, ResolvedArguments):
            state.note = made.note
            made = made.arguments
        state.ask, state.shown = replace(ask, arguments=made), show_secret_names(made)
        self._check_arguments(state)
        if ask.run is not None:
            # Once more as it is now: so it will be judged when somebody agrees to it.
            state.hosts = resolve_granted_hosts(state)
        return None

    async def _connection(self, state: CallState) -> Mapping[str, Any] | None:
        """What a call that is held will go over.

        Nothing waits for a person that could not leave once they have agreed.
        """
        ask = state.ask
        route = route_of(state.capability, ask.arguments, self.vocabulary.capabilities)
        if route is None or self.lines is None:
            return None
        way = await CallConnections(ask, self.egress, self.vault, self.lines).connect(route)
        return connection_binding(way.account)

    async def _send_preapproved(self, state: CallState, *, agreed: bool) -> CapabilityResult | None:
        """What came of it, where a person has agreed to exactly this.

        They did so for its step, or they accepted a standing rule.
        """
        ask, capability = state.ask, state.capability
        if ask.run is None or capability.write is None:
            return None
        if not agreed and not capability.write.wording:
            return None
        async with WorkspaceDatabase(self.database, ask.actor.workspace_id).transaction() as tx:
            await check_fence(tx, ask)
            await hold_pass(tx, ask)
            going = await claim_preapproved(
                tx, state, self.clock.now(), self.lifetimes, by_step=agreed
            )
        if going is None:
            return None
        if going.problem is not None:
            raise going.problem
        taken = going.agreed
        if taken is None:
            return self._done(state, going.result, "sent")
        # Its secrets are marked already, in the arguments that are on their way.
        made = replace(ask, id=going.call_id, agreed=taken, spelt=None)
        ends: list[CapabilityResult] = []

        async def work() -> None:
            ends.append(await self._sending().send_preapproved(made, capability, taken.draft_id))

        # Whoever asked may go away meanwhile; what was begun is brought to its end.
        await run_to_completion(work())
        return ends[0]

    async def _nobody_to_ask(self, state: CallState) -> bool:
        """A dry run goes on where its model cannot be asked; any other run is told so."""
        ask = state.ask
        if ask.posture.mode != "dry_run" or not state.capability.annotations.asks_models:
            return False
        if ask.memory is not None and ask.memory.talks and state.capability.id == AGENT_RUN:
            # Its turns may be on record; one that is not asks for itself.
            return False
        if not await self.models.connected(ask.actor.workspace_id):
            return True
        name = state.shown.get("model") or ask.posture.model or ""
        try:
            return (await self.models.find(ask.actor.workspace_id, name)).price is None
        except (Conflict, NotFound):
            return True

    async def _reserve(self, state: CallState) -> None:
        """What has to be there before the handler is called: a turn to send, and money."""
        ask, capability = state.ask, state.capability
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
                len(state.text),
                self.limits.egress_day_bytes,
            )
        price = capability.annotations.price
        if price is None:
            return
        usd = validate_price(capability.id, price(state.shown))
        ask.budget.reserve(usd)
        state.price = usd
        reservation = build_reservation(ask, state.money_id, usd)
        lasts = timedelta(seconds=self.limits.reservation_seconds)
        try:
            async with self.database.transaction() as tx:
                await reserve_budget(tx, reservation, ask, lasts)
        except BaseException:
            ask.budget.settle(usd, Decimal(0))
            state.settled = True
            raise

    async def _answer_and_book(
        self, state: CallState, value: Any, outcome: str
    ) -> CapabilityResult:
        """The answer of a call; one that cost money is recorded where its cost is booked.

        So whoever takes the run over does not pay again for an answer that was paid for.
        """
        # One that was held is on record with its draft.
        alone = state.ask.run is None or state.ask.agreed is not None
        if alone or not state.cost:
            return self._done(state, value, outcome)
        kept = mask_result(value, state.capability)
        record = self._record(state, outcome, None, value, result=kept)

        async def work(tx: Transaction) -> None:
            await check_fence(tx, state.ask)
            await self._book(state, tx)
            await self.keeping.write(tx, state.ask, record)

        inside = WorkspaceDatabase(self.database, state.ask.actor.workspace_id)
        try:
            await run_to_completion(inside.run_retrying(work))
        except BaseException:
            # Nothing of it is there: the cost is booked by itself.
            state.booked = False
            raise
        return CapabilityResult(value=value, outcome=outcome, at=record.at, cost=state.cost)

    async def _book(self, state: CallState, tx: Transaction) -> None:
        """Books the cost in the transaction that records the call."""
        ask = state.ask
        if state.price or state.spent:
            reservation = build_reservation(ask, state.money_id, state.price)
            await settle_run_budget(tx, ask.budget, reservation, state.spent)
        if state.asked:
            await book(tx, ask, state.asked)
        state.booked = state.costs

    async def _settle(self, state: CallState) -> None:
        """Books what the call came to, once; what had no price and cost nothing has no row."""
        state.settled = True
        budget = state.ask.budget
        budget.settle(state.price, state.spent)
        for one in state.asked:
            budget.settle(one.promise.usd, one.cost)
        if not state.booked:
            await self.database.run_retrying(lambda link: self._booked_alone(state, link))

    async def _booked_alone(self, state: CallState, link: Connection) -> None:
        async with link.transaction():
            await self._book(state, link)

    async def _perform(self, state: CallState, tx: Transaction | None) -> tuple[Any, str]:
        """The only place in the product where a capability's handler is called."""

        async def work(context: GateContext) -> Any:
            state.begun = True
            return await state.capability.handler(context, state.ask.arguments)

        returned, visit = await self._visited(state, tx, work)
        return self._checked(state, returned, visit)

    async def _visited(
        self,
        state: CallState,
        tx: Transaction | None,
        work: Callable[[GateContext], Awaitable[Any]],
    ) -> tuple[Any, CallConnections | None]:
        """Does the work of a call with all that it is given, and says what it has used."""
        ask, hosts, route = state.ask, state.hosts, state.capability.annotations.route
        # Most calls of our own tables open nothing, so this is made with the first connection.
        opened: list[CallConnections] = []

        def connections() -> CallConnections:
            if not opened:
                opened.append(CallConnections(ask, self.egress, self.vault, self.lines))
            return opened[0]

        out = None if route is None else await connections().open(route)
        context = GateContext(
            ask.actor,
            ask.run,
            self.clock,
            ask.key,
            (lambda: connections().bind(hosts)) if out is None else (lambda: out.http),
            self.mailer,
            partial(self._owner_address, ask),
            ask.posture.model or "",
            partial(self._complete_on_meter, state),
            tx,
            None if out is None else out.account,
            lambda other: connections().connect(other),
            confirm=self._confirming(state),
            agency=self._agency(state),
            mode=ask.posture.mode,
            client_wait=ask.client_wait,
            repeated=ask.repeated,
        )
        try:
            returned = await work(context)
        except Exception as error:
            named = await opened[0].ended(error) if opened else None
            if named is not None:
                raise named from None
            raise
        finally:
            if context.spent:
                state.spent += context.spent
            if opened:
                state.uses |= opened[0].uses
        if not opened:
            return returned, None
        await opened[0].ended(None)
        return returned, opened[0]

    async def _owner_address(self, ask: CapabilityCall) -> str | None:
        whose = ask.secret_scope
        return await find_member_address(
            self.database, whose.workspace_id, whose.owner_id, self.owner_mail
        )

    async def _complete_on_meter(self, state: CallState, request: ModelRequest) -> ModelReply:
        meter = ModelMeter(
            self.models,
            self.database,
            self.clock,
            self.limits,
            state.ask,
            state.capability.id,
            state.asked,
        )
        return await meter.complete(request)

    def _confirming(self, state: CallState) -> DraftConfirmer | None:
        """The way to perform a draft, which those that answer drafts have and no other."""
        if state.capability.id not in ANSWERING:
            return None
        return partial(self._sending().confirm, state.ask)

    def _sending(self) -> DraftSender:
        return DraftSender(
            self.vocabulary,
            self.database,
            self.keeping,
            self.perform_approved,
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

    def _agency(self, state: CallState) -> GateAgentSession | None:
        """The way to turns of a model and to tools, which one capability has and no other."""
        if state.capability.id != AGENT_RUN:
            return None
        services = AgentServices(
            self.vocabulary,
            self.database,
            self.clock,
            self.limits,
            self.models,
            self.keeping,
            self.blobs,
            self.call,
        )
        return GateAgentSession(services, state)

    def _checked(
        self, state: CallState, returned: Any, visit: CallConnections | None
    ) -> tuple[Any, str]:
        if isinstance(returned, (NeedsClarification, NothingToDo)):
            kind = "unclear" if isinstance(returned, NeedsClarification) else "nothing"
            return state.ask.known.masked(returned.as_value()), kind
        value = returned.value if isinstance(returned, (Done, Unchanged)) else returned
        if visit is not None:
            value = visit.masked(value)
        value = state.ask.known.masked(value)
        check_value(value, self.limits)
        findings = self._validators.of(state.capability).answers.findings(value, "")
        if findings:
            raise InternalError(
                f"{state.capability.id} returned a result that does not match its schema: "
                f"{findings[0].detail}",
                code="result_invalid",
                findings=findings,
            )
        # A call that changed nothing came to no more than a read.
        effect = Effect.READ if isinstance(returned, Unchanged) else state.effect
        if effect is Effect.SEND and state.capability.id in ANSWERING:
            return value, confirming_came_to(value)
        return value, _OUTCOME[effect]

    async def _in_transaction(self, state: CallState, *, held: bool) -> CapabilityResult:
        """Performs and records in one transaction.

        When the connection breaks it is not known whether the commit happened, so the
        next try looks for the record first.
        """
        in_doubt = False
        while True:
            try:
                inside = WorkspaceDatabase(self.database, state.ask.actor.workspace_id)
                async with inside.transaction() as tx:
                    if state.ask.run is not None:
                        await check_fence(tx, state.ask)
                        await hold_pass(tx, state.ask)
                    before = await self.keeping.before(tx, state.ask) if in_doubt else None
                    if before is not None:
                        return replay_recorded_result(state, before)
                    return await self._recorded(state, tx, held=held)
            except BaseException as error:
                state.booked = False
                if not isinstance(error, Exception) or not is_lost_connection(error):
                    raise
                in_doubt = True
                await self.database.recover()

    async def _recorded(self, state: CallState, tx: Transaction, *, held: bool) -> CapabilityResult:
        if held:
            draft = await hold_call(
                tx,
                state.ask,
                state.capability,
                state.shown,
                self.clock.now(),
                self.lifetimes,
                state.connection,
            )
            value, outcome = state.noted(draft.as_value()), "held"
        else:
            value, outcome = await self._perform(state, tx)
        await self._book(state, tx)
        kept = mask_result(value, state.capability)
        record = self._record(state, outcome, None, value, result=kept)
        await self.keeping.write(tx, state.ask, record)
        return CapabilityResult(value=value, outcome=outcome, at=record.at, cost=state.cost)

    def _done(self, state: CallState, value: Any, outcome: str) -> CapabilityResult:
        record = self._record(state, outcome, None, value)
        return CapabilityResult(
            value=value, outcome=outcome, record=record, at=record.at, cost=state.cost
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
        state: CallState,
        outcome: str,
        error: Problem | None,
        value: Any = None,
        *,
        result: Any = None,
    ) -> CallRecord:
        touched = None
        if state.ask.run is None:
            touched = subject_of(state.capability, state.shown, value)
        return state.record(
            outcome,
            error,
            result=result,
            subject=state.ask.known.masked(touched),
            ms=round((self.clock.monotonic() - state.started) * 1000),
            at=self.clock.now(),
            most_bytes=self.limits.call_result_bytes,
        )


def _needs_agreement(state: CallState) -> bool:
    """A dry run of what nobody has agreed to uses no secret and no account."""
    ask = state.ask
    if ask.posture.agreed:
        return False
    return state.capability.uses_accounts or has_secret(dict(ask.arguments))


def _hides(capability: Capability) -> bool:
    return bool(capability.annotations.hidden_arguments)
