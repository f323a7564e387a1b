"""Runs: read, cancel, and replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Request
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError
from starlette.responses import PlainTextResponse, Response

from mainspring.contracts.context import OutputStream
from mainspring.contracts.roles import Permission
from mainspring.gate.transcripts import transcripts_of_run
from mainspring.gate.usage_ledger import usage_of_run
from mainspring.runs.history import list_runs, read_run
from mainspring.runs.output import (
    OutputPosition,
    check_run,
    format_output_position,
    parse_output_position,
    read_log,
    read_output,
)
from mainspring.runs.replay import Which, replay
from mainspring.runs.rows import RunStatus
from mainspring.runs.story import summarize_run
from mainspring.surfaces.rest.auth import SignedIn
from mainspring.surfaces.rest.paging import PAGE, Cursor, Limit, Page, page
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.request_bodies import Body, JsonAnswer, may_take, read_optional
from mainspring.surfaces.rest.route_access import needs
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.rest.run_shapes import (
    Accepted,
    PieceShape,
    RunDetail,
    RunMode,
    RunState,
    RunSummary,
)
from mainspring.surfaces.services import ApplicationServices
from mainspring.workspace.repeat_consents import check_may_repeat

STEP_ID: Final = "^[a-z][a-z0-9_]*$"
_BY_ACCEPT: Final = {"Vary": "Accept"}
_OUTPUT: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
    **problems(401, 404, 422),
}


def _parse_output_position(text: str | None) -> str | None:
    if text is not None and parse_output_position(text) is None:
        sentence = "This is not the id of a piece. Use the value of 'next' or 'id'."
        raise PydanticCustomError("cursor", sentence)
    return text


After = Annotated[
    str | None,
    AfterValidator(_parse_output_position),
    Query(
        max_length=400,
        pattern="^[A-Za-z0-9_-]+$",
        description="Where to go on: the 'next' of the page before, or the 'id' of a piece.",
    ),
]


class Replay(Body):
    """How to run it again."""

    version: Which = Field("same", description="The version of then, or the one in force now.")
    inputs: dict[str, Any] | None = Field(
        None, description="Other inputs than those of the earlier run."
    )
    payload: Any = Field(
        None,
        description="Another payload than that of the earlier run. Default or null: the same. "
        "What its trigger makes of it are the inputs, unless they are given too.",
    )
    mode: RunMode | None = Field(None, description="Default: as in the earlier run.")


def routes(services: ApplicationServices) -> APIRouter:
    made = router("runs")
    _reading(made)
    _listening(made)
    _steering(made, services)
    return made


def _reading(made: APIRouter) -> None:
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
        mode: Annotated[RunMode | None, Query(description="Only runs of this kind.")] = None,
        cursor: Cursor = None,
        limit: Limit = PAGE,
    ) -> JsonAnswer:
        async with caller.database.acquire() as connection:
            rows = await list_runs(
                connection,
                caller.workspace_id,
                status=status,
                automation_id=automation_id,
                trigger_id=trigger_id,
                mode=mode,
                before=cursor,
                most=limit + 1,
            )
        return JsonAnswer(page(rows, limit))

    @made.get(
        "/runs/{run_id}",
        summary="Read a run: what it was given, what each step did, what became of it",
        response_model=RunDetail,
        responses=problems(401, 404, 422),
    )
    @needs(Permission.READ)
    async def get_run(run_id: UUID, caller: SignedIn) -> JsonAnswer:
        async with caller.database.acquire() as connection:
            run = await read_run(connection, caller.workspace_id, run_id)
            usage = await usage_of_run(connection, caller.workspace_id, run_id)
            kept = await transcripts_of_run(connection, caller.workspace_id, run_id)
        return JsonAnswer({**run, "usage": usage, "transcripts": kept, "story": summarize_run(run)})


def _listening(made: APIRouter) -> None:
    @made.get(
        "/runs/{run_id}/output",
        summary="Read what the steps of a run have said, the oldest first",
        description="With 'Accept: text/plain': the newest try at each step, as one text.",
        response_model=Page[PieceShape],
        responses=_OUTPUT,
    )
    @needs(Permission.READ)
    async def get_run_output(
        request: Request,
        run_id: UUID,
        caller: SignedIn,
        step: Annotated[
            str | None, Query(max_length=64, pattern=STEP_ID, description="Only this step.")
        ] = None,
        stream: Annotated[OutputStream | None, Query(description="Only this stream.")] = None,
        after: After = None,
        limit: Limit = PAGE,
    ) -> Response:
        async with caller.database.acquire() as connection:
            await check_run(connection, caller.workspace_id, run_id)
            if _wants_text(request) and after is None:
                text = await read_log(
                    connection, caller.workspace_id, run_id, step=step, stream=stream
                )
                return PlainTextResponse(text, headers=_BY_ACCEPT)
            rows = await read_output(
                connection,
                caller.workspace_id,
                run_id,
                after=parse_output_position(after or ""),
                step=step,
                stream=stream,
                most=limit + 1,
            )
        return JsonAnswer(_pieces(rows, limit), headers=_BY_ACCEPT)


def _pieces(rows: Sequence[Mapping[str, Any]], limit: int) -> dict[str, Any]:
    shown = [{"id": format_output_position(OutputPosition.of(row)), **row} for row in rows[:limit]]
    return {"items": shown, "next": shown[-1]["id"] if len(rows) > limit else None}


def _wants_text(request: Request) -> bool:
    """Whether the Accept header prefers plain text to JSON; the default is JSON."""
    accept = request.headers.get("accept", "")
    text, rest = accept.find("text/plain"), accept.find("json")
    return text >= 0 and (rest < 0 or text < rest)


def _steering(made: APIRouter, services: ApplicationServices) -> None:
    @made.post(
        "/runs/{run_id}/cancel",
        summary="Cancel a run: a waiting one immediately, a running one when its worker is "
        "notified",
        response_model=RunState,
        status_code=202,
        responses=problems(401, 404, 409, 422),
    )
    @needs(Permission.RUN)
    async def cancel_run(run_id: UUID, caller: SignedIn) -> JsonAnswer:
        status = await services.control.cancel(caller.workspace_id, run_id)
        await caller.database.note()
        return JsonAnswer({"run_id": run_id, "status": status}, status_code=202)

    @made.post(
        "/runs/{run_id}/retry",
        summary="Resume a failed run from the step that failed",
        response_model=RunState,
        status_code=202,
        responses=problems(401, 404, 409, 422),
    )
    @needs(Permission.RUN)
    async def retry_run(run_id: UUID, caller: SignedIn) -> JsonAnswer:
        async with caller.database.acquire() as connection:
            await check_may_repeat(connection, caller.workspace_id, run_id, caller.actor)
        await services.control.retry(caller.workspace_id, run_id)
        await caller.database.note()
        return JsonAnswer({"run_id": run_id, "status": "pending"}, status_code=202)

    @made.post(
        "/runs/{run_id}/replay",
        summary="Start a new run with what this one was given",
        response_model=Accepted,
        status_code=202,
        responses=problems(401, 404, 409, 413, 415, 422),
        openapi_extra=may_take(Replay),
    )
    @needs(Permission.RUN)
    async def replay_run(run_id: UUID, request: Request, caller: SignedIn) -> JsonAnswer:
        body = await read_optional(request, Replay)
        started = await replay(
            caller.database,
            services.dispatcher,
            services.limits,
            caller.workspace_id,
            run_id,
            version=body.version,
            inputs=body.inputs,
            payload=body.payload,
            mode=body.mode,
            by=caller.actor,
        )
        caller.detail |= {"run_id": str(started.run_id), "version": body.version}
        await caller.database.note()
        return answer_accepted(services, started.run_id, started.status, started.reason)


def answer_accepted(
    services: ApplicationServices,
    run_id: UUID,
    status: str,
    reason: str | None = None,
    code: Literal[202] = 202,
) -> JsonAnswer:
    """The response for a recorded run, with its URL."""
    url = f"{services.settings.address}/api/v1/runs/{run_id}"
    shown: dict[str, Any] = {"run_id": run_id, "status": status, "url": url}
    if reason is not None:
        shown["reason"] = reason
    return JsonAnswer(shown, status_code=code, headers={"Location": url})
