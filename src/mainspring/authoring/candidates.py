"""What may be rehearsed: the version in force, another one, a proposal, or a definition.

Nothing of it is put in force, but it runs with the owner's secrets and asks in the owner's
name. So whoever tries it must be one who could save it: what saving would refuse, a rehearsal
refuses. And what nobody has agreed to, by the same rule as for what is saved, asks nobody
outside, unless a person wants it to who could agree to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.authoring.callers import author_of, check_may_edit
from mainspring.authoring.proposals.body import ProposalBody
from mainspring.authoring.studio import AuthoringService
from mainspring.contracts.errors import Conflict, Finding, Invalid, NotFound, PermissionDenied
from mainspring.contracts.grant import Grant
from mainspring.definition.grants import find_missing_grants
from mainspring.definition.model import Definition
from mainspring.definition.traits import read_traits
from mainspring.definition.validate import read_definition
from mainspring.workspace.account_use import check_accounts
from mainspring.workspace.automations import no_automation_error, read_grants
from mainspring.workspace.consent_rows import load_latest_consent
from mainspring.workspace.consents import find_consent_additions, load_agreed_authority
from mainspring.workspace.proposals import check_open, read_proposal
from mainspring.workspace.secret_use import check_not_widened
from mainspring.workspace.versions import read_version

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext, Transaction

_IN_FORCE = """
    SELECT a.name, a.version, a.state, a.created_by, v.grants, d.document
    FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id
        AND v.automation_id = a.id AND v.version = a.version
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    WHERE a.workspace_id = $1 AND a.id = $2
"""
_CONSENT = """
    SELECT version FROM consents WHERE workspace_id = $1 AND id = $2 AND automation_id = $3
"""
_AT: Final = "/candidate"


@dataclass(frozen=True, slots=True)
class ActiveAutomation:
    """The automation as it is now."""

    version: int
    created_by: UUID
    document: Mapping[str, Any]
    grants: tuple[Grant, ...]
    # Somebody has yet to agree to what it may do, or has refused to.
    unagreed: bool


@dataclass(frozen=True, slots=True)
class CandidateDefinition:
    """What is tried."""

    definition: Definition
    grants: tuple[Grant, ...]
    # What it is told as.
    shown: Mapping[str, Any]
    # It is the version in force itself.
    is_in_force: bool
    # It may do what nobody has agreed to.
    unagreed: bool = False


async def read_in_force(tx: Transaction, space: UUID, automation_id: UUID) -> ActiveAutomation:
    row = await tx.fetchrow(_IN_FORCE, space, automation_id)
    if row is None:
        raise no_automation_error()
    if row["state"] == "archived":
        raise Conflict(
            "This automation is archived.", code="archived", suggestion="Restore it first."
        )
    asked = await load_latest_consent(tx, space, automation_id)
    return ActiveAutomation(
        row["version"],
        row["created_by"],
        row["document"],
        read_grants(row["grants"]),
        asked is not None and asked.blocks(row["version"]),
    )


async def find_candidate(
    studio: AuthoringService, ctx: CallContext, automation_id: UUID, given: Mapping[str, Any]
) -> tuple[CandidateDefinition, ActiveAutomation]:
    """What is asked for, if whoever asks could save it; and what it stands beside."""
    space = ctx.actor.workspace_id
    async with studio.inside(space).acquire() as tx:
        now = await read_in_force(tx, space, automation_id)
        candidate = await _find_candidate(studio, tx, space, automation_id, given, now)
        if not candidate.is_in_force:
            check_may_edit(ctx)
            await _check_may_save(ctx, tx, candidate, now)
        wider = now.unagreed or await _adds(studio, tx, space, automation_id, candidate)
    return replace(candidate, unagreed=wider), now


async def _adds(
    studio: AuthoringService,
    tx: Transaction,
    space: UUID,
    automation_id: UUID,
    candidate: CandidateDefinition,
) -> bool:
    """Whether it may do anything that a person would be asked about, were it saved."""
    if candidate.is_in_force:
        return False
    agreed = await load_agreed_authority(tx, space, automation_id)
    document, grants = candidate.definition.as_dict(), candidate.grants
    words = await studio.words(space, document)
    traits = await asyncio.to_thread(read_traits, document, grants, words)
    return bool(await find_consent_additions(agreed, document, grants, traits))


async def _find_candidate(
    studio: AuthoringService,
    tx: Transaction,
    space: UUID,
    automation_id: UUID,
    given: Mapping[str, Any],
    now: ActiveAutomation,
) -> CandidateDefinition:
    if "definition" in given:
        return await _validate_candidate(
            studio,
            space,
            automation_id,
            given["definition"],
            {"kind": "definition"},
            f"{_AT}/definition",
        )
    if "proposal_id" in given:
        document = await _read_proposal_document(
            tx, space, automation_id, UUID(given["proposal_id"])
        )
        shown = {"kind": "proposal", "proposal_id": given["proposal_id"]}
        return await _validate_candidate(
            studio, space, automation_id, document, shown, f"{_AT}/proposal_id"
        )
    version = given.get("version", now.version)
    if "consent_id" in given:
        row = await tx.fetchrow(_CONSENT, space, UUID(given["consent_id"]), automation_id)
        if row is None:
            detail = "This automation waits for no such consent."
            raise NotFound(
                detail,
                code="no_consent",
                findings=[Finding(f"{_AT}/consent_id", detail, "no_consent")],
            )
        version = row["version"]
    found = await read_version(tx, space, automation_id, version)
    return CandidateDefinition(
        read_definition(found["definition"]),
        read_grants(found["grants"]),
        {"kind": "version", "version": version},
        version == now.version,
    )


async def _read_proposal_document(
    tx: Transaction, space: UUID, automation_id: UUID, proposal_id: UUID
) -> Mapping[str, Any]:
    kept = await read_proposal(tx, space, proposal_id)
    check_open(kept)
    if kept.automation_id != automation_id:
        detail = "The proposal is not one that changes this automation."
        raise Invalid(
            detail,
            code="other_automation",
            findings=[Finding(f"{_AT}/proposal_id", detail, "other_automation")],
        )
    body = ProposalBody.read(kept.body)
    if body.questions:
        detail = f"The proposal still asks: {body.questions[0].question}"
        raise Invalid(
            detail,
            code="questions_open",
            findings=[Finding(f"{_AT}/proposal_id", detail, "questions_open")],
            suggestion="Answer its questions first.",
        )
    return body.document


async def _validate_candidate(
    studio: AuthoringService,
    space: UUID,
    automation_id: UUID,
    document: Any,
    shown: Mapping[str, Any],
    at: str,
) -> CandidateDefinition:
    report = await studio.judge(space, document, automation_id)
    if report.findings:
        # Of a proposal the place is the proposal; what is wrong in it is told by itself.
        inside = at.endswith("definition")
        findings = [
            replace(one, pointer=f"{at}{one.pointer}" if inside else at) for one in report.findings
        ]
        raise Invalid(
            f"What is to be rehearsed is not valid: {findings[0].detail}",
            code="definition_invalid",
            findings=findings,
        )
    return CandidateDefinition(report.accepted(), tuple(report.grants), shown, is_in_force=False)


async def _check_may_save(
    ctx: CallContext, tx: Transaction, candidate: CandidateDefinition, now: ActiveAutomation
) -> None:
    """Refuses what this author could not put in force."""
    author = await author_of(ctx, tx)
    document = candidate.definition.as_dict()
    author.check_within(document, candidate.grants)
    if author.member_id != now.created_by:
        widened = find_missing_grants(candidate.grants, now.grants)
        lent = frozenset(grant.capability for grant in candidate.grants if grant.lent)
        check_not_widened(now.document, document, widened)
        check_accounts(now.document, document, widened, lent)


def may_ask_outside(ctx: CallContext, candidate: CandidateDefinition, wanted: bool | None) -> bool:
    """Whether what is on no record is asked outside.

    What nobody has agreed to reaches nobody by way of a rehearsal. Whoever wants it to all the
    same has to be one who could agree to it: a person who may change automations.
    """
    if wanted is None:
        return not candidate.unagreed
    if not wanted or not candidate.unagreed:
        return wanted
    if ctx.run is not None or not ctx.actor.is_person:
        detail = "It may do more than a person has agreed to, so it asks nobody outside yet."
        raise PermissionDenied(
            detail,
            code="person_needed",
            findings=[Finding("/live_reads", detail, "person_needed")],
            suggestion="Leave live_reads out, or let a person rehearse it.",
        )
    check_may_edit(ctx)
    return True


def serialize_grants(grants: Sequence[Grant]) -> list[dict[str, Any]]:
    """Grants as they are kept beside what is tried."""
    return [grant.as_dict() for grant in grants]
