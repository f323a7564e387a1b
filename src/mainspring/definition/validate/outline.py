"""The outline of a document: every part that can be read, even when others are invalid.

To report all problems at once, an invalid number in one step must not hide an unknown name in
another. The passes therefore walk this outline instead of the strict model: each part is present
when it has the right type, and absent otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mainspring.contracts.action import Action
from mainspring.contracts.capability import Capability
from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.grant import Grant
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.model import Definition
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.traits import DefinitionTraits
from mainspring.definition.upgrade import UpgradeNote

# What the validator hands back, and the sheet on which its passes write.


MOST_FINDINGS: Final = 100


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """Everything that is wrong with a document, and the definition when nothing is."""

    findings: tuple[Finding, ...]
    warnings: tuple[Finding, ...] = ()
    # What was changed to bring the document to today's format.
    notes: tuple[UpgradeNote, ...] = ()
    definition: Definition | None = None
    # What a run of it may call; a person sees this before agreeing.
    grants: tuple[Grant, ...] = ()
    # What the vocabulary declares about its capabilities and steps.
    traits: DefinitionTraits = field(default_factory=DefinitionTraits)

    @property
    def ok(self) -> bool:
        return not self.findings

    def accepted(self) -> Definition:
        """The definition, or an ``Invalid`` that carries every finding."""
        if self.definition is None:
            count = len(self.findings)
            things = "1 problem" if count == 1 else f"{count} problems"
            raise Invalid(
                f"The definition has {things}.", code="invalid_definition", findings=self.findings
            )
        return self.definition


class TooManyFindings(Exception):
    """More is wrong than anybody wants to read at once."""


@dataclass(slots=True)
class FindingCollector:
    """Where the passes write down what they find; one document, one sheet.

    It has room for so many findings and no more: looking for the right word beside each
    of a hundred thousand wrong ones would hold everybody up.
    """

    findings: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)
    # Pointers of the texts that were read as templates and can be filled.
    templates: set[str] = field(default_factory=set)

    def wrong(self, pointer: str, detail: str, code: str, suggestion: str | None = None) -> None:
        self.add([Finding(pointer, detail, code, suggestion)])

    def doubtful(self, pointer: str, detail: str, code: str, suggestion: str | None = None) -> None:
        self.doubt(Finding(pointer, detail, code, suggestion))

    def add(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            if len(self.findings) >= MOST_FINDINGS:
                raise TooManyFindings
            self.findings.append(finding)

    def doubt(self, finding: Finding) -> None:
        if len(self.warnings) < MOST_FINDINGS:
            self.warnings.append(finding)


# Nesting beyond any possible limit is not walked; the check of the limit reports it.
_DEEPEST = 16


@dataclass(frozen=True, slots=True)
class StepOutline:
    """One step with its resolved action or capability."""

    pointer: str
    step_id: str | None
    action: str | None
    when: str | None
    # None when the value is not an object.
    config: Mapping[str, Any] | None
    output_as: str | None
    known: Action | None
    capability: Capability | None
    nested: tuple[StepOutline, ...] = ()
    # As written, of any type.
    approval: Any = None
    # What the run does while a write of the step waits for approval, and for how long.
    on_hold: str | None = None
    hold_expires_after: str | None = None

    @property
    def output_name(self) -> str | None:
        return self.output_as or self.step_id

    @property
    def config_schema(self) -> Mapping[str, Any] | None:
        if self.known is not None:
            return self.known.config_schema
        return None if self.capability is None else self.capability.input_schema

    @property
    def output_schema(self) -> Mapping[str, Any] | None:
        if self.known is not None:
            return self.known.output_schema
        return None if self.capability is None else self.capability.output_schema

    @property
    def nested_pointer(self) -> str:
        key = self.known.nested if self.known is not None else None
        return join_pointer(self.pointer, "config", key or "")

    @property
    def item_name(self) -> str:
        """The name of the item in nested steps."""
        name = (self.config or {}).get("as")
        return name if isinstance(name, str) else "item"


@dataclass(frozen=True, slots=True)
class TriggerOutline:
    """One trigger, as far as it can be read."""

    pointer: str
    id: str | None
    type: str | None
    config: Mapping[str, Any] | None
    inputs: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class DefinitionOutline:
    """The readable parts of a definition."""

    name: str | None
    inputs_schema: Mapping[str, Any] | None
    triggers: tuple[TriggerOutline, ...]
    plan: tuple[StepOutline, ...]
    on_failure: tuple[StepOutline, ...]
    execution: Mapping[str, Any]
    grants: list[Any] | None
    tags: tuple[Any, ...]
    # Whether every step could be read, so that all output names are known.
    whole: bool

    def steps(self) -> Iterator[StepOutline]:
        """Every step in document order, nested ones after their parent."""
        yield from walk((*self.plan, *self.on_failure))


def walk(steps: tuple[StepOutline, ...]) -> Iterator[StepOutline]:
    for step in steps:
        yield step
        yield from walk(step.nested)


def read_outline(document: Mapping[str, Any], vocabulary: Vocabulary) -> DefinitionOutline:
    """Read the readable parts without validating them."""
    execution = _object(document.get("execution")) or {}
    grants = document.get("grants")
    tags = (_object(document.get("metadata")) or {}).get("tags")
    plan = _steps(document.get("plan"), "/plan", vocabulary, 0)
    on_failure = _steps(execution.get("on_failure"), "/execution/on_failure", vocabulary, 0)
    return DefinitionOutline(
        name=_text(document.get("name")),
        inputs_schema=_inputs_schema(document),
        triggers=_triggers(document.get("triggers")),
        plan=plan,
        on_failure=on_failure,
        execution=execution,
        grants=grants if isinstance(grants, list) else None,
        tags=tuple(tags) if isinstance(tags, list) else (),
        whole=_is_whole(document.get("plan"), plan)
        and _is_whole(execution.get("on_failure", []), on_failure),
    )


def _is_whole(value: Any, steps: tuple[StepOutline, ...]) -> bool:
    """Includes nested steps: an unreadable id may be the one that a reference means."""
    if not isinstance(value, list) or len(value) != len(steps):
        return False
    return all(step.step_id is not None and _nested_is_whole(step) for step in steps)


def _nested_is_whole(step: StepOutline) -> bool:
    key = step.known.nested if step.known is not None else None
    return key is None or _is_whole((step.config or {}).get(key), step.nested)


def _inputs_schema(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The schema; empty when the definition has no inputs; None when unreadable."""
    inputs = document.get("inputs", {})
    if not isinstance(inputs, dict):
        return None
    return _object(inputs.get("schema", {}))


def _triggers(value: Any) -> tuple[TriggerOutline, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(
        TriggerOutline(
            pointer=f"/triggers/{place}",
            id=_text(entry.get("id")),
            type=_text(entry.get("type")),
            config=_object(entry.get("config", {})),
            inputs=_object(entry.get("inputs", {})),
        )
        for place, entry in enumerate(value)
        if isinstance(entry, dict)
    )


def _steps(value: Any, at: str, vocabulary: Vocabulary, depth: int) -> tuple[StepOutline, ...]:
    if not isinstance(value, list) or depth > _DEEPEST:
        return ()
    return tuple(
        _step(entry, join_pointer(at, place), vocabulary, depth)
        for place, entry in enumerate(value)
        if isinstance(entry, dict)
    )


def _step(
    entry: Mapping[str, Any], pointer: str, vocabulary: Vocabulary, depth: int
) -> StepOutline:
    action = _text(entry.get("action"))
    config = _object(entry.get("config", {}))
    known = vocabulary.actions.get(action) if action else None
    capability = vocabulary.capabilities.get(action) if action else None
    nested: tuple[StepOutline, ...] = ()
    if known is not None and known.nested is not None and config is not None:
        inside = join_pointer(pointer, "config", known.nested)
        nested = _steps(config.get(known.nested), inside, vocabulary, depth + 1)
    return StepOutline(
        pointer=pointer,
        step_id=_text(entry.get("step_id")),
        action=action,
        when=_text(entry.get("when")),
        config=config,
        output_as=_text(entry.get("output_as")),
        known=known,
        capability=capability,
        nested=nested,
        approval=entry.get("approval"),
        on_hold=_text(entry.get("on_hold")),
        hold_expires_after=_text(entry.get("hold_expires_after")),
    )


def _object(value: Any) -> Mapping[str, Any] | None:
    return value if isinstance(value, dict) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
