"""Operator controls as capabilities: halt and release, workers and draining.

A member who may start and stop automations may halt them in their workspace. What affects all
workspaces, a recipe everywhere or the workers themselves, is for administrators of the
installation. None of it can be granted to an automation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.capability import (
    Annotations,
    Audience,
    Capability,
    Effect,
    build_capability,
    require_part,
)
from mainspring.contracts.errors import Conflict, Finding
from mainspring.contracts.outcome import Unchanged
from mainspring.contracts.roles import Permission
from mainspring.contracts.toolset import Toolset
from mainspring.runs import fleet
from mainspring.runs import halt_schemas as schemas
from mainspring.runs.halts import Side, cancel_halted, park, restore
from mainspring.store.audit import audit_installation
from mainspring.store.database import WorkspaceDatabase
from mainspring.workspace.halts import (
    Halt,
    HaltTarget,
    create_halt,
    find_other_halt,
    list_halts,
    release,
)

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.store.database import Database

_ARGUMENTS: Final = {"automation": "automation_id", "recipe": "recipe"}


def _subject(arguments: Mapping[str, Any], _: Any) -> str | None:
    """For a refused call not even the scope is known."""
    scope = arguments.get("scope")
    argument = _ARGUMENTS.get(str(scope))
    return scope if argument is None else f"{scope}/{arguments.get(argument)}"


def _judge(arguments: Mapping[str, Any]) -> Sequence[Finding]:
    """Each scope requires its own argument and none of the others."""
    wanted = _ARGUMENTS.get(arguments["scope"])
    found = []
    if wanted is not None and wanted not in arguments:
        detail = f"The scope {arguments['scope']} needs {wanted}."
        found.append(Finding(f"/{wanted}", detail, "missing"))
    for name in _ARGUMENTS.values():
        if name != wanted and name in arguments:
            detail = f"The scope {arguments['scope']} takes no {name}."
            found.append(Finding(f"/{name}", detail, "unexpected"))
    return found


def _judge_drain(arguments: Mapping[str, Any]) -> Sequence[Finding]:
    if ("worker" in arguments) == ("host" in arguments):
        return [Finding("/worker", "Name one worker, or one host.", "worker_or_host")]
    return []


_SWITCHES: Final = Annotations(
    toolset=Toolset.RUNS,
    effect=Effect.KEEP,
    seconds=0.5,
    audience=Audience.PEOPLE,
    permission=Permission.SWITCH,
    judge=_judge,
    subject=_subject,
)
_READS: Final = Annotations(
    toolset=Toolset.RUNS,
    transactional=True,
    seconds=0.1,
    audience=Audience.PEOPLE,
    permission=Permission.READ,
)
_LOOKS_AFTER: Final = Annotations(
    toolset=Toolset.ADMIN,
    effect=Effect.KEEP,
    seconds=0.5,
    audience=Audience.ADMINISTRATORS,
    permission=Permission.ACCOUNT,
    subject=lambda given, _: given.get("recipe"),
)
_DRAINS: Final = Annotations(
    toolset=Toolset.ADMIN,
    effect=Effect.KEEP,
    seconds=0.1,
    audience=Audience.ADMINISTRATORS,
    permission=Permission.ACCOUNT,
    judge=_judge_drain,
    subject=lambda given, _: given.get("worker") or given.get("host"),
)
_SEES: Final = Annotations(
    toolset=Toolset.ADMIN, audience=Audience.ADMINISTRATORS, permission=Permission.ACCOUNT
)


def halt_capabilities(database: Database | None) -> tuple[Capability, ...]:
    """All of them. Without a database they can only be described."""
    switches, crew = _HaltHandlers(database), _WorkerHandlers(database)
    return (
        build_capability(
            "halt_work",
            "Halt a workspace, an automation or a recipe",
            "Emergency stop: interrupts current runs within seconds and keeps their completed "
            "steps. New runs are accepted and held, and their drafts cannot be sent, until "
            "release_work. With cancel, current runs are cancelled instead.",
            schemas.HALT,
            schemas.HALTED,
            switches.halt,
            _SWITCHES,
        ),
        build_capability(
            "release_work",
            "Release halted work",
            "Held runs resume in order where they stopped. Work under another halt stays held.",
            schemas.RELEASE,
            schemas.RELEASED,
            switches.release,
            _SWITCHES,
        ),
        build_capability(
            "list_halts",
            "List active halts",
            "Returns the reason and how many runs are held or still running.",
            schemas.NOTHING,
            schemas.HALTS,
            switches.list_all,
            _READS,
        ),
        build_capability(
            "admin_halt_recipe",
            "Halt a recipe in every workspace",
            "Works like halt_work, for all automations installed from the recipe.",
            schemas.HALT_RECIPE,
            schemas.HALTED,
            switches.halt_everywhere,
            _LOOKS_AFTER,
        ),
        build_capability(
            "admin_release_recipe",
            "Release a halted recipe in every workspace",
            "Halts set by a workspace itself stay.",
            schemas.RELEASE_RECIPE,
            schemas.RELEASED,
            switches.release_everywhere,
            _LOOKS_AFTER,
        ),
        build_capability(
            "admin_list_workers",
            "List workers and queue load",
            "Use the figures per queue to decide how many workers to run.",
            schemas.NOTHING,
            schemas.WORKERS,
            crew.list_all,
            _SEES,
        ),
        build_capability(
            "admin_drain_workers",
            "Drain a worker or all workers of a machine",
            "They accept no new runs, finish or hand back the current ones, and exit.",
            schemas.DRAIN,
            schemas.DRAINED,
            crew.drain,
            _DRAINS,
        ),
    )


@dataclass(frozen=True, slots=True)
class _HaltHandlers:
    """The handlers for halts."""

    database: Database | None

    async def halt(self, ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        side = WorkspaceDatabase(require_part(self.database), ctx.actor.workspace_id)
        async with side.transaction() as tx:
            made, new = await create_halt(
                tx, _parse_halt_target(ctx, arguments), arguments["reason"].strip(), ctx.actor.id
            )
        return await _in_force(side, made, new, cancel=arguments.get("cancel", False))

    async def release(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        side = WorkspaceDatabase(require_part(self.database), ctx.actor.workspace_id)
        named = _parse_halt_target(ctx, arguments)
        async with side.transaction() as tx:
            await release(tx, named)
            still = await find_other_halt(tx, named)
        return _describe_release(await restore(side, ctx.actor.workspace_id), still)

    async def list_all(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        del arguments
        return {
            "halts": [
                _describe_halt(row) for row in await list_halts(ctx.tx, ctx.actor.workspace_id)
            ]
        }

    async def halt_everywhere(self, ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        side, named = require_part(self.database), HaltTarget(None, "recipe", arguments["recipe"])
        async with side.transaction() as tx:
            made, new = await create_halt(tx, named, arguments["reason"].strip(), ctx.actor.id)
            if new:
                told = {"reason": made.reason}
                await audit_installation(tx, ctx.actor, "admin_halt_recipe", named.subject, told)
        return await _in_force(side, made, new, cancel=arguments.get("cancel", False))

    async def release_everywhere(
        self, ctx: CallContext, arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        side, named = require_part(self.database), HaltTarget(None, "recipe", arguments["recipe"])
        async with side.transaction() as tx:
            await release(tx, named)
            await audit_installation(tx, ctx.actor, "admin_release_recipe", named.subject)
        return _describe_release(await restore(side, None))


@dataclass(frozen=True, slots=True)
class _WorkerHandlers:
    """The handlers for workers."""

    database: Database | None

    async def list_all(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        del ctx, arguments
        async with require_part(self.database).acquire() as connection:
            workers = await fleet.list_workers(connection)
            signals = await fleet.read_signals(connection)
        return {
            "workers": [_worker(row) for row in workers],
            "queues": [asdict(one) for one in signals],
        }

    async def drain(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        worker, host = arguments.get("worker"), arguments.get("host")
        async with require_part(self.database).transaction() as tx:
            rows = await fleet.drain(tx, worker=worker, host=host)
            await audit_installation(tx, ctx.actor, "admin_drain_workers", worker or host)
        names = ", ".join(row["name"] for row in rows)
        leave = "takes nothing new and leaves" if len(rows) == 1 else "take nothing new and leave"
        return {"workers": [_worker(row) for row in rows], "says": f"{names} {leave}."}


def _parse_halt_target(ctx: CallContext, arguments: Mapping[str, Any]) -> HaltTarget:
    argument = _ARGUMENTS.get(arguments["scope"])
    subject = "" if argument is None else arguments[argument]
    if arguments["scope"] == "automation":
        subject = str(UUID(subject))
    return HaltTarget(ctx.actor.workspace_id, arguments["scope"], subject)


async def _in_force(side: Side, made: Halt, new: bool, *, cancel: bool) -> Any:
    """After the halt is committed: park what is due."""
    cancelled = await cancel_halted(side, made.workspace_id, made.id) if cancel else 0
    await park(side, made.workspace_id)
    async with side.acquire() as connection:
        rows = await list_halts(connection, made.workspace_id)
    shown = next((_describe_halt(row) for row in rows if row["id"] == made.id), None)
    if shown is None:
        raise Conflict("This halt was released while it was being set.", code="released")
    told = {"halt": shown, "cancelled": cancelled, "says": _format_message(shown, cancelled, new)}
    return told if new or cancelled else Unchanged(told)


def _format_message(shown: Mapping[str, Any], cancelled: int, new: bool) -> str:
    parts = [f"Runs that are held: {shown['held']}"]
    if shown["under_way"]:
        parts.append(f"that stop within seconds: {shown['under_way']}")
    if cancelled:
        parts.append(f"that were cancelled: {cancelled}")
    began = "It is halted." if new else "It was halted already."
    return f"{began} {', '.join(parts)}."


def _describe_release(back: int, still: Halt | None = None) -> dict[str, Any]:
    """Another halt may still cover the same runs."""
    if still is None:
        says = f"It goes on. Runs that are back in the queue: {back}; queued runs follow."
    else:
        what = "the workspace" if still.scope == "workspace" else "its recipe"
        says = (
            f"It is released, but still halted, because of {what} is "
            f"halted{'' if still.workspace_id else ' in every workspace'}: {still.reason}"
        )
    return {"back": back, "says": says}


def _describe_halt(row: Mapping[str, Any]) -> dict[str, Any]:
    subject = row["subject"]
    return {
        "halt_id": str(row["id"]),
        "scope": row["scope"],
        "automation_id": subject if row["scope"] == "automation" else None,
        "automation": row["automation"],
        "recipe": subject if row["scope"] == "recipe" else None,
        "everywhere": row["workspace_id"] is None,
        "reason": row["reason"],
        "halted_by": row["halted_by_email"],
        "halted_at": row["halted_at"].isoformat(),
        "held": row["held"],
        "under_way": row["under_way"],
    }


def _worker(row: Mapping[str, Any]) -> dict[str, Any]:
    plain = ("name", "host", "process", "slots", "in_flight")
    return {
        "worker_id": row["id"],
        **{name: row[name] for name in plain},
        "queues": list(row["queues"]),
        "started_at": row["started_at"].isoformat(),
        "lease_until": row["lease_until"].isoformat(),
        "drain_at": None if row["drain_at"] is None else row["drain_at"].isoformat(),
    }
