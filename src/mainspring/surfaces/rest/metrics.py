"""The metrics that Prometheus scrapes, by name. Names stay: dashboards and alerts use them.

Everyone who may read a workspace sees its runs and whether the server keeps up. Figures about the
machine and the database are for administrators.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from mainspring import __version__
from mainspring.runs.fleet import MEANINGS, QueueSignals
from mainspring.runs.health import HealthSignals
from mainspring.runs.metrics import BOUNDS, DurationHistogram, InstallationMetrics
from mainspring.runs.rows import FINAL
from mainspring.store.database import PoolUse

_STATUSES: Final = ("pending", "running", "waiting", *sorted(FINAL))
MEDIA_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4
# The CPU time, memory, open files and start time of this process, by their usual names.
_PROCESS: Final = ProcessCollector(registry=None)


class _Families(Collector):
    """Families that were read for one scrape."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = [family for family in families if family.samples]

    def collect(self) -> Iterable[Metric]:
        return self._families


def format_metrics(families: Iterable[Metric]) -> bytes:
    """The families in Prometheus' text format; a family without samples is left out."""
    registry = CollectorRegistry()
    registry.register(_Families(families))
    return generate_latest(registry)


def _by_label(name: str, help_text: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, help_text, labels=[label])
    for label_value, value in values.items():
        family.add_metric([label_value], value)
    return family


def _histogram(name: str, help_text: str, durations: DurationHistogram) -> Metric:
    bounds = [*(str(bound) for bound in BOUNDS), "+Inf"]
    buckets = list(zip(bounds, accumulate(durations.counts), strict=True))
    return HistogramMetricFamily(name, help_text, buckets, sum_value=durations.seconds)


def of_runs(recent: Mapping[str, int], ended: Mapping[str, float]) -> Iterator[Metric]:
    """Runs of the caller's workspace; for an administrator those that ended in any."""
    shown = {status: float(recent.get(status, 0)) for status in _STATUSES}
    yield _by_label("mainspring_runs", "Runs made in the last hour, by status.", "status", shown)
    finished = CounterMetricFamily(
        "mainspring_runs_finished_total",
        "Runs that have ended since this process was first asked, by how.",
        labels=["status"],
    )
    for status, count in ended.items():
        finished.add_metric([status], count)
    yield finished


def of_work(
    runs: DurationHistogram, steps: DurationHistogram, spent: Mapping[str, float]
) -> Iterator[Metric]:
    """How long runs and their steps took, and what was spent; of whom, as for ended runs."""
    for name, sentence, lasted in (
        ("run", "How long runs took that have ended since this process was first asked.", runs),
        ("step", "How long the steps of these runs took, each try by itself.", steps),
    ):
        yield _histogram(f"mainspring_{name}_seconds", sentence, lasted)
    yield _by_label(
        "mainspring_spend_usd", "What was spent in this day and month (UTC).", "period", spent
    )


def installation_families(
    vitals: HealthSignals, queues: Sequence[QueueSignals], seconds: float
) -> Iterator[Metric]:
    """Whether the house keeps up."""
    backlog = max(vitals.event_seconds or 0.0, vitals.unheard_seconds or 0.0)
    due = sum(one.due_runs for one in queues)
    late = vitals.schedule_seconds or 0.0
    rows = (
        ("due_runs", "Runs whose time has come and that no worker has taken.", due),
        ("oldest_due_run_seconds", "Age of the oldest due run.", vitals.run_seconds or 0),
        ("workers", "Workers with a living lease.", vitals.workers),
        ("overdue_schedules", "Schedules that should have fired.", vitals.overdue_schedules),
        ("oldest_due_schedule_seconds", "How late the latest of all schedules is.", late),
        ("event_backlog_seconds", "Age of the oldest event that is not matched.", backlog),
        ("database_seconds", "How long the database took to answer this.", round(seconds, 6)),
    )
    for name, sentence, value in rows:
        yield GaugeMetricFamily(f"mainspring_{name}", sentence, value)
    yield from _of_queues(queues)
    yield _by_label("mainspring_info", "Which version answered.", "version", {__version__: 1})


def _of_queues(queues: Sequence[QueueSignals]) -> Iterator[Metric]:
    for name, meaning in MEANINGS.items():
        values = {one.queue: float(getattr(one, name)) for one in queues}
        yield _by_label(f"mainspring_queue_{name}", meaning, "queue", values)


def of_machine(found: InstallationMetrics, pool: PoolUse, home: Path) -> Iterator[Metric]:
    """What the machine and the database carry."""
    rows = (
        ("drafts_waiting", "Drafts that wait for a person.", found.drafts),
        ("questions_waiting", "Questions of runs that wait for a person.", found.questions),
        ("halts", "Active halts.", found.halts),
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
        yield GaugeMetricFamily(f"mainspring_{name}", sentence, value)
    yield _by_label(
        "mainspring_pool_connections",
        "Connections of this process to the database.",
        "state",
        {"used": pool.used, "idle": pool.idle, "most": pool.most},
    )
    yield from _disk(home)
    yield from _PROCESS.collect()


def of_webhooks(refused: Mapping[str, int]) -> Iterator[Metric]:
    """The webhook requests that this process has refused."""
    family = CounterMetricFamily(
        "mainspring_webhook_requests_refused_total",
        "Webhook requests that this process has refused, by reason.",
        labels=["reason"],
    )
    for reason, count in sorted(refused.items()):
        family.add_metric([reason], count)
    yield family


def _disk(home: Path) -> Iterator[Metric]:
    """How full the disk of the data folder is; nothing where there is no such folder."""
    try:
        found = shutil.disk_usage(home)
    except OSError:
        return
    yield GaugeMetricFamily(
        "mainspring_disk_bytes", "How large the disk of the data folder is.", found.total
    )
    yield GaugeMetricFamily("mainspring_disk_free_bytes", "How much of it is free.", found.free)
