"""Runs as they happen, as a stream of events.

``/runs/{run_id}/stream`` tells of one run and ends with it; ``/stream`` tells of every run of
the workspace and goes on until the reader leaves.
"""

from __future__ import annotations

import time
from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Header, Request
from starlette.responses import StreamingResponse

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.roles import Permission
from mainspring.gate.transcripts import transcripts_of_run
from mainspring.runs.history import read_run
from mainspring.runs.progress import Mark, RunWatch, WorkspaceWatch, marked, read_moment
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
    Header(alias="Last-Event-ID", max_length=512, description="Go on after this event."),
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
        responses=_stream(
            "Events: output, step, run and at last end. Each id says how far you have been told."
        ),
    )
    @needs(Permission.READ)
    async def stream_run(
        request: Request, run_id: UUID, caller: SignedIn, last_event_id: LastEventId = None
    ) -> StreamingResponse:
        mark = _mark(last_event_id)
        watch = RunWatch(caller.workspace_id, run_id, place=mark.place)
        if mark.moment is not None:
            watch.seen = mark.moment
        # A run that is not there is said as a status, before the stream begins.
        watched = _WatchedRun(caller.database, watch, mark)
        waiting = [await watched.look()]

        async def look() -> Look:
            return waiting.pop() if waiting else await watched.look()

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


class _WatchedRun:
    """One run as one reader is told of it."""

    def __init__(self, side: Walled, watch: RunWatch, mark: Mark) -> None:
        self._side = side
        self._watch = watch
        self._mark = mark

    async def look(self) -> Look:
        watch, told = self._watch, []
        async with self._side.acquire() as connection:
            changes = await watch.look(connection)
            for (kind, row), mark in marked(changes, self._mark):
                self._mark = mark
                told.append(Told(kind, row, mark.write()))
            over = bool(changes) and changes[-1][0] == "end"
            if over:
                run = await read_run(connection, watch.workspace_id, watch.run_id)
                told[-1].data["story"] = tell(run)
                kept = await transcripts_of_run(connection, watch.workspace_id, watch.run_id)
                told[-1].data["transcripts"] = kept
        return Look(told, over)


def _mark(text: str | None) -> Mark:
    if not text:
        return Mark()
    found = Mark.read(text)
    if found is None:
        raise _no_event()
    return found


def _moment(text: str | None) -> datetime | None:
    if not text:
        return None
    found = read_moment(text)
    if found is None:
        raise _no_event()
    return found


def _no_event() -> Invalid:
    detail = "This is not the id of an event of this stream."
    finding = Finding("/header/Last-Event-ID", detail, "last_event_id")
    return Invalid(detail, code="last_event_id", findings=[finding])
