"""The checks of ``doctor`` that need an open database: what it carries, and for how long it can.

What was seen is a value, and each check judges it without asking anybody again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from mainspring.runs.fleet import QueueSignals, list_workers, read_signals
from mainspring.runs.health import HealthSignals, judge, read_health_signals
from mainspring.runs.metrics import InstallationMetrics, read_installation_metrics
from mainspring.runs.retention import DEFAULT_DAYS
from mainspring.store.application_name import VERSION, count_processes_by_version
from mainspring.store.migrate import read_schema_version
from mainspring.surfaces.cli.backup import last_backup
from mainspring.surfaces.cli.checks import DoctorCheck, Verdict
from mainspring.surfaces.cli.formatting import count, date_time, hint
from mainspring.surfaces.cli.listen_address import is_loopback
from mainspring.surfaces.cli.screen import one_line
from mainspring.surfaces.cli.size import in_bytes
from mainspring.triggers.storage_size import StorageReport, own_disk, read_size
from mainspring.workspace.people.email_addresses import get_mail_address

if TYPE_CHECKING:
    from mainspring.contracts.limits import Limits
    from mainspring.settings import Settings
    from mainspring.store.database import Database

# A transaction this old keeps everybody's dead rows from being cleared away.
_LONG_TRANSACTION: Final = 600.0
# What one process takes of the database when it is busy.
_CONNECTIONS_EACH: Final = 20
_FULL: Final = 0.85
_SOON_DAYS, _VERY_SOON_DAYS = 30, 3
_BACKUP_DAYS: Final = 7
# Housekeeping comes every hour; after this it is not only a little late.
_LAG: Final = timedelta(days=2)

_DEAD = """
    SELECT relname AS name, n_dead_tup AS dead FROM pg_stat_user_tables
    WHERE n_dead_tup > 100000 AND n_dead_tup > n_live_tup / 2
    ORDER BY n_dead_tup DESC LIMIT 5
"""
_MAILING = """
    SELECT a.name, u.id, u.email, u.email_state,
        v.grants @> '[{"capability": "email.notify_owner"}]' AS to_owner
    FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id AND v.automation_id = a.id
        AND v.version = a.version
    LEFT JOIN users u ON u.id = a.created_by
    WHERE a.state = 'active' AND (v.grants @> '[{"capability": "email.notify_owner"}]'
        OR v.grants @> '[{"capability": "send_email"}]')
    ORDER BY a.name LIMIT 100
"""
_LONGEST_KEPT = """
    SELECT coalesce(max((d.document -> 'retention' ->> 'runs_days')::int), $1)
    FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id AND v.automation_id = a.id
        AND v.version = a.version
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
"""


@dataclass(frozen=True, slots=True)
class DatabaseFacts:
    """What there was to see while the database was open."""

    tables: int
    house: InstallationMetrics
    size: StorageReport
    # How many workers live on each machine.
    machines: Mapping[str, int] = field(default_factory=dict)
    # Tables with too many rows that are gone, and how many those are.
    dead: Mapping[str, int] = field(default_factory=dict)
    kept_days: int = DEFAULT_DAYS
    # What each queue asks of the workers.
    queues: Sequence[QueueSignals] = ()
    # How many processes of each version have the database open.
    versions: Mapping[str, int] = field(default_factory=dict)
    # What is late, as the server's health sees it.
    vitals: HealthSignals = field(default_factory=HealthSignals)
    # Active automations that send mail, and those among them whose owner has no address.
    mailing: Sequence[str] = ()
    unreached: Sequence[str] = ()
    # And those whose owner set an address before addresses were verified.
    unverified: Sequence[str] = ()


async def read_database_facts(
    database: Database, settings: Settings, limits: Limits
) -> DatabaseFacts:
    """One look at all of it."""
    size = await read_size(database, limits, own_disk(settings))
    async with database.acquire() as connection:
        metrics = await read_installation_metrics(connection)
        workers = await list_workers(connection)
        queues = await read_signals(connection)
        dead = await connection.fetch(_DEAD)
        kept = await connection.fetchval(_LONGEST_KEPT, DEFAULT_DAYS)
        versions = await count_processes_by_version(connection)
        vitals = await read_health_signals(connection)
        mailing = await connection.fetch(_MAILING)
    owners = [
        (row["name"], get_mail_address(row, settings.owner_mail))
        for row in mailing
        if row["to_owner"]
    ]
    unreached = [name for name, found in owners if found is None]
    unverified = [name for name, found in owners if found is not None and not found.verified]
    machines: dict[str, int] = {}
    for worker in workers:
        host = worker["host"] or "?"
        machines[host] = machines.get(host, 0) + 1
    return DatabaseFacts(
        await read_schema_version(database),
        metrics,
        size,
        machines,
        {row["name"]: row["dead"] for row in dead},
        max(int(kept), DEFAULT_DAYS),
        queues,
        versions,
        vitals,
        [row["name"] for row in mailing],
        unreached,
        unverified,
    )


def database_checks(
    seen: list[DatabaseFacts], settings: Settings
) -> list[tuple[str, Callable[[], DoctorCheck]]]:
    """The checks by name; ``seen`` is filled by the time they are asked."""

    def judged(
        name: str, judge: Callable[[DatabaseFacts], DoctorCheck]
    ) -> tuple[str, Callable[[], DoctorCheck]]:
        unknown = DoctorCheck(name, "doubtful", "Unknown, because the database was not opened.")
        return name, lambda: judge(seen[0]) if seen else unknown

    return [
        judged("tables", tables),
        judged("workers", workers),
        judged("schedules", lambda found: on_time("schedules", found)),
        judged("events", lambda found: on_time("events", found)),
        judged("versions", versions),
        judged("connections", lambda found: connections(found, settings)),
        judged("transactions", transactions),
        judged("dead rows", dead_rows),
        judged("housekeeping", lambda found: housekeeping(found, datetime.now(UTC))),
        judged("growth", growth),
        judged("automation mail", lambda found: automation_mail(found, settings)),
        judged("backup", lambda found: backup(found, settings, datetime.now(UTC))),
    ]


def tables(seen: DatabaseFacts) -> DoctorCheck:
    return DoctorCheck("tables", "ok", f"They are at migration {seen.tables}, the newest.")


def automation_mail(seen: DatabaseFacts, settings: Settings) -> DoctorCheck:
    """Whether the mail of active automations can leave, and whether its owner is reached."""
    name = "automation mail"
    if not seen.mailing:
        return DoctorCheck(name, "ok", "No active automation sends mail.")
    if settings.smtp_url is None:
        return DoctorCheck(
            name,
            "doubtful",
            f"{count(len(seen.mailing), 'active automation')} would send mail, and no mail server "
            f"is set: {_names(seen.mailing)}.",
            "Set MAINSPRING_SMTP_URL to the mail server.",
        )
    if seen.unreached:
        return DoctorCheck(
            name,
            "doubtful",
            f"{count(len(seen.unreached), 'active automation')} would mail an owner who has no "
            f"verified address: {_names(seen.unreached)}.",
            "The owner sets and verifies an email on the page under Settings, or with "
            f"{hint('email', 'set')}; for the first person set MAINSPRING_OWNER_MAIL.",
        )
    if seen.unverified:
        return DoctorCheck(
            name,
            "doubtful",
            f"{count(len(seen.unverified), 'active automation')} would mail an address that its "
            f"owner has not verified: {_names(seen.unverified)}.",
            f"The owner verifies it on the page under Settings, or with {hint('email', 'code')}.",
        )
    return DoctorCheck(
        name, "ok", f"{count(len(seen.mailing), 'active automation')} can send mail."
    )


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(one_line(name, 60) for name in names[:3])
    return shown if len(names) < 4 else f"{shown} and {len(names) - 3} more"


def workers(seen: DatabaseFacts) -> DoctorCheck:
    """Whether somebody takes what is due; without a server none is expected."""
    alive = sum(seen.machines.values())
    unmanned = [one for one in seen.queues if one.due_runs and not one.workers]
    if unmanned:
        due = sum(one.due_runs for one in unmanned)
        names = " and ".join(one.queue for one in unmanned)
        return DoctorCheck(
            "workers",
            "doubtful",
            f"{count(due, 'run')} due in {names}, and no worker takes them.",
            f"Start one: {hint('up')}, or {hint('worker')} alone.",
        )
    if not alive:
        return DoctorCheck("workers", "ok", "None is alive, and no run waits for one.")
    places = ", ".join(f"{number} on {host}" for host, number in sorted(seen.machines.items()))
    return DoctorCheck("workers", "ok", f"At work: {places}.")


def on_time(name: str, seen: DatabaseFacts) -> DoctorCheck:
    """Whether a scheduler sees to it; without a server none is expected."""
    found = next(one for one in judge(seen.vitals).checks if one.name == name)
    if found.ok:
        return DoctorCheck(name, "ok", found.detail)
    advice = f"Start one: {hint('up')}, or {hint('scheduler')} alone."
    return DoctorCheck(name, "doubtful", found.detail, advice)


def versions(seen: DatabaseFacts) -> DoctorCheck:
    """Whether every process that has the database open is of this program's version."""
    others = {name: number for name, number in seen.versions.items() if name != VERSION}
    if not others:
        return DoctorCheck("versions", "ok", f"All processes run version {VERSION}.")
    told = ", ".join(
        f"{count(number, 'process', 'processes')} of {name or 'an older version'}"
        for name, number in sorted(others.items())
    )
    return DoctorCheck(
        "versions",
        "doubtful",
        f"This is {VERSION}, and beside it: {told}.",
        "After an upgrade, restart every part of Mainspring, on every machine.",
    )


def connections(seen: DatabaseFacts, settings: Settings) -> DoctorCheck:
    """Whether everybody gets a connection when all are busy."""
    now, most = seen.house.connections, seen.house.most_connections
    processes = 2 + max(settings.workers, sum(seen.machines.values()))
    wanted = processes * _CONNECTIONS_EACH
    message = (
        f"{now} of {most} are in use; {count(processes, 'process', 'processes')} can open {wanted}."
    )
    if now > most * _FULL or wanted > most:
        return DoctorCheck(
            "connections",
            "doubtful",
            message,
            "Raise max_connections of Postgres, put a pooler before it, or run fewer workers.",
        )
    return DoctorCheck("connections", "ok", message)


def transactions(seen: DatabaseFacts) -> DoctorCheck:
    oldest = seen.house.oldest_transaction_seconds
    if oldest > _LONG_TRANSACTION:
        return DoctorCheck(
            "transactions",
            "doubtful",
            f"One has been open for {oldest / 60:.0f} minutes, and keeps old rows from going.",
            "Look for it in pg_stat_activity; it may be a forgotten console or a long dump.",
        )
    idle = seen.house.idle_in_transaction
    return DoctorCheck("transactions", "ok", f"None is open for long; {idle} are idle.")


def dead_rows(seen: DatabaseFacts) -> DoctorCheck:
    if not seen.dead:
        return DoctorCheck("dead rows", "ok", "They are removed in time.")
    named = ", ".join(f"{name} ({dead:,})" for name, dead in seen.dead.items())
    return DoctorCheck(
        "dead rows",
        "doubtful",
        f"They are not cleared away in time: {named}.",
        "See that autovacuum is on and no transaction stays open; VACUUM these tables once.",
    )


def housekeeping(seen: DatabaseFacts, now: datetime) -> DoctorCheck:
    """Whether what should be gone is gone."""
    oldest = next((one.oldest_at for one in seen.size.groups if one.name == "runs"), None)
    if oldest is None or now - oldest < timedelta(days=seen.kept_days) + _LAG:
        return DoctorCheck(
            "housekeeping", "ok", f"No run is older than the {seen.kept_days} days kept."
        )
    return DoctorCheck(
        "housekeeping",
        "doubtful",
        f"The oldest run is of {date_time(oldest)}, and runs are kept for {seen.kept_days} days.",
        "A run that never ended, or whose draft waits, stays; else see that a scheduler runs.",
    )


def growth(seen: DatabaseFacts) -> DoctorCheck:
    """How long the disk lasts."""
    size = seen.size
    pace = size.bytes_per_day
    message = f"The database takes {in_bytes(size.database_bytes)}"
    if pace is None:
        return DoctorCheck("growth", "ok", f"{message}; how fast it grows is known after an hour.")
    message = f"{message} and grows by {in_bytes(pace, signed=True)} a day"
    days = size.days_until_full
    if days is None or days > _SOON_DAYS:
        return DoctorCheck("growth", "ok", f"{message}.")
    verdict: Verdict = "wrong" if days < _VERY_SOON_DAYS else "doubtful"
    suggestion = f"Keep less ({hint('size')} shows what is large), or give it a larger disk."
    return DoctorCheck(
        "growth", verdict, f"{message}: its disk is full in {days} days.", suggestion
    )


def backup(seen: DatabaseFacts, settings: Settings, now: datetime) -> DoctorCheck:
    """When the last backup was made here; one by other means is not known."""
    last = last_backup(settings.home)
    if last is not None and now - last[0] < timedelta(days=_BACKUP_DAYS):
        return DoctorCheck("backup", "ok", f"The last was made at {date_time(last[0])}.")
    message = "No backup was created yet."
    if last is not None:
        message = f"The last was made {count((now - last[0]).days, 'day')} ago."
    oldest = [one.oldest_at for one in seen.size.groups if one.oldest_at is not None]
    young = not oldest or now - min(oldest) < timedelta(days=_BACKUP_DAYS)
    if young or settings.database_url is not None:
        return DoctorCheck("backup", "ok", message)
    return DoctorCheck("backup", "doubtful", message, f"Make one: {hint('backup', 'make', 'FILE')}")


def exposure(settings: Settings) -> DoctorCheck:
    """Whether tokens may travel where others can read them."""
    secure = urlsplit(settings.public_url or "").scheme == "https"
    if is_loopback(settings.host):
        return DoctorCheck("exposure", "ok", "The server listens on this machine only.")
    if secure:
        return DoctorCheck(
            "exposure", "ok", f"It listens on {settings.host}, and others come by https."
        )
    return DoctorCheck(
        "exposure",
        "doubtful",
        f"It listens on {settings.host} over plain http.",
        "Put a server with https before it and set MAINSPRING_PUBLIC_URL to that address.",
    )


def telemetry(settings: Settings) -> DoctorCheck:
    """Whether a collector is set, and could be told; it is not asked."""
    from mainspring.outbound.telemetry import check_telemetry

    check_telemetry(settings)
    if settings.otlp_url is None:
        return DoctorCheck("telemetry", "ok", "No collector is set.")
    place = urlsplit(settings.otlp_url)
    return DoctorCheck("telemetry", "ok", f"Traces and metrics go to {place.hostname}.")
