"""run_automation_once and get_automation_run: start a manual run and wait, or poll.

Waiting holds no transaction and no connection; it polls. The wait is limited, and a longer run
continues; a caller that names it resumes waiting instead of starting another.

A client that lost the response calls again. While that run is active, the same call by the same
caller waits for it; a concurrent second run needs an idempotency key.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.authoring.draft import read_time_limit
from mainspring.authoring.run_report import RunWait, describe_run
from mainspring.authoring.service import AuthoringService
from mainspring.contracts.errors import Conflict, Finding, Invalid, NotFound
from mainspring.gate.policy import mode_of
from mainspring.runs.history import read_run
from mainspring.runs.output import read_output
from mainspring.runs.rows import FINAL
from mainspring.runs.run_requests import RunRequest, release_key
from mainspring.workspace.automations import no_automation_error

if TYPE_CHECKING:
    from mainspring.contracts.capability import CapabilityHandler
    from mainspring.contracts.context import CallContext, ClientWait
    from mainspring.store.database import WorkspaceDatabase

_FOUND: Final = (
    "An earlier call with the same arguments has started this run, so no run was started now; to "
    "start another run, give a new idempotency_key. "
)
LEAST_WAIT: Final = 10
MOST_WAIT: Final = 360
# Added to a run's time limit, for queueing and for writing its record.
_ROOM: Final = 90
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.25
_KEY_LIFETIME: Final = timedelta(hours=24)
# Arguments that only apply to a new run.
_OF_NEW: Final = ("dry_run", "verify_mode", "idempotency_key")
# The interval of progress notifications.
_REPORT_SECONDS: Final = 5.0
_OVER: Final = FINAL | {"gone"}

_DOCUMENT = """
    SELECT d.document, a.version FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id
        AND v.automation_id = a.id AND v.version = a.version
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    WHERE a.workspace_id = $1 AND a.id = $2
"""
_OF = "SELECT automation_id FROM runs WHERE workspace_id = $1 AND id = $2"
_STATUS = "SELECT status FROM runs WHERE workspace_id = $1 AND id = $2"
_WORKERS = "SELECT count(*) FROM workers WHERE lease_until > now()"
# The chain of runs that wait for this one.
_ANCESTORS = """
    WITH RECURSIVE above AS (
        SELECT id, parent_id, automation_id FROM runs WHERE workspace_id = $1 AND id = $2
        UNION ALL
        SELECT r.id, r.parent_id, r.automation_id FROM above a
        JOIN runs r ON r.workspace_id = $1 AND r.id = a.parent_id
    )
    SELECT automation_id FROM above LIMIT 100
"""


def run_handler(studio: AuthoringService) -> CapabilityHandler:
    async def run_once(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        space, automation_id = ctx.actor.workspace_id, UUID(arguments["automation_id"])
        inside = studio.open_workspace(space)
        row = await inside.fetchrow(_DOCUMENT, space, automation_id)
        if row is None:
            raise no_automation_error()
        if ctx.run is not None:
            await _check_not_above(inside, space, ctx.run.id, automation_id)
        seconds = limit_wait(ctx, arguments.get("wait_seconds") or usual_wait(row["document"]))
        existed = False
        if "run_id" in arguments:
            run_id = await _under_way(inside, space, automation_id, arguments)
        else:
            request = _request(ctx, automation_id, row["version"], arguments)
            run_id, existed = await _dispatch_run(studio, ctx, arguments, request)
        await wait_for_end(inside, space, run_id, seconds, ctx.client_wait)
        result = await _describe_run(studio, inside, space, run_id, seconds)
        return {**result, "next_step": _FOUND + result["next_step"]} if existed else result

    return run_once


def get_run_handler(studio: AuthoringService) -> CapabilityHandler:
    async def look(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        space = ctx.actor.workspace_id
        return await _describe_run(
            studio, studio.open_workspace(space), space, UUID(arguments["run_id"]), 0
        )

    return look


async def _describe_run(
    studio: AuthoringService, inside: WorkspaceDatabase, space: UUID, run_id: UUID, seconds: int
) -> dict[str, Any]:
    async with inside.acquire() as connection:
        run = await read_run(connection, space, run_id)
        said = await read_output(connection, space, run_id)
    # A run that never started may be waiting for a worker that does not exist.
    workers = None if run["status"] in FINAL else await studio.database.fetchval(_WORKERS)
    url = studio.admin_url(run["automation_id"])
    return describe_run(run, said, RunWait(seconds, workers=workers, url=url))


async def _under_way(
    inside: WorkspaceDatabase, space: UUID, automation_id: UUID, arguments: Mapping[str, Any]
) -> UUID:
    """Return the named run, if it belongs to this automation and no new run is requested."""
    detail = "The run that run_id names has begun as it is, so this cannot be chosen any more."
    way = "Leave it out, or leave out run_id to start another run."
    findings = [
        Finding(f"/{name}", detail, "with_run_id", way) for name in _OF_NEW if name in arguments
    ]
    if findings:
        raise Invalid(detail, code="with_run_id", findings=findings, suggestion=way)
    run_id = UUID(arguments["run_id"])
    if await inside.fetchval(_OF, space, run_id) != automation_id:
        raise NotFound("This automation has no such run.", code="no_run")
    return run_id


def usual_wait(document: Mapping[str, Any]) -> int:
    """The default wait: the run's time limit plus a margin, within the argument's limits."""
    return max(LEAST_WAIT, min(MOST_WAIT, read_time_limit(document) + _ROOM))


def limit_wait(ctx: CallContext, seconds: int) -> int:
    """Limit the wait to the client's own timeout."""
    return seconds if ctx.client_wait is None else min(seconds, int(ctx.client_wait.seconds))


def _request(
    ctx: CallContext, automation_id: UUID, version: int, arguments: Mapping[str, Any]
) -> RunRequest:
    mode = mode_of(
        dry_run=arguments.get("dry_run", True), verify=arguments.get("verify_mode", False)
    )
    if "idempotency_key" in arguments:
        key = f"key:{arguments['idempotency_key']}"
    elif ctx.run is not None:
        # A retried step must find the run it started, so the key is derived from the call.
        key = f"call:{ctx.key}"
    else:
        # A changed automation starts a new run.
        key = f"again:{ctx.actor.id}:{ctx.actor.token_id}:{mode}:{version}"
    return RunRequest(
        ctx.actor.workspace_id,
        automation_id,
        mode=mode,
        parent_id=None if ctx.run is None else ctx.run.id,
        key=key,
        key_expires_at=ctx.clock.now() + _KEY_LIFETIME,
        body_hash=hashlib.sha256(mode.encode()).digest(),
    )


async def _dispatch_run(
    studio: AuthoringService, ctx: CallContext, arguments: Mapping[str, Any], request: RunRequest
) -> tuple[UUID, bool]:
    """Start the run of a request; return whether an earlier call had started it."""
    named = "idempotency_key" in arguments or ctx.run is not None
    while True:
        try:
            made = await studio.dispatcher.dispatch(request)
        except Invalid as problem:
            raise _other_call(problem) from None
        if named or not made.existed or made.status not in _OVER:
            return made.run_id, made.existed and ctx.run is None
        # The earlier call's run has ended, so this call starts another one.
        async with studio.database.transaction() as tx:
            await release_key(tx, request, made.run_id)


async def _check_not_above(
    inside: WorkspaceDatabase, space: UUID, run_id: UUID, automation_id: UUID
) -> None:
    rows = await inside.fetch(_ANCESTORS, space, run_id)
    if automation_id in {row["automation_id"] for row in rows}:
        raise Conflict(
            "This run would wait for itself: its automation, or one that started it, is the one "
            "that it asks for.",
            code="waits_for_itself",
            suggestion="Start the other automation with publish_event, which does not wait.",
        )


def _other_call(problem: Invalid) -> Invalid:
    if problem.code != "idempotency_mismatch":
        return problem
    detail = (
        "This idempotency key was used before to run this automation in another mode or over REST."
    )
    way = "Give another key, or repeat the first call as it was: its dry_run and verify_mode."
    found = Finding("/idempotency_key", detail, problem.code, way)
    return Invalid(detail, code=problem.code, findings=[found], suggestion=way)


async def wait_for_end(
    inside: WorkspaceDatabase,
    space: UUID,
    run_id: UUID,
    seconds: float,
    wait: ClientWait | None = None,
) -> str:
    """Wait until the run ends or the time is up; return its status."""
    loop = asyncio.get_running_loop()
    began, pause = loop.time(), _FIRST_PAUSE
    deadline, report_at = began + seconds, began
    while True:
        status = str(await inside.fetchval(_STATUS, space, run_id))
        now = loop.time()
        left = deadline - now
        if status in FINAL or left <= 0:
            return status
        if wait is not None and wait.report is not None and now >= report_at:
            await wait.report(f"Run {run_id} is {status} after {now - began:.0f} s.")
            report_at = now + _REPORT_SECONDS
        await asyncio.sleep(min(pause, left))
        pause = min(pause * 1.5, _LONGEST_PAUSE)
