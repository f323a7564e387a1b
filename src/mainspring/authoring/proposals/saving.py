"""save_proposal: a person consents to exactly what they reviewed.

A client with a token is not a person: it gets the URL where a person can save. The definition is
validated again in the transaction that stores it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.authoring.proposals.proposal_body import ProposalBody
from mainspring.authoring.proposals.views import digest_of
from mainspring.authoring.saving import check_name_free
from mainspring.authoring.validation import build_overlap_query, check_overlap
from mainspring.contracts.errors import Conflict, Finding, Invalid, PermissionDenied
from mainspring.contracts.preflight import REFUSED
from mainspring.triggers.trigger_changes import record_overtaken
from mainspring.workspace import schedules
from mainspring.workspace.automations import (
    SavedAutomation,
    create,
    lock_automations,
    lock_names,
    update,
)
from mainspring.workspace.consents import record_agreement
from mainspring.workspace.proposals import StoredProposal, check_open, lock_proposal, mark_saved

if TYPE_CHECKING:
    from mainspring.authoring.service import AuthoringService
    from mainspring.contracts.capability import CapabilityHandler
    from mainspring.contracts.context import CallContext
    from mainspring.definition.validate import ValidationReport

_BESIDE: Final = (
    "Change that automation instead, or save this one too with a coexistence_note that says why "
    "both are needed."
)


def save_handler(studio: AuthoringService) -> CapabilityHandler:
    async def save(ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
        space, tx, proposal_id = ctx.actor.workspace_id, ctx.tx, UUID(given["proposal_id"])
        if ctx.run is not None or not ctx.actor.is_person:
            raise _person_needed(studio, proposal_id)
        await lock_names(tx, space)
        kept = await lock_proposal(tx, space, proposal_id)
        check_open(kept)
        body = ProposalBody.read(kept.body)
        _check_read(body, given["digest"])
        _check_answered(body)
        document = _document(body, given)
        report = await studio.validate(space, document, kept.automation_id, ctx.actor.id)
        report.accepted()
        _check_reached(report)
        _check_grants(body, report)
        # A rename does not avoid the overlap check, so it runs again.
        query = build_overlap_query(document, kept.automation_id, studio.native_vocabulary)
        acknowledged = bool(given.get("coexistence_note"))
        await check_overlap(studio, tx, space, query, acknowledged=acknowledged, way=_BESIDE)
        saved = await _save_proposal(studio, ctx, kept, report)
        await mark_saved(tx, space, kept.id, saved.automation_id, saved.version, ctx.actor.id)
        return _describe_saved_proposal(studio, saved, report)

    return save


def _person_needed(studio: AuthoringService, proposal_id: UUID) -> PermissionDenied:
    return PermissionDenied(
        "A person saves a proposal, after reading it; a program cannot.",
        code="person_needed",
        suggestion=f"It can be read and saved at {studio.proposal_url(proposal_id)}, or with "
        f"`mainspring proposals save {proposal_id}`.",
    )


def _check_read(body: ProposalBody, digest: str) -> None:
    """Check that the saved definition is the reviewed one, by digest."""
    if digest != digest_of(body):
        detail = "The proposal is not what was read: it has changed since."
        raise Conflict(
            detail,
            code="proposal_changed",
            findings=[Finding("/digest", detail, "proposal_changed")],
            suggestion="Read it again, and save it with the digest that it has now.",
        )


def _check_grants(body: ProposalBody, report: ValidationReport) -> None:
    """A grant pattern may match more than when it was reviewed."""
    if [grant.as_dict() for grant in report.grants] != list(body.grants):
        raise Conflict(
            "What it may call changed since you read it: tools were added or removed.",
            code="proposal_changed",
            findings=[Finding("/digest", "Its grants have changed.", "grants_changed")],
            suggestion="Refine it, for instance with a definition that is the same, and read it "
            "again.",
        )


def _check_reached(report: ValidationReport) -> None:
    """Reject blocked addresses: no run could reach them."""
    refused = [one for one in report.warnings if one.code in REFUSED]
    if refused:
        raise Invalid(
            refused[0].detail,
            code=refused[0].code,
            findings=refused,
            suggestion=refused[0].suggestion,
        )


def _check_answered(body: ProposalBody) -> None:
    if body.questions:
        findings = [
            Finding(one.pointer, one.question, "unanswered", f"Answer {one.id!r}.")
            for one in body.questions
        ]
        count = len(findings)
        things = "1 question is" if count == 1 else f"{count} questions are"
        raise Invalid(
            f"{things} still open: {body.questions[0].question}",
            code="questions_open",
            findings=findings,
            suggestion=f"Answer {'it' if count == 1 else 'them'} first.",
        )


def _document(body: ProposalBody, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The definition, with the person's reason for coexisting with another automation."""
    note = arguments.get("coexistence_note")
    if note is None:
        return body.document
    writes = {**(body.document.get("writes") or {}), "coexistence_note": note}
    return {**body.document, "writes": writes}


async def _save_proposal(
    studio: AuthoringService, ctx: CallContext, kept: StoredProposal, report: ValidationReport
) -> SavedAutomation:
    space, tx, definition = ctx.actor.workspace_id, ctx.tx, report.accepted()
    base = kept.base
    if base is None:
        await check_name_free(studio, ctx, definition.name, "propose_automation")
        saved = await create(tx, space, definition, report.grants, ctx.actor.id, report.traits)
        await record_agreement(tx, space, saved.automation_id, saved.version, ctx.actor)
        return saved
    await lock_automations(tx, space, [base.automation_id])
    before = await schedules.list_waiting_schedules(tx, [(space, base.automation_id)])
    saved = await update(
        tx,
        space,
        base.automation_id,
        definition,
        report.grants,
        ctx.actor.id,
        expected_version=base.version,
        traits=report.traits,
    )
    # The saver has reviewed everything, so open consents about it are answered too.
    await record_agreement(tx, space, base.automation_id, saved.version, ctx.actor)
    await record_overtaken(tx, before, studio.limits)
    return saved


def _describe_saved_proposal(
    studio: AuthoringService, saved: SavedAutomation, report: ValidationReport
) -> dict[str, Any]:
    return {
        "automation_id": str(saved.automation_id),
        "version": saved.version,
        "changed": saved.changed,
        "state": saved.state,
        "name": report.accepted().name,
        "admin_url": studio.admin_url(saved.automation_id),
        "widened": [grant.as_dict() for grant in saved.widened],
        "warnings": [one.as_dict() for one in (*saved.warnings, *report.warnings)],
    }
