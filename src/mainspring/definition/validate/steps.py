"""Checks of steps: actions exist, configs are valid, and templates read existing values."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import Any, Final

import jsonschema_rs
import orjson
from jsonschema_rs import ValidationErrorKind as Kind

from mainspring.contracts.action import Action, find_nothing
from mainspring.contracts.capability import Capability
from mainspring.contracts.errors import Finding, Invalid, Problem
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.json_schema import check_schema, compile_schema
from mainspring.definition.json_schema.formats import list_own_formats
from mainspring.definition.json_schema.keywords import SchemaCost
from mainspring.definition.json_schema.messages import describe_errors
from mainspring.definition.json_schema.validator import (
    MOST_EXPLAINED,
    get_regex_options,
    refuse_to_fetch,
)
from mainspring.definition.strict_json import encode_canonical, join_pointer, split_pointer
from mainspring.definition.suggestions import suggest_capability, suggest_nearest
from mainspring.definition.templates import (
    CompiledConfig,
    Predicate,
    TemplateReference,
    compile_config,
    parse_predicate,
    parse_template,
)
from mainspring.definition.validate.outline import (
    MOST_FINDINGS,
    DefinitionOutline,
    FindingCollector,
    StepOutline,
    walk,
)
from mainspring.definition.validate.permissions import list_grantable

# Checks a config against its schema before its templates are rendered.

ConfigPath = tuple[str, ...]

# Errors of these keywords hold for every value of the templates below.
_CERTAIN: Final = (
    Kind.Type,
    Kind.Required,
    Kind.AdditionalProperties,
    Kind.PropertyNames,
    Kind.MinItems,
    Kind.MaxItems,
    Kind.MinProperties,
    Kind.MaxProperties,
    Kind.FalseSchema,
)
# Keywords whose subschemas only apply conditionally.
_CONDITIONAL: Final = frozenset({"then", "else", "dependentSchemas"})


def find_config_problems(
    config: CompiledConfig, schema: Mapping[str, Any], limits: Limits, at: str
) -> list[Finding]:
    """The certain problems of a config, for every value that its templates may render to."""
    judge = compile_schema(schema, limits)
    if not config.templates or judge.is_valid(config.source):
        return judge.findings(config.source, at)
    text = encode_canonical(schema)
    if _bounds(text).explaining(config.source, MOST_EXPLAINED) > MOST_EXPLAINED:
        return []
    open_places = {
        tuple(split_pointer(pointer)): template.expression is not None
        for pointer, template in config.templates
    }
    found = (
        finding
        for error in _errors(text).iter_errors(config.source)
        if _is_certain(error, open_places)
        for finding in describe_errors(error, schema, at)
    )
    return list(dict.fromkeys(islice(found, MOST_FINDINGS + 1)))


def _is_certain(
    error: jsonschema_rs.ValidationError, open_places: Mapping[ConfigPath, bool]
) -> bool:
    """Whether an error remains for every value that the templates may have."""
    here = tuple(str(part) for part in error.instance_path)
    if here in open_places:
        # Text around an expression makes the result a text, so only its type is known.
        return isinstance(error.kind, Kind.Type) and not open_places[here]
    if not _CONDITIONAL.isdisjoint(error.schema_path):
        return False
    holds_one = any(place[: len(here)] == here for place in open_places)
    return not holds_one or isinstance(error.kind, _CERTAIN)


@lru_cache(maxsize=256)
def _errors(text: bytes) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(
        orjson.loads(text),
        retriever=refuse_to_fetch,
        pattern_options=get_regex_options(),
        validate_formats=True,
        formats=list_own_formats(),
    )


@lru_cache(maxsize=256)
def _bounds(text: bytes) -> SchemaCost:
    return SchemaCost(orjson.loads(text))


# The names that a template can read at its place in the plan.

RUN_FIELDS: Final = frozenset(
    {"id", "started_at", "automation_id", "automation_name", "automation_version", "attempt"}
    | {"trigger_type", "trigger_id", "workspace_id", "search_space_id", "creator_id"}
)
FAILURE_FIELDS: Final = frozenset({"failed_step_id", "error"})
# The output of a step that was held, asked a question or had nothing to do.
OUTCOME_KEYS: Final = frozenset(
    {"kind", "draft_id", "preview", "payload", "expires_at", "question", "reason", "sent"}
)
_SECRET_NAME: Final = re.compile(r"[a-z0-9_]{1,64}")
_OPEN_KEYWORDS: Final = frozenset({"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if"})

NamePath = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VisibleNames:
    """The names visible at one place of a definition."""

    inputs_schema: Mapping[str, Any] | None
    # The outputs available here, and all outputs of the definition.
    outputs: Mapping[str, StepOutline] = field(default_factory=dict)
    every_output: Mapping[str, StepOutline] = field(default_factory=dict)
    items: frozenset[str] = frozenset()
    roots: frozenset[str] = frozenset({"inputs", "run", "trigger", "steps"})
    failed: bool = False
    # Until the plan has finished, any of its outputs may be missing.
    maybe: frozenset[str] = frozenset()
    # Pointers of the steps before this place.
    passed: frozenset[str] = frozenset()
    # Whether the names are complete; False when a step could not be read.
    complete: bool = True
    # Whether a secret is allowed here.
    secrets: bool = False

    def after(self, step: StepOutline) -> VisibleNames:
        """What the next step sees."""
        gone = {done.pointer for done in walk((step,))}
        passed = self.passed | gone
        if step.output_name is None:
            return replace(self, passed=passed)
        outputs = {**self.outputs, step.output_name: step}
        maybe = self.maybe | {step.output_name} if step.when is not None else self.maybe
        return replace(self, outputs=outputs, maybe=maybe, passed=passed)

    def output(self, name: str, *, of_steps: bool) -> StepOutline | None:
        """The step whose output is available under a name; under ``steps``, also by its id."""
        return _find_step(name, self.outputs, of_steps)

    def inside(self, step: StepOutline) -> VisibleNames:
        """What the first nested step of this step sees."""
        return replace(self, items=self.items | {step.item_name, "index"})

    def of_failure(self, plan: Iterable[StepOutline]) -> VisibleNames:
        """What the first step of on_failure sees: the plan failed at an unknown step."""
        names = replace(self, failed=True)
        for step in plan:
            names = names.after(step)
        return replace(names, maybe=frozenset(names.outputs))


def build_first_names(
    outline: DefinitionOutline, inputs_schema: Mapping[str, Any] | None
) -> VisibleNames:
    """What the first step of the plan sees."""
    every = {step.output_name: step for step in outline.steps() if step.output_name is not None}
    return VisibleNames(inputs_schema, every_output=every, complete=outline.whole)


def build_arrival_names(inputs_schema: Mapping[str, Any] | None) -> VisibleNames:
    """The names available when a trigger fires and there is no run yet."""
    return VisibleNames(inputs_schema, roots=frozenset({"inputs", "trigger"}))


def find_reference_problem(
    reference: TemplateReference, names: VisibleNames, at: str
) -> Finding | None:
    """The problem that prevents a reference from ever resolving, if any."""
    path, root = reference.path, reference.path[0]
    if root in names.items:
        return None
    if root not in names.roots:
        return _check_output(root, path[1:], names, at, "")
    if len(path) == 1 or root == "trigger":
        return None
    if root == "inputs":
        return _check_input(path, reference.guarded, names, at)
    if root == "run":
        return _check_run_field(path[1], names, at)
    return _check_output(path[1], path[2:], names, at, "steps.")


def find_reference_warning(
    reference: TemplateReference, names: VisibleNames, at: str
) -> Finding | None:
    """The problem that may prevent a reference from resolving in some runs."""
    path = reference.path
    if reference.guarded:
        return None
    if path[0] == "inputs" and len(path) > 1 and "inputs" in names.roots:
        return _optional_input(path[1], names, at)
    of_steps = path[0] == "steps" and len(path) > 1
    found = names.output(path[1] if of_steps else path[0], of_steps=of_steps)
    if found is None or found.output_name not in names.maybe:
        return None
    step = found.step_id
    why = "may not have run when the plan failed" if names.failed else "may be skipped"
    return Finding(
        at,
        f"The step {step!r} {why}, and then {format_path(path)} is missing.",
        "maybe_missing",
        f"Write {format_path(path)} | default(…), or ask with `is defined`.",
    )


def format_path(path: NamePath) -> str:
    """A path as an author writes it."""
    return ".".join(path)


def _check_output(
    name: str, rest: NamePath, names: VisibleNames, at: str, prefix: str
) -> Finding | None:
    step = names.output(name, of_steps=bool(prefix))
    if step is not None:
        return _check_output_field(step, prefix + name, rest, at)
    step = _find_step(name, names.every_output, bool(prefix))
    if step is not None:
        return _out_of_reach(f"{prefix}{name}", step, names, at)
    if not names.complete:
        return None
    if prefix:
        return _unknown(f"{prefix}{name}", name, names.outputs, at, "unknown_step_output")
    return _unknown_name(name, names, at)


def _find_step(name: str, outputs: Mapping[str, StepOutline], of_steps: bool) -> StepOutline | None:
    found = outputs.get(name)
    if found is None and of_steps:
        found = next((step for step in outputs.values() if step.step_id == name), None)
    return found


def _out_of_reach(shown: str, step: StepOutline, names: VisibleNames, at: str) -> Finding:
    if step.pointer in names.passed:
        detail = f"{shown} is the output of a step inside a loop and stays in there."
        hint = "Read the results of the loop's own step: steps.<loop>.results."
        return Finding(at, detail, "nested_output", hint)
    if at.startswith(step.pointer + "/"):
        detail = f"{shown} is the output of this very step, which is not there yet."
        return Finding(at, detail, "forward_reference")
    detail = f"{shown} is the output of the step {step.step_id!r}, which runs later."
    return Finding(at, detail, "forward_reference", f"Move {step.step_id!r} before this step.")


def _unknown_name(name: str, names: VisibleNames, at: str) -> Finding:
    if name in FAILURE_FIELDS | RUN_FIELDS and "run" in names.roots:
        detail = f"There is no value called {name!r} here."
        return Finding(at, detail, "unknown_variable", f"Did you mean 'run.{name}'?")
    if name in _properties(names.inputs_schema):
        detail = f"There is no value called {name!r} here."
        return Finding(at, detail, "unknown_variable", f"Did you mean 'inputs.{name}'?")
    for step in names.every_output.values():
        if step.step_id == name:
            detail = f"The output of the step {name!r} is called {step.output_name!r}."
            hint = f"Write {step.output_name!r} or 'steps.{name}'."
            return Finding(at, detail, "unknown_variable", hint)
    found = _unknown(
        name, name, {*names.roots, *names.items, *names.outputs}, at, "unknown_variable"
    )
    if names.secrets and _SECRET_NAME.fullmatch(name):
        as_secret = f"Write {{{{ secrets.{name} }}}} if it is a secret."
        words = [said for said in (found.suggestion, as_secret) if said is not None]
        return replace(found, suggestion=" ".join(words))
    return found


def _unknown(shown: str, name: str, known: Iterable[str], at: str, code: str) -> Finding:
    detail = f"There is no value called {shown!r} here."
    return Finding(at, detail, code, suggest_nearest(name, sorted(known)))


def _check_run_field(name: str, names: VisibleNames, at: str) -> Finding | None:
    if name in RUN_FIELDS or (names.failed and name in FAILURE_FIELDS):
        return None
    if name in FAILURE_FIELDS:
        detail = f"run.{name} is known only to the steps of on_failure."
        return Finding(at, detail, "only_on_failure")
    known = RUN_FIELDS | FAILURE_FIELDS if names.failed else RUN_FIELDS
    detail = f"A run has no value called {name!r}."
    return Finding(at, detail, "unknown_run_value", suggest_nearest(name, sorted(known)))


def _check_input(path: NamePath, guarded: bool, names: VisibleNames, at: str) -> Finding | None:
    schema, name = names.inputs_schema, path[1]
    if schema is None or not _OPEN_KEYWORDS.isdisjoint(schema):
        return None
    known = _properties(schema)
    if name in known:
        return _unknown_field(known[name], path[:2], path[2:], frozenset(), at)
    others = schema.get("additionalProperties")
    if "patternProperties" in schema or (others is not None and others is not False):
        return None
    if guarded and others is not False:
        return None
    return Finding(
        at,
        f"The definition declares no input called {name!r}.",
        "unknown_input",
        suggest_nearest(name, known) or f"Declare {name!r} in inputs.schema.properties.",
    )


def _optional_input(name: str, names: VisibleNames, at: str) -> Finding | None:
    schema = names.inputs_schema or {}
    known = _properties(schema)
    required = schema.get("required")
    if name not in known or (isinstance(required, list) and name in required):
        return None
    if isinstance(known[name], Mapping) and "default" in known[name]:
        return None
    return Finding(
        at,
        f"The input {name!r} is optional, and without it this template fails.",
        "maybe_missing",
        "Require it, give it a default in the schema, or write | default(…).",
    )


def _check_output_field(step: StepOutline, shown: str, rest: NamePath, at: str) -> Finding | None:
    schema = step.output_schema
    if schema is None and step.known is not None:
        schema = (step.config or {}).get("output_schema")
    return _unknown_field(schema, (shown,), rest, OUTCOME_KEYS, at)


def _unknown_field(
    schema: Any, before: NamePath, rest: NamePath, others: frozenset[str], at: str
) -> Finding | None:
    """The first part of a path that a schema certainly excludes."""
    for place, part in enumerate(rest):
        if not isinstance(schema, Mapping) or not _OPEN_KEYWORDS.isdisjoint(schema):
            return None
        known = _properties(schema)
        if part not in known:
            closed = schema.get("additionalProperties") is False
            if not closed or "patternProperties" in schema or (place == 0 and part in others):
                return None
            detail = f"{format_path((*before, *rest[:place]))} has no field called {part!r}."
            return Finding(at, detail, "unknown_field", suggest_nearest(part, known))
        schema = known[part]
    return None


def _properties(schema: Mapping[str, Any] | None) -> Mapping[str, Any]:
    known = (schema or {}).get("properties")
    return known if isinstance(known, Mapping) else {}


_SCOPE = "x-mainspring-scope"
# Every step of a plan may have such a condition, and all of them are evaluated.
_FUEL = 2_000


def check_steps(
    outline: DefinitionOutline,
    inputs_schema: Mapping[str, Any] | None,
    vocabulary: Vocabulary,
    limits: Limits,
    sheet: FindingCollector,
) -> None:
    """Check the plan in execution order, then on_failure."""
    words = _StepChecker(vocabulary, limits, sheet)
    names = build_first_names(outline, inputs_schema)
    words.check(outline.plan, names)
    if outline.on_failure:
        words.check(outline.on_failure, names.of_failure(outline.plan))
    key = outline.execution.get("concurrency_key")
    if isinstance(key, str):
        words.check_key(key, build_arrival_names(inputs_schema))


class _StepChecker:
    """Checks the steps of one document against one vocabulary."""

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
            # The condition of a step has most likely tested it already.
            doubts = step.when is None
            known = replace(names, secrets=pointer in config.secret_places)
            self._check_references(template.references, known, at + pointer, doubts=doubts)

    def _check_judged(
        self, capability: Capability, config: Mapping[str, Any], later: Container[str], at: str
    ) -> None:
        """Checks that only the capability itself can do, for constant arguments."""
        judge = capability.annotations.judge
        if judge is None or not capability.annotations.judges_saved:
            return
        there = {key: value for key, value in config.items() if join_pointer("", key) not in later}
        self._sheet.add(replace(one, pointer=at + one.pointer) for one in judge(there))

    def _check_further(self, action: Action, config: Mapping[str, Any], at: str) -> None:
        """Checks that only the action itself can do, including texts that are not templates."""
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
        """The action leaves the schema of its output to the step."""
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
    """The constant result of a condition that reads nothing, computed on a small budget."""
    return replace(predicate, limits=replace(predicate.limits, template_fuel=_FUEL)).test({})


@lru_cache(maxsize=512)
def parse_condition(source: str, limits: Limits) -> Predicate:
    """A cached condition; plans are validated far more often than they are changed."""
    return parse_predicate(source, limits)


def get_template_schema(known: Action | None, capability: Capability | None) -> Mapping[str, Any]:
    """The schema that tells the template compiler what each text of a config may use.

    Nested steps are rendered when they run, so they are not templates here. An unknown action
    allows everything: one finding about it is enough.
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
