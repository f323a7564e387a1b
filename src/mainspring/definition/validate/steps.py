"""Steps: their actions exist, their configs fit, and their templates read what is there."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from mainspring.contracts.action import Action, find_nothing
from mainspring.contracts.capability import Capability
from mainspring.contracts.errors import Invalid, Problem
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.json_schema import check_schema
from mainspring.definition.pointers import join_pointer
from mainspring.definition.templates import (
    Predicate,
    TemplateReference,
    compile_config,
    parse_predicate,
    parse_template,
)
from mainspring.definition.validate.outline import DefinitionOutline, StepOutline
from mainspring.definition.validate.permissions import list_grantable
from mainspring.definition.validate.report import FindingCollector
from mainspring.definition.validate.scope import (
    VisibleNames,
    build_arrival_names,
    build_first_names,
    find_reference_problem,
    find_reference_warning,
)
from mainspring.definition.validate.wildcards import find_config_problems
from mainspring.definition.words import suggest_capability

_SCOPE = "x-mainspring-scope"
# Every step of a plan may have such a condition, and all of them are asked at once.
_FUEL = 2_000


def check_steps(
    outline: DefinitionOutline,
    inputs_schema: Mapping[str, Any] | None,
    vocabulary: Vocabulary,
    limits: Limits,
    sheet: FindingCollector,
) -> None:
    """Walks the plan in the order it runs, and on_failure after it."""
    words = _StepChecker(vocabulary, limits, sheet)
    names = build_first_names(outline, inputs_schema)
    words.check(outline.plan, names)
    if outline.on_failure:
        words.check(outline.on_failure, names.of_failure(outline.plan))
    key = outline.execution.get("concurrency_key")
    if isinstance(key, str):
        words.check_key(key, build_arrival_names(inputs_schema))


class _StepChecker:
    """One document's steps against one vocabulary."""

    __slots__ = ("_limits", "_sheet", "_vocabulary")

    def __init__(self, vocabulary: Vocabulary, limits: Limits, sheet: FindingCollector) -> None:
        self._vocabulary = vocabulary
        self._limits = limits
        self._sheet = sheet

    def check(self, steps: Iterable[StepOutline], names: VisibleNames) -> None:
        for step in steps:
            self._check_action(step)
            self._check_when(step, names)
            self._check_config(step, names)
            if step.nested:
                self.check(step.nested, names.inside(step))
            names = names.after(step)

    def check_key(self, source: str, names: VisibleNames) -> None:
        pointer = "/execution/concurrency_key"
        try:
            template = parse_template(source, self._limits)
        except Invalid as error:
            self._sheet.wrong(pointer, error.detail, error.code, error.suggestion)
        else:
            self._check_references(template.references, names, pointer, doubts=True)

    def _check_action(self, step: StepOutline) -> None:
        if not step.action or step.known is not None or step.capability is not None:
            return
        known = [*self._vocabulary.actions, *list_grantable(self._vocabulary)]
        self._sheet.wrong(
            join_pointer(step.pointer, "action"),
            f"There is no action or capability called {step.action[:100]!r}.",
            "unknown_action",
            suggest_capability(step.action, known),
        )

    def _check_when(self, step: StepOutline, names: VisibleNames) -> None:
        if not step.when:
            return
        pointer = join_pointer(step.pointer, "when")
        try:
            predicate = parse_condition(step.when, self._limits)
            never = not predicate.references and not _outcome(predicate)
        except Problem as error:
            self._sheet.wrong(pointer, error.detail, error.code, error.suggestion)
            return
        if never:
            self._sheet.wrong(
                pointer,
                "This condition is never true, so the step never runs.",
                "unreachable_step",
                "Remove the step, or ask for something that can be true.",
            )
        self._check_references(predicate.references, names, pointer, doubts=True)

    def _check_config(self, step: StepOutline, names: VisibleNames) -> None:
        if step.config is None:
            return
        at = join_pointer(step.pointer, "config")
        schema = step.config_schema
        config = compile_config(
            step.config, get_template_schema(step.known, step.capability), self._limits
        )
        for problem in config.problems:
            self._sheet.wrong(
                at + problem.pointer, problem.detail, problem.code, problem.suggestion
            )
        if schema is not None:
            wrong = [*find_config_problems(config, schema, self._limits, at)]
            self._sheet.add(wrong)
            if step.capability is not None and not (wrong or config.problems):
                filled_later = {pointer for pointer, _ in config.templates}
                self._check_judged(step.capability, step.config, filled_later, at)
        if step.known is not None:
            self._check_further(step.known, step.config, at)
        if step.known is not None and step.known.output_schema is None:
            self._check_declared(
                step.config.get("output_schema"), join_pointer(at, "output_schema")
            )
        self._sheet.templates |= {at + pointer for pointer, _ in config.templates}
        for pointer, template in config.templates:
            # A step with a condition of its own has most likely asked already.
            doubts = step.when is None
            known = replace(names, secrets=pointer in config.secret_places)
            self._check_references(template.references, known, at + pointer, doubts=doubts)

    def _check_judged(
        self, capability: Capability, config: Mapping[str, Any], later: Container[str], at: str
    ) -> None:
        """What only the capability itself can judge, where no run has a say in it."""
        judge = capability.annotations.judge
        if judge is None or not capability.annotations.judges_saved:
            return
        there = {key: value for key, value in config.items() if join_pointer("", key) not in later}
        self._sheet.add(replace(one, pointer=at + one.pointer) for one in judge(there))

    def _check_further(self, action: Action, config: Mapping[str, Any], at: str) -> None:
        """What only the action itself can judge, the texts that are no templates included."""
        schema = action.config_schema.get("properties", {})
        judged = (key for key in config if schema.get(key, {}).get(_SCOPE) == "none")
        self._sheet.templates |= {
            join_pointer(at, key) for key in judged if action.check is not find_nothing
        }
        self._sheet.add(
            replace(finding, pointer=at + finding.pointer)
            for finding in action.check(config, self._vocabulary.capabilities)
        )
        for doubt in action.doubt(config, self._vocabulary.capabilities):
            self._sheet.doubt(replace(doubt, pointer=at + doubt.pointer))

    def _check_declared(self, schema: Any, at: str) -> None:
        """Such an action leaves the shape of its output to the step."""
        if isinstance(schema, dict):
            self._sheet.add(check_schema(schema, self._limits, at))

    def _check_references(
        self,
        references: Iterable[TemplateReference],
        names: VisibleNames,
        pointer: str,
        *,
        doubts: bool,
    ) -> None:
        for reference in references:
            problem = find_reference_problem(reference, names, pointer)
            if problem is not None:
                self._sheet.add([problem])
            elif (
                doubts and (doubt := find_reference_warning(reference, names, pointer)) is not None
            ):
                self._sheet.doubt(doubt)


def _outcome(predicate: Predicate) -> bool:
    """What a condition that reads nothing always comes to, found out on a small budget."""
    return replace(predicate, limits=replace(predicate.limits, template_fuel=_FUEL)).test({})


@lru_cache(maxsize=512)
def parse_condition(source: str, limits: Limits) -> Predicate:
    """A condition read once; plans are judged far more often than they are changed."""
    return parse_predicate(source, limits)


def get_template_schema(known: Action | None, capability: Capability | None) -> Mapping[str, Any]:
    """What each text of a config may use, as the template reader wants to be told.

    Nested steps are rendered when their turn comes, so they are no templates here. An
    unknown action forbids nothing: one finding about it is enough.
    """
    if known is not None:
        schema = known.config_schema
        return schema if known.nested is None else _mark_scope(schema, {known.nested}, "none")
    if capability is not None:
        return _mark_scope(
            capability.input_schema, capability.annotations.secret_arguments, "secret"
        )
    return {_SCOPE: "secret"}


def _mark_scope(schema: Mapping[str, Any], keys: Iterable[str], scope: str) -> Mapping[str, Any]:
    properties = dict(schema.get("properties", {}))
    for key in keys:
        said = properties.get(key)
        properties[key] = {**(said if isinstance(said, Mapping) else {}), _SCOPE: scope}
    return {**schema, "properties": properties}
