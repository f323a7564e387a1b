"""Which numbers Prometheus is given, by name. Names stay: dashboards and alerts are built on them.

Whoever may read a workspace sees its runs and whether the house keeps up. What the machine
and the database carry is for those who look after them.
"""

from __future__ import annotations

import os
import resource
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from mainspring import __version__
from mainspring.runs.fleet import MEANINGS, QueueSignals
from mainspring.runs.health import HealthSignals
from mainspring.runs.metrics import BOUNDS, DurationHistogram, InstallationMetrics
from mainspring.runs.rows import FINAL
from mainspring.store.database import PoolUse
from mainspring.surfaces.rest.exposition import (
    MetricFamily,
    MetricSample,
    by_label,
    gauge,
    histogram,
)

_STATUSES: Final = ("pending", "running", "waiting", *sorted(FINAL))
_STARTED: Final = time.time()


def of_runs(recent: Mapping[str, int], ended: Mapping[str, float]) -> Iterator[MetricFamily]:
    """Runs of the caller's workspace; for an administrator those that ended in any."""
    shown = {status: float(recent.get(status, 0)) for status in _STATUSES}
    yield by_label("mainspring_runs", "Runs made in the last hour, by status.", "status", shown)
    yield by_label(
        "mainspring_runs_finished_total",
        "Runs that have ended since this process was first asked, by how.",
        "status",
        ended,
        "counter",
    )


def of_work(
    runs: DurationHistogram, steps: DurationHistogram, spent: Mapping[str, float]
) -> Iterator[MetricFamily]:
    """How long runs and their steps took, and what was spent; of whom, as for ended runs."""
    for name, sentence, lasted in (
        ("run", "How long runs took that have ended since this process was first asked.", runs),
        ("step", "How long the steps of these runs took, each try by itself.", steps),
    ):
        yield histogram(
            f"mainspring_{name}_seconds", sentence, BOUNDS, lasted.counts, lasted.seconds
        )
    yield by_label(
        "mainspring_spend_usd", "What was spent in this day and month (UTC).", "period", spent
    )


def installation_families(
    vitals: HealthSignals, queues: Sequence[QueueSignals], seconds: float
) -> Iterator[MetricFamily]:
    """Whether the house keeps up."""
    backlog = max(vitals.event_seconds or 0.0, vitals.unheard_seconds or 0.0)
    due = sum(one.due_runs for one in queues)
    late = vitals.schedule_seconds or 0.0
    rows = (
        ("due_runs", "Runs whose time has come and that no worker has taken.", due),
        ("oldest_due_run_seconds", "How long the oldest of them waits.", vitals.run_seconds or 0),
        ("workers", "Workers with a living lease.", vitals.workers),
        ("overdue_schedules", "Schedules that should have fired.", vitals.overdue_schedules),
        ("oldest_due_schedule_seconds", "How late the latest of all schedules is.", late),
        ("event_backlog_seconds", "Age of the oldest event that is not matched.", backlog),
        ("database_seconds", "How long the database took to answer this.", round(seconds, 6)),
    )
    for name, sentence, value in rows:
        yield gauge(f"mainspring_{name}", sentence, value)
    yield from _of_queues(queues)
    yield by_label("mainspring_info", "Which version answered.", "version", {__version__: 1})


def _of_queues(queues: Sequence[QueueSignals]) -> Iterator[MetricFamily]:
    for name, meaning in MEANINGS.items():
        values = {one.queue: float(getattr(one, name)) for one in queues}
        yield by_label(f"mainspring_queue_{name}", meaning, "queue", values)


def of_machine(found: InstallationMetrics, pool: PoolUse, home: Path) -> Iterator[MetricFamily]:
    """What the machine and the database carry."""
    rows = (
        ("drafts_waiting", "Drafts that wait for a person.", found.drafts),
        ("questions_waiting", "Questions of runs that wait for a person.", found.questions),
        ("halts", "Halts that stand.", found.halts),
        ("database_bytes", "How large the database is.", found.database_bytes),
        ("database_connections", "Connections to the database.", found.connections),
        ("database_connections_most", "How many it allows.", found.most_connections),
        (
            "database_idle_in_transaction",
            "Connections that hold a transaction and do nothing.",
            found.idle_in_transaction,
        ),
        (
            "database_oldest_transaction_seconds",
            "How long the oldest transaction has been open.",
            found.oldest_transaction_seconds,
        ),
    )
    for name, sentence, value in rows:
        yield gauge(f"mainspring_{name}", sentence, value)
    yield by_label(
        "mainspring_pool_connections",
        "Connections of this process to the database.",
        "state",
        {"used": pool.used, "idle": pool.idle, "most": pool.most},
    )
    yield from _disk(home)
    yield from _process()


def _disk(home: Path) -> Iterator[MetricFamily]:
    """How full the disk of the data folder is; nothing where there is no such folder."""
    try:
        found = shutil.disk_usage(home)
    except OSError:
        return
    yield gauge("mainspring_disk_bytes", "How large the disk of the data folder is.", found.total)
    yield gauge("mainspring_disk_free_bytes", "How much of it is free.", found.free)


def _process() -> Iterator[MetricFamily]:
    """This process, by the names that every exporter uses."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    yield MetricFamily(
        "process_cpu_seconds_total",
        "Processor time of this process.",
        (MetricSample(round(used.ru_utime + used.ru_stime, 3)),),
        "counter",
    )
    yield gauge("process_resident_memory_bytes", "Memory of this process.", _memory(used))
    yield gauge("process_start_time_seconds", "When this process began.", round(_STARTED, 3))


def _memory(used: resource.struct_rusage) -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        # Where the system does not tell, the most it ever was has to do.
        return used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return pages * os.sysconf("SC_PAGE_SIZE")
