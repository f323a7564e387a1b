"""Compiles a definition to an executable program.

Names are resolved, templates parsed and schemas compiled once, so that a run does none of it. A
program depends on one definition and one vocabulary; callers cache it by the definition's content
hash.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from mainspring.contracts.action import Action
from mainspring.contracts.capability import Capability
from mainspring.contracts.errors import InternalError
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.approval import StepApproval, read_approvals
from mainspring.definition.forms import FORM
from mainspring.definition.json_schema import Validator, compile_schema
from mainspring.definition.model import (
    Backoff,
    Definition,
    Execution,
    Step,
    hold_seconds,
    read_steps,
)
from mainspring.definition.templates import CompiledConfig, Predicate, compile_config
from mainspring.definition.validate import (
    HoldBehavior,
    get_template_schema,
    parse_condition,
    read_holds,
    validate,
)
from mainspring.definition.webhook_callers import read_answer_policy

Queue = Literal["fast", "medium", "long"]

# The lane depends on the slowest step: up to ten seconds, up to five minutes, longer.
_FAST_SECONDS = 10
_MEDIUM_SECONDS = 300


@dataclass(frozen=True, slots=True)
class CompiledStep:
    """One compiled step; it has either an action or a capability, never both."""

    step_id: str
    action: Action | None
    capability: Capability | None
    when: Predicate | None
    # Contains nested steps unrendered; ``nested`` holds them compiled.
    config: CompiledConfig
    # The name under which later steps read the output.
    output_name: str
    max_retries: int
    backoff: Backoff
    timeout_seconds: int
    # The budget of the step in one run, nested steps included; None means only the run's budget.
    budget_cap_usd: Decimal | None
    nested: tuple[CompiledStep, ...]
    config_validator: Validator
    # None when the step does not declare the schema of its output.
    output_validator: Validator | None
    # What the run does while a write of the step is held for approval.
    hold: HoldBehavior
    # How long such a write waits; None means the workspace's setting.
    hold_seconds: int | None

    @property
    def covers(self) -> tuple[str, ...]:
        """The ids of the step and of all nested steps."""
        return (self.step_id, *(name for step in self.nested for name in step.covers))

    @property
    def seconds(self) -> float:
        """The typical duration of one attempt; the slowest nested step counts too."""
        if self.action is not None:
            own = self.action.seconds
        else:
            own = 0.0 if self.capability is None else self.capability.annotations.seconds
        return max([own, *(step.seconds for step in self.nested)])


@dataclass(frozen=True, slots=True)
class CompiledDefinition:
    """A compiled definition."""

    definition: Definition
    steps: tuple[CompiledStep, ...]
    on_failure: tuple[CompiledStep, ...]
    # What its runs may call, unless a version has frozen narrower grants.
    grants: tuple[Grant, ...]
    # The approval modes of its outside writes, by step.
    approvals: Mapping[str, StepApproval]

    execution: Execution
    # The queue of its runs, by the step that takes longest.
    queue: Queue
    # The ids of the steps that answer the caller of a webhook.
    answer_steps: frozenset[str] = frozenset()
    # Whether the callers of one of its webhooks wait for an answer.
    awaited: bool = False

    @property
    def timeout_seconds(self) -> int:
        return self.execution.timeout_seconds


def _queue_of(steps: Iterable[CompiledStep]) -> Queue:
    longest = max(step.seconds for step in steps)
    if longest < _FAST_SECONDS:
        return "fast"
    return "medium" if longest < _MEDIUM_SECONDS else "long"


def _find_answer_steps(steps: Iterable[CompiledStep]) -> Iterator[str]:
    for step in steps:
        if step.action is not None and step.action.answers:
            yield step.step_id
        yield from _find_answer_steps(step.nested)


def _is_awaited(definition: Definition) -> bool:
    return any(
        one.type in ("webhook", FORM) and read_answer_policy(one.config).waits
        for one in definition.triggers
    )


def compile_program(
    definition: Definition, vocabulary: Vocabulary, limits: Limits
) -> CompiledDefinition:
    """Compile a definition; ``Invalid`` with findings if it does not fit the vocabulary."""
    report = validate(definition.as_dict(), vocabulary, limits)
    definition = report.accepted()
    holds = read_holds(definition.as_dict(), vocabulary, limits)
    maker = _StepCompiler(definition.execution, vocabulary, limits, holds)
    steps = maker.steps(definition.plan)
    on_failure = maker.steps(definition.execution.on_failure)
    return CompiledDefinition(
        definition=definition,
        steps=steps,
        on_failure=on_failure,
        grants=report.grants,
        approvals=read_approvals(definition.as_dict()),
        execution=definition.execution,
        queue=_queue_of((*steps, *on_failure)),
        answer_steps=frozenset(_find_answer_steps((*steps, *on_failure))),
        awaited=_is_awaited(definition),
    )


@dataclass(frozen=True, slots=True)
class _StepCompiler:
    """Compiles the steps of one definition, which share its defaults."""

    execution: Execution
    vocabulary: Vocabulary
    limits: Limits
    holds: Mapping[str, HoldBehavior]

    def steps(self, steps: Iterable[Step]) -> tuple[CompiledStep, ...]:
        return tuple(self._step(step) for step in steps)

    def _step(self, step: Step) -> CompiledStep:
        action = self.vocabulary.actions.get(step.action)
        capability = self.vocabulary.capabilities.get(step.action)
        retries, timeout = step.max_retries, step.timeout_seconds
        return CompiledStep(
            step_id=step.step_id,
            action=action,
            capability=capability,
            when=None if step.when is None else parse_condition(step.when, self.limits),
            config=compile_config(
                step.config, get_template_schema(action, capability), self.limits
            ),
            output_name=step.output_name,
            max_retries=self.execution.max_retries if retries is None else retries,
            backoff=step.retry_backoff or self.execution.retry_backoff,
            timeout_seconds=self.execution.timeout_seconds if timeout is None else timeout,
            budget_cap_usd=step.budget_cap_usd,
            nested=self._nested(action, step.config),
            config_validator=self._config_validator(action, capability),
            output_validator=self._output_validator(action, capability, step.config),
            hold=self.holds.get(step.step_id, HoldBehavior()),
            hold_seconds=None
            if step.hold_expires_after is None
            else hold_seconds(step.hold_expires_after),
        )

    def _nested(self, action: Action | None, config: Mapping[str, Any]) -> tuple[CompiledStep, ...]:
        if action is None or action.nested is None:
            return ()
        return self.steps(read_steps(config[action.nested]))

    def _config_validator(self, action: Action | None, capability: Capability | None) -> Validator:
        if action is not None:
            return compile_schema(action.config_schema, self.limits)
        if capability is not None:
            return compile_schema(capability.input_schema, self.limits)
        raise InternalError("A step without an action has passed the validator.")

    def _output_validator(
        self, action: Action | None, capability: Capability | None, config: Mapping[str, Any]
    ) -> Validator | None:
        schema = capability.output_schema if capability is not None else None
        if action is not None:
            # Such an action leaves the schema of its output to the step.
            schema = action.output_schema
            if schema is None:
                schema = config.get("output_schema")
        return compile_schema(schema, self.limits) if isinstance(schema, Mapping) else None
