"""rehearse_automation and get_rehearsal: what something would have done, before it does it.

The runs of a rehearsal are made at once and go by themselves. Whoever waits for them holds
nothing, and whoever went away looks again by the id of the rehearsal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID, uuid5

from mainspring.authoring.candidates import (
    ActiveAutomation,
    CandidateDefinition,
    find_candidate,
    may_ask_outside,
    serialize_grants,
)
from mainspring.authoring.running import limit_wait, usual_wait, wait_for_end
from mainspring.authoring.studio import AuthoringService
from mainspring.contracts.errors import Finding, Invalid, Problem
from mainspring.contracts.ids import generate_id
from mainspring.definition.validate import read_definition
from mainspring.runs.arrivals import RunRequest
from mainspring.runs.rehearsal.comparing import (
    ComparedRun,
    FiringComparison,
    RunEffect,
    money,
    shorten_value,
    summary,
)
from mainspring.runs.rehearsal.firings import last_firings, note_on, request_of
from mainspring.runs.rehearsal.keeping import (
    Rehearsal,
    RehearsalCandidate,
    RehearsedFiring,
    drop_rehearsals,
    find_rehearsal,
    keep_rehearsal,
    read_rehearsal,
)
from mainspring.runs.rehearsal.reading import compare_firings, read_records, runs_of
from mainspring.workspace.automations import keep_content

if TYPE_CHECKING:
    from mainspring.contracts.capability import CapabilityHandler
    from mainspring.contracts.context import CallContext, ClientWait

USUAL_FIRINGS: Final = 5
_MOST_SHOWN: Final = 50


@dataclass(slots=True)
class _RehearsalPlan:
    """A rehearsal that is about to begin."""

    id: UUID
    # Of the version in force over the same samples, where there is something to compare.
    beside: UUID | None
    requests: list[RunRequest]
    # Each request's place in what was given, for whoever hears what is wrong with it.
    places: list[str]
    firings: list[RehearsedFiring]


def rehearse_handler(studio: AuthoringService) -> CapabilityHandler:
    async def rehearse(ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
        space, automation_id = ctx.actor.workspace_id, UUID(given["automation_id"])
        candidate, now = await find_candidate(
            studio, ctx, automation_id, given.get("candidate") or {}
        )
        live = may_ask_outside(ctx, candidate, given.get("live_reads"))
        # A step that is taken over asks again, and finds the rehearsal that it has started.
        rehearsal_id = generate_id() if ctx.run is None else uuid5(ctx.run.id, ctx.key)
        inside = studio.inside(space)
        async with inside.acquire() as tx:
            begun = await find_rehearsal(tx, space, rehearsal_id)
        if begun is None:
            plan = await _plan_rehearsal(studio, ctx, automation_id, candidate, given, rehearsal_id)
            await _begin(studio, ctx, automation_id, candidate, now, plan, live=live)
        usual = usual_wait(candidate.definition.as_dict())
        seconds = limit_wait(ctx, given.get("wait_seconds") or usual)
        await _wait(studio, space, rehearsal_id, seconds, ctx.client_wait)
        return await _describe_rehearsal(studio, space, rehearsal_id)

    return rehearse


def get_rehearsal_handler(studio: AuthoringService) -> CapabilityHandler:
    async def look(ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
        return await _describe_rehearsal(
            studio, ctx.actor.workspace_id, UUID(given["rehearsal_id"])
        )

    return look


async def _plan_rehearsal(
    studio: AuthoringService,
    ctx: CallContext,
    automation_id: UUID,
    candidate: CandidateDefinition,
    given: Mapping[str, Any],
    rehearsal_id: UUID,
) -> _RehearsalPlan:
    parent = None if ctx.run is None else ctx.run.id
    if "samples" in given:
        beside = None if candidate.is_in_force else generate_id()
        plan = _RehearsalPlan(rehearsal_id, beside, [], [], [])
        for place, sample in enumerate(given["samples"]):
            _add_sample(plan, ctx.actor.workspace_id, automation_id, sample, place, parent)
        return plan
    space, most = ctx.actor.workspace_id, given.get("last", USUAL_FIRINGS)
    async with studio.inside(space).acquire() as tx:
        found = await last_firings(tx, space, automation_id, most)
    if not found:
        detail = "This automation has not fired yet, so there is nothing to rehearse it over."
        way = "Give samples: a list of what would come in, each with inputs or a payload."
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
    """Keeps what is tried, and then makes its runs: all of them, or nothing stays of it."""
    space, inside = ctx.actor.workspace_id, studio.inside(ctx.actor.workspace_id)
    both = [(plan.id, candidate, live, plan.firings)]
    if plan.beside is not None:
        shown = {"kind": "version", "version": now.version}
        current = CandidateDefinition(
            read_definition(now.document), now.grants, shown, is_in_force=True
        )
        both.append((plan.beside, current, live and not now.unagreed, []))
    async with inside.transaction() as tx:
        for rehearsal_id, one, asks, firings in both:
            content = await keep_content(tx, space, one.definition, one.grants)
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
            raise _placed(problem, place) from None
    async with studio.database.transaction() as tx:
        made = await dispatcher.take(tx, ready)
        for one, place in zip(made, plan.places, strict=True):
            if isinstance(one, Problem):
                raise _placed(one, place)
    dispatcher.wake(made)


def _placed(problem: Problem, place: str) -> Problem:
    """The same problem, told where the sample stands that has it."""
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
    inside = studio.inside(space)
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
    async with studio.inside(space).acquire() as tx:
        rehearsal = await read_rehearsal(tx, space, rehearsal_id)
        records = await read_records(tx, space, runs_of(rehearsal))
    called = {call["capability"] for calls in records.calls.values() for call in calls}
    words = await studio.speaking(space, called)
    return tell(rehearsal, compare_firings(rehearsal, records, words.capabilities))


def tell(rehearsal: Rehearsal, firings: Sequence[FiringComparison]) -> dict[str, Any]:
    """The answer, with exactly the fields that are promised."""
    done = all(one.done for one in firings)
    # Over samples both sides are of the rehearsal, and both are paid for.
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
