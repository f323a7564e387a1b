"""Whether the server lives, whether all of it works, and its numbers.

``live`` says that this process answers. ``ready`` says that it reaches its database.
``health`` looks at the whole house: it turns red when schedules, workers or the matcher
stand still, and green again by itself.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from mainspring import __version__
from mainspring.contracts.ids import floor_id
from mainspring.contracts.roles import Permission
from mainspring.runs.health import Health, Vitals, due_runs, judge, read_vitals, recent_runs
from mainspring.runs.rows import FINAL
from mainspring.store.database import Database
from mainspring.surfaces.rest.answers import Answer
from mainspring.surfaces.rest.door import SignedIn
from mainspring.surfaces.rest.ground import router
from mainspring.surfaces.rest.marks import needs, public
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rooms import Rooms
from mainspring.surfaces.walls_here import walls_here

_logger = logging.getLogger(__name__)

LOOK_SECONDS: Final = 3.0
# Anybody may ask; the database is asked once in this time, however many do.
_FRESH_SECONDS: Final = 1.0
_METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_STATUSES: Final = ("pending", "running", "waiting", *sorted(FINAL))


class CheckAnswer(BaseModel):
    """One question about the house."""

    model_config = ConfigDict(extra="forbid")

    name: str
    ok: bool
    detail: str


class HealthAnswer(BaseModel):
    """The answers to all of them."""

    model_config = ConfigDict(extra="forbid")

    status: Literal["ok", "degraded", "down"]
    checks: list[CheckAnswer]


class WallsAnswer(BaseModel):
    """What stands between a script and the machine that answered."""

    model_config = ConfigDict(extra="forbid")

    strong: bool = Field(description="Whether a hole in Deno alone gives a script nothing.")
    walls: list[str] = Field(description="What holds, in sentences.")
    warnings: list[str] = Field(description="What does not, and what to do about it.")


class LiveAnswer(BaseModel):
    """The process answers."""

    model_config = ConfigDict(extra="forbid")

    status: Literal["ok"]


_RED: Final[dict[int | str, dict[str, Any]]] = {
    503: {"model": HealthAnswer, "description": "Something stands still"}
}
_TEXT: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}}
}


class _Eyes:
    """Looks at the house, and remembers for a moment what it saw."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._one_at_a_time = asyncio.Lock()
        self._seen: tuple[float, Health] | None = None

    async def health(self) -> Health:
        async with self._one_at_a_time:
            if self._seen is None or time.monotonic() - self._seen[0] > _FRESH_SECONDS:
                self._seen = time.monotonic(), judge(await self.look())
            return self._seen[1]

    async def look(self) -> Vitals | None:
        """What there is to see; None when the database does not show it in time."""
        try:
            async with asyncio.timeout(LOOK_SECONDS), self._database.acquire() as connection:
                return await read_vitals(connection)
        except Exception as error:
            _logger.warning("The database could not be looked at: %s", type(error).__name__)
            return None


class _Walls:
    """The walls round scripts; they stay as they are while this process lives."""

    def __init__(self) -> None:
        self._one_at_a_time = asyncio.Lock()
        self._seen: dict[str, Any] | None = None

    async def shown(self) -> dict[str, Any]:
        async with self._one_at_a_time:
            if self._seen is None:
                found = await walls_here()
                warnings = found.warnings()
                held = [one for one in found.sentences() if one not in warnings]
                self._seen = {"strong": found.strong, "walls": held, "warnings": list(warnings)}
            return self._seen


def routes(rooms: Rooms) -> APIRouter:
    made = router("health")
    eyes, walls = _Eyes(rooms.database), _Walls()

    @made.get(
        "/health", summary="Does all of it work?", response_model=HealthAnswer, responses=_RED
    )
    @public
    async def read_health() -> Response:
        return _shown(await eyes.health())

    @made.get(
        "/health/ready", summary="Is the database there?", response_model=HealthAnswer,
        responses=_RED,
    )  # fmt: skip
    @public
    async def read_readiness() -> Response:
        database = (await eyes.health()).checks[0]
        return _shown(Health("ok" if database.ok else "down", (database,)))

    @made.get("/health/live", summary="Does the process answer?", response_model=LiveAnswer)
    @public
    async def read_liveness() -> Response:
        return Answer({"status": "ok"})

    @made.get(
        "/health/scripts",
        summary="Which walls hold scripts on this machine?",
        response_model=WallsAnswer,
        responses=problems(401, 403, 500),
    )
    @needs(Permission.READ)
    async def read_walls() -> Response:
        return Answer(await walls.shown())

    @made.get(
        "/metrics", summary="Numbers for Prometheus", response_class=Response, responses=_TEXT
    )
    @needs(Permission.READ)
    async def read_metrics(caller: SignedIn) -> Response:
        begun = time.monotonic()
        async with rooms.database.acquire() as connection:
            vitals = await read_vitals(connection)
            took = time.monotonic() - begun
            hour = floor_id(rooms.clock.now() - timedelta(hours=1))
            recent = await recent_runs(connection, caller.workspace_id, hour)
            due = await due_runs(connection)
        # What the machine has is for those who look after it, not for every workspace on it.
        looks_after = caller.actor.administrator
        disk = await asyncio.to_thread(_disk, rooms.settings.home) if looks_after else []
        lines = [*_runs(recent), *_numbers(vitals, due, took), *disk, *_about()]
        return Response("\n".join(lines) + "\n", media_type=_METRICS_TYPE)

    return made


def _shown(health: Health) -> Response:
    return Answer(asdict(health), 200 if health.status == "ok" else 503)


def _runs(recent: Mapping[str, int]) -> Iterator[str]:
    yield from _head("mainspring_runs", "Runs made in the last hour, by status.")
    for status in _STATUSES:
        yield f'mainspring_runs{{status="{status}"}} {recent.get(status, 0)}'


def _numbers(vitals: Vitals, due: int, took: float) -> Iterator[str]:
    backlog = max(vitals.event_seconds or 0.0, vitals.unheard_seconds or 0.0)
    rows = (
        ("due_runs", "Runs whose time has come and that no worker has taken.", due),
        ("oldest_due_run_seconds", "How long the oldest of them waits.", vitals.run_seconds or 0.0),
        ("workers", "Workers with a living lease.", vitals.workers),
        ("overdue_schedules", "Schedules that should have fired.", vitals.overdue_schedules),
        ("event_backlog_seconds", "Age of the oldest event that is not matched.", backlog),
        ("database_seconds", "How long the database took to answer this.", round(took, 6)),
    )
    for name, sentence, value in rows:
        yield from _head(f"mainspring_{name}", sentence)
        yield f"mainspring_{name} {value}"


def _disk(home: Path) -> list[str]:
    """How full the disk of the data folder is; nothing where there is no such folder."""
    try:
        found = shutil.disk_usage(home)
    except OSError:
        return []
    rows = (
        ("disk_bytes", "How large the disk of the data folder is.", found.total),
        ("disk_free_bytes", "How much of it is free.", found.free),
    )
    return [
        line
        for name, sentence, value in rows
        for line in (*_head(f"mainspring_{name}", sentence), f"mainspring_{name} {value}")
    ]


def _about() -> Iterator[str]:
    yield from _head("mainspring_info", "Which version answered.")
    yield f'mainspring_info{{version="{__version__}"}} 1'


def _head(name: str, sentence: str) -> Iterator[str]:
    yield f"# HELP {name} {sentence}"
    yield f"# TYPE {name} gauge"
