"""Taking over what a member left, as every surface does it: shown first, then agreed to.

What was active until its owner left is active again, unless something that it needs is missing:
secrets and connections of the former owner are not handed over.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Finding, NotFound, Problem
from mainspring.contracts.preflight import DefinitionOwner
from mainspring.runs.replay import replay
from mainspring.store.database import is_lost_connection
from mainspring.triggers.missed_runs import list_runs_to_catch_up
from mainspring.triggers.trigger_changes import change
from mainspring.workspace.automation_list import read_automation
from mainspring.workspace.automation_states import activate
from mainspring.workspace.automations import read_grants
from mainspring.workspace.departed_members import (
    UnownedAutomation,
    UnownedResources,
    list_leavers,
    load_unowned_resources,
    take_over,
)
from mainspring.workspace.workspace_validation import find_missing_dependencies, load_vocabulary

if TYPE_CHECKING:
    from mainspring.contracts.context import Actor
    from mainspring.contracts.registry import Vocabulary
    from mainspring.store.access import DatabaseAccess
    from mainspring.store.database import Connection
    from mainspring.surfaces.services import ApplicationServices

# Without these a run fails, so it is not activated.
_NEEDED: Final = frozenset({"not_connected"})


@dataclass(frozen=True, slots=True)
class _TakeoverContext:
    """What is known about an automation before anything is held."""

    words: Vocabulary
    doubts: tuple[Finding, ...]


async def show_departed_member(
    services: ApplicationServices, database: DatabaseAccess, actor: Actor, member_id: UUID
) -> dict[str, Any]:
    """What a member left: what each automation may do, and what the actor would have to set."""
    async with database.acquire() as connection:
        leavers = await list_leavers(connection, actor.workspace_id)
        unowned = await load_unowned_resources(connection, actor, member_id)
    prepared = await _prepare(services, database, actor, unowned)
    who = next((one for one in leavers if one["id"] == member_id), None)
    if who is None and not unowned.automations and not unowned.webhooks:
        raise NotFound("This member left nothing to take over.", code="nothing_left")
    return {
        "member": {
            "id": member_id,
            "email": "" if who is None else who["email"],
            "name": "" if who is None else who["name"],
        },
        "automations": [
            _describe_left_automation(one, prepared[one.id]) for one in unowned.automations
        ],
        "webhooks": [
            {"automation_id": one.automation_id, "automation": one.automation, "slug": one.slug}
            for one in unowned.webhooks
        ],
        "digest": unowned.digest,
    }


async def take(
    services: ApplicationServices,
    database: DatabaseAccess,
    actor: Actor,
    member_id: UUID,
    digest: str,
    wanted: Collection[UUID] | None = None,
    *,
    replays: bool = False,
) -> dict[str, Any]:
    """Takes over what was shown, and activates what was active before.

    ``replays`` also starts the missed runs that the triggers make up for.
    """
    async with database.acquire() as connection:
        unowned = await load_unowned_resources(connection, actor, member_id)
    prepared = await _prepare(services, database, actor, unowned)

    async def work(tx: Connection) -> dict[str, Any]:
        taken = await take_over(tx, actor, member_id, digest, wanted)
        return {
            "automations": [
                await _resume_automation(services, tx, actor.workspace_id, one, prepared[one.id])
                for one in taken.automations
            ],
            "webhooks": len(taken.webhooks),
        }

    held = {one.id for one in unowned.automations} | {one.automation_id for one in unowned.webhooks}
    taken = await change(
        database, services.limits, actor.workspace_id, work, automations=sorted(held)
    )
    for one in taken["automations"]:
        missed = await _to_make_up_for(services, database, actor.workspace_id, one)
        one["replayable"], one["replayed"] = len(missed), 0
    return await replay_missed(services, database, actor, taken) if replays else taken


async def replay_missed(
    services: ApplicationServices, database: DatabaseAccess, actor: Actor, taken: dict[str, Any]
) -> dict[str, Any]:
    """Starts the missed runs of what was taken over, as the policies of its triggers say.

    What cannot start is told as the problem of its automation; the rest stays to be replayed.
    """
    for one in taken["automations"]:
        missed = await _to_make_up_for(services, database, actor.workspace_id, one)
        for run_id in missed:
            try:
                await replay(
                    database,
                    services.dispatcher,
                    services.limits,
                    actor.workspace_id,
                    run_id,
                    version="active",
                    by=actor,
                )
            except Problem as problem:
                if is_lost_connection(problem):
                    raise
                one["problem"] = problem.as_dict()
                break
            one["replayed"] += 1
    return taken


async def _to_make_up_for(
    services: ApplicationServices,
    database: DatabaseAccess,
    workspace_id: UUID,
    one: Mapping[str, Any],
) -> list[UUID]:
    """The missed runs of one automation; what is not active makes up for nothing yet."""
    if one["state"] != "active" or not one["missed"]:
        return []
    async with database.acquire() as connection:
        now = datetime.now(UTC)
        return await list_runs_to_catch_up(connection, workspace_id, one["id"], now)


async def _prepare(
    services: ApplicationServices, database: DatabaseAccess, actor: Actor, unowned: UnownedResources
) -> Mapping[UUID, _TakeoverContext]:
    found: dict[UUID, _TakeoverContext] = {}
    space = actor.workspace_id
    for one in unowned.automations:
        async with database.acquire() as connection:
            there = await read_automation(connection, space, one.id)
        document = there["definition"]
        vocabulary = await load_vocabulary(services.registry, space, document)
        doubts = await find_missing_dependencies(
            document,
            read_grants(there["grants"]),
            vocabulary,
            services.gate.models,
            services.gate.preflight,
            DefinitionOwner(space, author_id=actor.id),
        )
        found[one.id] = _TakeoverContext(vocabulary, doubts)
    return found


async def _resume_automation(
    services: ApplicationServices,
    tx: Connection,
    workspace_id: UUID,
    one: UnownedAutomation,
    prepared: _TakeoverContext,
) -> dict[str, Any]:
    """The automation after the takeover; what keeps it from being active is said."""
    state, problem = one.state, None
    lacking = any(finding.code in _NEEDED for finding in prepared.doubts)
    if one.stopped and not lacking:
        try:
            state = await activate(
                tx, workspace_id, one.id, prepared.words, services.limits, prepared.doubts
            )
        except Problem as caught:
            # Each is refused before anything of it is written.
            if is_lost_connection(caught):
                raise
            problem = caught.as_dict()
    shown = _describe_left_automation(one, prepared)
    return {**shown, "state": state, "problem": problem}


def _describe_left_automation(one: UnownedAutomation, prepared: _TakeoverContext) -> dict[str, Any]:
    missing = [finding.as_dict() for finding in (*one.missing, *prepared.doubts)]
    return {
        "id": one.id,
        "name": one.name,
        "state": one.state,
        "stopped": one.stopped,
        "may": list(one.may),
        "missing": missing,
        "missed": one.missed,
    }
