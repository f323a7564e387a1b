"""Validation on save: grants, hosts, triggers, script and overlaps.

All errors are reported at once. Overlaps are checked only afterwards, because they are a question
for a person and not an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.authoring.draft import (
    HOSTS_NOTE,
    Document,
    as_written,
    is_script,
    read_granted_tools,
    refuse,
)
from mainspring.authoring.grants import FETCH, validate_grants, validate_hosts
from mainspring.authoring.overlaps import (
    ExistingAutomation,
    OverlapQuery,
    boards_written,
    living,
    writers,
)
from mainspring.authoring.service import AuthoringService
from mainspring.authoring.skeletons import blanks_left
from mainspring.authoring.trigger_kinds import wakes_of
from mainspring.contracts.errors import Conflict, Finding
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.validate import ValidationReport

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


async def validate_definition(
    studio: AuthoringService,
    workspace_id: UUID,
    document: Document,
    arguments: Mapping[str, Any],
    early: list[Finding],
    automation_id: UUID | None = None,
    author_id: UUID | None = None,
) -> ValidationReport:
    """Validate a definition, or raise all its errors at once."""
    findings = [*early, *_about_note(arguments), *blanks_left(arguments.get("source"))]
    about_grants: list[Finding] = []
    asked = is_script(document) and arguments.keys() & {"tool_grants", "source", HOSTS_NOTE}
    if asked:
        words = await studio.load_vocabulary(workspace_id, document)
        about_grants = validate_grants(read_granted_tools(document), words)
        findings += about_grants
    if early:
        # The validator would repeat the errors of these triggers.
        document = {**document, "triggers": []}
    report = await studio.validate(workspace_id, document, automation_id, author_id)
    if asked and not about_grants:
        findings += validate_hosts(
            _list_reached_grants(document, report), arguments.get(HOSTS_NOTE) or ()
        )
    refuse((*findings, *_further(report, about_grants)))
    return report


def _list_reached_grants(document: Document, report: ValidationReport) -> list[Mapping[str, Any]]:
    """Return written grants plus those a script implies at run time."""
    implied = (
        {"tool": grant.capability, "params": grant.params}
        for grant in report.grants
        # A host that the source does not contain is not covered by an implied grant.
        if grant.capability != FETCH or grant.params.get("hosts")
    )
    return [*read_granted_tools(document), *implied]


def _further(report: ValidationReport, about_grants: list[Finding]) -> list[Finding]:
    """Return the validator's findings that were not reported yet."""
    return [
        as_written(finding)
        for finding in report.findings
        if not about_grants
        or not finding.pointer.startswith("/plan")
        or finding.pointer.startswith("/plan/0/config/source")
    ]


def _about_note(arguments: Mapping[str, Any]) -> list[Finding]:
    """Report a note without its acknowledgement, or the reverse."""
    acknowledged, note = arguments.get("acknowledged_overlap"), arguments.get("coexistence_note")
    if acknowledged and note is None:
        detail = "An overlap is acknowledged without a word on why both may live."
        way = "Add coexistence_note, of 10 to 1000 characters, in the person's words."
        return [Finding("/coexistence_note", detail, "note_missing", way)]
    if note is not None and not acknowledged:
        detail = "A coexistence_note needs acknowledged_overlap: true."
        way = "Set acknowledged_overlap to true, or leave the note out."
        return [Finding("/coexistence_note", detail, "note_without_overlap", way)]
    return []


def build_overlap_query(
    document: Mapping[str, Any], but: UUID | None = None, natives: Vocabulary | None = None
) -> OverlapQuery:
    """Build the overlap query from what a definition writes and its triggers; with a vocabulary,
    also from its steps."""
    given = document.get("writes")
    writes: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    boards, target = writes.get("boards"), writes.get("dedupe_target_field")
    named = {one for one in boards if isinstance(one, str)} if isinstance(boards, list) else set()
    if natives is not None:
        named |= boards_written(document, writers(natives))
    return OverlapQuery(
        frozenset(named),
        target if isinstance(target, str) else None,
        wakes_of(document.get("triggers")),
        but,
    )


_WAY = (
    "Show it to the person: extend that one with update_automation, or save this one too with "
    "acknowledged_overlap: true and a coexistence_note."
)


async def check_overlap(
    studio: AuthoringService,
    tx: Transaction,
    workspace_id: UUID,
    query: OverlapQuery,
    *,
    acknowledged: bool,
    way: str = _WAY,
) -> None:
    """Reject an unacknowledged strict overlap, and an acknowledgement without one."""
    found: list[ExistingAutomation] = []
    if query.boards:
        others = await living(tx, workspace_id, studio.native_vocabulary)
        found = [other for other in others if query.overlaps_strictly(other)]
    if found and not acknowledged:
        names = ", ".join(repr(one.name[:80]) for one in found[:3])
        raise Conflict(
            f"It would write the same way as {names}.",
            code="overlap",
            findings=[
                Finding(
                    "/writes_to_boards",
                    f"{one.id}: {one.name!r} ({one.state}) writes the same board and field, and "
                    f"the same event can start both.",
                    "strict_overlap",
                )
                for one in found[:20]
            ],
            suggestion=way,
        )
    if acknowledged and not found:
        detail = "An overlap is acknowledged, and there is none."
        refuse(
            [
                Finding(
                    "/acknowledged_overlap",
                    detail,
                    "no_overlap",
                    "Leave out acknowledged_overlap and coexistence_note.",
                )
            ]
        )
