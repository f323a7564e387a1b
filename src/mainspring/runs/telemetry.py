"""Run traces and metrics for an OpenTelemetry collector, from inside the worker.

The trace of a run has the run's own id. A run that resumes after a wait, or on another worker,
continues in the same trace with a new span that links to the first. Spans carry ids, names, counts
and codes, and never the inputs, outputs or messages of a run.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Problem, describe_for_log
from mainspring.outbound.telemetry import first_span, run_context
from mainspring.runs.fleet import read_signals
from mainspring.runs.health import read_health_signals
from mainspring.runs.metrics import read_installation_metrics
from mainspring.runs.rows import FINAL, ClaimedRun, RunEnd, RunEvent, Watcher

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.metrics import CallbackOptions, Observation
    from opentelemetry.trace import Link, Span

    from mainspring.outbound.telemetry import Telemetry
    from mainspring.runs.execute import RunExecution
    from mainspring.store.database import Database, PoolUse

log = logging.getLogger(__name__)

_SECONDS: Final = (0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300, 3600)
_LOOK_SECONDS: Final = 15.0


def both(first: Watcher, second: Watcher) -> Watcher:
    """Combine two observers."""

    def watch(event: RunEvent) -> None:
        first(event)
        second(event)

    return watch


@dataclass(slots=True)
class _OpenRunSpan:
    """A run in progress and its open step spans."""

    span: Span
    context: Context
    run: ClaimedRun
    trigger: str
    # By item: within one item, steps run one after the other.
    steps: dict[str, tuple[Span, Context]] = field(default_factory=dict)


class RunTelemetry:
    """An observer that creates spans and metrics."""

    def __init__(self, telemetry: Telemetry, now: Callable[[], int] = time.time_ns) -> None:
        meter = telemetry.meter
        self._telemetry = telemetry
        self._now = now
        self._open: dict[UUID, _OpenRunSpan] = {}
        self._claims = meter.create_counter("mainspring.claims", "{run}", "Runs taken.")
        self._ended = meter.create_counter("mainspring.runs", "{run}", "Runs that ended, by how.")
        self._spend = meter.create_counter("mainspring.spend", "USD", "What runs have cost.")
        self._waited = meter.create_histogram(
            "mainspring.run.wait",
            "s",
            "From the making of a run to its first claim.",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self._worked = meter.create_histogram(
            "mainspring.run.duration",
            "s",
            "How long runs that ended were worked on.",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self._stepped = meter.create_histogram(
            "mainspring.step.duration",
            "s",
            "How long an attempt at a step took.",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )

    def __call__(self, event: RunEvent) -> None:
        match event.kind:
            case "run_started" | "run_resumed":
                self._begin(event.detail)
            case "step_started":
                self._begin_step(event)
            case "step_retrying" | "step_finished":
                self._end_step(event)
            case "run_ended":
                self._end(event)

    def _begin(self, execution: RunExecution) -> None:
        from opentelemetry.trace import NonRecordingSpan, set_span_in_context

        run = execution.run
        resumed = run.resumed
        parent = None
        links: list[Link] = []
        if resumed:
            first = run_context(run.id)
            parent = set_span_in_context(NonRecordingSpan(first))
            links = [_link(first)]
        else:
            self._telemetry.preset(run.id.int, first_span(run.id))
        span = self._telemetry.tracer.start_span(
            "run resumed" if resumed else "run", parent, attributes=_about(execution), links=links
        )
        context = set_span_in_context(span)
        self._open[run.id] = _OpenRunSpan(span, context, run, run.trigger_type)
        self._claims.add(1, {"resumed": resumed})
        if not resumed:
            made = run.id.int >> 80
            self._waited.record(max(self._now() / 1e9 - made / 1e3, 0.0))

    def _begin_step(self, event: RunEvent) -> None:
        from opentelemetry.trace import set_span_in_context

        found = self._open.get(event.run_id)
        if found is not None:
            span = self._telemetry.tracer.start_span(
                f"step {event.step}", _around(found, event.item), attributes=_of_step(event)
            )
            found.steps[event.item] = span, set_span_in_context(span)

    def _end_step(self, event: RunEvent) -> None:
        found = self._open.get(event.run_id)
        if found is None:
            return
        begun = found.steps.pop(event.item, None)
        if begun is not None:
            span = begun[0]
        else:
            # It ended without an attempt: skipped, or its wait was over.
            span = self._telemetry.tracer.start_span(
                f"step {event.step}", _around(found, event.item), attributes=_of_step(event)
            )
        span.set_attribute("mainspring.status", event.status)
        if isinstance(event.detail, Problem):
            _fail(span, event.detail.code)
        span.end()
        self._stepped.record(event.ms / 1000, {"status": event.status})

    def _end(self, event: RunEvent) -> None:
        found = self._open.pop(event.run_id, None)
        if found is None:
            return
        for span, _ in found.steps.values():
            span.set_attribute("mainspring.status", "interrupted")
            span.end()
        found.span.set_attribute("mainspring.status", event.status)
        if isinstance(event.detail, RunEnd):
            self._count(found, event.detail)
        found.span.end()

    def _count(self, found: _OpenRunSpan, end: RunEnd) -> None:
        span = found.span
        span.set_attribute("mainspring.cost_usd", float(end.cost_usd))
        for name in ("outcome", "reason"):
            value = getattr(end, name)
            if value is not None:
                span.set_attribute(f"mainspring.{name}", value)
        if end.error is not None:
            _fail(span, str(end.error.get("code") or "unknown"))
        spent = float(end.cost_usd - found.run.cost_usd)
        if spent > 0:
            self._spend.add(spent)
        if end.status in FINAL:
            about = {"status": end.status, "trigger": found.trigger}
            self._ended.add(1, about)
            self._worked.record(end.active_ms / 1000, about)


def _about(execution: RunExecution) -> dict[str, str | int]:
    run, version = execution.run, execution.version
    return {
        "mainspring.run_id": str(run.id),
        "mainspring.automation_id": str(run.automation_id),
        "mainspring.automation_name": version.name,
        "mainspring.workspace_id": str(run.workspace_id),
        "mainspring.version": run.version,
        "mainspring.trigger": run.trigger_type,
        "mainspring.queue": version.program.queue,
        "mainspring.mode": run.mode,
        "mainspring.attempt": run.attempt,
        "mainspring.takeovers": run.takeovers,
    }


def _of_step(event: RunEvent) -> dict[str, str | int]:
    about: dict[str, str | int] = {
        "mainspring.run_id": str(event.run_id),
        "mainspring.step": event.step,
        "mainspring.attempt": event.attempt,
    }
    if event.item:
        about["mainspring.item"] = event.item
    return about


def _around(found: _OpenRunSpan, item: str) -> Context:
    """The loop step, for a step of one of its items; else the run."""
    outer = found.steps.get(item.rpartition(".")[0]) if item else None
    return found.context if outer is None else outer[1]


def _link(first: Any) -> Link:
    from opentelemetry.trace import Link

    return Link(first, {"mainspring.link": "first span of the run"})


def _fail(span: Span, code: str) -> None:
    """By its code: the text of an error may contain user data."""
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute("error.type", code)
    span.set_status(Status(StatusCode.ERROR))


class InstallationTelemetry:
    """Metrics of the whole installation, read at an interval."""

    def __init__(self, telemetry: Telemetry, database: Database) -> None:
        self._database = database
        self._seen: dict[str, dict[str, float]] = {}
        for name, unit, sentence in (
            ("mainspring.queue.due", "{run}", "Due runs that no worker has taken."),
            ("mainspring.queue.oldest_due", "s", "How long the oldest due run waits."),
            ("mainspring.queue.running", "{run}", "Runs that workers hold."),
            ("mainspring.queue.slots", "{run}", "Runs that the workers can hold."),
            ("mainspring.workers", "{worker}", "Workers with a living lease."),
            ("mainspring.schedules.overdue", "{trigger}", "Schedules that should have fired."),
            ("mainspring.drafts.waiting", "{draft}", "Drafts that wait for a person."),
            ("mainspring.database.size", "By", "How large the database is."),
        ):
            telemetry.meter.create_observable_gauge(name, [self._reader(name)], unit, sentence)

    def _reader(self, name: str) -> Callable[[CallbackOptions], Iterable[Observation]]:
        def read(options: CallbackOptions) -> Iterable[Observation]:
            from opentelemetry.metrics import Observation

            del options
            return [
                Observation(value, {"queue": queue} if queue else None)
                for queue, value in self._seen.get(name, {}).items()
            ]

        return read

    async def run(self, stop: asyncio.Event) -> None:
        """Run until stopped; a failed read reports nothing rather than old numbers."""
        while not stop.is_set():
            try:
                self._seen = await self._look()
            except Exception as error:
                self._seen = {}
                log.warning("Cannot read metrics: %s", describe_for_log(error))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    await stop.wait()

    async def _look(self) -> dict[str, dict[str, float]]:
        async with self._database.acquire() as connection:
            vitals = await read_health_signals(connection)
            queues = await read_signals(connection)
            metrics = await read_installation_metrics(connection)
        return {
            "mainspring.queue.due": {one.queue: one.due_runs for one in queues},
            "mainspring.queue.oldest_due": {one.queue: one.oldest_seconds for one in queues},
            "mainspring.queue.running": {one.queue: one.in_flight for one in queues},
            "mainspring.queue.slots": {one.queue: one.slots for one in queues},
            "mainspring.workers": {"": vitals.workers},
            "mainspring.schedules.overdue": {"": vitals.overdue_schedules},
            "mainspring.drafts.waiting": {"": metrics.drafts},
            "mainspring.database.size": {"": metrics.database_bytes},
        }


def watch_pool(telemetry: Telemetry, use: Callable[[], PoolUse]) -> None:
    """The database connections of this process."""
    from opentelemetry.metrics import Observation

    def read(options: CallbackOptions) -> Iterable[Observation]:
        del options
        found = use()
        return [
            Observation(found.used, {"state": "used"}),
            Observation(found.idle, {"state": "idle"}),
        ]

    telemetry.meter.create_observable_gauge(
        "mainspring.database.connections", [read], "{connection}", "Connections of this process."
    )
