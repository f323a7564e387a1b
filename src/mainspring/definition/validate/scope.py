"""The names a template can read at its place in the plan.

The set is closed: inputs that the definition declares, what a run knows about itself,
and the outputs of steps that have run by then. So a name that is none of them is a
mistake, also under ``default``, which would only hide it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from mainspring.contracts.errors import Finding
from mainspring.definition.templates import TemplateReference
from mainspring.definition.validate.outline import DefinitionOutline, StepOutline, walk
from mainspring.definition.words import suggest_nearest

RUN_FIELDS: Final = frozenset(
    {"id", "started_at", "automation_id", "automation_name", "automation_version", "attempt"}
    | {"trigger_type", "trigger_id", "workspace_id", "search_space_id", "creator_id"}
)
FAILURE_FIELDS: Final = frozenset({"failed_step_id", "error"})
# What stands in place of a step's own answer when it was held, asked back or had nothing to do.
OUTCOME_KEYS: Final = frozenset(
    {"kind", "draft_id", "preview", "payload", "expires_at", "question", "reason", "sent"}
)
_SECRET_NAME: Final = re.compile(r"[a-z0-9_]{1,64}")
_OPEN_KEYWORDS: Final = frozenset({"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if"})

NamePath = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VisibleNames:
    """What is known at one place of a definition."""

    inputs_schema: Mapping[str, Any] | None
    # Outputs that are there by now, and all outputs there will ever be.
    outputs: Mapping[str, StepOutline] = field(default_factory=dict)
    every_output: Mapping[str, StepOutline] = field(default_factory=dict)
    items: frozenset[str] = frozenset()
    roots: frozenset[str] = frozenset({"inputs", "run", "trigger", "steps"})
    failed: bool = False
    # Before the plan has run to its end, any of its outputs may be missing.
    maybe: frozenset[str] = frozenset()
    # Pointers of the steps that come before this place.
    passed: frozenset[str] = frozenset()
    # Whether these are all the names there are; not so when a step could not be read.
    complete: bool = True
    # Whether a secret may stand here too.
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
        """The step whose output is there by now under a name; under ``steps``, by its id too."""
        return _find_step(name, self.outputs, of_steps)

    def inside(self, step: StepOutline) -> VisibleNames:
        """What the first nested step of this step sees."""
        return replace(self, items=self.items | {step.item_name, "index"})

    def of_failure(self, plan: Iterable[StepOutline]) -> VisibleNames:
        """What the first step of on_failure sees: the plan broke off somewhere."""
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
    """What is known when a firing arrives and there is no run yet."""
    return VisibleNames(inputs_schema, roots=frozenset({"inputs", "trigger"}))


def find_reference_problem(
    reference: TemplateReference, names: VisibleNames, at: str
) -> Finding | None:
    """What keeps a reference from ever being filled, if anything does."""
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
    """What may keep a reference from being filled in some runs."""
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
        f"The input {name!r} may be left out, and then this template fails.",
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
    """The first part of a path that a schema rules out for certain."""
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
