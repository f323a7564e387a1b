"""Checks of the envelope: the strict model's errors, inputs, names and limits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from mainspring.contracts.display_text import name_findings
from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.chat_triggers import CHAT_MESSAGE, check_chat_config, read_chat_answer
from mainspring.definition.filters import filter_doubts, filter_findings
from mainspring.definition.filters.operators import MISSING, OPERATORS, parse_field_path
from mainspring.definition.filters.validation import ALL, ANY, NOT
from mainspring.definition.forms import FORM, check_form
from mainspring.definition.inputs import (
    RuntimeTokens,
    find_default_problems,
    list_undeclared,
    resolve_inputs,
)
from mainspring.definition.json_schema import check_schema, compile_schema
from mainspring.definition.json_schema.formats import is_timezone
from mainspring.definition.jsonpath import parse_path
from mainspring.definition.model import (
    CURRENT_VERSION,
    PARTS,
    Definition,
    Step,
    TriggerType,
    read_steps,
    show_money,
)
from mainspring.definition.patterns import UnmatchableText
from mainspring.definition.polls import POLL, POLL_TYPES, check_poll, read_poll
from mainspring.definition.schedules import (
    TIME_KEYS,
    ExcludedDays,
    Schedule,
    list_moments,
    parse_schedule,
)
from mainspring.definition.strict_json import encode_canonical, join_pointer, split_pointer
from mainspring.definition.suggestions import suggest_nearest
from mainspring.definition.templates import RESERVED, has_syntax
from mainspring.definition.templates.config import SCOPE
from mainspring.definition.validate.outline import (
    DefinitionOutline,
    FindingCollector,
    StepOutline,
    TriggerOutline,
)
from mainspring.definition.webhook_callers import BY_STEP, read_answer_policy

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
                "Give each step a unique id.",
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
                "Give each trigger a unique id, or remove it.",
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
    "string_pattern_mismatch": ("pattern", "{name} does not have the form of {form}."),
    "string_unicode": ("type", "{name} must be text that can be written as UTF-8."),
    "greater_than_equal": ("minimum", "{name} must be at least {ge}."),
    "less_than_equal": ("maximum", "{name} must be at most {le}."),
    "too_short": ("min_items", "{name} needs at least one entry."),
    "too_long": ("max_items", "{name} may have at most {max_length} entries."),
}
# What a text with a pattern is; everything else is a name.
_FORMS: Final = {"hold_expires_after": "a duration", "board_id": "an id"}
_WRONG_FORM: Final = frozenset({"string_type", "string_too_long", "hold_time"})
_FORM_HINTS: Final = {
    "hold_expires_after": 'Write text with a whole number and s, m, h or d, from "1m" to "30d", '
    'such as "90m", "72h" or "3d".',
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
    form = _FORMS.get(str(last), "a name")
    return sentence.format(name=name, found=_kind(error["input"]), form=form, **context)


def _suggestion(error: ErrorDetails, parts: ModelsByPath) -> str | None:
    place, kind = error["loc"], error["type"]
    name = str(place[-1]) if place else ""
    if kind == "string_pattern_mismatch" or (name in _FORMS and kind in _WRONG_FORM):
        return _FORM_HINTS.get(name)
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


# Triggers: their configs fit, their schedules fire, and they do not chase themselves.


# Loops: a trigger that would go off on the runs of its own automation.

RUN_EVENTS: Final = "automation.run."
# What can be said of an id that does not exist yet: no author can have written it.
_OF_AN_UNBORN_ID: Final[Mapping[str, bool]] = {
    "equals": False,
    "in": False,
    "not_equals": True,
    "not_in": True,
}


@dataclass(frozen=True, slots=True)
class AutomationIdentity:
    """What is known of the automation that is being judged."""

    name: str | None
    automation_id: str | None = None


def can_trigger_itself(
    event_type: str, filters: Mapping[str, Any] | None, own: AutomationIdentity, limits: Limits
) -> bool:
    """Whether a run of this automation may set off this trigger of it."""
    if not event_type.startswith(RUN_EVENTS):
        return False
    return _filter(filters or {}, own, limits) is not False


def _filter(written: Mapping[str, Any], own: AutomationIdentity, limits: Limits) -> bool | None:
    """True, False, or None where the answer depends on what is not known."""
    return _every(_answers(written, own, limits))


def _answers(
    written: Mapping[str, Any], own: AutomationIdentity, limits: Limits
) -> Iterator[bool | None]:
    for key, value in written.items():
        if key == ALL:
            yield _every(_filter(member, own, limits) for member in value)
        elif key == ANY:
            yield _some(_filter(member, own, limits) for member in value)
        elif key == NOT:
            yield _opposite(_filter(value, own, limits))
        else:
            conditions = value if isinstance(value, Mapping) else {"equals": value}
            for name, operand in conditions.items():
                yield _operator(parse_field_path(key), name, operand, own, limits)


def _operator(
    path: tuple[str, ...], name: str, operand: Any, own: AutomationIdentity, limits: Limits
) -> bool | None:
    if path == ("automation_id",) and own.automation_id is None:
        return _OF_AN_UNBORN_ID.get(name)
    known = {"automation_id": own.automation_id, "automation_name": own.name}.get(path[0])
    if known is None:
        return None
    value = known if len(path) == 1 else MISSING
    try:
        return OPERATORS[name].test(operand, limits)(value)
    except UnmatchableText:
        # The name is too long for the pattern, so each run would be an error of this trigger.
        return None


def _every(answers: Iterable[bool | None]) -> bool | None:
    found = list(answers)
    if False in found:
        return False
    return None if None in found else True


def _some(answers: Iterable[bool | None]) -> bool | None:
    return _opposite(_every(_opposite(answer) for answer in answers))


def _opposite(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


# Below this, an event is probably what the author waits for.
OFTEN_SECONDS: Final = 900
# Judged by their own readers, which say more than a schema can.
_FILTERS: Final = re.compile(r"/filters(/.*)?")
_TIMES: Final = re.compile(
    r"/(cron|at|every|anchor|jitter)(/.*)?"
    r"|/times(/[0-9]+(/(cron|at|every|anchor)(/.*)?)?)?|/except(/(dates|holidays)(/.*)?)?"
)
# What the runtime tokens stand for does not matter here, only that they stand for something.
_SOME_RUN: Final = RuntimeTokens(None, datetime(2000, 1, 1, tzinfo=UTC), "", "")


@dataclass(frozen=True, slots=True)
class TriggerCheckContext:
    """What triggers are judged by, besides themselves."""

    vocabulary: Vocabulary
    limits: Limits
    own: AutomationIdentity
    # None when the schema of the inputs cannot be used.
    inputs_schema: Mapping[str, Any] | None


def check_triggers(
    outline: DefinitionOutline, place: TriggerCheckContext, sheet: FindingCollector
) -> None:
    """Judges every trigger by its own contract and by what it asks of the inputs."""
    for trigger in outline.triggers:
        known = place.vocabulary.triggers.get(trigger.type or "")
        if known is None:
            _check_type(trigger, place, sheet)
            continue
        if trigger.config is not None:
            at = join_pointer(trigger.pointer, "config")
            found = compile_schema(known.config_schema, place.limits).findings(trigger.config, at)
            sheet.add(one for one in found if not _read_elsewhere(one, trigger.type, at))
            _check_config(trigger, place, sheet)
        if place.inputs_schema is not None:
            _check_inputs(trigger, place.inputs_schema, place.limits, sheet)
    _check_answers(outline, sheet)


def _check_answers(outline: DefinitionOutline, sheet: FindingCollector) -> None:
    """A webhook that waits for a step has one, and a step that answers has a caller."""
    steps = [one for one in outline.steps() if one.known is not None and one.known.answers]
    webhooks = [one for one in outline.triggers if one.type in ("webhook", FORM)]
    policies = [read_answer_policy(one.config or {}) for one in webhooks]
    for webhook, policy in zip(webhooks, policies, strict=True):
        at = join_pointer(webhook.pointer, "config")
        if policy.mode == BY_STEP and not steps:
            sheet.wrong(
                join_pointer(at, "respond"),
                f"The {webhook.type} waits for a respond step, and the plan has none.",
                "no_respond_step",
                "Add a respond step, or write when_done to answer with the run's output.",
            )
        if "respond_within" in (webhook.config or {}) and not policy.waits:
            sheet.doubtful(
                join_pointer(at, "respond_within"),
                f"The {webhook.type} answers immediately, so this has no effect.",
                "respond_within_without_effect",
                "Set respond to when_done or by_step, or leave respond_within out.",
            )
    chats = [one for one in outline.triggers if one.type == CHAT_MESSAGE]
    for chat in chats:
        if read_chat_answer(chat.config or {}) == BY_STEP and not steps:
            sheet.wrong(
                join_pointer(chat.pointer, "config", "respond"),
                "The sender waits for a respond step, and the plan has none.",
                "no_respond_step",
                "Add a respond step, or leave respond out to answer with the run's output.",
            )
    answered = any(read_chat_answer(one.config or {}) == BY_STEP for one in chats)
    if answered or any(policy.waits for policy in policies):
        return
    for step in steps:
        sheet.doubtful(
            join_pointer(step.pointer, "action"),
            f"No {webhooks[0].type} waits for this answer."
            if webhooks
            else "Only a webhook or a form has a caller to answer, and there is no such trigger.",
            "respond_without_caller",
            f"Set respond: by_step on the {webhooks[0].type} trigger."
            if webhooks
            else "Add a webhook trigger with respond: by_step, or remove this step.",
        )


def _check_type(
    trigger: TriggerOutline, place: TriggerCheckContext, sheet: FindingCollector
) -> None:
    """The envelope names the types there can be; one of them may not be installed."""
    if trigger.type is not None and trigger.type in get_args(TriggerType):
        sheet.wrong(
            join_pointer(trigger.pointer, "type"),
            f"This installation has no {trigger.type} triggers.",
            "unknown_trigger",
            suggest_nearest(trigger.type, place.vocabulary.triggers),
        )


def _read_elsewhere(finding: Finding, kind: str | None, at: str) -> bool:
    place = finding.pointer.removeprefix(at)
    own = _TIMES if kind == "schedule" else _FILTERS
    return finding.code != "required" and own.fullmatch(place) is not None


def _check_config(
    trigger: TriggerOutline, place: TriggerCheckContext, sheet: FindingCollector
) -> None:
    config, at = trigger.config or {}, join_pointer(trigger.pointer, "config")
    match trigger.type:
        case "schedule":
            _check_schedule(config, at, sheet)
        case "webhook":
            mapping = config.get("input_mapping")
            _check_mapping(mapping, join_pointer(at, "input_mapping"), place.limits, sheet)
            _check_webhook_auth(config, at, sheet)
        case "form":
            _check_form(trigger, place, at, sheet)
        case "event":
            _check_event(config, place, at, sheet)
        case "board_change" | "page_ingested":
            _check_filters(config.get("filters"), place, at, sheet)
        case "chat_message":
            sheet.add(check_chat_config(config, at, place.limits))
            _check_filters(config.get("filters"), place, at, sheet)
        case kind if kind in POLL_TYPES:
            _check_poll(kind, config, place, at, sheet)


def _check_form(
    trigger: TriggerOutline, place: TriggerCheckContext, at: str, sheet: FindingCollector
) -> None:
    if any(one.pointer.startswith(at) for one in sheet.findings):
        return  # the schema says so
    config, schema = trigger.config or {}, place.inputs_schema or {}
    sheet.add(check_form(config, schema, trigger.inputs or {}, at))
    if not schema.get("properties"):
        sheet.doubtful(
            at,
            "The form asks for nothing: the definition declares no inputs.",
            "form_without_fields",
            "Declare what people fill in in inputs.schema.properties.",
        )
    if "thank_you" in config and "redirect" in config:
        sheet.doubtful(
            join_pointer(at, "thank_you"),
            "People are redirected, so they do not see this text.",
            "thank_you_without_effect",
            "Remove either the text or the redirect.",
        )


# A poll's relative times are replaced before its arguments are validated.
_SOME_MOMENT: Final = datetime(2026, 1, 1, tzinfo=UTC)


def _check_poll(
    kind: str,
    config: Mapping[str, Any],
    place: TriggerCheckContext,
    at: str,
    sheet: FindingCollector,
) -> None:
    if any(one.pointer.startswith(at) for one in sheet.findings):
        return  # the schema says so
    capabilities = place.vocabulary.capabilities
    found = list(check_poll(kind, config, capabilities, place.limits, at))
    sheet.add(found)
    settings = None if found else read_poll(kind, config)
    capability = None if settings is None else capabilities.get(settings.capability)
    if settings is None or capability is None or not capability.grantable:
        # Reported with the grants.
        return
    arguments = settings.resolve_arguments(_SOME_MOMENT)
    below = join_pointer(at, "arguments") if kind == POLL else at
    wrong = compile_schema(capability.input_schema, place.limits).findings(arguments, below)
    if not wrong and capability.annotations.judge is not None:
        wrong = [
            replace(one, pointer=below + one.pointer)
            for one in capability.annotations.judge(arguments)
        ]
    # The arguments of a preset are not written by the author.
    sheet.add(wrong if kind == POLL else [replace(one, pointer=at) for one in wrong])


# The fields of a webhook's auth that each type needs; those of custom signatures are optional.
_AUTH_FIELDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "bearer": (),
        "secret_url": (),
        "basic": ("username",),
        "header": ("header",),
        "standard_webhooks": (),
        "signature": ("provider",),
    }
)


def _check_webhook_auth(config: Mapping[str, Any], at: str, sheet: FindingCollector) -> None:
    auth, place = config.get("auth"), join_pointer(at, "auth")
    if not isinstance(auth, Mapping) or auth.get("type") not in _AUTH_FIELDS:
        return
    if "signature" in config:
        sheet.wrong(
            join_pointer(at, "signature"),
            "A webhook has either auth or signature.",
            "webhook_auth",
            "Leave signature out and name its secret in auth.",
        )
    kind = auth["type"]
    needed = _AUTH_FIELDS[kind]
    if auth.get("provider") == "custom":
        needed = (*needed, "header")
    for name in needed:
        if name not in auth:
            sheet.wrong(place, f"auth of the type {kind} needs {name}.", "required")
    named = [name for name in ("secret", "secrets") if name in auth]
    if kind in ("bearer", "secret_url"):
        # The server creates the token of these.
        for name in named:
            sheet.wrong(
                join_pointer(place, name),
                f"auth of the type {kind} uses the webhook's own token, and no secret.",
                "webhook_auth",
                "Leave the secret out.",
            )
    elif len(named) != 1:
        sheet.wrong(place, f"auth of the type {kind} needs secret or secrets.", "required")


def _check_schedule(config: Mapping[str, Any], at: str, sheet: FindingCollector) -> None:
    # A zone that is missing or unknown is a finding of the schema.
    zone = config.get("timezone")
    known = isinstance(zone, str) and is_timezone(zone)
    try:
        schedule = parse_schedule({**config, "timezone": zone if known else "UTC"})
        closest = _find_closest(schedule)
    except Invalid as error:
        for one in error.findings:
            sheet.wrong(at + one.pointer, one.detail, one.code, one.suggestion)
        return
    key = next(key for key in TIME_KEYS if key in config)
    if closest is not None and closest < OFTEN_SECONDS:
        minutes = "minute" if closest < 120 else f"{closest // 60} minutes"
        sheet.doubtful(
            join_pointer(at, key),
            f"This fires every {minutes} at its closest.",
            "fires_often",
            "If you wait for something to happen, an event trigger notices it sooner.",
        )
    if closest is not None and schedule.jitter.total_seconds() > closest:
        sheet.wrong(
            join_pointer(at, "jitter"),
            "jitter is longer than the shortest interval between two fire times.",
            "schedule_jitter",
            f"Use at most {closest // 60}m.",
        )
    _check_future(schedule, config, at, sheet)


def _check_future(
    schedule: Schedule, config: Mapping[str, Any], at: str, sheet: FindingCollector
) -> None:
    """Report moments that have passed, and excluded days that leave nothing.

    A past moment is a warning: the definition of a trigger that has fired stays valid.
    """
    now = datetime.now(UTC)
    for place, moment in list_moments(config, schedule.zone):
        if moment <= now:
            sheet.doubtful(
                at + place,
                "This time is in the past, so it starts no run.",
                "schedule_past",
                "Choose a later time.",
            )
    if schedule.excluded and schedule.after(now) is None:
        kept = replace(schedule, excluded=ExcludedDays())
        if kept.after(now) is not None:
            sheet.wrong(
                join_pointer(at, "except"),
                "This schedule never fires: except removes every fire time of the next ten years.",
                "schedule_never",
                "Exclude fewer days, or choose other times.",
            )


@lru_cache(maxsize=1024)
def _find_closest(schedule: Schedule) -> int | None:
    """Looking through the years costs more than the rest of a definition together."""
    closest = schedule.closest
    return None if closest is None else int(closest.total_seconds())


def _check_mapping(mapping: Any, at: str, limits: Limits, sheet: FindingCollector) -> None:
    for name, path in mapping.items() if isinstance(mapping, dict) else ():
        if not isinstance(path, str):
            continue  # the schema says so
        try:
            parse_path(path, limits)
        except Invalid as error:
            sheet.wrong(join_pointer(at, name), error.detail, error.code, error.suggestion)


def _check_filters(
    filters: Any, place: TriggerCheckContext, at: str, sheet: FindingCollector
) -> bool:
    """Whether the filter of a trigger can be used."""
    found = (
        []
        if filters is None
        else filter_findings(filters, place.limits, join_pointer(at, "filters"))
    )
    sheet.add(found)
    if filters and not found:
        for doubt in filter_doubts(filters, place.limits, join_pointer(at, "filters")):
            sheet.doubt(doubt)
    return not found


def _check_event(
    config: Mapping[str, Any], place: TriggerCheckContext, at: str, sheet: FindingCollector
) -> None:
    kind, filters = config.get("event_type"), config.get("filters")
    if not _check_filters(filters, place, at, sheet) or not isinstance(kind, str):
        return
    if kind not in place.vocabulary.events:
        sheet.doubtful(
            join_pointer(at, "event_type"),
            f"Nothing here publishes events of the type {kind[:100]!r} yet.",
            "unknown_event_type",
            suggest_nearest(kind, place.vocabulary.events),
        )
    if can_trigger_itself(kind, filters, place.own, place.limits):
        sheet.wrong(
            join_pointer(at, "filters"),
            "This trigger would start the automation on its own runs, without end.",
            "self_subscription",
            'Name the other automation: {"automation_name": {"equals": "…"}}.',
        )


def _check_inputs(
    trigger: TriggerOutline, schema: Mapping[str, Any], limits: Limits, sheet: FindingCollector
) -> None:
    known = schema.get("properties", {})
    mapping = (trigger.config or {}).get("input_mapping") if trigger.type == "webhook" else None
    mapped = mapping if isinstance(mapping, dict) else {}
    fixed = trigger.inputs or {}
    for key, names in (("config/input_mapping", mapped), ("inputs", fixed)):
        for name in list_undeclared(names, schema):
            sheet.wrong(
                join_pointer(trigger.pointer, *key.split("/"), name),
                f"The definition declares no input called {name!r}.",
                "unknown_input",
                suggest_nearest(name, known) or f"Declare {name!r} in inputs.schema.properties.",
            )
    judge = {key: part for key, part in schema.items() if key != "required"}
    at = join_pointer(trigger.pointer, "inputs")
    sheet.add(
        finding
        for finding in compile_schema(judge, limits).findings(fixed, at)
        if finding.code != "additional_properties"
    )
    if trigger.type == "schedule":
        _check_required(trigger, schema, fixed, limits, sheet)


def _check_required(
    trigger: TriggerOutline,
    schema: Mapping[str, Any],
    fixed: Mapping[str, Any],
    limits: Limits,
    sheet: FindingCollector,
) -> None:
    """Nobody is there to give an input when a clock starts the run."""
    try:
        resolve_inputs(schema, fixed, {}, _SOME_RUN, limits)
    except Invalid as error:
        lacking = [split_pointer(one.pointer) for one in error.findings if one.code == "required"]
        for name in (parts[1] for parts in lacking if len(parts) == 2):
            sheet.wrong(
                join_pointer(trigger.pointer, "inputs"),
                f"A schedule gives no inputs, and {name!r} is required without a default.",
                "missing_input",
                f"Add {name!r} to the trigger's inputs, or give it a default.",
            )
