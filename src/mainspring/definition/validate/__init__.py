"""The validator, used for authoring, saving and running.

``validate`` takes a parsed document and reports all problems at once, each with a JSON pointer, a
sentence and, where there is one, a remedy. It runs in passes over a tolerant outline of the
document (``outline``), so that one mistake hides no other:

- ``envelope``: the strict model, input schema, names, limits that contradict each other;
- ``triggers``: configs, schedules, mappings, filters, triggers that would fire on their own runs;
- ``steps``: actions, configs, conditions and templates, in execution order;
- ``approval_modes``: approval modes, and which steps wait while a write is held for approval;
- ``permissions``: grants cover what the plan calls, and secrets are only used where filled in.

``credential_literals`` (in the parent package) finds texts that look like a credential. ``report``
collects the findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.grants import resolve_effective_grants
from mainspring.definition.model import Definition
from mainspring.definition.secret_use import find_credentials, mask_finding
from mainspring.definition.strict_json import check_value, split_pointer
from mainspring.definition.traits import read_traits
from mainspring.definition.upgrade import UpgradeNote, upgrade
from mainspring.definition.validate.approval_modes import (
    HoldBehavior,
    check_approval,
    check_holding,
    compute_holds,
)
from mainspring.definition.validate.envelope import (
    AutomationIdentity,
    TriggerCheckContext,
    check_bounds,
    check_execution,
    check_inputs,
    check_names,
    check_shape,
    check_triggers,
    describe_model_errors,
)
from mainspring.definition.validate.outline import (
    MOST_FINDINGS,
    FindingCollector,
    TooManyFindings,
    ValidationReport,
    read_outline,
)
from mainspring.definition.validate.permissions import check_grants, check_placeholders
from mainspring.definition.validate.steps import check_steps, get_template_schema, parse_condition

__all__ = [
    "HoldBehavior",
    "ValidationReport",
    "get_template_schema",
    "parse_condition",
    "read_definition",
    "read_holds",
    "validate",
]


def validate(
    document: Any, vocabulary: Vocabulary, limits: Limits, *, automation_id: str | None = None
) -> ValidationReport:
    """Validate a document against the vocabulary and limits of this installation.

    ``automation_id`` is the id of the automation being edited; with it, a trigger that fires on the
    automation's own runs by their id is detected as well.
    """
    try:
        check_value(document, limits)
        if not isinstance(document, dict):
            raise _not_an_object()
        current, notes = upgrade(document)
    except Invalid as error:
        return ValidationReport(error.findings)
    sheet, definition = FindingCollector(), None
    try:
        definition = _judge(current, vocabulary, limits, automation_id, sheet)
    except TooManyFindings:
        detail = f"Only the first {MOST_FINDINGS} problems are listed; there are more."
        sheet.doubtful("", detail, "more_findings", "Fix these, then validate again.")
    findings = _sort_findings(sheet.findings, notes)
    warnings = _sort_findings(sheet.warnings, notes)
    if findings or definition is None:
        return ValidationReport(findings, warnings, notes)
    grants = resolve_effective_grants(definition, vocabulary)
    traits = read_traits(definition.as_dict(), grants, vocabulary)
    return ValidationReport((), warnings, notes, definition, grants, traits)


def read_definition(document: Any) -> Definition:
    """A previously accepted definition, upgraded to the current format.

    Only its shape is checked: whether it still fits the vocabulary is checked when it is compiled.
    """
    if not isinstance(document, dict):
        raise _not_an_object()
    current, _ = upgrade(document)
    try:
        return Definition.from_json(current)
    except ValidationError as error:
        raise Invalid(
            "The stored definition cannot be read.",
            code="invalid_definition",
            findings=describe_model_errors(error),
        ) from None


def read_holds(
    document: Mapping[str, Any], vocabulary: Vocabulary, limits: Limits
) -> dict[str, HoldBehavior]:
    """The hold behaviour of each step of a document, by step id."""
    return compute_holds(read_outline(document, vocabulary), limits)


def _judge(
    document: Mapping[str, Any],
    vocabulary: Vocabulary,
    limits: Limits,
    automation_id: str | None,
    sheet: FindingCollector,
) -> Definition | None:
    outline = read_outline(document, vocabulary)
    check_bounds(document, outline, limits, sheet)
    if sheet.findings:
        # An oversized document is not checked any further.
        return None
    definition = check_shape(document, outline, sheet)
    check_names(outline, sheet)
    own = AutomationIdentity(outline.name, automation_id)
    schema = check_inputs(outline, limits, sheet)
    check_triggers(outline, TriggerCheckContext(vocabulary, limits, own, schema), sheet)
    check_steps(outline, schema, vocabulary, limits, sheet)
    check_holding(outline, limits, sheet)
    check_grants(outline, vocabulary, sheet)
    check_approval(outline, vocabulary, sheet)
    check_placeholders(document, sheet)
    for finding in find_credentials(document):
        sheet.doubt(finding)
    if definition is not None:
        check_execution(definition, sheet)
    return definition


def _not_an_object() -> Invalid:
    finding = Finding("", "A definition is a JSON object.", "type")
    return Invalid(finding.detail, code="invalid_definition", findings=[finding])


def _sort_findings(
    findings: Iterable[Finding], notes: Iterable[UpgradeNote]
) -> tuple[Finding, ...]:
    """Sort by position in the document, remove duplicates and map pointers to the original keys."""
    moved = [(note.pointer, note.was) for note in notes if note.was is not None]
    # Undo the innermost change first: a renamed key may be inside a renamed part.
    moved.sort(key=lambda change: -len(change[0]))
    once = {
        (finding.pointer, finding.code, finding.detail): finding
        for finding in (mask_finding(_as_written(finding, moved)) for finding in findings)
    }
    return tuple(sorted(once.values(), key=_build_sort_key))


def _as_written(finding: Finding, moved: Iterable[tuple[str, str]]) -> Finding:
    """The pointer before the upgrade, because the author looks for the old key."""
    for now, was in moved:
        if finding.pointer == now or finding.pointer.startswith(now + "/"):
            return replace(finding, pointer=was + finding.pointer.removeprefix(now))
    return finding


def _build_sort_key(finding: Finding) -> list[tuple[int, int, str]]:
    return [
        (0, int(part), "") if part.isdecimal() else (1, 0, part)
        for part in split_pointer(finding.pointer)
    ]
