"""Checks of triggers: valid configs, schedules that fire, no trigger loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, get_args

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.cron import get_smallest_interval, parse_cron
from mainspring.definition.filters import filter_doubts, filter_findings
from mainspring.definition.filters.operators import MISSING, OPERATORS, parse_field_path
from mainspring.definition.filters.validation import ALL, ANY, NOT
from mainspring.definition.inputs import RuntimeTokens, list_undeclared, resolve_inputs
from mainspring.definition.json_schema import compile_schema
from mainspring.definition.jsonpath import parse_path
from mainspring.definition.model import TriggerType
from mainspring.definition.strict_json import join_pointer, split_pointer
from mainspring.definition.suggestions import suggest_nearest
from mainspring.definition.validate.outline import DefinitionOutline, TriggerOutline
from mainspring.definition.validate.report import FindingCollector

# Loops: a trigger that would fire on the runs of its own automation.

RUN_EVENTS: Final = "automation.run."
# A placeholder for an id that does not exist yet: no author can have written it.
_OF_AN_UNBORN_ID: Final[Mapping[str, bool]] = {
    "equals": False,
    "in": False,
    "not_equals": True,
    "not_in": True,
}


@dataclass(frozen=True, slots=True)
class AutomationIdentity:
    """What is known about the automation that is being validated."""

    name: str | None
    automation_id: str | None = None


def can_trigger_itself(
    event_type: str, filters: Mapping[str, Any] | None, own: AutomationIdentity, limits: Limits
) -> bool:
    """Whether a run of this automation may fire this trigger of it."""
    if not event_type.startswith(RUN_EVENTS):
        return False
    return _filter(filters or {}, own, limits) is not False


def _filter(written: Mapping[str, Any], own: AutomationIdentity, limits: Limits) -> bool | None:
    """True, False, or None when the result depends on unknown values."""
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
    return OPERATORS[name].test(operand, limits)(value)


def _every(answers: Iterable[bool | None]) -> bool | None:
    found = list(answers)
    if False in found:
        return False
    return None if None in found else True


def _some(answers: Iterable[bool | None]) -> bool | None:
    return _opposite(_every(_opposite(answer) for answer in answers))


def _opposite(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


# Below this interval, an event trigger is probably what the author needs.
OFTEN_SECONDS: Final = 900
# Checked by their own parsers, which give better messages than a schema.
_OWN_READERS: Final = ("/cron", "/filters")
# The values of the runtime tokens do not matter here, only that they exist.
_SOME_RUN: Final = RuntimeTokens(None, datetime(2000, 1, 1, tzinfo=UTC), "", "")


@dataclass(frozen=True, slots=True)
class TriggerCheckContext:
    """What triggers are checked against."""

    vocabulary: Vocabulary
    limits: Limits
    own: AutomationIdentity
    # None when the input schema cannot be used.
    inputs_schema: Mapping[str, Any] | None


def check_triggers(
    outline: DefinitionOutline, place: TriggerCheckContext, sheet: FindingCollector
) -> None:
    """Check every trigger's config and what it requires of the inputs."""
    for trigger in outline.triggers:
        known = place.vocabulary.triggers.get(trigger.type or "")
        if known is None:
            _check_type(trigger, place, sheet)
            continue
        if trigger.config is not None:
            at = join_pointer(trigger.pointer, "config")
            found = compile_schema(known.config_schema, place.limits).findings(trigger.config, at)
            sheet.add(one for one in found if not _read_elsewhere(one, at))
            _check_config(trigger, place, sheet)
        if place.inputs_schema is not None:
            _check_inputs(trigger, place.inputs_schema, place.limits, sheet)


def _check_type(
    trigger: TriggerOutline, place: TriggerCheckContext, sheet: FindingCollector
) -> None:
    """The envelope lists all trigger types; one of them may not be installed."""
    if trigger.type is not None and trigger.type in get_args(TriggerType):
        sheet.wrong(
            join_pointer(trigger.pointer, "type"),
            f"This installation has no {trigger.type} triggers.",
            "unknown_trigger",
            suggest_nearest(trigger.type, place.vocabulary.triggers),
        )


def _read_elsewhere(finding: Finding, at: str) -> bool:
    place = finding.pointer.removeprefix(at)
    return finding.code != "required" and any(
        place == key or place.startswith(key + "/") for key in _OWN_READERS
    )


def _check_config(
    trigger: TriggerOutline, place: TriggerCheckContext, sheet: FindingCollector
) -> None:
    config, at = trigger.config or {}, join_pointer(trigger.pointer, "config")
    match trigger.type:
        case "schedule":
            _check_cron(config.get("cron"), join_pointer(at, "cron"), sheet)
        case "webhook":
            mapping = config.get("input_mapping")
            _check_mapping(mapping, join_pointer(at, "input_mapping"), place.limits, sheet)
        case "event":
            _check_event(config, place, at, sheet)
        case "board_change" | "page_ingested":
            _check_filters(config.get("filters"), place, at, sheet)


def _check_cron(text: Any, at: str, sheet: FindingCollector) -> None:
    if not isinstance(text, str):
        if text is not None:
            sheet.wrong(at, "A cron expression is text.", "type")
        return
    try:
        seconds = _closest(text)
    except Invalid as error:
        sheet.wrong(at, error.detail, error.code, error.suggestion)
        return
    if seconds < OFTEN_SECONDS:
        minutes = "minute" if seconds < 120 else f"{seconds // 60} minutes"
        sheet.doubtful(
            at,
            f"This fires every {minutes} at its closest.",
            "fires_often",
            "If you wait for something to happen, an event trigger notices it sooner.",
        )


@lru_cache(maxsize=1024)
def _closest(text: str) -> int:
    """Cached: searching through the years costs more than the rest of the validation."""
    return get_smallest_interval(parse_cron(text))


def _check_mapping(mapping: Any, at: str, limits: Limits, sheet: FindingCollector) -> None:
    for name, path in mapping.items() if isinstance(mapping, dict) else ():
        if not isinstance(path, str):
            continue  # the schema reports it
        try:
            parse_path(path, limits)
        except Invalid as error:
            sheet.wrong(join_pointer(at, name), error.detail, error.code, error.suggestion)


def _check_filters(
    filters: Any, place: TriggerCheckContext, at: str, sheet: FindingCollector
) -> bool:
    """Check that the filter of a trigger is usable."""
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
            "This trigger would go off on the automation's own runs and never come to rest.",
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
    """A schedule starts the run, so no caller can provide required inputs."""
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
