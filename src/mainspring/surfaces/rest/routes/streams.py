"""Runs as they happen, as a stream of events.

``/runs/{run_id}/stream`` tells of one run and ends with it; ``/stream`` tells of every run of
the workspace and goes on until the reader leaves.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Header, Request
from starlette.responses import StreamingResponse

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.roles import Permission
from mainspring.runs.history import read_run
from mainspring.runs.progress import RunWatch, WorkspaceWatch
from mainspring.runs.story import tell
from mainspring.store.walls import Walled
from mainspring.surfaces.rest.door import Caller, SignedIn, check_again
from mainspring.surfaces.rest.ground import router
from mainspring.surfaces.rest.marks import needs
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.sse import MEDIA_TYPE, Look, Looking, Streams, Told
from mainspring.surfaces.rooms import Rooms

RUN_SECONDS: Final = 0.15
WORKSPACE_SECONDS: Final = 0.4
# How long a stream goes on for somebody who was shut out meanwhile.
ASK_AGAIN_SECONDS: Final = 1.0

LastEventId = Annotated[
    str | None,
    Header(alias="Last-Event-ID", max_length=64, description="Go on after this event."),
]


def _stream(sentence: str) -> dict[int | str, dict[str, Any]]:
    shown = {"description": sentence, "content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}
    return {200: shown, **problems(401, 404, 422, 429)}


def routes(rooms: Rooms) -> APIRouter:
    made = router("streams")
    streams = Streams(rooms.limits)

    @made.get(
        "/runs/{run_id}/stream",
        summary="Watch one run",
        response_class=StreamingResponse,
        responses=_stream("Events: step, run and at last end. Each id is the time of a step."),
    )
    @needs(Permission.READ)
    async def stream_run(
        request: Request, run_id: UUID, caller: SignedIn, last_event_id: LastEventId = None
    ) -> StreamingResponse:
        watch = RunWatch(caller.workspace_id, run_id, seen=_moment(last_event_id) or _BEGINNING)
        # A run that is not there is said as a status, before the stream begins.
        first = await _look_at_run(caller.database, watch)
        waiting = [first]

        async def look() -> Look:
            return waiting.pop() if waiting else await _look_at_run(caller.database, watch)

        return streams.open(request, _watched(look, caller), RUN_SECONDS, caller.member_id)

    @made.get(
        "/stream",
        summary="Watch the runs of the workspace",
        response_class=StreamingResponse,
        responses=_stream("Events: run, for each run that is new or has changed."),
    )
    @needs(Permission.READ)
    async def stream_runs(
        request: Request, caller: SignedIn, last_event_id: LastEventId = None
    ) -> StreamingResponse:
        watch = WorkspaceWatch(caller.workspace_id, since=_moment(last_event_id))

        async def look() -> Look:
            async with caller.database.acquire() as connection:
                moment, runs = await watch.look(connection)
            return Look([Told("run", run, moment.isoformat()) for run in runs])

        return streams.open(request, _watched(look, caller), WORKSPACE_SECONDS, caller.member_id)

    return made


def _watched(look: Looking, caller: Caller) -> Looking:
    """The same look, while whoever reads may read: a token may be revoked in between."""
    asked = time.monotonic()

    async def watched() -> Look:
        nonlocal asked
        if time.monotonic() - asked > ASK_AGAIN_SECONDS:
            await check_again(caller, Permission.READ)
            asked = time.monotonic()
        return await look()

    return watched


_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)


async def _look_at_run(side: Walled, watch: RunWatch) -> Look:
    async with side.acquire() as connection:
        changes = await watch.look(connection)
        told = [_told(kind, row, watch) for kind, row in changes]
        over = bool(changes) and changes[-1][0] == "end"
        if over:
            run = await read_run(connection, watch.workspace_id, watch.run_id)
            told[-1].data["story"] = tell(run)
    return Look(told, over)


def _told(kind: str, row: dict[str, Any], watch: RunWatch) -> Told:
    moment = row["finished_at"] if kind == "step" else watch.seen
    return Told(kind, row, None if moment == _BEGINNING else moment.isoformat())


def _moment(text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    # The first and the last years cannot be written in UTC from every zone.
    if found is None or found.tzinfo is None or not 1 < found.year < 9999:
        detail = "This is not the id of an event of this stream."
        finding = Finding("/header/Last-Event-ID", detail, "last_event_id")
        raise Invalid(detail, code="last_event_id", findings=[finding])
    return found
