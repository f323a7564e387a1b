"""What the capabilities around proposals do, each in its own transaction or in none.

A model may take minutes, and no transaction waits for it: what was read before is kept only if
it is still what it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.authoring.proposals.body import ConversationEntry, ProposalBody
from mainspring.authoring.proposals.making import (
    ProposalBuilder,
    build_proposal_builder,
    make,
    validate_body,
)
from mainspring.authoring.proposals.refining import refine_body
from mainspring.authoring.proposals.reviewing import ReviewSubject, review
from mainspring.authoring.proposals.telling import describe_proposal, summarize_proposal
from mainspring.authoring.shapes import AutomationRequest, ProposalOrigin
from mainspring.authoring.sketch.workbench import NOT_UNDERSTOOD
from mainspring.contracts.errors import Conflict, Finding, Invalid
from mainspring.runs.rehearsal.firings import has_fired
from mainspring.workspace.automations import read_grants
from mainspring.workspace.overview import read_automation
from mainspring.workspace.proposals import (
    ProposalBase,
    StoredProposal,
    change_proposal,
    check_open,
    check_room,
    drop_proposal,
    keep_proposal,
    list_open,
    read_proposal,
    stale_proposal_error,
)
from mainspring.workspace.versions import read_version

if TYPE_CHECKING:
    from mainspring.authoring.studio import AuthoringService
    from mainspring.contracts.capability import CapabilityHandler
    from mainspring.contracts.context import CallContext, Transaction
    from mainspring.contracts.grant import Grant

USUAL_LISTED: Final = 20
_CHANGES: Final = ("answers", "edits", "definition", "instruction")


def propose_handler(studio: AuthoringService) -> CapabilityHandler:
    async def propose(ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
        space = ctx.actor.workspace_id
        changed = given.get("automation_id")
        automation_id = None if changed is None else UUID(changed)
        async with studio.inside(space).acquire() as connection:
            await check_room(connection, space)
        bench = await build_proposal_builder(studio, ctx, given, automation_id)
        start = await _start(studio, space, automation_id)
        _check_alive(start)
        text, zone = given["text"].strip(), given.get("timezone")
        if not text:
            detail = "What should happen, and when?"
            raise Invalid(detail, code="no_words", findings=[Finding("/text", detail, "no_words")])
        wish = AutomationRequest(
            text, ctx.clock.now(), zone, None if start is None else start.document
        )
        found, making = await make(bench, wish)
        body = ProposalBody(
            text, zone, found.document, (), (), found.notes, making, wanted=bench.wanted
        )
        body = body.saying(ConversationEntry("person", text))
        body = await validate_body(bench, body, found.document, found.questions)
        body = _not_idle(await _add_review(bench, body, start))
        base = None if start is None else start.base
        async with studio.inside(space).transaction() as tx:
            kept = await keep_proposal(tx, space, ctx.actor.id, body.as_dict(), base)
            return await _describe_kept_proposal(studio, tx, space, kept)

    return propose


def refine_handler(studio: AuthoringService) -> CapabilityHandler:
    async def refine(ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
        space = ctx.actor.workspace_id
        if not any(name in given for name in _CHANGES):
            detail = f"Nothing is to be changed: give one of {', '.join(_CHANGES)}."
            raise Invalid(
                detail, code="nothing_to_change", findings=[Finding("", detail, "missing")]
            )
        async with studio.inside(space).acquire() as connection:
            kept = await read_proposal(connection, space, UUID(given["proposal_id"]))
        check_open(kept)
        if given.get("revision", kept.revision) != kept.revision:
            raise stale_proposal_error()
        body = ProposalBody.read(kept.body)
        wanted = given.get("by", body.wanted)
        bench = await build_proposal_builder(
            studio, ctx, {**given, "by": wanted}, kept.automation_id
        )
        start = await _start(studio, space, kept.automation_id, kept.base_version)
        body = await refine_body(bench, body, given, None if start is None else start.document)
        body = _not_idle(await _add_review(bench, body, start))
        async with studio.inside(space).transaction() as tx:
            changed = await change_proposal(tx, space, kept, body.as_dict())
            return await _describe_kept_proposal(studio, tx, space, changed)

    return refine


def review_handler(studio: AuthoringService) -> CapabilityHandler:
    async def look_over(ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
        space, named = ctx.actor.workspace_id, given.get("automation_id")
        automation_id = None if named is None else UUID(named)
        bench = await build_proposal_builder(studio, ctx, given, automation_id)
        start = await _start(studio, space, automation_id)
        document = given.get("definition", None if start is None else start.document)
        if document is None:
            detail = "What is to be reviewed? Give a definition, or the id of an automation."
            raise Invalid(detail, code="missing", findings=[Finding("", detail, "missing")])
        before = start if "definition" in given else None
        request = _request(document, given)
        body = ProposalBody(request, None, dict(document), (), (), (), ProposalOrigin("rules", ""))
        body = await validate_body(bench, body, dict(document), ())
        body = await _add_review(bench, body, before)
        return {
            "questions": [one.as_dict() for one in body.questions],
            "problems": [one.as_dict() for one in body.problems],
            "review": dict(body.review),
        }

    return look_over


def get_handler(studio: AuthoringService) -> CapabilityHandler:
    async def get(ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
        space = ctx.actor.workspace_id
        kept = await read_proposal(ctx.tx, space, UUID(given["proposal_id"]))
        return await _describe_kept_proposal(studio, ctx.tx, space, kept)

    return get


def list_handler(studio: AuthoringService) -> CapabilityHandler:
    async def show(ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
        most, after = given.get("limit", USUAL_LISTED), given.get("after")
        found = await list_open(
            ctx.tx, ctx.actor.workspace_id, None if after is None else UUID(after), most + 1
        )
        page = [summarize_proposal(studio, kept) for kept in found[:most]]
        return {"proposals": page, "next": page[-1]["proposal_id"] if len(found) > most else None}

    return show


def discard_handler(studio: AuthoringService) -> CapabilityHandler:
    del studio

    async def discard(ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
        proposal_id = UUID(given["proposal_id"])
        await drop_proposal(ctx.tx, ctx.actor.workspace_id, proposal_id)
        return {"proposal_id": str(proposal_id), "status": "discarded"}

    return discard


async def _describe_kept_proposal(
    studio: AuthoringService, tx: Transaction, space: UUID, kept: StoredProposal
) -> dict[str, Any]:
    """All of it, and how to rehearse it where there is something to rehearse it over."""
    changes = kept.saved_as is None and kept.automation_id is not None
    fired = changes and await has_fired(tx, space, kept.automation_id or kept.id)
    return describe_proposal(studio, kept, can_rehearse=fired)


@dataclass(frozen=True, slots=True)
class _ChangeBase:
    """What a change starts from."""

    base: ProposalBase
    document: dict[str, Any]
    grants: tuple[Grant, ...]
    state: str


def _check_alive(start: _ChangeBase | None) -> None:
    if start is not None and start.state == "archived":
        raise Conflict(
            "The automation is archived, so nothing about it can be changed.",
            code="archived",
            suggestion="Restore it first.",
        )


async def _start(
    studio: AuthoringService, space: UUID, automation_id: UUID | None, version: int | None = None
) -> _ChangeBase | None:
    """The automation that is changed, as it is now or was in one version."""
    if automation_id is None:
        return None
    async with studio.inside(space).acquire() as connection:
        found = await read_automation(connection, space, automation_id)
        if version is None or version == found["version"]:
            base = ProposalBase(automation_id, found["version"])
            grants = read_grants(found["grants"])
            return _ChangeBase(base, found["definition"], grants, found["state"])
        then = await read_version(connection, space, automation_id, version)
    base, grants = ProposalBase(automation_id, version), read_grants(then["grants"])
    return _ChangeBase(base, then["definition"], grants, found["state"])


async def _add_review(
    bench: ProposalBuilder, body: ProposalBody, start: _ChangeBase | None
) -> ProposalBody:
    """The body, judged just now, with its review; a model adds to it where one may be asked."""
    report = bench.report
    was, could = (None, ()) if start is None else (start.document, start.grants)
    places = tuple(one.pointer for one in body.questions)
    subject = ReviewSubject(
        body.document, body.request, report.grants, report.warnings, was, could, places
    )
    by_model = bench.wanted != "rules" and (bench.resources.has_model or bool(bench.model))
    seen = await review(bench, subject, by_model=by_model and not body.questions)
    cost = bench.till.spent
    making = replace(body.making, cost_usd=f"{cost.normalize():f}") if cost else body.making
    return replace(body, review=seen, making=making)


def _not_idle(body: ProposalBody) -> ProposalBody:
    """A change that changes nothing is not ready: most likely its words were not understood."""
    change = body.review["change"]
    # Other words for what was not understood are no answer to a question about a change.
    asked = [one for one in body.questions if one.id != NOT_UNDERSTOOD]
    if change is None or change["changes"] or asked:
        return body
    detail = "With this nothing would change."
    way = "Say it in other words, or edit the definition by hand."
    problem = Finding("", detail, "nothing_changes", way)
    return replace(body, questions=(), problems=(*body.problems, problem))


def _request(document: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    said = (given.get("request"), document.get("intent"), document.get("goal"))
    return next((str(one) for one in said if isinstance(one, str) and one.strip()), "")
