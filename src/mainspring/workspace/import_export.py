"""Export and import of automations as documents.

An export has the definition with its current triggers and nothing specific to this installation. An
import is untrusted: all documents are validated before anything is stored, nothing in them is run
or opened, and they are stored paused until a person consents here, regardless of any consent
elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Conflict, Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.suggestions import suggest_nearest
from mainspring.definition.validate import ValidationReport, validate
from mainspring.workspace.automation_list import read_automation
from mainspring.workspace.automations import (
    SavedAutomation,
    create,
    find_automation_ids,
    lock_automations,
    lock_names,
    update,
)
from mainspring.workspace.consents import (
    AgreedAuthority,
    ask_consent,
    find_consent_additions,
    load_agreed_authority,
)
from mainspring.workspace.inbox import post_message

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.workspace.consent_rows import AutomationConsent

OnClash = Literal["refuse", "new_version", "rename"]

FORMAT: Final = "mainspring.export"
VERSION: Final = 1
_KEYS: Final = ("format", "version", "automations")
_LONGEST_NAME: Final = 200
# More names than a message needs.
_MOST_TOLD: Final = 20

_ALL = """
    SELECT id FROM automations WHERE workspace_id = $1 AND state <> 'archived' ORDER BY name, id
"""
_TAKEN = """
    SELECT id, name, state FROM automations
    WHERE workspace_id = $1 AND state <> 'archived' AND name = ANY($2::text[])
"""
_NAMES = "SELECT name FROM automations WHERE workspace_id = $1 AND state <> 'archived'"


@dataclass(frozen=True, slots=True)
class ImportCandidate:
    """A document to import, and its position in the input."""

    at: str
    report: ValidationReport
    # The same document under another name, in case its own is in use.
    spare: ImportCandidate | None = None

    @property
    def name(self) -> str:
        return self.report.accepted().name


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The result of importing one document."""

    name: str
    saved: SavedAutomation
    renamed_from: str | None = None
    # The pending consent; None when the document changed nothing.
    consent: AutomationConsent | None = None


async def export_automation(
    tx: Transaction, workspace_id: UUID, automation_id: UUID
) -> dict[str, Any]:
    """Export the current definition of an automation."""
    found = await read_automation(tx, workspace_id, automation_id)
    document: dict[str, Any] = found["definition"]
    return document


async def export_all(tx: Transaction, workspace_id: UUID) -> dict[str, Any]:
    """Export every automation that is not archived, by name."""
    rows = await tx.fetch(_ALL, workspace_id)
    found = [await export_automation(tx, workspace_id, row["id"]) for row in rows]
    return {"format": FORMAT, "version": VERSION, "automations": found}


async def validate_import(
    value: Any, vocabulary: Vocabulary, limits: Limits
) -> list[ImportCandidate]:
    """Validate one definition or an export of many, with all problems; nothing is stored."""
    candidates: list[ImportCandidate] = []
    findings: list[Finding] = []
    for at, document in _iterate_documents(value):
        report = await asyncio.to_thread(validate, document, vocabulary, limits)
        findings += [replace(one, pointer=at + one.pointer) for one in report.findings]
        if report.ok:
            candidates.append(ImportCandidate(at, report))
    findings += _find_duplicates(candidates)
    if findings:
        raise Invalid(
            "Nothing was imported: the files have problems.",
            code="invalid_import",
            findings=findings,
        )
    return candidates


async def add_renamed_candidates(
    tx: Transaction,
    workspace_id: UUID,
    candidates: Sequence[ImportCandidate],
    vocabulary: Vocabulary,
    limits: Limits,
) -> list[ImportCandidate]:
    """Validate in advance the documents that would be stored under another name.

    Validation is slow, and the name lock is held while an import is stored.
    """
    used = {row["name"] for row in await tx.fetch(_NAMES, workspace_id)}
    taken = {one.name for one in candidates} & used
    used |= {one.name for one in candidates}
    return [
        replace(one, spare=await _rename_candidate(one, used, vocabulary, limits))
        if one.name in taken
        else one
        for one in candidates
    ]


async def import_validated(
    tx: Transaction,
    workspace_id: UUID,
    candidates: Sequence[ImportCandidate],
    author: UUID,
    vocabulary: Vocabulary,
    limits: Limits,
    on_clash: OnClash = "refuse",
) -> list[ImportResult]:
    """Store all documents or none, each paused."""
    await lock_names(tx, workspace_id)
    names = [one.name for one in candidates]
    if on_clash == "new_version":
        await lock_automations(tx, workspace_id, await find_automation_ids(tx, workspace_id, names))
    taken = {row["name"]: row for row in await tx.fetch(_TAKEN, workspace_id, names)}
    if taken and on_clash == "refuse":
        raise _name_conflict_error([one for one in candidates if one.name in taken])
    if taken and on_clash == "rename":
        used = {row["name"] for row in await tx.fetch(_NAMES, workspace_id)} | set(names)
        candidates = [
            await _rename_candidate(one, used, vocabulary, limits) if one.name in taken else one
            for one in candidates
        ]
        taken = {}
    made = [await _store(tx, workspace_id, one, taken.get(one.name), author) for one in candidates]
    await _tell(tx, workspace_id, made)
    return [
        one if one.name == before else replace(one, renamed_from=before)
        for one, before in zip(made, names, strict=True)
    ]


async def _store(
    tx: Transaction, workspace_id: UUID, one: ImportCandidate, there: Any, author: UUID
) -> ImportResult:
    definition, grants = one.report.accepted(), one.report.grants
    agreed = AgreedAuthority(None, None)
    if there is None:
        saved = await create(tx, workspace_id, definition, grants, author, one.report.traits)
    else:
        agreed = await load_agreed_authority(tx, workspace_id, there["id"])
        saved = await update(
            tx, workspace_id, there["id"], definition, grants, author, traits=one.report.traits
        )
        if not saved.changed and not saved.switched_back:
            return ImportResult(one.name, saved)
    # Nobody here has consented to the document, even when it changes nothing.
    consent = await ask_consent(
        tx,
        workspace_id,
        saved.automation_id,
        saved.version,
        "import",
        await find_consent_additions(agreed, definition.as_dict(), grants, one.report.traits),
        Actor(workspace_id, "member", author),
        agreed=agreed,
        tell=False,
    )
    return ImportResult(one.name, replace(saved, state="paused"), consent=consent)


async def _tell(tx: Transaction, workspace_id: UUID, made: Sequence[ImportResult]) -> None:
    """Send one message for all documents."""
    asked = [one for one in made if one.consent is not None]
    waiting = [one.name for one in asked]
    if not waiting:
        return
    count = len(waiting)
    title = "An imported automation waits" if count == 1 else f"{count} imported automations wait"
    shown = [f"- {name}" for name in waiting[:_MOST_TOLD]]
    rest = [f"- and {count - _MOST_TOLD} more"] if count > _MOST_TOLD else []
    await post_message(
        tx,
        workspace_id,
        title=f"{title} for your consent",
        message="\n".join(["Nothing starts until you agree:", *shown, *rest]),
        level="warning",
        automation_id=asked[0].saved.automation_id if count == 1 else None,
    )


def _iterate_documents(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield each document with its pointer."""
    if not isinstance(value, Mapping) or "format" not in value:
        yield "", value
        return
    findings = list(_validate_envelope(value))
    if findings:
        raise Invalid(
            "This is not an export that can be read.", code="invalid_import", findings=findings
        )
    for place, document in enumerate(value["automations"]):
        yield join_pointer("", "automations", place), document


def _validate_envelope(value: Mapping[str, Any]) -> Iterator[Finding]:
    if value["format"] != FORMAT:
        detail = f"The format of an export is {FORMAT!r}."
        yield Finding("/format", detail, "unknown_format")
    version = value.get("version")
    if type(version) is not int or version != VERSION:
        detail = f"This release reads version {VERSION} of exports."
        yield Finding("/version", detail, "unknown_version")
    if not isinstance(value.get("automations"), list):
        detail = "automations must be a list of definitions."
        yield Finding("/automations", detail, "type")
    for key in value:
        if key not in _KEYS:
            detail = f"There is no {key[:64]!r} in an export."
            yield Finding(join_pointer("", key), detail, "unknown_key", suggest_nearest(key, _KEYS))


def _find_duplicates(candidates: Sequence[ImportCandidate]) -> Iterator[Finding]:
    seen: set[str] = set()
    for one in candidates:
        if one.name in seen:
            detail = f"There are two automations called {one.name!r} in here."
            yield Finding(f"{one.at}/name", detail, "name_taken")
        seen.add(one.name)


def _name_conflict_error(clashing: Sequence[ImportCandidate]) -> Conflict:
    findings = [
        Finding(
            f"{one.at}/name", f"There is an automation called {one.name!r} already.", "name_taken"
        )
        for one in clashing
    ]
    return Conflict(
        "Nothing was imported: names are taken.",
        code="name_taken",
        findings=findings,
        suggestion="Say with on_clash whether to save new versions or to rename.",
    )


async def _rename_candidate(
    one: ImportCandidate, used: set[str], vocabulary: Vocabulary, limits: Limits
) -> ImportCandidate:
    """Rename to the next free name and validate again: a trigger may refer to names."""
    if one.spare is not None and one.spare.name not in used:
        used.add(one.spare.name)
        return one.spare
    number = 2
    while (name := _append_number(one.name, number)) in used:
        number += 1
    used.add(name)
    document = {**one.report.accepted().as_dict(), "name": name}
    report = await asyncio.to_thread(validate, document, vocabulary, limits)
    if not report.ok:
        findings = [replace(found, pointer=one.at + found.pointer) for found in report.findings]
        raise Invalid(
            f"Nothing was imported: {one.name!r} cannot be renamed.",
            code="invalid_import",
            findings=findings,
        )
    return ImportCandidate(one.at, report)


def _append_number(name: str, number: int) -> str:
    ending = f" ({number})"
    return name[: _LONGEST_NAME - len(ending)] + ending
