"""Handlers of the proposal capabilities.

A model call may take minutes, so no transaction is held during it: results are stored only if the
proposal has not changed meanwhile (optimistic locking).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.authoring.forecast.forecaster import ForecastDependencies, forecast
from mainspring.authoring.generate.model_review import ask_reviewer
from mainspring.authoring.models import AutomationRequest, ProposalOrigin
from mainspring.authoring.overlaps import ExistingAutomation, alike, living
from mainspring.authoring.proposals.builder import (
    ProposalBuilder,
    build_proposal_builder,
    make,
    validate_body,
)
from mainspring.authoring.proposals.proposal_body import ConversationEntry, ProposalBody
from mainspring.authoring.proposals.refining import refine_body
from mainspring.authoring.proposals.views import describe_proposal, summarize_proposal
from mainspring.authoring.review.differences import describe_changes
from mainspring.authoring.review.explain import explain
from mainspring.authoring.review.flags import find_flags, with_warnings
from mainspring.authoring.review.grants import grants_of
from mainspring.authoring.review.impact import impact_of
from mainspring.authoring.review.view import ReviewFacts, read_review_facts
from mainspring.authoring.sketch.sketch_builder import NOT_UNDERSTOOD
from mainspring.authoring.validation import build_overlap_query
from mainspring.contracts.errors import Conflict, Finding, Invalid
from mainspring.definition.grants import find_missing_grants
from mainspring.runs.rehearsal.firings import has_fired
from mainspring.workspace.automation_list import read_automation
from mainspring.workspace.automations import read_grants
from mainspring.workspace.consent_rows import account_names
from mainspring.workspace.proposals import (
    ProposalBase,
    StoredProposal,
    change_proposal,
    check_open,
    check_proposal_limit,
    drop_proposal,
    list_open,
    read_proposal,
    stale_proposal_error,
    store_proposal,
)
from mainspring.workspace.versions import list_changes, read_version

if TYPE_CHECKING:
    from mainspring.authoring.service import AuthoringService
    from mainspring.contracts.capability import CapabilityHandler
    from mainspring.contracts.context import CallContext, Transaction
    from mainspring.contracts.grant import Grant
    from mainspring.contracts.registry import Vocabulary


# The review that a person reads before consenting.

_MOST_LIKE: Final = 10
_MAKER: Final = "SELECT created_by FROM automations WHERE workspace_id = $1 AND id = $2"
_RULES: Final = "Rules made this review; no model was asked."


@dataclass(frozen=True, slots=True)
class ReviewSubject:
    """What is reviewed, and what it is compared with."""

    document: Mapping[str, Any]
    request: str
    # The capabilities that a run may call, from the validator; empty while incomplete.
    grants: tuple[Grant, ...] = ()
    # Warnings of the validator and of this installation.
    warnings: tuple[Finding, ...] = ()
    # The previous definition, for an edit.
    before: Mapping[str, Any] | None = None
    before_grants: tuple[Grant, ...] = ()
    # The pointers of open questions.
    open_places: tuple[str, ...] = ()


async def review(
    bench: ProposalBuilder, subject: ReviewSubject, *, by_model: bool
) -> dict[str, Any]:
    """Build the review of a definition."""
    studio, space, words = bench.service, bench.space, bench.vocabulary
    document = subject.document
    grants = subject.grants or await asyncio.to_thread(grants_of, document, words)
    parts = ForecastDependencies(
        studio.open_workspace(space), studio.models, bench.ctx.clock, studio.limits
    )
    priced = await forecast(
        parts, space, document, grants, words, automation_id=bench.automation_id
    )
    cost = priced.as_dict()
    async with studio.open_workspace(space).acquire() as tx:
        used, hosts = await read_review_facts(tx, space, bench.automation_id)
        others = await living(tx, space, studio.native_vocabulary)
        accounts = await account_names(tx, space, await _owner(tx, bench))
    facts = ReviewFacts(
        subject.request,
        used,
        hosts,
        _usd(cost["usd_per_run"]),
        _usd(cost["usd_per_month"]),
        bench.automation_id,
        subject.before,
    )
    boards = {one.id: one.name for one in bench.resources.boards}
    explained = await asyncio.to_thread(explain, document, words, boards, subject.open_places)
    flags = await asyncio.to_thread(find_flags, document, grants, words, facts)
    flags = with_warnings(flags, subject.warnings)
    result: dict[str, Any] = {
        "summary": explained[0] if explained else "",
        "opinion": None,
        "explained": list(explained),
        "flags": [one.as_dict() for one in flags],
        "impact": await asyncio.to_thread(impact_of, document, grants, words, boards, accounts),
        "forecast": cost,
        "overlaps": await _overlaps(bench, subject, others),
        "change": await asyncio.to_thread(_change, subject, grants, words, boards),
        "reviewed_by": {"by": "rules", "model": None, "note": _RULES},
    }
    return await _with_model(bench, subject, result) if by_model else result


async def _owner(tx: Transaction, bench: ProposalBuilder) -> UUID:
    """The member whose accounts it would use: its owner, or the caller."""
    row = None
    if bench.automation_id is not None:
        row = await tx.fetchrow(_MAKER, bench.space, bench.automation_id)
    owner: UUID = bench.ctx.actor.id if row is None else row["created_by"]
    return owner


def _usd(range_: Mapping[str, Any]) -> Decimal | None:
    try:
        return Decimal(str(range_["usual"]))
    except (InvalidOperation, KeyError):
        return None


async def _overlaps(
    bench: ProposalBuilder, subject: ReviewSubject, others: Sequence[ExistingAutomation]
) -> dict[str, Any]:
    """Find overlapping and similar automations."""
    query = build_overlap_query(
        subject.document, bench.automation_id, bench.service.native_vocabulary
    )
    rest = [one for one in others if one.id != bench.automation_id]
    strict = [one for one in rest if query.overlaps_strictly(one)]
    same = [one for one in rest if query.shares_board(one) and one not in strict]
    known = {one.id for one in (*strict, *same)}
    fresh = [one for one in rest if one.id not in known]
    like, by = await alike(bench.service.likeness, bench.space, subject.request, fresh)
    shown = [
        *(_match(bench, one, "strict") for one in strict),
        *(_match(bench, one, "board") for one in same),
        *(_match(bench, one, "alike") for one in like),
    ]
    return {"similarity_by": by, "matches": shown[:_MOST_LIKE]}


def _match(bench: ProposalBuilder, one: ExistingAutomation, how: str) -> dict[str, Any]:
    return {
        "automation_id": str(one.id),
        "name": one.name,
        "state": one.state,
        "how": how,
        "admin_url": bench.service.admin_url(one.id),
    }


def _change(
    subject: ReviewSubject,
    grants: Sequence[Grant],
    vocabulary: Vocabulary,
    boards: Mapping[str, str],
) -> dict[str, Any] | None:
    """Describe the changes, and the added permissions."""
    before = subject.before
    if before is None:
        return None
    found = list_changes(before, subject.document)
    widened = find_missing_grants(grants, subject.before_grants)
    return {
        "changes": found,
        "in_words": list(describe_changes(found, before, subject.document, vocabulary, boards)),
        "widened": [grant.as_dict() for grant in widened],
    }


async def _with_model(
    bench: ProposalBuilder, subject: ReviewSubject, result: dict[str, Any]
) -> dict[str, Any]:
    facts = [result["forecast"]["sentence"], *(flag["text"] for flag in result["flags"])]
    found = await ask_reviewer(
        bench.build_generation_context(),
        subject.document,
        subject.request,
        result["explained"],
        facts,
    )
    if found.problem:
        note = f"A model was asked for a review and gave none: {found.problem}"
        return {**result, "reviewed_by": {"by": "rules", "model": None, "note": note}}
    by = {"by": "model", "model": bench.budget.model, "note": "Rules and a model reviewed this."}
    flags = [*result["flags"], *(one.as_dict() for one in found.flags)]
    return {**result, "opinion": found.summary, "flags": flags, "reviewed_by": by}


USUAL_LISTED: Final = 20
_CHANGES: Final = ("answers", "edits", "definition", "instruction")


def propose_handler(studio: AuthoringService) -> CapabilityHandler:
    async def propose(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        space = ctx.actor.workspace_id
        changed = arguments.get("automation_id")
        automation_id = None if changed is None else UUID(changed)
        async with studio.open_workspace(space).acquire() as connection:
            await check_proposal_limit(connection, space)
        bench = await build_proposal_builder(studio, ctx, arguments, automation_id)
        start = await _start(studio, space, automation_id)
        _check_alive(start)
        text, zone = arguments["text"].strip(), arguments.get("timezone")
        if not text:
            detail = "What should happen, and when?"
            raise Invalid(detail, code="no_words", findings=[Finding("/text", detail, "no_words")])
        request = AutomationRequest(
            text, ctx.clock.now(), zone, None if start is None else start.document
        )
        found, making = await make(bench, request)
        body = ProposalBody(
            text, zone, found.document, (), (), found.notes, making, maker=bench.maker
        )
        body = body.saying(ConversationEntry("person", text))
        body = await validate_body(bench, body, found.document, found.questions)
        body = _not_idle(await _add_review(bench, body, start))
        base = None if start is None else start.base
        async with studio.open_workspace(space).transaction() as tx:
            kept = await store_proposal(tx, space, ctx.actor.id, body.as_dict(), base)
            return await _describe_kept_proposal(studio, tx, space, kept)

    return propose


def refine_handler(studio: AuthoringService) -> CapabilityHandler:
    async def refine(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        space = ctx.actor.workspace_id
        if not any(name in arguments for name in _CHANGES):
            detail = f"Nothing to change: give one of {', '.join(_CHANGES)}."
            raise Invalid(
                detail, code="nothing_to_change", findings=[Finding("", detail, "missing")]
            )
        async with studio.open_workspace(space).acquire() as connection:
            kept = await read_proposal(connection, space, UUID(arguments["proposal_id"]))
        check_open(kept)
        if arguments.get("revision", kept.revision) != kept.revision:
            raise stale_proposal_error()
        body = ProposalBody.read(kept.body)
        wanted = arguments.get("by", body.maker)
        bench = await build_proposal_builder(
            studio, ctx, {**arguments, "by": wanted}, kept.automation_id
        )
        start = await _start(studio, space, kept.automation_id, kept.base_version)
        body = await refine_body(bench, body, arguments, None if start is None else start.document)
        body = _not_idle(await _add_review(bench, body, start))
        async with studio.open_workspace(space).transaction() as tx:
            changed = await change_proposal(tx, space, kept, body.as_dict())
            return await _describe_kept_proposal(studio, tx, space, changed)

    return refine


def review_handler(studio: AuthoringService) -> CapabilityHandler:
    async def look_over(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        space, named = ctx.actor.workspace_id, arguments.get("automation_id")
        automation_id = None if named is None else UUID(named)
        bench = await build_proposal_builder(studio, ctx, arguments, automation_id)
        start = await _start(studio, space, automation_id)
        document = arguments.get("definition", None if start is None else start.document)
        if document is None:
            detail = "What is to be reviewed? Give a definition, or the id of an automation."
            raise Invalid(detail, code="missing", findings=[Finding("", detail, "missing")])
        before = start if "definition" in arguments else None
        request = _request(document, arguments)
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
    async def show(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        most, after = arguments.get("limit", USUAL_LISTED), arguments.get("after")
        found = await list_open(
            ctx.tx,
            ctx.actor.workspace_id,
            None if after is None else UUID(after),
            most + 1,
            saved=bool(arguments.get("saved")),
        )
        page = [summarize_proposal(studio, kept) for kept in found[:most]]
        return {"proposals": page, "next": page[-1]["proposal_id"] if len(found) > most else None}

    return show


def discard_handler(studio: AuthoringService) -> CapabilityHandler:
    del studio

    async def discard(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        proposal_id = UUID(arguments["proposal_id"])
        await drop_proposal(ctx.tx, ctx.actor.workspace_id, proposal_id)
        return {"proposal_id": str(proposal_id), "status": "discarded"}

    return discard


async def _describe_kept_proposal(
    studio: AuthoringService, tx: Transaction, space: UUID, kept: StoredProposal
) -> dict[str, Any]:
    """Describe a proposal, with a rehearsal call when there are samples."""
    changes = kept.saved_as is None and kept.automation_id is not None
    fired = changes and await has_fired(tx, space, kept.automation_id or kept.id)
    return describe_proposal(studio, kept, can_rehearse=fired)


@dataclass(frozen=True, slots=True)
class _ChangeBase:
    """The base of an edit."""

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
    """Load the automation to edit, in its current or a given version."""
    if automation_id is None:
        return None
    async with studio.open_workspace(space).acquire() as connection:
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
    """Add the review to a validated body, with a model's opinion when available."""
    report = bench.report
    was, could = (None, ()) if start is None else (start.document, start.grants)
    places = tuple(one.pointer for one in body.questions)
    subject = ReviewSubject(
        body.document, body.request, report.grants, report.warnings, was, could, places
    )
    by_model = bench.maker != "rules" and (bench.resources.has_model or bool(bench.model))
    seen = await review(bench, subject, by_model=by_model and not body.questions)
    cost = bench.budget.spent
    making = replace(body.making, cost_usd=f"{cost.normalize():f}") if cost else body.making
    return replace(body, review=seen, making=making)


def _not_idle(body: ProposalBody) -> ProposalBody:
    """Report an edit without effect: most likely the instruction was not understood."""
    change = body.review["change"]
    # A rephrased request does not answer a question about an edit.
    asked = [one for one in body.questions if one.id != NOT_UNDERSTOOD]
    if change is None or change["changes"] or asked:
        return body
    detail = "With this nothing would change."
    way = "Phrase it differently, or edit the definition yourself."
    problem = Finding("", detail, "nothing_changes", way)
    return replace(body, questions=(), problems=(*body.problems, problem))


def _request(document: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    said = (arguments.get("request"), document.get("intent"), document.get("goal"))
    return next((str(one) for one in said if isinstance(one, str) and one.strip()), "")
