"""Executes a run: walks the plan and records each step before the next begins.

An execution belongs to one claim of one run. It collects the rows to commit in a ``RunCommit``,
which is committed before a step begins and together with the run's end, so a step costs one commit
and the last one shares it with the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Literal, NoReturn
from uuid import UUID

from mainspring.contracts.context import Actor, RunRef
from mainspring.contracts.errors import DeadlineExceeded, LimitExceeded, Problem, problem_from_dict
from mainspring.contracts.log_context import STEP
from mainspring.contracts.outcome import WaitUntil
from mainspring.definition.forms import FORM
from mainspring.definition.program import CompiledStep
from mainspring.definition.templates import RunFacts, RunFailure, TemplateScope, build_run_context
from mainspring.gate.draft_resolution import DraftResolution, is_draft
from mainspring.gate.policy import RunPolicy
from mainspring.gate.rehearsal_recording import RehearsalRecording, RehearsedStep, limit_to_day_cap
from mainspring.gate.run_budget import RunBudget, StepBudget
from mainspring.runs.engine import Engine, LoadedVersion
from mainspring.runs.rows import (
    ITEMS_FAILED,
    ClaimedRun,
    EffectTally,
    Kind,
    RecordedStep,
    RunCommit,
    RunEnd,
    RunEvent,
    RunJournal,
    RunStatus,
    StepRow,
    StepStatus,
    classify_failure,
    ignore_event,
    outcome_of_finished_run,
)
from mainspring.runs.run_requests import CostAllowance
from mainspring.runs.step import (
    DraftWait,
    HeldCallInterrupt,
    LeaseLost,
    ReturnToQueue,
    RunTooLarge,
    Sleep,
    StepAttempt,
    StepFailed,
    check_output,
    is_condition_met,
    perform_step,
    render_config,
)
from mainspring.store.database_errors import log_and_convert_error
from mainspring.workspace.redaction import RunSecretMasker

# What the templates of a run see.


def run_facts(
    run: ClaimedRun, version: LoadedVersion, memory: RehearsalRecording | None = None
) -> RunFacts:
    """The fixed namespace ``run.*`` of a claimed run.

    A rehearsal sees the values of the run it rehearses: its id, start time and trigger, so that
    whatever a plan derives from these is the same.
    """
    facts = RunFacts(
        id=run.id,
        started_at=run.started_at,
        automation_id=run.automation_id,
        automation_name=version.name,
        automation_version=run.version,
        trigger_type=run.trigger_type,
        trigger_id=run.trigger_id,
        workspace_id=run.workspace_id,
        creator_id=version.created_by,
        attempt=run.attempt,
    )
    then = None if memory is None else memory.then
    if then is None:
        return facts
    return replace(
        facts,
        id=then.run_id,
        started_at=then.started_at or run.started_at,
        trigger_type=then.trigger_type,
        trigger_id=then.trigger_id,
    )


# Retry policy: a pure function of the problem and the attempt.

Backoff = Literal["none", "linear", "exponential"]
FIRST_PAUSE = 1.0
SPREAD = 0.2


def may_retry(problem: Problem, attempt: int, max_retries: int) -> bool:
    """True while attempts are left and another one could succeed."""
    return problem.retryable and attempt <= max_retries


def pause_before(
    attempt: int, backoff: Backoff, *, retry_after: float | None, chance: float, most: float
) -> float:
    """The backoff in seconds after failed attempt number ``attempt``; ``chance`` is in [0, 1)."""
    if backoff == "none":
        growing = 0.0
    elif backoff == "linear":
        growing = FIRST_PAUSE * attempt
    else:
        growing = FIRST_PAUSE * float(2 ** (attempt - 1))
    spread = growing * (1 - SPREAD + 2 * SPREAD * chance)
    return min(max(spread, retry_after or 0.0), most)


Interrupt = Literal["cancel", "hand_back", "lost"]
# A longer pause releases the worker: the run waits in the table instead.
LONGEST_NAP = 5.0
# The time for on_failure when the plan has used up the run's time.
_LAST_WORDS = 60.0


class RunExecution:
    """One run, from its claim until it leaves this worker."""

    def __init__(
        self,
        engine: Engine,
        run: ClaimedRun,
        version: LoadedVersion,
        journal: RunJournal,
        known: RunSecretMasker | None = None,
        memory: RehearsalRecording | None = None,
    ) -> None:
        self.engine = engine
        self.run = run
        self.version = version
        self.journal = journal
        self.unit = RunCommit(run, automation=version.name)
        self.tally = EffectTally()
        self.interrupt: Interrupt | None = None
        # Set when the worker stops: the current step may finish, no other begins.
        self.stopping = False
        # Whether the worker's lease is still valid.
        self.holds: Callable[[], bool] = lambda: True
        execution = version.program.execution
        if memory is not None:
            execution = limit_to_day_cap(execution, memory.day_cap)
        self._bounds = execution
        self.policy = RunPolicy(
            version.grants,
            execution.write_policy,
            run.mode,
            version.created_by,
            execution.model,
            approvals=version.program.approvals,
        )
        self.budget = RunBudget(
            Decimal(execution.budget_cap_usd),
            run.cost_usd,
            day_cap=Decimal(execution.cost_cap_daily_usd),
            token_cap=execution.max_llm_tokens,
        )
        # The secrets that its calls have used; they are masked in everything stored about the run.
        self.known = known or RunSecretMasker()
        # The record of the run that it rehearses; None when it is not a rehearsal.
        self.memory = memory
        self._actor = Actor(run.workspace_id, "run", run.id)
        self._began = engine.clock.monotonic()
        self._deadline = self._began + execution.timeout_seconds - run.active_ms / 1000
        self._output: Any = None
        self._on_trial = False
        # Set when the run leaves its worker to wait.
        self.asleep = False
        # Whether the plan has ended and on_failure is running.
        self._after = False
        self._remember()

    def _remember(self) -> None:
        """Count the effects of earlier owners of the run; their call records are authoritative."""
        calls = self.journal.calls.values()
        for call in calls:
            self.tally.count(call.outcome)
        used = self.journal.used
        recorded = sum((call.cost for call in calls), used.reported)
        self.budget.spent = max(self.run.cost_usd, recorded, used.settled)
        self.budget.tokens = used.tokens

    async def go(self) -> None:
        """Run until the end, a wait or a return to the queue; never raises."""
        self._tell("run_resumed" if self.run.resumed else "run_started", detail=self)
        try:
            await self._end(await self._run_plan())
        except (Sleep, DraftWait) as sleep:
            await self._leave("waiting", due_at=sleep.until)
        except ReturnToQueue:
            await self._leave("pending", due_at=self.engine.clock.now())
        except RunTooLarge as overrun:
            await self._end(self._broken(overrun.problem))
        except LeaseLost:
            self._tell("run_ended", status="lost")
        except asyncio.CancelledError:
            await self._interrupted()
        except Exception as error:
            await self._end(self._broken(log_and_convert_error(error)))

    async def _interrupted(self) -> None:
        if self.interrupt == "cancel":
            await self._end(self._ending("cancelled", "cancelled", "failed"))
        elif self.interrupt == "hand_back":
            await self._leave("pending", due_at=self.engine.clock.now())
        else:
            self._tell("run_ended", status="lost")

    async def _run_plan(self) -> RunEnd:
        if self.run.cancelled:
            return self._ending("cancelled", "cancelled", "failed")
        refused = await self._find_exhausted_budget()
        if refused is not None:
            return refused
        shut = await self._find_missing_account()
        if shut is not None:
            return self._broken(shut)
        facts = run_facts(self.run, self.version, self.memory)
        scope = build_run_context(facts, inputs=self.run.inputs, trigger=self.run.payload)
        try:
            await self._walk(self.version.program.steps, scope, "")
        except StepFailed as failed:
            return await self._after_failure(scope, failed)
        reason = ITEMS_FAILED if self.tally.failed_items else None
        return self._ending(
            "succeeded", reason, outcome_of_finished_run(self.tally), output=self._output
        )

    async def _find_exhausted_budget(self) -> RunEnd | None:
        """The daily budget may have been spent while the run was queued; it does not start then."""
        begun = self.journal.steps or self.journal.calls
        # A rehearsal has no lane: all its runs may have been accepted at once.
        if begun or not (self.version.may_cost or self.memory is not None):
            return None
        run = self.run
        spent, all_of_it = await self.engine.gate.day_spent(run.workspace_id, run.automation_id)
        refusal = CostAllowance(spent, space_spent=all_of_it).refusal(self._bounds)
        if refusal is None or refusal.problem is None:
            return None
        return self._ending(
            "skipped", refusal.reason, refusal.outcome, error=refusal.problem.as_dict()
        )

    async def _find_missing_account(self) -> Problem | None:
        """A required account needs to be reconnected: nothing is started then."""
        begun = self.journal.steps or self.journal.calls
        if not self.version.accounts or begun or self.memory is not None:
            return None
        return await self.engine.gate.shut_out(
            self.run.workspace_id, self.version.created_by, self.version.accounts
        )

    async def _after_failure(self, scope: TemplateScope, failed: StepFailed) -> RunEnd:
        """Run on_failure; a failure in there is recorded in addition to the first."""
        self._deadline = max(self._deadline, self.engine.clock.monotonic() + _LAST_WORDS)
        facts = replace(
            run_facts(self.run, self.version, self.memory),
            failure=RunFailure(failed.step, failed.problem.as_dict()),
        )
        told = build_run_context(
            facts, inputs=self.run.inputs, trigger=self.run.payload, steps=scope.names["steps"]
        )
        end = self._broken(failed.problem)
        assert end.error is not None
        end.error["failed_step_id"] = failed.step
        try:
            self._after = True
            self.budget.part()
            await self._walk(self.version.program.on_failure, told, "")
        except StepFailed as second:
            end.error["on_failure"] = {"step": second.step, **second.problem.as_dict()}
        return self._add_failure_counts(end)

    async def _walk(
        self, steps: Sequence[CompiledStep], scope: TemplateScope, item: str
    ) -> dict[str, Any]:
        """Run steps in order; returns the outputs of those that ran, by name."""
        outputs: dict[str, Any] = {}
        for step in steps:
            done, value = await self._step(step, scope, item)
            if done:
                scope.add(step.output_name, value, step.step_id)
                outputs[step.output_name] = value
                self._output = value
        return outputs

    async def walk_item(
        self, steps: Sequence[CompiledStep], scope: TemplateScope, item: str
    ) -> dict[str, Any]:
        """Nested steps of one item; their failure is the failure of the enclosing step."""
        try:
            return await self._walk(steps, scope, item)
        except StepFailed as failed:
            raise failed.problem from None

    async def _step(self, step: CompiledStep, scope: TemplateScope, item: str) -> tuple[bool, Any]:
        before = self.journal.steps.get((step.step_id, item))
        if self._after and before is not None and before.run_attempt != self.run.attempt:
            before = RecordedStep("failed", before.attempt, before.run_attempt)
        if before is not None:
            settled = await self._settled(step, scope, item, before)
            if settled is not None:
                return settled
        try:
            if not is_condition_met(step, scope.names):
                self._record(step, item, _next(before), "skipped")
                await self._yield_control()
                return False, None
        except Problem as problem:
            self._fail(step, item, _next(before), 0, problem)
        if step.budget_cap_usd is None:
            return True, await self._attempts(step, scope, item, before)
        async with self._apply_step_cap(step, step.budget_cap_usd):
            return True, await self._attempts(step, scope, item, before)

    @asynccontextmanager
    async def _apply_step_cap(self, step: CompiledStep, cap: Decimal) -> AsyncIterator[None]:
        """The step's own cap applies to all of its attempts."""
        self.budget.bounds.append(StepBudget(step.step_id, cap, step.covers))
        try:
            await self._refresh_step_budgets(step, "")
            yield
        finally:
            self.budget.bounds.pop()

    async def _refresh_step_budgets(self, step: CompiledStep, item: str) -> None:
        """What the current steps have spent according to the ledger, including other processes."""
        if self.budget.spent and self.budget.bounds:
            run = self.run
            ref = RunRef(run.id, run.automation_id, step.step_id, item, 1)
            known = await self.engine.gate.looked_up(run.workspace_id, ref, self.budget)
            self.budget.bounds[:] = known.bounds

    async def _settled(
        self, step: CompiledStep, scope: TemplateScope, item: str, before: RecordedStep
    ) -> tuple[bool, Any] | None:
        """What the record already says about a step; None when it has to be executed."""
        if before.status == "succeeded":
            self.tally.answers += _answers(step, before.output)
            self.tally.failed_items += _count_failed_items(step, before.output)
            self._count_answered(step, item, before.attempt, "confirmed")
            return True, before.output
        if before.status == "skipped":
            return False, None
        if before.status == "failed" and before.run_attempt == self.run.attempt:
            self._count_answered(step, item, before.attempt, "discarded")
            raise StepFailed(step.step_id, problem_from_dict(before.error or {}))
        if before.status == "waiting":
            assert before.until is not None
            if is_draft(before.output):
                return await self._resolve_held_write(step, scope, item, before)
            if step.action is not None and step.action.asks:
                return True, await self._answered(step, item, before)
            if before.until > self.engine.clock.now():
                raise Sleep(before.until)
            self._succeed(step, item, before.attempt, 0, before.output)
            return True, before.output
        return None

    async def _answered(self, step: CompiledStep, item: str, before: RecordedStep) -> Any:
        """The result of a question; the run sleeps while it is unanswered."""
        run = self.run
        try:
            came = await self.engine.answers(
                run.workspace_id, run.id, step.step_id, item, self.engine.clock.now()
            )
        except Problem as problem:
            self._fail(step, item, before.attempt, 0, problem)
        if came.until is not None:
            raise Sleep(came.until)
        self._succeed(step, item, before.attempt, 0, came.value)
        return came.value

    async def _resolve_held_write(
        self, step: CompiledStep, scope: TemplateScope, item: str, before: RecordedStep
    ) -> tuple[bool, Any] | None:
        """The result of a held write; the run waits while it is undecided."""
        draft_id = UUID(before.output["draft_id"])
        came = await self.engine.gate.came_of(self.run.workspace_id, draft_id)
        if came.until is not None:
            raise DraftWait(came.until)
        if came.problem is not None:
            if before.run_attempt != self.run.attempt:
                # A person retried the run: the write is held again.
                return None
            self._count_answered(step, item, before.attempt, "discarded")
            self._fail(step, item, before.attempt, 0, came.problem)
        began = self.engine.clock.monotonic()
        try:
            value = await self._try(step, scope, item, before.attempt, began, came)
        except Exception as error:
            problem = self.known.hide_in(log_and_convert_error(error))
            self._fail(step, item, before.attempt, self._since(began), problem)
        self._count_answered(step, item, before.attempt, "confirmed")
        return True, value

    def _count_answered(self, step: CompiledStep, item: str, attempt: int, came_to: str) -> None:
        """A decided write is not a draft any more, whatever its call record says."""
        call = self.journal.calls.get((step.step_id, item, attempt, 1))
        if step.hold.waits and call is not None and call.outcome == "held":
            self.tally.count(came_to)

    async def _attempts(
        self, step: CompiledStep, scope: TemplateScope, item: str, before: RecordedStep | None
    ) -> Any:
        attempt = _next(before)
        # A retried run starts with a full set of attempts.
        earlier = before.attempt if before and before.run_attempt != self.run.attempt else 0
        while True:
            await self._ready()
            began = self.engine.clock.monotonic()
            STEP.set(step.step_id)
            self._tell("step_started", step, item, attempt=attempt)
            try:
                self._check_budget()
                return await self._try(step, scope, item, attempt, began)
            except Exception as error:
                ms = self._since(began)
                problem = self.known.hide_in(self._out_of_time(log_and_convert_error(error)))
                if not may_retry(problem, attempt - earlier, step.max_retries):
                    self._fail(step, item, attempt, ms, problem)
                await self._pause(step, item, attempt, ms, problem)
            attempt += 1

    def _check_budget(self) -> None:
        """No step begins once the budget or the token limit is used up; on_failure is exempt."""
        self.budget.reserve()
        gone = None if self._after else self.budget.find_crossed_cap()
        if gone is not None:
            raise gone

    async def _try(
        self,
        step: CompiledStep,
        scope: TemplateScope,
        item: str,
        number: int,
        began: float,
        came: DraftResolution | None = None,
    ) -> Any:
        ref = RunRef(self.run.id, self.run.automation_id, step.step_id, item, number)
        attempt = StepAttempt(self, step, scope, self._actor, ref, held_result=came)
        config = render_config(step, scope.names)
        try:
            returned = await perform_step(attempt, config, self._seconds(step))
        except HeldCallInterrupt as held:
            until = datetime.fromisoformat(held.draft["expires_at"])
            self._record(step, item, number, "waiting", output=held.draft, until=until)
            raise DraftWait(until) from None
        finally:
            await attempt.over()
        if attempt.look_again is not None:
            raise DraftWait(attempt.look_again)
        if attempt.begun is not None:
            await self._refresh_step_budgets(step, item)
        over = self.budget.step_crossed()
        if over is not None:
            raise over
        value, text = check_output(attempt, returned)
        then = self._recorded_answer(step, item, value)
        if then is not None:
            value, text = then.output, None
        if isinstance(value, WaitUntil):
            return await self._wait(step, item, number, value)
        self._succeed(step, item, number, self._since(began), value, text)
        return value

    def _recorded_answer(self, step: CompiledStep, item: str, value: Any) -> RehearsedStep | None:
        """The recorded answer in the rehearsed run; no one is asked again."""
        asks = step.action is not None and step.action.asks
        if self.memory is None or not (asks or (step.hold.waits and is_draft(value))):
            return None
        then = self.memory.steps.get((step.step_id, item))
        if then is not None and then.error is not None:
            problem = problem_from_dict(dict(then.error))
            problem.retryable = False
            raise problem
        return then

    async def _wait(self, step: CompiledStep, item: str, number: int, wait: WaitUntil) -> Any:
        if wait.until <= self.engine.clock.now() or self.memory is not None:
            self._succeed(step, item, number, 0, wait.value)
            return wait.value
        self._record(step, item, number, "waiting", output=wait.value, until=wait.until)
        raise Sleep(wait.until)

    async def _pause(
        self, step: CompiledStep, item: str, attempt: int, ms: int, problem: Problem
    ) -> None:
        """The backoff between two attempts: a short pause here, a long one in the table."""
        self._record(step, item, attempt, "retrying", ms, problem=problem)
        seconds = pause_before(
            attempt,
            step.backoff,
            retry_after=problem.retry_after,
            chance=self.engine.chance(),
            most=self.engine.limits.retry_seconds,
        )
        if seconds > LONGEST_NAP:
            raise Sleep(self.engine.clock.now() + timedelta(seconds=seconds))
        await self._commit()
        await asyncio.sleep(seconds)

    def _fail(
        self, step: CompiledStep, item: str, attempt: int, ms: int, problem: Problem
    ) -> NoReturn:
        self._record(step, item, attempt, "failed", ms, problem=problem)
        raise StepFailed(step.step_id, problem)

    def _succeed(
        self,
        step: CompiledStep,
        item: str,
        attempt: int,
        ms: int,
        value: Any,
        text: str | None = None,
    ) -> None:
        if _answers(step, value):
            self.tally.answers += 1
        self.tally.failed_items += _count_failed_items(step, value)
        self._record(step, item, attempt, "succeeded", ms, output=value, text=text)

    def _record(
        self,
        step: CompiledStep,
        item: str,
        attempt: int,
        status: StepStatus,
        ms: int = 0,
        *,
        output: Any = None,
        problem: Problem | None = None,
        until: datetime | None = None,
        text: str | None = None,
    ) -> None:
        """Add a row to the pending commit and the journal."""
        if len(self.journal.steps) > self.engine.limits.step_records:
            raise RunTooLarge(
                LimitExceeded(
                    f"The run has more than {self.engine.limits.step_records} step records.",
                    code="too_many_records",
                    retryable=False,
                )
            )
        error = None if problem is None else problem.as_dict()
        name, now = step.step_id, self.engine.clock.now()
        self.unit.steps.append(
            StepRow(name, item, attempt, status, ms, now, output, error, until, text)
        )
        self.journal.steps[name, item] = RecordedStep(
            status, attempt, self.run.attempt, output, error, until
        )
        if self.engine.watch is ignore_event:
            return
        kind: Kind = "step_retrying" if status == "retrying" else "step_finished"
        shown = output if problem is None else problem
        self.engine.watch(RunEvent(kind, self.run.id, name, item, status, attempt, ms, shown))

    async def _yield_control(self) -> None:
        """A long sequence of skipped steps yields to other runs, and respects the time limit."""
        await asyncio.sleep(0)
        if self.engine.clock.monotonic() > self._deadline:
            raise RunTooLarge(self._out_of_time(DeadlineExceeded("")))

    async def _ready(self) -> None:
        """Before a step begins: earlier rows are durable, and no stop was requested."""
        if self.run.takeovers and not self._on_trial:
            self._on_trial = self.unit.trial = True
        if self.unit.steps or self.unit.calls or self.unit.trial:
            await self._commit()
        if not self.holds():
            # Delayed longer than the lease: another worker may have done this step.
            raise LeaseLost
        if self.stopping:
            raise ReturnToQueue

    async def _commit(self) -> None:
        final = self.unit.end is not None
        point = "end" if final else "step" if self.unit.steps else "trial"
        self.engine.hook(f"{point}.before")
        writing = self.engine.writer.submit(self.unit)
        interrupted = False
        try:
            accepted = await asyncio.shield(writing)
        except asyncio.CancelledError:
            # The rows are being written: what follows must know the result.
            interrupted, accepted = True, await writing
        if not accepted:
            raise LeaseLost
        self.engine.hook(f"{point}.after")
        if self._may_answer():
            self.engine.announce(self.run.id)
        self.unit = RunCommit(self.run, automation=self.version.name)
        if interrupted and not final:
            raise asyncio.CancelledError

    def _may_answer(self) -> bool:
        """Whether the rows of this commit are what a waiting caller waits for."""
        program, run = self.version.program, self.run
        if run.trigger_type in ("webhook", FORM):
            if not program.awaited:
                return False
        elif run.trigger_type != "manual":
            return False
        answer_steps = program.answer_steps
        return self.unit.end is not None or any(one.step in answer_steps for one in self.unit.steps)

    async def keep_calls(self) -> None:
        """Make the calls of a step durable before it changes anything."""
        if self.unit.calls:
            # Concurrent calls go into the next commit.
            unit, self.unit = self.unit, RunCommit(self.run, automation=self.version.name)
            await self.keep(unit)

    async def keep(self, unit: RunCommit) -> None:
        """Write rows of a step that is still in progress."""
        if not await asyncio.shield(self.engine.writer.submit(unit)):
            raise LeaseLost

    async def _end(self, end: RunEnd) -> None:
        self.unit.end = end
        try:
            await self._commit()
        except LeaseLost:
            self._tell("run_ended", status="lost")
            return
        except Problem as refused:
            # A row that the database rejects must not keep the run from ending.
            end = self._broken(refused)
            self.unit = RunCommit(self.run, end=end, automation=self.version.name)
            await self._commit()
        self._tell("run_ended", status=end.status, detail=end)
        if end.final and self.journal.awaits_draft:
            await self.engine.gate.withdraw(self.run.workspace_id, self.run.id)

    async def _leave(self, status: RunStatus, *, due_at: datetime) -> None:
        self.asleep = status == "waiting"
        await self._end(self._ending(status, None, None, due_at=due_at))

    def _ending(
        self,
        status: RunStatus,
        reason: str | None,
        outcome: str | None,
        *,
        output: Any = None,
        error: dict[str, Any] | None = None,
        due_at: datetime | None = None,
    ) -> RunEnd:
        active = self.run.active_ms + self._since(self._began)
        return RunEnd(
            status,
            reason,
            outcome,
            output,
            error,
            self.tally.effects,
            self.tally.drafts,
            self.budget.spent,
            active,
            due_at,
        )

    def _broken(self, problem: Problem) -> RunEnd:
        self.known.hide_in(problem)
        status, reason, outcome = classify_failure(problem)
        return self._ending(status, reason, outcome, error=problem.as_dict())

    def _add_failure_counts(self, end: RunEnd) -> RunEnd:
        """The same end with the counts of on_failure added."""
        return self._ending(end.status, end.reason, end.outcome, error=end.error)

    def _seconds(self, step: CompiledStep) -> float:
        left = self._deadline - self.engine.clock.monotonic()
        return max(min(left, float(step.timeout_seconds)), 0.001)

    def _out_of_time(self, problem: Problem) -> Problem:
        """The run's own timeout is final, whatever the step's retry policy says."""
        if self.engine.clock.monotonic() < self._deadline:
            return problem
        return DeadlineExceeded(
            "The run exceeded its timeout of "
            f"{self.version.program.execution.timeout_seconds} seconds.",
            code="run_timeout",
            retryable=False,
        )

    def _since(self, began: float) -> int:
        return round((self.engine.clock.monotonic() - began) * 1000)

    def _tell(
        self,
        kind: Kind,
        step: CompiledStep | None = None,
        item: str = "",
        *,
        status: str = "",
        attempt: int = 1,
        detail: Any = None,
    ) -> None:
        if self.engine.watch is ignore_event:
            return
        name = step.step_id if step else ""
        self.engine.watch(RunEvent(kind, self.run.id, name, item, status, attempt, detail=detail))


def _next(before: RecordedStep | None) -> int:
    return 1 if before is None else before.attempt + 1


def _answers(step: CompiledStep, value: Any) -> bool:
    """Whether a step produced a result: waiting and looping do not count.

    A script counts because it ran, even if it returned nothing.
    """
    action = step.action
    if action is not None and (action.nested is not None or action.waits):
        return False
    if isinstance(value, Mapping) and value.keys() == {"kind", "reason"}:
        return bool(value["kind"] != "noop")
    return value is not None or (action is not None and action.type == "script")


def _count_failed_items(step: CompiledStep, value: Any) -> int:
    """How many items failed in a step that continued past them."""
    walks = step.action is not None and step.action.nested is not None
    return len(value.get("failed", ())) if walks and isinstance(value, Mapping) else 0
