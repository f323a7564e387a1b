"""Liveness, readiness, health, and metrics.

``live``: this process answers. ``ready``: it can receive requests, because its database answers,
has the expected schema and space to write, and no shutdown is in progress. ``health`` checks the
whole installation: it fails when schedules, workers or the event matcher are stalled or nothing can
be written, and recovers by itself.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from mainspring import __version__
from mainspring.contracts.ids import get_lowest_id_at
from mainspring.contracts.roles import Permission
from mainspring.runs.fleet import read_signals
from mainspring.runs.health import (
    HealthCheck,
    HealthReport,
    HealthSignals,
    Status,
    judge,
    read_health_signals,
    recent_runs,
)
from mainspring.runs.metrics import EndedRunMetrics, read_installation_metrics, read_spent
from mainspring.store.database import Database
from mainspring.store.disk_space import is_disk_full
from mainspring.store.migrate import PACKAGED, read_migrations, read_schema_version
from mainspring.surfaces.rest.auth import AuthenticatedCaller, SignedIn, check_admitted
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.request_bodies import JsonAnswer
from mainspring.surfaces.rest.route_access import needs, public
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.sandbox_status import probe_sandbox
from mainspring.surfaces.services import ApplicationServices

_logger = logging.getLogger(__name__)

LOOK_SECONDS: Final = 3.0
# The endpoint is public, so the database is queried once per interval, whatever the load.
_FRESH_SECONDS: Final = 1.0
_BAD: Final = ("ok", "degraded", "down").index


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
    version: str = Field(description="The version of Mainspring that answers.")
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
    503: {"model": HealthAnswer, "description": "Something is halted"}
}
_TEXT: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}}
}


class _HealthMonitor:
    """Checks the installation, and caches the result for a short time."""

    def __init__(self, database: Database, home: Path) -> None:
        self._database = database
        self._home = home
        self._one_at_a_time = asyncio.Lock()
        self._seen: tuple[float, HealthReport, _DatabaseLook] | None = None

    async def health(self, request: Request) -> HealthReport:
        """The whole report."""
        _, health, seen = await self._look()
        own = [_storage(seen)]
        if request.app.state.certificates is not None:
            own.append(request.app.state.certificates.check_health())
        good = all(check.ok for check in own)
        worse: Status = health.status if good else max(health.status, "degraded", key=_BAD)
        return HealthReport(worse, (*health.checks, *own))

    async def ready(self, request: Request) -> HealthReport:
        """Whether this process can receive requests."""
        _, health, seen = await self._look()
        closing = request.app.state.closing.is_set()
        checks = (
            health.checks[0],
            _tables(seen.tables),
            _storage(seen),
            _staying(stays=not closing),
        )
        return HealthReport("ok" if all(check.ok for check in checks) else "down", checks)

    async def _look(self) -> tuple[float, HealthReport, _DatabaseLook]:
        async with self._one_at_a_time:
            seen = self._seen
            if seen is None or time.monotonic() - seen[0] > _FRESH_SECONDS:
                self._seen = seen = await self._fresh()
            return seen

    async def _fresh(self) -> tuple[float, HealthReport, _DatabaseLook]:
        """The current state; the database query has a timeout."""
        looking = asyncio.create_task(self._vitals(), name="vitals")
        try:
            await asyncio.wait({looking}, timeout=LOOK_SECONDS)
        finally:
            # A cancelled query still releases its connection; this does not wait for that.
            in_vain = looking.cancel()
        vitals, seen = None, _DatabaseLook()
        if in_vain:
            _logger.warning("The database did not respond for %g s.", LOOK_SECONDS)
        elif (error := looking.exception()) is not None:
            _logger.warning("The database could not be checked: %s", type(error).__name__)
        else:
            vitals, seen = looking.result()
        return time.monotonic(), judge(vitals), seen

    async def _vitals(self) -> tuple[HealthSignals, _DatabaseLook]:
        seen = _DatabaseLook(
            await read_schema_version(self._database),
            await self._database.storage.is_full(self._database) or is_disk_full(self._home),
        )
        async with self._database.acquire() as connection:
            return await read_health_signals(connection), seen


@dataclass(frozen=True, slots=True)
class _DatabaseLook:
    """The state besides the vital checks; None is unknown."""

    tables: int | None = None
    full: bool | None = None


def _storage(seen: _DatabaseLook) -> HealthCheck:
    if seen.full is None:
        return HealthCheck("storage", False, "Whether there is space to write is not known.")
    if seen.full:
        return HealthCheck("storage", False, "There is no disk space left; nothing can be written.")
    return HealthCheck("storage", True, "There is space to write.")


@cache
def _count_migrations() -> int:
    return len(read_migrations(PACKAGED))


def _tables(found: int | None) -> HealthCheck:
    known = _count_migrations()
    if found == known:
        return HealthCheck("tables", True, "The tables are those of this version.")
    if found is None:
        return HealthCheck("tables", False, "The version of the tables is not known.")
    age = "older" if found < known else "newer"
    return HealthCheck(
        "tables", False, f"The tables are {age} than this version: {found}, not {known}."
    )


def _staying(*, stays: bool) -> HealthCheck:
    message = "This process stays." if stays else "This process is stopping."
    return HealthCheck("staying", stays, message)


class _SandboxStatus:
    """The sandbox layers of scripts; constant for the lifetime of this process."""

    def __init__(self) -> None:
        self._one_at_a_time = asyncio.Lock()
        self._seen: dict[str, Any] | None = None

    async def shown(self) -> dict[str, Any]:
        async with self._one_at_a_time:
            if self._seen is None:
                found = await probe_sandbox()
                warnings = found.warnings()
                held = [one for one in found.sentences() if one not in warnings]
                self._seen = {"strong": found.strong, "walls": held, "warnings": list(warnings)}
            return self._seen


def routes(services: ApplicationServices) -> APIRouter:
    made = router("health")
    eyes = _HealthMonitor(services.database, services.settings.home)
    sandbox, numbers = _SandboxStatus(), _PrometheusMetrics(services)

    @made.get(
        "/health", summary="Does all of it work?", response_model=HealthAnswer, responses=_RED
    )
    @public
    async def read_health(request: Request) -> Response:
        return _health_response(await eyes.health(request))

    @made.get(
        "/health/ready",
        summary="Can this process be sent requests?",
        response_model=HealthAnswer,
        responses=_RED,
    )
    @public
    async def read_readiness(request: Request) -> Response:
        return _health_response(await eyes.ready(request))

    @made.get("/health/live", summary="Does the process answer?", response_model=LiveAnswer)
    @public
    async def read_liveness() -> Response:
        return JsonAnswer({"status": "ok"})

    @made.get(
        "/health/scripts",
        summary="Which walls hold scripts on this machine?",
        response_model=WallsAnswer,
        responses=problems(401, 403, 500),
    )
    @needs(Permission.READ)
    async def read_walls() -> Response:
        return JsonAnswer(await sandbox.shown())

    @made.get(
        "/metrics", summary="Numbers for Prometheus", response_class=Response, responses=_TEXT
    )
    @needs(Permission.READ)
    async def read_metrics(request: Request, caller: SignedIn) -> Response:
        return await numbers.read(request, caller)

    return made


def probes(services: ApplicationServices) -> APIRouter:
    """The three checks at the short paths that container platforms expect."""
    made = APIRouter(dependencies=[Depends(check_admitted)])
    eyes = _HealthMonitor(services.database, services.settings.home)

    async def healthz(request: Request) -> Response:
        return _health_response(await eyes.health(request))

    async def readyz(request: Request) -> Response:
        return _health_response(await eyes.ready(request))

    async def livez() -> Response:
        return JsonAnswer({"status": "ok"})

    for probe in (healthz, readyz, livez):
        made.get(f"/{probe.__name__}", include_in_schema=False)(public(probe))
    return made


class _PrometheusMetrics:
    """The Prometheus metrics; counters start with the first scrape."""

    def __init__(self, services: ApplicationServices) -> None:
        self._services = services
        self._ended = EndedRunMetrics()
        self._one_at_a_time = asyncio.Lock()

    async def read(self, request: Request, caller: AuthenticatedCaller) -> Response:
        # Imported with the first scrape: it takes 0.1 CPU seconds that a start need not spend.
        from mainspring.surfaces.rest import metrics

        services, looks_after = self._services, caller.actor.administrator
        begun = time.monotonic()
        async with self._one_at_a_time, services.database.acquire() as connection:
            vitals = await read_health_signals(connection)
            took = time.monotonic() - begun
            hour = get_lowest_id_at(services.clock.now() - timedelta(hours=1))
            recent = await recent_runs(connection, caller.workspace_id, hour)
            queues = await read_signals(connection)
            await self._ended.look(connection)
            spent = await read_spent(connection, None if looks_after else caller.workspace_id)
            installation = await read_installation_metrics(connection) if looks_after else None
        of_whom = None if looks_after else caller.workspace_id
        runs, steps = (self._ended.duration_histogram(what, of_whom) for what in ("run", "step"))
        found = [
            *metrics.of_runs(recent, self._ended.by_status(of_whom)),
            *metrics.of_work(runs, steps, spent),
            *metrics.installation_families(vitals, queues, took),
        ]
        # Machine metrics are for administrators, not for every workspace on it.
        if installation is not None:
            found += metrics.of_machine(
                installation, services.database.in_use(), services.settings.home
            )
            found += metrics.of_webhooks(services.webhook_receiver.refusals.totals)
            found += request.app.state.requests.families()
        return Response(metrics.format_metrics(found), media_type=metrics.MEDIA_TYPE)


def _health_response(health: HealthReport) -> Response:
    answer = {"status": health.status, "version": __version__, **asdict(health)}
    return JsonAnswer(answer, 200 if health.status == "ok" else 503)
