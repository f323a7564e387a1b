"""What the capabilities around proposals do, each in its own transaction or in none.

A model may take minutes, and no transaction waits for it: what was read before is kept only if
it is still what it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.authoring.proposals.body import Body, Said
from mainspring.authoring.proposals.making import Bench, judged, make, set_up
from mainspring.authoring.proposals.refining import refined
from mainspring.authoring.proposals.reviewing import Subject, review
from mainspring.authoring.proposals.telling import listed, told
from mainspring.authoring.shapes import Making, Wish
from mainspring.authoring.sketch.workbench import NOT_UNDERSTOOD
from mainspring.contracts.errors import Clash, Finding, Invalid
from mainspring.runs.rehearsal.firings import has_fired
from mainspring.workspace.automations import read_grants
from mainspring.workspace.overview import read_automation
from mainspring.workspace.proposals import (
    Base,
    Kept,
    change_proposal,
    changed_meanwhile,
    check_open,
    check_room,
    drop_proposal,
    keep_proposal,
    list_open,
    read_proposal,
)
from mainspring.workspace.versions import read_version

if TYPE_CHECKING:
    from mainspring.authoring.studio import Studio
    from mainspring.contracts.capability import CapabilityHandler
    from mainspring.contracts.context import CallContext, Transaction
    from mainspring.contracts.grant import Grant

USUAL_LISTED: Final = 20
_CHANGES: Final = ("answers", "edits", "definition", "instruction")


def propose_handler(studio: Studio) -> CapabilityHandler:
    async def propose(ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
        space = ctx.actor.workspace_id
        changed = given.get("automation_id")
        automation_id = None if changed is None else UUID(changed)
        async with studio.inside(space).acquire() as connection:
            await check_room(connection, space)
        bench = await set_up(studio, ctx, given, automation_id)
        start = await _start(studio, space, automation_id)
        _check_alive(start)
        text, zone = given["text"].strip(), given.get("timezone")
        if not text:
            detail = "What should happen, and when?"
            raise Invalid(detail, code="no_words", findings=[Finding("/text", detail, "no_words")])
        wish = Wish(text, ctx.clock.now(), zone, None if start is None else start.document)
        found, making = await make(bench, wish)
        body = Body(text, zone, found.document, (), (), found.notes, making, wanted=bench.wanted)
        body = body.saying(Said("person", text))
        body = await judged(bench, body, found.document, found.questions)
        body = _not_idle(await _reviewed(bench, body, start))
        base = None if start is None else start.base
        async with studio.inside(space).transaction() as tx:
            kept = await keep_proposal(tx, space, ctx.actor.id, body.as_dict(), base)
            return await _told(studio, tx, space, kept)

    return propose


def refine_handler(studio: Studio) -> CapabilityHandler:
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
            raise changed_meanwhile()
        body = Body.read(kept.body)
        wanted = given.get("by", body.wanted)
        bench = await set_up(studio, ctx, {**given, "by": wanted}, kept.automation_id)
        start = await _start(studio, space, kept.automation_id, kept.base_version)
        body = await refined(bench, body, given, None if start is None else start.document)
        body = _not_idle(await _reviewed(bench, body, start))
        async with studio.inside(space).transaction() as tx:
            changed = await change_proposal(tx, space, kept, body.as_dict())
            return await _told(studio, tx, space, changed)

    return refine


def review_handler(studio: Studio) -> CapabilityHandler:
    async def look_over(ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
        space, named = ctx.actor.workspace_id, given.get("automation_id")
        automation_id = None if named is None else UUID(named)
        bench = await set_up(studio, ctx, given, automation_id)
        start = await _start(studio, space, automation_id)
        document = given.get("definition", None if start is None else start.document)
        if document is None:
            detail = "What is to be reviewed? Give a definition, or the id of an automation."
            raise Invalid(detail, code="missing", findings=[Finding("", detail, "missing")])
        before = start if "definition" in given else None
        request = _request(document, given)
        body = Body(request, None, dict(document), (), (), (), Making("rules", ""))
        body = await judged(bench, body, dict(document), ())
        body = await _reviewed(bench, body, before)
        return {
            "questions": [one.as_dict() for one in body.questions],
            "problems": [one.as_dict() for one in body.problems],
            "review": dict(body.review),
        }

    return look_over


def get_handler(studio: Studio) -> CapabilityHandler:
    async def get(ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
        space = ctx.actor.workspace_id
        kept = await read_proposal(ctx.tx, space, UUID(given["proposal_id"]))
        return await _told(studio, ctx.tx, space, kept)

    return get


def list_handler(studio: Studio) -> CapabilityHandler:
    async def show(ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
        most, after = given.get("limit", USUAL_LISTED), given.get("after")
        found = await list_open(
            ctx.tx, ctx.actor.workspace_id, None if after is None else UUID(after), most + 1
        )
        page = [listed(studio, kept) for kept in found[:most]]
        return {"proposals": page, "next": page[-1]["proposal_id"] if len(found) > most else None}

    return show


def discard_handler(studio: Studio) -> CapabilityHandler:
    del studio

    async def discard(ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
        proposal_id = UUID(given["proposal_id"])
        await drop_proposal(ctx.tx, ctx.actor.workspace_id, proposal_id)
        return {"proposal_id": str(proposal_id), "status": "discarded"}

    return discard


async def _told(studio: Studio, tx: Transaction, space: UUID, kept: Kept) -> dict[str, Any]:
    """All of it, and how to rehearse it where there is something to rehearse it over."""
    changes = kept.saved_as is None and kept.automation_id is not None
    fired = changes and await has_fired(tx, space, kept.automation_id or kept.id)
    return told(studio, kept, can_rehearse=fired)


@dataclass(frozen=True, slots=True)
class _Start:
    """What a change starts from."""

    base: Base
    document: dict[str, Any]
    grants: tuple[Grant, ...]
    state: str


def _check_alive(start: _Start | None) -> None:
    if start is not None and start.state == "archived":
        raise Clash(
            "The automation is archived, so nothing about it can be changed.",
            code="archived",
            suggestion="Restore it first.",
        )


async def _start(
    studio: Studio, space: UUID, automation_id: UUID | None, version: int | None = None
) -> _Start | None:
    """The automation that is changed, as it is now or was in one version."""
    if automation_id is None:
        return None
    async with studio.inside(space).acquire() as connection:
        found = await read_automation(connection, space, automation_id)
        if version is None or version == found["version"]:
            base = Base(automation_id, found["version"])
            grants = read_grants(found["grants"])
            return _Start(base, found["definition"], grants, found["state"])
        then = await read_version(connection, space, automation_id, version)
    base, grants = Base(automation_id, version), read_grants(then["grants"])
    return _Start(base, then["definition"], grants, found["state"])


async def _reviewed(bench: Bench, body: Body, start: _Start | None) -> Body:
    """The body, judged just now, with its review; a model adds to it where one may be asked."""
    report = bench.report
    was, could = (None, ()) if start is None else (start.document, start.grants)
    places = tuple(one.pointer for one in body.questions)
    subject = Subject(
        body.document, body.request, report.grants, report.warnings, was, could, places
    )
    by_model = bench.wanted != "rules" and (bench.resources.has_model or bool(bench.model))
    seen = await review(bench, subject, by_model=by_model and not body.questions)
    cost = bench.till.spent
    making = replace(body.making, cost_usd=f"{cost.normalize():f}") if cost else body.making
    return replace(body, review=seen, making=making)


def _not_idle(body: Body) -> Body:
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
