"""Runs: reading them, and what a person may do to one."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Request
from pydantic import Field

from mainspring.contracts.roles import Permission
from mainspring.runs.history import list_runs, read_run
from mainspring.runs.replay import Which, replay
from mainspring.runs.rows import RunStatus
from mainspring.runs.story import tell
from mainspring.surfaces.rest.answers import Answer
from mainspring.surfaces.rest.bodies import Body
from mainspring.surfaces.rest.door import SignedIn
from mainspring.surfaces.rest.ground import router
from mainspring.surfaces.rest.marks import needs
from mainspring.surfaces.rest.optional_bodies import may_take, read_optional
from mainspring.surfaces.rest.paging import PAGE, Cursor, Limit, Page, page
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.shapes import Accepted, RunDetail, RunState, RunSummary
from mainspring.surfaces.rooms import Rooms


class Replay(Body):
    """How to run it again."""

    version: Which = Field("same", description="The version of then, or the one in force now.")
    inputs: dict[str, Any] | None = Field(
        None, description="Other inputs than those of the earlier run."
    )


def routes(rooms: Rooms) -> APIRouter:
    made = router("runs")
    _reading(made, rooms)
    _steering(made, rooms)
    return made


def _reading(made: APIRouter, rooms: Rooms) -> None:
    @made.get(
        "/runs",
        summary="List runs, the newest first",
        response_model=Page[RunSummary],
        responses=problems(401, 422),
    )
    @needs(Permission.READ)
    async def get_runs(
        caller: SignedIn,
        status: Annotated[RunStatus | None, Query(description="Only runs in this status.")] = None,
        automation_id: Annotated[UUID | None, Query(description="Only runs of this one.")] = None,
        trigger_id: Annotated[UUID | None, Query(description="Only runs it started.")] = None,
        cursor: Cursor = None,
        limit: Limit = PAGE,
    ) -> Answer:
        async with caller.database.acquire() as connection:
            rows = await list_runs(
                connection, caller.workspace_id, status=status, automation_id=automation_id,
                trigger_id=trigger_id, before=cursor, most=limit + 1,
            )  # fmt: skip
        return Answer(page(rows, limit))

    @made.get(
        "/runs/{run_id}",
        summary="Read a run: what it was given, what each step did, what became of it",
        response_model=RunDetail,
        responses=problems(401, 404, 422),
    )
    @needs(Permission.READ)
    async def get_run(run_id: UUID, caller: SignedIn) -> Answer:
        async with caller.database.acquire() as connection:
            run = await read_run(connection, caller.workspace_id, run_id)
        return Answer({**run, "story": tell(run)})


def _steering(made: APIRouter, rooms: Rooms) -> None:
    @made.post(
        "/runs/{run_id}/cancel",
        summary="Stop a run: one that waits at once, one under way as soon as its worker hears",
        response_model=RunState,
        status_code=202,
        responses=problems(401, 404, 409, 422),
    )
    @needs(Permission.RUN)
    async def cancel_run(run_id: UUID, caller: SignedIn) -> Answer:
        status = await rooms.control.cancel(caller.workspace_id, run_id)
        await caller.database.note()
        return Answer({"run_id": run_id, "status": status}, status_code=202)

    @made.post(
        "/runs/{run_id}/retry",
        summary="Go on with a run that broke off, from the step that failed",
        response_model=RunState,
        status_code=202,
        responses=problems(401, 404, 409, 422),
    )
    @needs(Permission.RUN)
    async def retry_run(run_id: UUID, caller: SignedIn) -> Answer:
        await rooms.control.retry(caller.workspace_id, run_id)
        await caller.database.note()
        return Answer({"run_id": run_id, "status": "pending"}, status_code=202)

    @made.post(
        "/runs/{run_id}/replay",
        summary="Start a new run with what this one was given",
        response_model=Accepted,
        status_code=202,
        responses=problems(401, 404, 409, 413, 415, 422),
        openapi_extra=may_take(Replay),
    )
    @needs(Permission.RUN)
    async def replay_run(run_id: UUID, request: Request, caller: SignedIn) -> Answer:
        asked = await read_optional(request, Replay)
        started = await replay(
            caller.database, rooms.dispatcher, rooms.limits, caller.workspace_id, run_id,
            version=asked.version, inputs=asked.inputs,
        )  # fmt: skip
        caller.detail |= {"run_id": str(started.run_id), "version": asked.version}
        await caller.database.note()
        return accepted(rooms, started.run_id, started.status, started.reason)


def accepted(
    rooms: Rooms, run_id: UUID, status: str, reason: str | None = None, code: Literal[202] = 202
) -> Answer:
    """A run was recorded: where to read it."""
    url = f"{rooms.settings.address}/api/v1/runs/{run_id}"
    shown: dict[str, Any] = {"run_id": run_id, "status": status, "url": url}
    if reason is not None:
        shown["reason"] = reason
    return Answer(shown, status_code=code, headers={"Location": url})
