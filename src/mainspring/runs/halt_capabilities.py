"""Operator controls as capabilities: halt and release, workers and draining.

A member who may start and stop automations may halt them in their workspace. What affects all
workspaces, a recipe everywhere or the workers themselves, is for administrators of the
installation. None of it can be granted to an automation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from mainspring.contracts.capability import (
    Annotations,
    Audience,
    Capability,
    Effect,
    build_capability,
    require_part,
)
from mainspring.contracts.errors import Conflict, Finding
from mainspring.contracts.model_schema import SchemaModel, with_arguments
from mainspring.contracts.outcome import Unchanged
from mainspring.contracts.roles import Permission
from mainspring.contracts.toolset import Toolset
from mainspring.runs import fleet
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

_SOME_ID: Final = "01900000-0000-7000-8000-0000000000b1"

_SOME_AUTOMATION: Final = "01900000-0000-7000-8000-0000000000a1"

_SOME_HALT: Final[dict[str, Any]] = {
    "halt_id": _SOME_ID,
    "scope": "automation",
    "automation_id": _SOME_AUTOMATION,
    "automation": "Daily digest",
    "recipe": None,
    "everywhere": False,
    "reason": "It writes to the wrong list.",
    "halted_by": "ada@example.com",
    "halted_at": "2026-01-01T00:00:00+00:00",
    "held": 3,
    "under_way": 0,
}


_Scope = Annotated[
    Literal["workspace", "automation", "recipe"],
    Meta(description="The whole workspace, one automation, or everything installed from a recipe."),
]

_Automation = Annotated[UUID, Meta(description="For scope automation.")]

_Recipe = Annotated[
    str, Meta(min_length=1, max_length=100, description="For scope recipe: its slug.")
]

_Reason = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=300,
        pattern="\\S",
        description="Shown to everybody who sees the halt.",
    ),
]

_Cancel = Annotated[
    bool,
    Meta(description="Cancel current runs instead of holding them. Later runs are still held."),
]


class HaltWorkArguments(SchemaModel):
    scope: _Scope
    automation_id: _Automation | None = None
    recipe: _Recipe | None = None
    reason: _Reason
    cancel: _Cancel = False

    examples: ClassVar = [
        {"scope": "recipe", "recipe": "daily-digest", "reason": "Its mails are wrong."},
        {"scope": "workspace", "reason": "Something writes where it should not."},
        {
            "scope": "automation",
            "automation_id": _SOME_AUTOMATION,
            "reason": "It writes to the wrong list.",
            "cancel": True,
        },
    ]
    anti_examples: ClassVar = [
        ({"scope": "workspace"}, "whoever finds it standing still wants to know why"),
        ({"scope": "everything", "reason": "stop"}, "that is called workspace"),
        ({"scope": "workspace", "reason": " "}, "a blank says nothing"),
    ]


class _HaltEntry(SchemaModel):
    halt_id: UUID
    scope: _Scope
    automation_id: UUID | UnsetType | None = UNSET
    automation: Annotated[str | UnsetType | None, Meta(description="Its name.")] = UNSET
    recipe: str | UnsetType | None = UNSET
    everywhere: Annotated[bool, Meta(description="An administrator halted it in every workspace.")]
    reason: str
    halted_by: Annotated[
        str | UnsetType | None, Meta(description="Email address of the person.")
    ] = UNSET
    halted_at: datetime
    held: Annotated[
        int, Meta(ge=0, description="Held runs, due or queued; 1,000 means at least that many.")
    ]
    under_way: Annotated[int, Meta(ge=0, description="Runs that a worker has not returned yet.")]


class HaltResult(SchemaModel):
    halt: _HaltEntry
    cancelled: Annotated[int, Meta(ge=0, description="Cancelled runs.")]
    says: str

    examples: ClassVar = [
        {"halt": _SOME_HALT, "cancelled": 0, "says": "It stands still; 3 runs are held."}
    ]
    anti_examples: ClassVar = [({"says": "done"}, "it must say what stands still")]


class ReleaseWorkArguments(SchemaModel):
    scope: _Scope
    automation_id: _Automation | None = None
    recipe: _Recipe | None = None

    examples: ClassVar = [
        {"scope": "workspace"},
        {"scope": "automation", "automation_id": _SOME_AUTOMATION},
        {"scope": "recipe", "recipe": "daily-digest"},
    ]
    anti_examples: ClassVar = [
        ({}, "what is to go on?"),
        ({"scope": "all"}, "that is called workspace"),
    ]


class ReleaseResult(SchemaModel):
    back: Annotated[int, Meta(ge=0, description="Runs that are queued again.")]
    says: str

    examples: ClassVar = [{"back": 3, "says": "It goes on; 3 runs are back in the queue."}]
    anti_examples: ClassVar = [({"says": "done"}, "it must say how many go on")]


class NoHaltArguments(SchemaModel):
    examples: ClassVar = [{}]
    anti_examples: ClassVar = [({"limit": 1}, "there are never many")]


class ListHaltsResult(SchemaModel):
    halts: list[_HaltEntry]

    examples: ClassVar = [{"halts": [_SOME_HALT]}, {"halts": []}]
    anti_examples: ClassVar = [({}, "also none is a list")]


class AdminHaltRecipeArguments(SchemaModel):
    recipe: _Recipe
    reason: _Reason
    cancel: _Cancel = False

    examples: ClassVar = [{"recipe": "daily-digest", "reason": "Its mails are wrong."}]
    anti_examples: ClassVar = [
        ({"recipe": "daily-digest"}, "everybody who finds it standing still wants to know why")
    ]


class AdminReleaseRecipeArguments(SchemaModel):
    recipe: _Recipe

    examples: ClassVar = [{"recipe": "daily-digest"}]
    anti_examples: ClassVar = [({}, "which recipe?")]


_SOME_WORKER: Final[dict[str, Any]] = {
    "worker_id": 7,
    "name": "worker-1/4711",
    "host": "worker-1",
    "process": 4711,
    "queues": ["fast", "medium", "long"],
    "slots": 256,
    "in_flight": 12,
    "started_at": "2026-01-01T00:00:00+00:00",
    "lease_until": "2026-01-01T00:05:00+00:00",
    "drain_at": None,
}

_SOME_QUEUE: Final[dict[str, Any]] = {
    "queue": "fast",
    "due_runs": 40,
    "oldest_seconds": 1.5,
    "in_flight": 12,
    "held_runs": 0,
    "slots": 256,
    "workers": 1,
}


class _WorkerEntry(SchemaModel):
    worker_id: int
    name: str
    host: str | UnsetType | None = UNSET
    process: int | UnsetType | None = UNSET
    queues: list[str]
    slots: Annotated[int, Meta(ge=0, description="Concurrent runs it can execute.")]
    in_flight: Annotated[int, Meta(ge=0, description="Runs in progress at the last heartbeat.")]
    started_at: datetime
    lease_until: datetime
    drain_at: Annotated[
        datetime | UnsetType | None, Meta(description="When draining began; null: not draining.")
    ] = UNSET


class _QueueEntry(SchemaModel):
    queue: Literal["fast", "medium", "long"]
    due_runs: Annotated[
        int, Meta(ge=0, description="Due and not claimed; 100,000 means at least that many.")
    ]
    oldest_seconds: Annotated[float, Meta(description="Age of the oldest due run.")]
    in_flight: Annotated[int, Meta(ge=0, description="Runs in progress.")]
    held_runs: Annotated[int, Meta(ge=0, description="Runs held by a halt.")]
    slots: Annotated[int, Meta(ge=0, description="Concurrent runs that its workers can execute.")]
    workers: Annotated[
        int, Meta(ge=0, description="Workers that claim from it and are not draining.")
    ]


class AdminListWorkersResult(SchemaModel):
    workers: list[_WorkerEntry]
    queues: list[_QueueEntry]

    examples: ClassVar = [{"workers": [_SOME_WORKER], "queues": [_SOME_QUEUE]}]
    anti_examples: ClassVar = [({"workers": []}, "the numbers of the queues belong to it")]


class AdminDrainWorkersArguments(SchemaModel):
    worker: (
        Annotated[
            str, Meta(min_length=1, max_length=300, description="Name or number of one worker.")
        ]
        | None
    ) = None
    host: (
        Annotated[
            str, Meta(min_length=1, max_length=255, description="All workers of this machine.")
        ]
        | None
    ) = None

    examples: ClassVar = [{"worker": "worker-1/4711"}, {"host": "worker-1"}]
    anti_examples: ClassVar = [
        ({"worker": ""}, "which one?"),
        ({"hosts": ["worker-1"]}, "one machine at a time"),
    ]


class AdminDrainWorkersResult(SchemaModel):
    workers: list[_WorkerEntry]
    says: str

    examples: ClassVar = [
        {"workers": [_SOME_WORKER], "says": "worker-1/4711 takes nothing new and leaves."}
    ]
    anti_examples: ClassVar = [({"says": "done"}, "it must say which leave")]


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
            HaltWorkArguments,
            HaltResult,
            with_arguments(HaltWorkArguments, switches.halt),
            _SWITCHES,
        ),
        build_capability(
            "release_work",
            "Release halted work",
            "Held runs resume in order where they stopped. Work under another halt stays held.",
            ReleaseWorkArguments,
            ReleaseResult,
            with_arguments(ReleaseWorkArguments, switches.release),
            _SWITCHES,
        ),
        build_capability(
            "list_halts",
            "List active halts",
            "Returns the reason and how many runs are held or still running.",
            NoHaltArguments,
            ListHaltsResult,
            switches.list_all,
            _READS,
        ),
        build_capability(
            "admin_halt_recipe",
            "Halt a recipe in every workspace",
            "Works like halt_work, for all automations installed from the recipe.",
            AdminHaltRecipeArguments,
            HaltResult,
            with_arguments(AdminHaltRecipeArguments, switches.halt_everywhere),
            _LOOKS_AFTER,
        ),
        build_capability(
            "admin_release_recipe",
            "Release a halted recipe in every workspace",
            "Halts set by a workspace itself stay.",
            AdminReleaseRecipeArguments,
            ReleaseResult,
            with_arguments(AdminReleaseRecipeArguments, switches.release_everywhere),
            _LOOKS_AFTER,
        ),
        build_capability(
            "admin_list_workers",
            "List workers and queue load",
            "Use the figures per queue to decide how many workers to run.",
            NoHaltArguments,
            AdminListWorkersResult,
            crew.list_all,
            _SEES,
        ),
        build_capability(
            "admin_drain_workers",
            "Drain a worker or all workers of a machine",
            "They accept no new runs, finish or hand back the current ones, and exit.",
            AdminDrainWorkersArguments,
            AdminDrainWorkersResult,
            with_arguments(AdminDrainWorkersArguments, crew.drain),
            _DRAINS,
        ),
    )


@dataclass(frozen=True, slots=True)
class _HaltHandlers:
    """The handlers for halts."""

    database: Database | None

    async def halt(self, ctx: CallContext, arguments: HaltWorkArguments) -> Any:
        side = WorkspaceDatabase(require_part(self.database), ctx.actor.workspace_id)
        async with side.transaction() as tx:
            made, new = await create_halt(
                tx, _parse_halt_target(ctx, arguments), arguments.reason.strip(), ctx.actor.id
            )
        return await _in_force(side, made, new, cancel=arguments.cancel)

    async def release(self, ctx: CallContext, arguments: ReleaseWorkArguments) -> dict[str, Any]:
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

    async def halt_everywhere(self, ctx: CallContext, arguments: AdminHaltRecipeArguments) -> Any:
        side, named = require_part(self.database), HaltTarget(None, "recipe", arguments.recipe)
        async with side.transaction() as tx:
            made, new = await create_halt(tx, named, arguments.reason.strip(), ctx.actor.id)
            if new:
                told = {"reason": made.reason}
                await audit_installation(tx, ctx.actor, "admin_halt_recipe", named.subject, told)
        return await _in_force(side, made, new, cancel=arguments.cancel)

    async def release_everywhere(
        self, ctx: CallContext, arguments: AdminReleaseRecipeArguments
    ) -> dict[str, Any]:
        side, named = require_part(self.database), HaltTarget(None, "recipe", arguments.recipe)
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

    async def drain(
        self, ctx: CallContext, arguments: AdminDrainWorkersArguments
    ) -> dict[str, Any]:
        worker, host = arguments.worker, arguments.host
        async with require_part(self.database).transaction() as tx:
            rows = await fleet.drain(tx, worker=worker, host=host)
            await audit_installation(tx, ctx.actor, "admin_drain_workers", worker or host)
        names = ", ".join(row["name"] for row in rows)
        leave = "takes nothing new and leaves" if len(rows) == 1 else "take nothing new and leave"
        return {"workers": [_worker(row) for row in rows], "says": f"{names} {leave}."}


def _parse_halt_target(
    ctx: CallContext, arguments: HaltWorkArguments | ReleaseWorkArguments
) -> HaltTarget:
    """The workspace itself has no subject."""
    subjects = {"automation": arguments.automation_id, "recipe": arguments.recipe}
    subject = subjects.get(arguments.scope)
    return HaltTarget(
        ctx.actor.workspace_id, arguments.scope, "" if subject is None else str(subject)
    )


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
