"""Runs as they happen, as a stream of events.

``/runs/{run_id}/stream`` tells of one run and ends with it. ``/stream`` tells a whole page all that
it needs, over one connection, until the reader leaves: every run of the workspace, what waits for
the reader, and the steps of those runs that are named.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import StreamingResponse

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.roles import Permission
from mainspring.runs.progress import RunStreamPosition
from mainspring.surfaces.rest.door import AuthenticatedCaller, SignedIn, check_again
from mainspring.surfaces.rest.ground import router
from mainspring.surfaces.rest.marks import needs
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.sse import MEDIA_TYPE, Looking, StreamLimiter, StreamPoll
from mainspring.surfaces.rest.told import PageStream, PageStreamPosition, RunStream
from mainspring.surfaces.rooms import ApplicationServices

RUN_SECONDS: Final = 0.15
WORKSPACE_SECONDS: Final = 0.4
# Each run that is watched closely costs a look at the tables several times a second.
MOST_WATCHED: Final = 4
# How long a stream goes on for somebody who was shut out meanwhile.
ASK_AGAIN_SECONDS: Final = 1.0

_PAGE_EVENTS: Final = (
    "Events: run, for each run that is new or has changed, as in a list of runs; inbox, with the "
    "numbers drafts, approvals, consents, failures and unread, at the opening and whenever they "
    "change. With run_id also, of each run that it names: step, for each try that is over or has "
    "begun to wait; output, for what its steps say; watched, when it has changed; end, when it is "
    "over, with its story; all of them with its run_id. Each id says how far you have been told of "
    "all of it; its part before the character ~ says it of the workspace alone, and a stream that "
    "is opened with this part, or with several runs, tells of those runs from their beginning. "
    "If a run does not exist, or is deleted later, the problem points at its place in the query."
)

LastEventId = Annotated[
    str | None,
    Header(alias="Last-Event-ID", max_length=512, description="Go on after this event."),
]

ShownWorkspace = Annotated[
    UUID | None,
    Query(
        description="For a browser: the workspace that its page shows. The stream is refused "
        "when the session looks at another one."
    ),
]


WatchedRuns = Annotated[
    tuple[UUID, ...],
    Query(
        max_length=MOST_WATCHED,
        description="Tell of the steps and the output of this run too; once for each run.",
    ),
]


def _stream(sentence: str) -> dict[int | str, dict[str, Any]]:
    shown = {"description": sentence, "content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}
    return {200: shown, **problems(401, 404, 422, 429)}


def routes(rooms: ApplicationServices) -> APIRouter:
    made = router("streams")
    streams = StreamLimiter(rooms.limits)

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
        watched = RunStream(caller.database, caller.workspace_id, run_id, _mark(last_event_id))
        # A run that is not there is said as a status, before the stream begins.
        waiting = [await watched.look()]

        async def look() -> StreamPoll:
            return waiting.pop() if waiting else await watched.look()

        return streams.open(request, _check_reader(look, caller), RUN_SECONDS, caller.member_id)

    @made.get(
        "/stream",
        summary="Watch the workspace: its runs, what waits for you, and some runs closely",
        response_class=StreamingResponse,
        responses=_stream(_PAGE_EVENTS),
    )
    @needs(Permission.READ)
    async def stream_runs(
        request: Request,
        caller: SignedIn,
        run_id: WatchedRuns = (),
        workspace: ShownWorkspace = None,
        last_event_id: LastEventId = None,
    ) -> StreamingResponse:
        # The door has looked at the workspace.
        mark = _page_mark(last_event_id)
        watched = PageStream(caller.database, caller.actor, run_id, mark)
        # A run that is not there is said as a status, before the stream begins.
        waiting = [await watched.look()]

        async def look() -> StreamPoll:
            return waiting.pop() if waiting else await watched.look()

        pace = RUN_SECONDS if run_id else WORKSPACE_SECONDS
        seen = _check_reader(look, caller, watched.read_as)
        return streams.open(request, seen, pace, caller.member_id)

    return made


def _check_reader(
    look: Looking, caller: AuthenticatedCaller, read_as: Callable[[Actor], None] | None = None
) -> Looking:
    """The same look, while whoever reads may read: a token may be revoked in between."""
    asked = time.monotonic()

    async def watched() -> StreamPoll:
        nonlocal asked
        if time.monotonic() - asked > ASK_AGAIN_SECONDS:
            now = await check_again(caller, Permission.READ)
            if read_as is not None:
                read_as(now.actor)
            asked = time.monotonic()
        return await look()

    return watched


def _mark(text: str | None) -> RunStreamPosition:
    if not text:
        return RunStreamPosition()
    found = RunStreamPosition.read(text)
    if found is None:
        raise _no_event()
    return found


def _page_mark(text: str | None) -> PageStreamPosition:
    if not text:
        return PageStreamPosition()
    found = PageStreamPosition.read(text)
    if found is None:
        raise _no_event()
    return found


def _no_event() -> Invalid:
    detail = "This is not the id of an event of this stream."
    finding = Finding("/header/Last-Event-ID", detail, "last_event_id")
    return Invalid(detail, code="last_event_id", findings=[finding])
