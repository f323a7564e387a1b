"""Checks of the envelope: the strict model's errors, inputs, names and limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from mainspring.contracts.display_text import name_findings
from mainspring.contracts.errors import Finding
from mainspring.contracts.limits import Limits
from mainspring.definition.inputs import find_default_problems
from mainspring.definition.json_schema import check_schema
from mainspring.definition.model import (
    CURRENT_VERSION,
    PARTS,
    Definition,
    Step,
    read_steps,
    show_money,
)
from mainspring.definition.strict_json import encode_canonical, join_pointer
from mainspring.definition.suggestions import suggest_nearest
from mainspring.definition.templates import RESERVED, has_syntax
from mainspring.definition.templates.config import SCOPE
from mainspring.definition.validate.outline import DefinitionOutline, StepOutline
from mainspring.definition.validate.report import FindingCollector

# Inputs: the schema is usable, and its defaults match it.

_AT = "/inputs/schema"


def check_inputs(
    outline: DefinitionOutline, limits: Limits, sheet: FindingCollector
) -> Mapping[str, Any] | None:
    """The schema when it can be used to validate inputs, else None."""
    schema = outline.inputs_schema
    if schema is None:
        return None
    findings = check_schema(schema, limits, _AT)
    if findings:
        sheet.add(findings)
        return None
    if schema.get("type", "object") != "object":
        sheet.wrong(
            f"{_AT}/type",
            "Inputs are an object: each one has a name.",
            "inputs_not_an_object",
            'Write "type": "object" and put the inputs into properties.',
        )
        return None
    sheet.add(find_default_problems(schema, _AT, limits))
    return schema


# Names: step ids and output names are unique and not reserved.


def check_names(outline: DefinitionOutline, sheet: FindingCollector) -> None:
    """Reject duplicate and reserved names."""
    # A stored definition keeps its name and tags; new ones are checked when they are saved.
    for finding in name_findings(outline.name or ""):
        sheet.doubt(finding)
    for number, tag in enumerate(outline.tags):
        if isinstance(tag, str):
            for finding in name_findings(tag, join_pointer("/metadata/tags", number)):
                sheet.doubt(finding)
    steps = list(outline.steps())
    ids = _check_ids(steps, sheet)
    outputs = _check_outputs(steps, ids, sheet)
    for step in steps:
        if step.nested:
            _check_item(step, outputs, sheet)
    _check_triggers(outline, sheet)


def _check_ids(steps: list[StepOutline], sheet: FindingCollector) -> dict[str, str]:
    first: dict[str, str] = {}
    for step in steps:
        if step.step_id is None:
            continue
        pointer = join_pointer(step.pointer, "step_id")
        if step.step_id in RESERVED:
            _report_reserved(pointer, step.step_id, sheet)
        elif step.step_id in first:
            sheet.wrong(
                pointer,
                f"The step id {step.step_id!r} is taken by {first[step.step_id]}.",
                "duplicate_step_id",
                "Give each step an id of its own.",
            )
        first.setdefault(step.step_id, step.pointer)
    return first


def _check_outputs(
    steps: list[StepOutline], ids: dict[str, str], sheet: FindingCollector
) -> dict[str, str]:
    first: dict[str, str] = {}
    for step in steps:
        name = step.output_as
        if name is None:
            continue
        pointer = join_pointer(step.pointer, "output_as")
        if name in RESERVED:
            _report_reserved(pointer, name, sheet)
        elif name in first:
            detail = f"The output name {name!r} is taken by {first[name]}."
            sheet.wrong(pointer, detail, "duplicate_output", "Choose another name.")
        elif name in ids and ids[name] != step.pointer:
            detail = (
                f"{name!r} is the id of the step at {ids[name]}, so it cannot name this output."
            )
            sheet.wrong(pointer, detail, "duplicate_output", "Choose another name.")
        first.setdefault(name, step.pointer)
    return first


def _check_item(step: StepOutline, outputs: dict[str, str], sheet: FindingCollector) -> None:
    name = step.item_name
    pointer = join_pointer(step.pointer, "config", "as")
    if name in RESERVED and name != "item":
        _report_reserved(pointer, name, sheet)
    elif name in outputs:
        detail = f"The name {name!r} is the output of {outputs[name]}."
        sheet.wrong(pointer, detail, "duplicate_output", "Choose another name for the item.")


def _check_triggers(outline: DefinitionOutline, sheet: FindingCollector) -> None:
    first: dict[str, str] = {}
    for trigger in outline.triggers:
        if not trigger.id:
            continue
        if trigger.id in first:
            sheet.wrong(
                join_pointer(trigger.pointer, "id"),
                f"The trigger id {trigger.id!r} is taken by {first[trigger.id]}.",
                "duplicate_trigger_id",
                "Give each trigger an id of its own, or leave it out.",
            )
        first.setdefault(trigger.id, trigger.pointer)


def _report_reserved(pointer: str, name: str, sheet: FindingCollector) -> None:
    sheet.wrong(
        pointer,
        f"{name!r} is a word of the template language and cannot name a step or an output.",
        "reserved_name",
        f"Use another name, such as {name + '_step'!r}.",
    )


# Limits: the size of a definition, and whether its own limits are consistent.


def check_bounds(
    document: Mapping[str, Any], outline: DefinitionOutline, limits: Limits, sheet: FindingCollector
) -> None:
    """Reject what exceeds the limits of this installation."""
    size = len(encode_canonical(document))
    if size > limits.definition_bytes:
        detail = f"The definition has {size:,} bytes; {limits.definition_bytes:,} are allowed."
        sheet.wrong("", detail, "definition_too_large")
    steps = sum(1 for _ in outline.steps())
    if steps > limits.steps:
        detail = (
            f"The definition has {steps} steps, nested ones included; {limits.steps} are allowed."
        )
        sheet.wrong("/plan", detail, "too_many_steps", "Split it into several automations.")
    if len(outline.triggers) > limits.triggers:
        detail = f"There are {len(outline.triggers)} triggers; {limits.triggers} are allowed."
        sheet.wrong("/triggers", detail, "too_many_triggers")
    templates = sum(map(_template_text, (document.get("plan"), document.get("execution"))))
    templates -= sum(map(_plain_text, outline.steps()))
    if templates > limits.templates_bytes:
        detail = (
            f"The templates have {templates:,} characters together; "
            f"{limits.templates_bytes:,} are allowed."
        )
        sheet.wrong("/plan", detail, "too_much_template", "Move long texts into inputs.")
    _check_nesting((*outline.plan, *outline.on_failure), 1, limits, sheet)


def _template_text(value: Any, key: str = "") -> int:
    """The amount of template text below one part of a document."""
    if isinstance(value, str):
        return len(value) if key == "when" or has_syntax(value) else 0
    if isinstance(value, dict):
        return sum(_template_text(entry, name) for name, entry in value.items())
    return sum(map(_template_text, value)) if isinstance(value, list) else 0


def _plain_text(step: StepOutline) -> int:
    """Text in a config that looks like a template but is never parsed as one, such as a script."""
    if step.known is None or step.config is None:
        return 0
    declared = step.known.config_schema.get("properties", {})
    plain = [name for name, schema in declared.items() if schema.get(SCOPE) == "none"]
    return sum(_template_text(step.config[name], name) for name in plain if name in step.config)


def check_execution(definition: Definition, sheet: FindingCollector) -> None:
    """Report limits that can never be reached because another one is lower."""
    execution = definition.execution
    if execution.budget_cap_usd > execution.cost_cap_daily_usd:
        sheet.doubtful(
            "/execution/budget_cap_usd",
            f"A run may spend {show_money(execution.budget_cap_usd)} USD, but all runs of a day "
            f"together {show_money(execution.cost_cap_daily_usd)} USD: the smaller cap counts.",
            "budget_above_day_cap",
            "Raise cost_cap_daily_usd or lower budget_cap_usd.",
        )
    if execution.concurrency_key is not None and execution.concurrency == "allow_parallel":
        sheet.doubtful(
            "/execution/concurrency_key",
            "Runs that may overlap never wait for each other, so the key has no effect.",
            "key_without_effect",
            "Choose queue or drop_if_running, or remove the key.",
        )
    steps = [("/plan", definition.plan), ("/execution/on_failure", execution.on_failure)]
    for at, part in steps:
        for place, step in enumerate(part):
            if (step.timeout_seconds or 0) > execution.timeout_seconds:
                sheet.doubtful(
                    f"{at}/{place}/timeout_seconds",
                    f"The step may take {step.timeout_seconds} s, but the whole run only "
                    f"{execution.timeout_seconds} s.",
                    "timeout_above_run",
                    "Raise execution.timeout_seconds.",
                )
            if (step.budget_cap_usd or 0) > execution.budget_cap_usd:
                sheet.doubtful(
                    f"{at}/{place}/budget_cap_usd",
                    f"The step may spend {show_money(step.budget_cap_usd or Decimal(0))} USD, but "
                    f"the whole run only {show_money(execution.budget_cap_usd)} USD.",
                    "step_budget_above_run",
                    "Raise execution.budget_cap_usd or lower the step's.",
                )


def _check_nesting(
    steps: Iterable[StepOutline], depth: int, limits: Limits, sheet: FindingCollector
) -> None:
    for step in steps:
        if step.known is None or step.known.nested is None:
            continue
        if depth > limits.nesting:
            detail = f"Steps are nested {depth} levels deep; {limits.nesting} are allowed."
            sheet.wrong(step.pointer, detail, "nested_too_deeply", "Flatten the inner loop.")
        else:
            _check_nesting(step.nested, depth + 1, limits, sheet)


ModelsByPath = Mapping[tuple[str, ...], type[BaseModel]]

# The model's error types: our message, and the JSON Schema keyword as the code, so that findings
# about an envelope and a config only differ in their pointers.
_SENTENCES: Final[Mapping[str, tuple[str, str]]] = {
    "missing": ("required", "{name} is required."),
    "extra_forbidden": ("additional_properties", "There is no {name} here."),
    "string_type": ("type", "{name} must be text, not {found}."),
    "int_type": ("type", "{name} must be a whole number, not {found}."),
    "int_from_float": ("type", "{name} must be a whole number, not {found}."),
    "bool_type": ("type", "{name} must be true or false, not {found}."),
    "dict_type": ("type", "{name} must be an object, not {found}."),
    "model_type": ("type", "{name} must be an object, not {found}."),
    "model_attributes_type": ("type", "{name} must be an object, not {found}."),
    "tuple_type": ("type", "{name} must be a list, not {found}."),
    "literal_error": ("enum", "{name} must be {expected}."),
    "string_too_short": ("min_length", "{name} must not be empty."),
    "string_too_long": ("max_length", "{name} may have at most {max_length} characters."),
    "string_pattern_mismatch": ("pattern", "{name} does not have the form of a name."),
    "string_unicode": ("type", "{name} must be text that can be written as UTF-8."),
    "greater_than_equal": ("minimum", "{name} must be at least {ge}."),
    "less_than_equal": ("maximum", "{name} must be at most {le}."),
    "too_short": ("min_items", "{name} needs at least one entry."),
    "too_long": ("max_items", "{name} may have at most {max_length} entries."),
}
_NAME_FORMS: Final = {
    "id": "Begin with a small letter; then small letters, digits, - and _, at most 64 in all.",
    "step_id": "Begin with a small letter; then small letters, digits and _, at most 64 in all.",
    "output_as": "Begin with a small letter; then small letters, digits and _, at most 64 in all.",
}


def check_shape(
    document: Mapping[str, Any], outline: DefinitionOutline, sheet: FindingCollector
) -> Definition | None:
    """The definition when the envelope is valid; every problem is recorded."""
    definition = None
    try:
        definition = Definition.from_json(document)
    except ValidationError as error:
        sheet.add(describe_model_errors(error))
    for step in outline.steps():
        if step.known is not None and step.known.nested is not None and step.config is not None:
            _check_nested(step.config.get(step.known.nested), step.nested_pointer, sheet)
    return definition


def describe_model_errors(
    error: ValidationError, at: str = "", parts: ModelsByPath = PARTS
) -> Iterator[Finding]:
    """The model's errors as findings below a pointer."""
    for one in error.errors(include_url=False):
        pointer = join_pointer(at, *one["loc"])
        yield Finding(pointer, _describe_model_error(one), _code(one), _suggestion(one, parts))


def _check_nested(value: Any, pointer: str, sheet: FindingCollector) -> None:
    """Nested steps are inside a config, which the envelope leaves to the action."""
    if not isinstance(value, list):
        return  # the action's own schema reports it
    try:
        read_steps(value)
    except ValidationError as error:
        sheet.add(describe_model_errors(error, pointer, {("*",): Step}))


def _code(error: ErrorDetails) -> str:
    return _SENTENCES.get(error["type"], (error["type"], ""))[0]


def _describe_model_error(error: ErrorDetails) -> str:
    last = error["loc"][-1] if error["loc"] else "The definition"
    name = f"Entry {last}" if isinstance(last, int) else last
    sentence = _SENTENCES.get(error["type"], ("", error["msg"]))[1]
    context = {key: str(value) for key, value in error.get("ctx", {}).items()}
    return sentence.format(name=name, found=_kind(error["input"]), **context)


def _suggestion(error: ErrorDetails, parts: ModelsByPath) -> str | None:
    place, kind = error["loc"], error["type"]
    name = str(place[-1]) if place else ""
    if kind == "string_pattern_mismatch":
        return _NAME_FORMS.get(name)
    if kind == "missing" and name == "schema_version":
        return f'Add "schema_version": "{CURRENT_VERSION}".'
    if kind == "literal_error" and isinstance(error["input"], str):
        return suggest_nearest(error["input"], str(error["ctx"]["expected"]).split("'")[1::2])
    if kind == "extra_forbidden":
        part = parts.get(tuple("*" if isinstance(step, int) else step for step in place[:-1]))
        return None if part is None else suggest_nearest(name, _keys(part))
    if name == "when" and kind == "string_type":
        return 'Write the condition as text, for example "{{ inputs.count > 0 }}".'
    return None


def _keys(part: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in part.model_fields.items()]


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case dict():
            return "an object"
    return "this"
