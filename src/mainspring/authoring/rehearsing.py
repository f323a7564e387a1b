"""rehearse_automation and get_rehearsal: dry runs over samples.

The runs of a rehearsal are created at once and processed by workers. Waiting holds no transaction,
and a caller that disconnected polls by the rehearsal's id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID, uuid5

from mainspring.authoring.authors import author_of, check_may_edit
from mainspring.authoring.proposals.proposal_body import ProposalBody
from mainspring.authoring.running import limit_wait, usual_wait, wait_for_end
from mainspring.authoring.service import AuthoringService
from mainspring.contracts.errors import (
    Conflict,
    Finding,
    Invalid,
    NotFound,
    PermissionDenied,
    Problem,
)
from mainspring.contracts.grant import Grant
from mainspring.contracts.ids import generate_id
from mainspring.definition.grants import find_missing_grants
from mainspring.definition.model import Definition
from mainspring.definition.traits import read_traits
from mainspring.definition.validate import read_definition
from mainspring.runs.rehearsal.comparison import (
    ComparedRun,
    FiringComparison,
    RunEffect,
    money,
    shorten_value,
    summary,
)
from mainspring.runs.rehearsal.firings import last_firings, note_on, request_of
from mainspring.runs.rehearsal.records import (
    Rehearsal,
    RehearsalCandidate,
    RehearsedFiring,
    compare_firings,
    drop_rehearsals,
    find_rehearsal,
    keep_rehearsal,
    read_records,
    read_rehearsal,
    runs_of,
)
from mainspring.runs.run_requests import RunRequest
from mainspring.workspace.automation_resources import check_accounts, check_not_widened
from mainspring.workspace.automations import no_automation_error, read_grants, store_content
from mainspring.workspace.consent_rows import load_latest_consent
from mainspring.workspace.consents import find_consent_additions, load_agreed_authority
from mainspring.workspace.proposals import check_open, read_proposal
from mainspring.workspace.versions import read_version

if TYPE_CHECKING:
    from mainspring.contracts.capability import CapabilityHandler
    from mainspring.contracts.context import CallContext, ClientWait, Transaction


# What can be rehearsed: the current version, another one, a proposal, or a definition.

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
    """The automation's current state."""

    version: int
    created_by: UUID
    document: Mapping[str, Any]
    grants: tuple[Grant, ...]
    # Consent is pending or was denied.
    unagreed: bool


@dataclass(frozen=True, slots=True)
class CandidateDefinition:
    """The definition to rehearse."""

    definition: Definition
    grants: tuple[Grant, ...]
    # How it is shown in results.
    shown: Mapping[str, Any]
    # It is the current version.
    is_in_force: bool
    # It may do what nobody has consented to.
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
    studio: AuthoringService, ctx: CallContext, automation_id: UUID, arguments: Mapping[str, Any]
) -> tuple[CandidateDefinition, ActiveAutomation]:
    """Find the requested candidate, if the caller could save it, and the version to compare
    with."""
    space = ctx.actor.workspace_id
    async with studio.open_workspace(space).acquire() as tx:
        now = await read_in_force(tx, space, automation_id)
        candidate = await _find_candidate(studio, tx, space, automation_id, arguments, now)
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
    """Report whether saving it would ask for consent."""
    if candidate.is_in_force:
        return False
    agreed = await load_agreed_authority(tx, space, automation_id)
    document, grants = candidate.definition.as_dict(), candidate.grants
    words = await studio.load_vocabulary(space, document)
    traits = await asyncio.to_thread(read_traits, document, grants, words)
    return bool(await find_consent_additions(agreed, document, grants, traits))


async def _find_candidate(
    studio: AuthoringService,
    tx: Transaction,
    space: UUID,
    automation_id: UUID,
    arguments: Mapping[str, Any],
    now: ActiveAutomation,
) -> CandidateDefinition:
    if "definition" in arguments:
        return await _validate_candidate(
            studio,
            space,
            automation_id,
            arguments["definition"],
            {"kind": "definition"},
            f"{_AT}/definition",
        )
    if "proposal_id" in arguments:
        document = await _read_proposal_document(
            tx, space, automation_id, UUID(arguments["proposal_id"])
        )
        shown = {"kind": "proposal", "proposal_id": arguments["proposal_id"]}
        return await _validate_candidate(
            studio, space, automation_id, document, shown, f"{_AT}/proposal_id"
        )
    version = arguments.get("version", now.version)
    if "consent_id" in arguments:
        row = await tx.fetchrow(_CONSENT, space, UUID(arguments["consent_id"]), automation_id)
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
    report = await studio.validate(space, document, automation_id)
    if report.findings:
        # For a proposal the pointer is that of the proposal; problems inside are reported on their
        # own.
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
    """Reject what this author could not save."""
    author = await author_of(ctx, tx)
    document = candidate.definition.as_dict()
    author.check_within(document, candidate.grants)
    if author.member_id != now.created_by:
        widened = find_missing_grants(candidate.grants, now.grants)
        lent = frozenset(grant.capability for grant in candidate.grants if grant.lent)
        check_not_widened(now.document, document, widened)
        check_accounts(now.document, document, widened, lent)


def may_ask_outside(ctx: CallContext, candidate: CandidateDefinition, wanted: bool | None) -> bool:
    """Report whether unrecorded reads may call external services.

    Without consent, a rehearsal calls nothing external. Overriding that needs a person who could
    consent: one who may edit automations.
    """
    if wanted is None:
        return not candidate.unagreed
    if not wanted or not candidate.unagreed:
        return wanted
    if ctx.run is not None or not ctx.actor.is_person:
        detail = "It may do more than a person has agreed to, so it makes no outside calls yet."
        raise PermissionDenied(
            detail,
            code="person_needed",
            findings=[Finding("/live_reads", detail, "person_needed")],
            suggestion="Leave live_reads out, or let a person rehearse it.",
        )
    check_may_edit(ctx)
    return True


def serialize_grants(grants: Sequence[Grant]) -> list[dict[str, Any]]:
    """Serialize the grants of a candidate."""
    return [grant.as_dict() for grant in grants]


USUAL_FIRINGS: Final = 5
_MOST_SHOWN: Final = 50


@dataclass(slots=True)
class _RehearsalPlan:
    """A rehearsal about to start."""

    id: UUID
    # The current version's rehearsal over the same samples, if there is something to compare.
    beside: UUID | None
    requests: list[RunRequest]
    # The pointer of each sample, for error reports.
    places: list[str]
    firings: list[RehearsedFiring]


def rehearse_handler(studio: AuthoringService) -> CapabilityHandler:
    async def rehearse(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        space, automation_id = ctx.actor.workspace_id, UUID(arguments["automation_id"])
        candidate, now = await find_candidate(
            studio, ctx, automation_id, arguments.get("candidate") or {}
        )
        live = may_ask_outside(ctx, candidate, arguments.get("live_reads"))
        # A retried step must find the rehearsal that it started, so the id is derived from the run.
        rehearsal_id = generate_id() if ctx.run is None else uuid5(ctx.run.id, ctx.key)
        inside = studio.open_workspace(space)
        async with inside.acquire() as tx:
            begun = await find_rehearsal(tx, space, rehearsal_id)
        if begun is None:
            plan = await _plan_rehearsal(
                studio, ctx, automation_id, candidate, arguments, rehearsal_id
            )
            await _begin(studio, ctx, automation_id, candidate, now, plan, live=live)
        usual = usual_wait(candidate.definition.as_dict())
        seconds = limit_wait(ctx, arguments.get("wait_seconds") or usual)
        await _wait(studio, space, rehearsal_id, seconds, ctx.client_wait)
        return await _describe_rehearsal(studio, space, rehearsal_id)

    return rehearse


def get_rehearsal_handler(studio: AuthoringService) -> CapabilityHandler:
    async def look(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return await _describe_rehearsal(
            studio, ctx.actor.workspace_id, UUID(arguments["rehearsal_id"])
        )

    return look


async def _plan_rehearsal(
    studio: AuthoringService,
    ctx: CallContext,
    automation_id: UUID,
    candidate: CandidateDefinition,
    arguments: Mapping[str, Any],
    rehearsal_id: UUID,
) -> _RehearsalPlan:
    parent = None if ctx.run is None else ctx.run.id
    if "samples" in arguments:
        beside = None if candidate.is_in_force else generate_id()
        plan = _RehearsalPlan(rehearsal_id, beside, [], [], [])
        for place, sample in enumerate(arguments["samples"]):
            _add_sample(plan, ctx.actor.workspace_id, automation_id, sample, place, parent)
        return plan
    space, most = ctx.actor.workspace_id, arguments.get("last", USUAL_FIRINGS)
    async with studio.open_workspace(space).acquire() as tx:
        found = await last_firings(tx, space, automation_id, most)
    if not found:
        detail = "This automation has not fired yet, so there is nothing to rehearse it over."
        way = "Give samples: a list of trigger events, each with inputs or a payload."
        raise Invalid(
            detail,
            code="no_firings",
            findings=[Finding("/samples", detail, "no_firings", way)],
            suggestion=way,
        )
    plan = _RehearsalPlan(rehearsal_id, None, [], [], [])
    for firing in found:
        note = note_on(firing, candidate.definition)
        if not firing.started:
            plan.firings.append(RehearsedFiring(None, firing.run_id, note))
            continue
        run_id = generate_id()
        plan.firings.append(RehearsedFiring(run_id, firing.run_id, note))
        plan.places.append("")
        plan.requests.append(
            request_of(
                firing,
                candidate.definition,
                studio.limits,
                workspace_id=space,
                automation_id=automation_id,
                run_id=run_id,
                rehearsal_id=rehearsal_id,
                parent_id=parent,
            )
        )
    return plan


def _add_sample(
    plan: _RehearsalPlan,
    space: UUID,
    automation_id: UUID,
    sample: Mapping[str, Any],
    place: int,
    parent: UUID | None,
) -> None:
    made = []
    for rehearsal_id in (plan.id, plan.beside):
        run_id = None if rehearsal_id is None else generate_id()
        made.append(run_id)
        if rehearsal_id is not None:
            plan.places.append(f"/samples/{place}")
            plan.requests.append(
                RunRequest(
                    space,
                    automation_id,
                    inputs=sample.get("inputs", {}),
                    payload=sample.get("payload", {}),
                    mode="dry_run",
                    run_id=run_id,
                    rehearsal_id=rehearsal_id,
                    parent_id=parent,
                )
            )
    plan.firings.append(RehearsedFiring(made[0], made[1]))


async def _begin(
    studio: AuthoringService,
    ctx: CallContext,
    automation_id: UUID,
    candidate: CandidateDefinition,
    now: ActiveAutomation,
    plan: _RehearsalPlan,
    *,
    live: bool,
) -> None:
    """Store the candidate and create its runs, or nothing."""
    space, inside = ctx.actor.workspace_id, studio.open_workspace(ctx.actor.workspace_id)
    both = [(plan.id, candidate, live, plan.firings)]
    if plan.beside is not None:
        shown = {"kind": "version", "version": now.version}
        current = CandidateDefinition(
            read_definition(now.document), now.grants, shown, is_in_force=True
        )
        both.append((plan.beside, current, live and not now.unagreed, []))
    async with inside.transaction() as tx:
        for rehearsal_id, one, asks, firings in both:
            content = await store_content(tx, space, one.definition, one.grants)
            tried = RehearsalCandidate(content.digest, serialize_grants(one.grants), one.shown)
            await keep_rehearsal(
                tx,
                space,
                rehearsal_id,
                automation_id,
                tried,
                firings,
                ctx.actor.id,
                live_reads=asks,
            )
    try:
        await _dispatch(studio, plan)
    except Problem:
        async with studio.database.transaction() as tx:
            await drop_rehearsals(tx, space, [one[0] for one in both])
        raise


async def _dispatch(studio: AuthoringService, plan: _RehearsalPlan) -> None:
    if not plan.requests:
        return
    dispatcher = studio.dispatcher
    ready = []
    for request, place in zip(plan.requests, plan.places, strict=True):
        try:
            ready.append(await dispatcher.prepare(request))
        except Problem as problem:
            raise _attribute_problem(problem, place) from None
    async with studio.database.transaction() as tx:
        made = await dispatcher.take(tx, ready)
        for one, place in zip(made, plan.places, strict=True):
            if isinstance(one, Problem):
                raise _attribute_problem(one, place)
    dispatcher.wake(made)


def _attribute_problem(problem: Problem, place: str) -> Problem:
    """Attribute a problem to its sample."""
    if place:
        problem.findings = tuple(
            replace(one, pointer=f"{place}{one.pointer}") for one in problem.findings
        ) or (Finding(place, problem.detail, problem.code),)
    return problem


async def _wait(
    studio: AuthoringService,
    space: UUID,
    rehearsal_id: UUID,
    seconds: float,
    wait: ClientWait | None,
) -> None:
    inside = studio.open_workspace(space)
    async with inside.acquire() as tx:
        rehearsal = await read_rehearsal(tx, space, rehearsal_id)
        there = (await read_records(tx, space, runs_of(rehearsal))).runs
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    for run_id in there:
        await wait_for_end(inside, space, run_id, max(deadline - loop.time(), 0), wait)


async def _describe_rehearsal(
    studio: AuthoringService, space: UUID, rehearsal_id: UUID
) -> dict[str, Any]:
    async with studio.open_workspace(space).acquire() as tx:
        rehearsal = await read_rehearsal(tx, space, rehearsal_id)
        records = await read_records(tx, space, runs_of(rehearsal))
    called = {call["capability"] for calls in records.calls.values() for call in calls}
    vocabulary = await studio.load_vocabulary_with(space, called)
    return build_rehearsal_result(
        rehearsal, compare_firings(rehearsal, records, vocabulary.capabilities)
    )


def build_rehearsal_result(
    rehearsal: Rehearsal, firings: Sequence[FiringComparison]
) -> dict[str, Any]:
    """Build the result with exactly the documented fields."""
    done = all(one.done for one in firings)
    # Over samples both sides belong to the rehearsal, and both have a cost.
    sides = [side for one in firings for side in (one.then, one.now) if side is not None]
    spent = sum((side.spent for side in sides), Decimal(0))
    return {
        "rehearsal_id": str(rehearsal.id),
        "automation_id": str(rehearsal.automation_id),
        "candidate": dict(rehearsal.candidate),
        "version_in_force": rehearsal.in_force,
        "live_reads": rehearsal.live_reads,
        "done": done,
        "otherwise": sum(one.otherwise for one in firings),
        "summary": summary(firings),
        "spent_usd": money(spent),
        "firings": [_firing(one) for one in firings],
        "next_step": _NEXT_DONE if done else _NEXT_WAIT.format(rehearsal_id=rehearsal.id),
    }


_NEXT_DONE: Final = (
    "Show the differences to the person. Nothing was saved and nothing was changed: save or "
    "activate it where that is done."
)
_NEXT_WAIT: Final = "Look again with get_rehearsal and rehearsal_id {rehearsal_id}."


def _firing(one: FiringComparison) -> dict[str, Any]:
    return {
        "then": None if one.then is None else _side(one.then),
        "now": None if one.now is None else _describe_rehearsed_run(one.now),
        "done": one.done,
        "otherwise": one.otherwise,
        "differences": [difference.as_dict() for difference in one.differences],
        "note": one.note,
    }


def _side(side: ComparedRun) -> dict[str, Any]:
    return {
        "run_id": str(side.run_id),
        "at": side.at.isoformat(),
        "status": side.status,
        "outcome": side.outcome,
        "reason": side.reason,
        "error": side.error,
        "cost_usd": money(side.cost),
        "deeds": [_describe_effect(one) for one in side.deeds[:_MOST_SHOWN]],
    }


def _describe_rehearsed_run(side: ComparedRun) -> dict[str, Any]:
    return {
        **_side(side),
        "spent_usd": money(side.spent),
        "recorded": side.recorded,
        "live": [
            {"step": one.step, "capability": one.capability, "cost_usd": money(one.cost)}
            for one in side.live[:_MOST_SHOWN]
        ],
    }


def _describe_effect(one: RunEffect) -> dict[str, Any]:
    return {
        "what": one.what,
        "step": one.step,
        "capability": one.capability,
        "arguments": shorten_value(one.arguments),
    }
