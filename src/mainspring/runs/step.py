"""One step: when → render → validate → perform → check, with retries around perform.

The functions here decide and compute; effects on the run go through the ``RunExecution`` that owns
it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import types
from collections import Counter, defaultdict, deque
from collections.abc import Coroutine, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, Protocol, TypeVar

from mainspring.actions.call import call_directly
from mainspring.contracts.agent import AGENT_RUN
from mainspring.contracts.clock import Clock
from mainspring.contracts.context import Actor, CallResult, OutputStream, RunRef, StepStart
from mainspring.contracts.errors import (
    Conflict,
    DeadlineExceeded,
    Finding,
    InternalError,
    Invalid,
    LimitExceeded,
    Problem,
    problem_from_dict,
)
from mainspring.contracts.grant import Grant
from mainspring.contracts.model import Usage
from mainspring.contracts.outcome import Done, NothingToDo, WaitUntil
from mainspring.contracts.secret import ScriptSecrets
from mainspring.definition.program import CompiledStep
from mainspring.definition.strict_json import check_value, dumps
from mainspring.definition.templates import TemplateScope
from mainspring.definition.validate.approval_modes import SENT
from mainspring.gate.call_records import Journal, RecordedCall
from mainspring.gate.capability_call import (
    LEASE_LOST,
    CapabilityCall,
    CapabilityResult,
    HoldTerms,
    show_secret_names,
)
from mainspring.gate.draft_resolution import DraftResolution
from mainspring.gate.policy import RunPolicy
from mainspring.gate.rehearsal_recording import RehearsalRecording
from mainspring.gate.run_budget import RunBudget
from mainspring.gate.run_tokens import FIRST_NUMBER
from mainspring.gate.usage_report import UsageReporter
from mainspring.runs.engine import Engine
from mainspring.runs.output import StepOutputChunk
from mainspring.runs.rows import ClaimedRun, EffectTally, RunCommit, RunJournal
from mainspring.store.database_errors import log_and_convert_error
from mainspring.workspace.redaction import RunSecretMasker

# A timeout that costs nothing when the work does not wait.

Found = TypeVar("Found")


async def in_time(work: Coroutine[Any, Any, Found], seconds: float | None) -> Found:
    """The result of the work; ``TimeoutError`` when it is still waiting after the time limit."""
    loop = asyncio.get_running_loop()
    ends = None if seconds is None else loop.time() + seconds
    try:
        waits_for = work.send(None)
    except StopIteration as done:
        found: Found = done.value
        return found
    async with asyncio.timeout_at(ends):
        return await _continue_coroutine(work, waits_for)


@types.coroutine
def _continue_coroutine(
    work: Coroutine[Any, Any, Found], waits_for: Any
) -> Generator[Any, Any, Found]:
    """Continue a coroutine that was started: it waits for the future that it yielded."""
    try:
        while True:
            try:
                heard = yield waits_for
            except GeneratorExit:
                work.close()
                raise
            except BaseException as error:
                waits_for = work.throw(error)
            else:
                waits_for = work.send(heard)
    except StopIteration as done:
        found: Found = done.value
        return found


# The recorded calls of earlier attempts of a step, each replayed once.

_CHANGED = frozenset({"kept", "sent", "held", "confirmed"})


@dataclass(slots=True)
class StepReplay:
    """The record of one step, from which each result is taken once."""

    answers: defaultdict[tuple[str, bytes], deque[RecordedCall]] = field(
        default_factory=lambda: defaultdict(deque)
    )
    # Call numbers that are used in this attempt.
    numbers: set[int] = field(default_factory=set)
    # How many recorded calls with an effect have not been requested again.
    changes: int = 0
    # How often each call has been requested in this attempt.
    asked: Counter[tuple[str, bytes]] = field(default_factory=Counter)
    # A script that is replayed reaches its next call at once.
    patience: float = 2.0
    _caught_up: asyncio.Event = field(default_factory=asyncio.Event)

    def name(self, capability: str, digest: bytes) -> str:
        """The name of a call: the same in every attempt, in any order of calls."""
        self.asked[capability, digest] += 1
        words = hashlib.blake2b(capability.encode() + b"\0" + digest, digest_size=8).hexdigest()
        return f"{words}-{self.asked[capability, digest]}"

    def take(self, capability: str, digest: bytes) -> RecordedCall | None:
        """The recorded result of this call, if there is one."""
        left = self.answers.get((capability, digest))
        if not left:
            return None
        found = left.popleft()
        self.changes -= found.outcome in _CHANGED
        if self.changes <= 0:
            self._caught_up.set()
        return found

    def number(self, wanted: int) -> int:
        """A number for a new call: its position, unless that is used."""
        while wanted in self.numbers:
            wanted += 1
        self.numbers.add(wanted)
        return wanted

    async def check_same(self, capability: str) -> None:
        """Refuse an effect of a script that does not repeat its earlier calls.

        It has changed something in an earlier attempt and has not reached that place again: the new
        call may be the same effect expressed differently, and would be done twice. Concurrent calls
        are repeated concurrently, so wait briefly for the others.
        """
        if self.changes > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.patience):
                    await self._caught_up.wait()
        if self.changes > 0:
            raise InternalError(
                f"After an interruption, the script called {capability} with different "
                "arguments, so Mainspring cannot tell whether the call was already "
                "made.",
                code="call_mismatch",
                retryable=False,
                suggestion=(
                    "Make the script depend only on its input and on the results of its calls."
                ),
            )


def recall(calls: Journal, run: RunRef, last: int) -> StepReplay:
    """The record for one attempt of a step; calls that failed earlier are made again."""
    made = StepReplay()
    places = sorted(place for place in calls if _is_of(place, run) and place[3] <= last)
    for place in places:
        call = calls[place]
        if place[2] == run.attempt:
            made.numbers.add(place[3])
        elif call.error is not None:
            continue
        made.answers[call.capability, call.arguments_hash].append(call)
        made.changes += call.outcome in _CHANGED
    return made


def _is_of(place: tuple[str, str, int, int], run: RunRef) -> bool:
    return place[0] == run.step and place[1] == run.item and place[2] <= run.attempt


# Exceptions that take a run off its worker, or end it, from inside a step.


class Sleep(BaseException):
    """The run has nothing to do until a time."""

    def __init__(self, until: datetime) -> None:
        super().__init__(until)
        self.until = until


class ReturnToQueue(BaseException):
    """The worker is stopping: the run goes back to the queue between two steps."""


class RunTooLarge(BaseException):
    """The run exceeds its size limit; no step can catch this."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


class StepFailed(Exception):
    """A step has failed permanently."""

    def __init__(self, step: str, problem: Problem) -> None:
        super().__init__(step)
        self.step = step
        self.problem = problem


class DraftWait(BaseException):
    """A write of a step is held, and the run waits for the decision."""

    def __init__(self, until: datetime) -> None:
        super().__init__(until)
        self.until = until


class HeldCallInterrupt(BaseException):
    """The call of a waiting step was held: the step continues once the draft is answered."""

    def __init__(self, draft: Mapping[str, Any]) -> None:
        super().__init__(draft["draft_id"])
        self.draft = draft


# Calls with the run's token are numbered from here on.
MOST_CALLS: Final = FIRST_NUMBER - 1
_NO_SECRETS: Final = ScriptSecrets()
# The outcomes of a write that was sent, or simulated.
_LEFT: Final = frozenset({"sent", "kept", "pretended", "recorded"})


class LeaseLost(BaseException):
    """Another worker owns the run now; nothing more may be done or written."""


class ExecutionContext(Protocol):
    """What an attempt of a step needs of its execution."""

    engine: Engine
    run: ClaimedRun
    journal: RunJournal
    unit: RunCommit
    tally: EffectTally
    policy: RunPolicy
    budget: RunBudget
    known: RunSecretMasker
    memory: RehearsalRecording | None

    async def keep_calls(self) -> None: ...

    async def keep(self, unit: RunCommit) -> None: ...

    async def walk_item(
        self, steps: Sequence[CompiledStep], scope: TemplateScope, item: str
    ) -> Mapping[str, Any]: ...


@dataclass(slots=True)
class StepAttempt:
    """One attempt of a step; the ``StepContext`` of its handler."""

    execution: ExecutionContext
    step: CompiledStep
    scope: TemplateScope
    actor: Actor
    run: RunRef
    calls: int = 0
    pieces: int = 0
    reports: int = 0
    begun: StepStart | None = None
    # Whether it has run an agent, whose calls are recorded separately.
    agents: bool = False
    # The result of its held write, for a step that continues after an approval.
    held_result: DraftResolution | None = None
    # When to check the first of the drafts again that its items wait for.
    look_again: datetime | None = None
    # The record of earlier attempts; loaded with the first call.
    recalled: asyncio.Future[StepReplay] | None = None

    @property
    def facts(self) -> Mapping[str, Any]:
        return self.scope.names

    @property
    def grants(self) -> tuple[Grant, ...]:
        return self.execution.policy.grants

    @property
    def clock(self) -> Clock:
        return self.execution.engine.clock

    @property
    def key(self) -> str:
        item = f"/{self.run.item}" if self.run.item else ""
        return f"{self.run.id}/{self.run.step}{item}"

    async def call(self, capability: str, arguments: Mapping[str, Any]) -> Any:
        """Call through the gate; the record of the call is committed with the step."""
        self.calls += 1
        execution, hold = self.execution, self.step.hold
        if self.held_result is not None and self.calls == 1:
            return add_sent_arguments(self.held_result.result, self.held_result.sent)
        place = (self.run.step, self.run.item, self.run.attempt, self.calls)
        ask = CapabilityCall(
            capability,
            arguments,
            self.actor,
            self.run,
            self.calls,
            execution.policy,
            execution.budget,
            execution.run.fence,
            execution.journal.calls.get(place),
            known=execution.known,
            say=self._tell,
            memory=execution.memory,
            terms=self._terms(),
        )
        answer = await self._asked(ask)
        if answer.error is not None:
            raise answer.error
        if answer.outcome == "held" and hold.waits:
            raise HeldCallInterrupt(answer.value)
        sent = hold.reads_sent and answer.outcome in _LEFT
        return (
            add_sent_arguments(answer.value, show_secret_names(arguments)) if sent else answer.value
        )

    def _terms(self) -> HoldTerms:
        """The step's settings for a held write."""
        step = self.step
        if not step.hold.waits:
            return HoldTerms(seconds=step.hold_seconds)
        return HoldTerms(True, step.hold_seconds, step.max_retries)

    async def called(
        self,
        capability: str,
        arguments: Mapping[str, Any],
        *,
        secrets: ScriptSecrets = _NO_SECRETS,
    ) -> CallResult:
        """Like ``call`` for a script that may be restarted: its earlier calls are answered from the
        record, and their results are durable before it changes anything.
        """
        self.calls += 1
        turn, execution = self.calls, self.execution
        gate, recalled = execution.engine.gate, await self._recall()
        space = execution.run.workspace_id
        digest = await gate.hash_of(space, capability, arguments, secrets)
        name, before = recalled.name(capability, digest), recalled.take(capability, digest)
        if before is not None:
            problem = None if before.error is None else problem_from_dict(before.error)
            assert before.at is not None
            return CallResult(before.at, before.result, problem)
        number = recalled.number(turn)
        if number > MOST_CALLS:
            raise LimitExceeded(
                f"One attempt of a step may make at most {MOST_CALLS} calls.",
                code="too_many_calls",
                retryable=False,
            )
        changes = await gate.changes(space, capability)
        if changes:
            await recalled.check_same(capability)
            await execution.keep_calls()
        answer = await self._asked(
            CapabilityCall(
                capability,
                arguments,
                self.actor,
                self.run,
                number,
                execution.policy,
                execution.budget,
                execution.run.fence,
                known=execution.known,
                spelt=secrets,
                name=name,
                say=self._tell,
                memory=execution.memory,
            )
        )
        if answer.record is not None and (changes or answer.record.cost):
            # What was sent or paid for is recorded before the script can continue.
            await execution.keep_calls()
        return CallResult(answer.at or self.clock.now(), answer.value, answer.error)

    async def _tell(self, text: str) -> None:
        await self.say("agent", text)

    async def _asked(self, ask: CapabilityCall) -> CapabilityResult:
        execution = self.execution
        self.agents = self.agents or ask.capability == AGENT_RUN
        answer = await execution.engine.gate.call(ask)
        if answer.record is not None:
            # The result of a step that is one call is stored once, as the step's output.
            direct = self.step.capability is not None
            record = answer.record if direct else replace(answer.record, result=answer.value)
            execution.unit.calls.append(record)
        if ask.recorded is None:
            execution.tally.count(answer.outcome)
        if answer.error is not None and answer.error.code == LEASE_LOST:
            raise LeaseLost
        return answer

    async def _recall(self) -> StepReplay:
        """Loaded once for concurrent calls."""
        if self.recalled is None:
            self.recalled = asyncio.ensure_future(self._looked_up())
        return await asyncio.shield(self.recalled)

    async def _looked_up(self) -> StepReplay:
        run, execution = self.execution.run, self.execution
        if self.run.attempt == 1 and not run.resumed:
            return StepReplay()
        calls = await execution.engine.gate.calls_of(run.workspace_id, run.id)
        return recall(calls, self.run, MOST_CALLS)

    async def say(self, stream: OutputStream, text: str, *, last: bool = False) -> None:
        """Record a chunk of the step's output, with secrets masked."""
        self.pieces += 1
        execution = self.execution
        shown = execution.known.masked(text).replace("\x00", "\ufffd")
        piece = StepOutputChunk(self.run, self.pieces, stream, shown)
        if last:
            execution.unit.output.append(piece)
        else:
            await execution.keep(RunCommit(execution.run, output=[piece]))

    async def report_usage(
        self, model: str, input_tokens: int, output_tokens: int, cost_usd: Decimal
    ) -> Problem | None:
        """Record the usage of a script's own model, in order."""
        self.reports += 1
        execution = self.execution
        if execution.memory is not None and execution.memory.then is not None:
            # A replayed call was paid for when it was recorded, and so was the usage reported for
            # it.
            return None
        by = UsageReporter(self.actor.workspace_id, self.run, execution.budget, self.reports)
        named = execution.known.masked(model)
        usage = Usage(named, input_tokens, output_tokens, cost_usd, reported=True)
        return await execution.engine.gate.report_usage(by, usage)

    async def used_up(self, *, look: bool = False) -> Problem | None:
        """The cap of the run that has been reached, if any."""
        execution, budget = self.execution, self.execution.budget
        if look:
            budget = await execution.engine.gate.looked_up(
                execution.run.workspace_id, self.run, budget
            )
        return budget.used_up()

    async def start(self) -> StepStart:
        """The token of this attempt; a second call returns the same one."""
        if self.begun is None:
            execution = self.execution
            try:
                self.begun = await execution.engine.gate.start(
                    execution.run.workspace_id, self.run, execution.run.fence
                )
            except Conflict:
                raise LeaseLost from None
        return self.begun

    async def over(self) -> None:
        """Revoke the token of this attempt, if it has one, and count the calls made with it."""
        if self.begun is None and not self.agents:
            return
        execution = self.execution
        gate, space = execution.engine.gate, execution.run.workspace_id
        made: Sequence[tuple[int, str, Decimal]] = ()
        if self.begun is not None:
            made = await gate.end_token(space, self.run, self.begun.token)
        if self.agents:
            made = await gate.list_other_calls(space, self.run)
        for number, outcome, cost in made:
            # What an earlier owner did in this attempt was counted at the takeover.
            place = (self.run.step, self.run.item, self.run.attempt, number)
            if place not in execution.journal.calls:
                execution.tally.count(outcome)
                execution.budget.settle(Decimal(0), cost)
        if any(cost for _, _, cost in made):
            known = await gate.looked_up(space, self.run, execution.budget)
            execution.budget.tokens = known.tokens

    async def walk(self, *, item: int, names: Mapping[str, Any]) -> Mapping[str, Any]:
        """Nested steps for one item; a failure in there has used up its own attempts."""
        path = f"{self.run.item}.{item}" if self.run.item else str(item)
        try:
            return await self.execution.walk_item(self.step.nested, self.scope.push(names), path)
        except DraftWait as wait:
            # The next items are drafted meanwhile, so that a person sees all of them at once.
            self.look_again = min(self.look_again or wait.until, wait.until)
            return {}
        except Problem as problem:
            problem.retryable = False
            raise


def add_sent_arguments(value: Any, sent: Mapping[str, Any] | None) -> Any:
    """The result of a write together with its arguments as sent."""
    if not isinstance(value, Mapping) or SENT in value or sent is None:
        return value
    return {**value, SENT: dict(sent)}


def is_condition_met(step: CompiledStep, context: Mapping[str, Any]) -> bool:
    """Whether the step's condition is true."""
    return step.when is None or step.when.test(context)


def render_config(step: CompiledStep, context: Mapping[str, Any]) -> Any:
    """The rendered config of the step, validated by the action's schema."""
    config = step.config.render(context)
    if step.config.part is None:
        return config
    findings = step.config_validator.findings(show_secret_names(config), "")
    if findings:
        raise Invalid(
            f"The config of step {step.step_id!r} is invalid after its templates are "
            f"rendered: {findings[0].detail}",
            code="config_invalid",
            findings=findings,
        )
    return config


async def _call_handler(attempt: StepAttempt, config: Any) -> Any:
    """The only place that calls an action's handler."""
    step = attempt.step
    if step.action is None:
        assert step.capability is not None
        return await call_directly(attempt, step.capability.id, config)
    return await step.action.handler(attempt, config)


async def perform_step(attempt: StepAttempt, config: Any, seconds: float | None) -> Any:
    """One attempt, stopped at its time limit."""
    step = attempt.step
    try:
        return await in_time(_call_handler(attempt, config), seconds)
    except Problem:
        raise
    except TimeoutError:
        raise DeadlineExceeded(
            f"Step {step.step_id!r} exceeded its timeout of {seconds:g} seconds and was stopped.",
            code="step_timeout",
        ) from None
    except Exception as error:
        raise log_and_convert_error(error) from error


def check_output(attempt: StepAttempt, returned: Any) -> tuple[Any, str | None]:
    """The step's value and its JSON text, if it may be stored."""
    if isinstance(returned, WaitUntil):
        return returned, None
    nothing = isinstance(returned, NothingToDo)
    if isinstance(returned, NothingToDo):
        returned = returned.as_value()
    value = returned.value if isinstance(returned, Done) else returned
    value = attempt.execution.known.masked(value)
    step, limits = attempt.step, attempt.execution.engine.limits
    if step.action is not None:
        # The gate validates a capability's result; an action's is validated here.
        check_value(value, limits)
        judge = step.output_validator
        # Nothing to do is not a result, so the output schema does not apply.
        findings = [] if judge is None or nothing else judge.findings(value, "")
        if findings:
            raise _unfit(step, findings)
    text = dumps(value)
    size = 0 if text is None else len(text) if text.isascii() else len(text.encode())
    if size > limits.step_output_bytes:
        raise Invalid(
            f"The output of step {step.step_id!r} is {size} bytes; the maximum is "
            f"{limits.step_output_bytes}.",
            code="output_too_large",
        )
    return value, text


def _unfit(step: CompiledStep, findings: Sequence[Finding]) -> Problem:
    """The output of a step does not match the schema of the step or its action."""
    if step.action is not None and step.action.output_schema is None:
        return Invalid(
            f"The output of step {step.step_id!r} does not match its output_schema: "
            f"{findings[0].detail}",
            code="output_invalid",
            findings=findings,
            suggestion="Return what output_schema describes, or change output_schema.",
        )
    return InternalError(
        f"The output of step {step.step_id!r} does not match what its action declares: "
        f"{findings[0].detail}",
        code="output_invalid",
        findings=findings,
    )
