"""Live runs as server-sent events.

``/runs/{run_id}/stream`` follows one run and ends with it. ``/stream`` sends a page everything it
needs, over one connection, until it disconnects: every run of the workspace, the count of waiting
items, and the steps of the named runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import StreamingResponse

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Finding, Invalid, NotFound
from mainspring.contracts.roles import Permission
from mainspring.definition.strict_json import join_pointer
from mainspring.gate.transcripts import transcripts_of_run
from mainspring.runs.history import read_run
from mainspring.runs.inbox_counts import waiting_for
from mainspring.runs.progress import (
    RunStreamPosition,
    RunWatch,
    WorkspaceWatch,
    parse_timestamp,
    with_positions,
)
from mainspring.runs.story import summarize_run
from mainspring.surfaces.rest.auth import AuthenticatedCaller, SignedIn, check_again
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.route_access import needs
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.rest.sse import (
    MEDIA_TYPE,
    PollFunction,
    StreamEvent,
    StreamLimiter,
    StreamPoll,
)
from mainspring.surfaces.services import ApplicationServices

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import WorkspaceDatabase


# What a stream sends: one run in detail, or everything that a page shows.

RUNS_SECONDS: Final = 0.4
WAITING_SECONDS: Final = 1.0
_NOTHING: Final = RunStreamPosition()


@dataclass(frozen=True, slots=True)
class PageStreamPosition:
    """The position of a page's stream: a timestamp for all runs, and a mark for its one run.

    With several runs only the timestamp is kept: a resumed stream sends each of them from its
    beginning, and the client skips chunks by their numbers.
    """

    moment: datetime | None = None
    run: RunStreamPosition = _NOTHING

    def write(self) -> str:
        moment = "" if self.moment is None else self.moment.isoformat()
        run = self.run.write()
        return moment if run is None else f"{moment}~{run}"

    @classmethod
    def read(cls, text: str) -> PageStreamPosition | None:
        """The mark in an event id that was issued here; None for any other text."""
        first, tilde, rest = text.partition("~")
        moment = parse_timestamp(first) if first else None
        run = RunStreamPosition.read(rest) if tilde else _NOTHING
        if (first and moment is None) or run is None or not text:
            return None
        return cls(moment, run)


class RunStream:
    """One run as one client sees it."""

    def __init__(
        self, side: WorkspaceDatabase, workspace_id: UUID, run_id: UUID, mark: RunStreamPosition
    ) -> None:
        self._side = side
        self._watch = RunWatch(workspace_id, run_id, place=mark.place)
        if mark.moment is not None:
            self._watch.seen = mark.moment
        self.mark = mark

    async def look(self) -> StreamPoll:
        async with self._side.acquire() as connection:
            return await self.poll_with(connection)

    async def poll_with(self, tx: Transaction) -> StreamPoll:
        """What has changed since the last poll, and whether the run is over."""
        watch, events = self._watch, []
        changes = await watch.look(tx)
        for (kind, row), mark in with_positions(changes, self.mark):
            self.mark = mark
            events.append(StreamEvent(kind, row, mark.write()))
        over = bool(changes) and changes[-1][0] == "end"
        if over:
            run = await read_run(tx, watch.workspace_id, watch.run_id)
            events[-1].data["story"] = summarize_run(run)
            kept = await transcripts_of_run(tx, watch.workspace_id, watch.run_id)
            events[-1].data["transcripts"] = kept
        return StreamPoll(events, over)


class PageStream:
    """A workspace as one page shows it, with some runs in detail."""

    def __init__(
        self,
        side: WorkspaceDatabase,
        reader: Actor,
        run_ids: Sequence[UUID],
        mark: PageStreamPosition,
    ) -> None:
        self._side = side
        self._reader = reader
        space = reader.workspace_id
        self._runs = WorkspaceWatch(space, since=mark.moment)
        # A run that is named twice is streamed once.
        named = [*dict.fromkeys(run_ids)]
        self._alone = len(named) == 1
        begun = mark.run if self._alone else _NOTHING
        self._closely = [
            _FollowedRun(RunStream(side, space, one, begun), one, run_ids.index(one))
            for one in named
        ]
        self._mark = replace(mark, run=begun)
        self._waiting: dict[str, Any] | None = None
        self._runs_due = _IntervalTimer(RUNS_SECONDS)
        self._waiting_due = _IntervalTimer(WAITING_SECONDS)

    def read_as(self, reader: Actor) -> None:
        """Continues for the same client, whose role may have changed."""
        self._reader = reader

    async def look(self) -> StreamPoll:
        """What has changed; a problem with a pointer to each named run that does not exist."""
        entries: list[StreamEvent] = []
        missing: list[Finding] = []
        async with self._side.acquire() as connection:
            # Runs in detail are sent first.
            for run in self._closely:
                if run.over and not run.due.now():
                    continue
                try:
                    entries += await self._of_one_run(connection, run)
                except NotFound as problem:
                    missing.append(Finding(run.pointer, problem.detail, problem.code))
            if missing:
                raise NotFound(missing[0].detail, code=missing[0].code, findings=missing)
            if self._runs_due.now():
                entries += await self._of_runs(connection)
            if self._waiting_due.now():
                entries += await self._of_waiting(connection)
        return StreamPoll(entries)

    async def _of_one_run(self, tx: Transaction, run: _FollowedRun) -> list[StreamEvent]:
        before, events = self._mark, []
        found = await run.watched.poll_with(tx)
        for one in found.events:
            mark = RunStreamPosition.read(one.id) if self._alone and one.id is not None else None
            self._mark = replace(self._mark, run=mark or before.run)
            # Every run has its event "run"; the changes of this one have a name of their own.
            kind = "watched" if one.kind == "run" else one.kind
            data = {**one.data, "run_id": run.run_id}
            events.append(StreamEvent(kind, data, self._mark.write() or None))
        if found.events:
            run.over = found.over
        return events

    async def _of_runs(self, tx: Transaction) -> list[StreamEvent]:
        moment, runs = await self._runs.look(tx)
        self._mark = replace(self._mark, moment=moment)
        return [StreamEvent("run", run, self._mark.write()) for run in runs]

    async def _of_waiting(self, tx: Transaction) -> list[StreamEvent]:
        now = await waiting_for(tx, self._reader)
        if now == self._waiting:
            return []
        self._waiting = now
        # It is sent on every connect, so that each client has an id to resume with.
        return [StreamEvent("inbox", now, self._mark.write() or None)]


class _FollowedRun:
    """One of the runs that a page follows step by step."""

    def __init__(self, watched: RunStream, run_id: UUID, place: int) -> None:
        self.watched = watched
        self.run_id = run_id
        # Its position in the request.
        self.pointer = join_pointer("/query/run_id", place)
        self.over = False
        # A finished run may be continued: it is still polled, but less often.
        self.due = _IntervalTimer(RUNS_SECONDS)


class _IntervalTimer:
    """Whether the interval has passed since the last time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._next = 0.0

    def now(self) -> bool:
        moment = time.monotonic()
        # A poll that is slightly early would otherwise wait for a whole interval more.
        if moment < self._next - self._seconds / 20:
            return False
        self._next = moment + self._seconds
        return True


RUN_SECONDS: Final = 0.15
WORKSPACE_SECONDS: Final = 0.4
# Each run in detail is polled several times a second.
MOST_WATCHED: Final = 4
# How long a stream continues after access was revoked.
ASK_AGAIN_SECONDS: Final = 1.0

_PAGE_EVENTS: Final = (
    "Events: run, for each run that is new or has changed, as in a list of runs; inbox, with the "
    "numbers drafts, approvals, consents, failures and unread, at the opening and whenever they "
    "change. With run_id also, of each run that it names: step, for each try that is over or has "
    "begun to wait; output, for what its steps say; watched, when it has changed; end, when it is "
    "over, with its story; all of them with its run_id. Each id is the position in the stream of "
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
        "when the session is for another one."
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


def routes(services: ApplicationServices) -> APIRouter:
    made = router("streams")
    streams = StreamLimiter(services.limits)

    @made.get(
        "/runs/{run_id}/stream",
        summary="Watch one run",
        response_class=StreamingResponse,
        responses=_stream(
            "Events: output, step, run and at last end. Each id is the position in the stream."
        ),
    )
    @needs(Permission.READ)
    async def stream_run(
        request: Request, run_id: UUID, caller: SignedIn, last_event_id: LastEventId = None
    ) -> StreamingResponse:
        watched = RunStream(caller.database, caller.workspace_id, run_id, _mark(last_event_id))
        # A missing run is reported as a status, before the stream begins.
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
        # The auth middleware has checked the workspace.
        mark = _page_mark(last_event_id)
        watched = PageStream(caller.database, caller.actor, run_id, mark)
        # A missing run is reported as a status, before the stream begins.
        waiting = [await watched.look()]

        async def look() -> StreamPoll:
            return waiting.pop() if waiting else await watched.look()

        pace = RUN_SECONDS if run_id else WORKSPACE_SECONDS
        seen = _check_reader(look, caller, watched.read_as)
        return streams.open(request, seen, pace, caller.member_id)

    return made


def _check_reader(
    look: PollFunction, caller: AuthenticatedCaller, read_as: Callable[[Actor], None] | None = None
) -> PollFunction:
    """The same poll, while the caller has access: a token may be revoked in between."""
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
