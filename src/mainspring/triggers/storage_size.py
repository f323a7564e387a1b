"""The storage size of the installation, as a capability for administrators."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from mainspring.contracts.capability import (
    Annotations,
    Audience,
    Capability,
    build_capability,
    require_part,
)
from mainspring.contracts.ids import get_id_time
from mainspring.contracts.object_schema import build_object_part, build_object_schema
from mainspring.contracts.roles import Permission
from mainspring.contracts.toolset import Toolset
from mainspring.runs.retention import DEFAULT_DAYS

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.contracts.limits import Limits
    from mainspring.settings import Settings
    from mainspring.store.database import Database


# The size of the installation, its growth, and what housekeeping will delete.

# Tables that grow together are reported together; all others as the rest.
_GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "runs": ("runs", "step_starts", "run_tokens", "reservations", "spend", "rehearsals"),
    "steps": ("steps", "run_output"),
    "calls": ("calls", "large_results", "agent_turns", "direct_calls"),
    "events": ("events",),
    "firings": ("firings",),
    "usage": ("llm_usage",),
    "inbox": (
        "notifications",
        "drafts",
        "draft_revisions",
        "draft_attachments",
        "draft_approvals",
        "inbox_decisions",
        "approvals",
        "prompts_sent",
    ),
    "pages": ("pages", "page_timeline", "page_vectors"),
    "boards": (
        "boards",
        "board_datasets",
        "board_rows",
        "board_gaps",
        "board_parts",
        "board_versions",
        "board_links",
        "board_members",
        "dataset_recipes",
    ),
    "artifacts": ("artifacts",),
    "audit": ("audit_log",),
}
_REST: Final = "rest"
_GROUP_OF: Final = {table: group for group, tables in _GROUPS.items() for table in tables}
# The minimum observation time for a growth rate.
_LEAST_MEASURED: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)

# A partition counts with its table.
_TABLES = """
    SELECT coalesce(parent.relname, c.relname) AS name,
        sum(pg_total_relation_size(c.oid))::int8 AS bytes,
        sum(greatest(c.reltuples::int8, s.n_live_tup, 0))::int8 AS rows,
        sum(coalesce(s.n_tup_ins, 0))::int8 AS came,
        sum(coalesce(s.n_tup_del, 0))::int8 AS gone,
        sum(coalesce(s.n_dead_tup, 0))::int8 AS dead
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
    LEFT JOIN pg_class parent ON parent.oid = i.inhparent
    LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid
    WHERE n.nspname = current_schema() AND c.relkind = 'r'
    GROUP BY 1
"""
# Each is the first entry of an index, for each workspace.
_OLDEST = """
    SELECT now() AS now, pg_database_size(current_database()) AS bytes,
        greatest((SELECT stats_reset FROM pg_stat_database WHERE datname = current_database()),
            (SELECT min(created_at) FROM workspaces)) AS since,
        (SELECT first.id FROM workspaces w, LATERAL (
            SELECT r.id FROM runs r WHERE r.workspace_id = w.workspace_id ORDER BY r.id LIMIT 1
         ) AS first ORDER BY first.id LIMIT 1) AS runs,
        (SELECT first.id FROM workspaces w, LATERAL (
            SELECT e.id FROM events e WHERE e.workspace_id = w.workspace_id ORDER BY e.id LIMIT 1
         ) AS first ORDER BY first.id LIMIT 1) AS events,
        (SELECT first.id FROM workspaces w, LATERAL (
            SELECT a.id FROM audit_log a WHERE a.workspace_id = w.workspace_id
            ORDER BY a.id LIMIT 1
         ) AS first ORDER BY first.id LIMIT 1) AS audit,
        (SELECT min(expires_at) FROM artifacts WHERE expires_at IS NOT NULL) AS artifacts_until,
        (SELECT min(expires_at) FROM firings WHERE expires_at IS NOT NULL) AS firings_until
"""


@dataclass(frozen=True, slots=True)
class TableSize:
    """Postgres's statistics of one table, partitions included."""

    name: str
    bytes: int
    rows: int
    came: int
    gone: int
    dead: int = 0


@dataclass(frozen=True, slots=True)
class TableAges:
    """The oldest data, and what expires next."""

    now: datetime
    # Since when Postgres has counted inserts and deletes.
    since: datetime | None
    oldest: Mapping[str, datetime]
    removals: Mapping[str, datetime]


@dataclass(frozen=True, slots=True)
class TableGroup:
    """Tables that grow together."""

    name: str
    bytes: int
    rows: int
    oldest_at: datetime | None
    # Growth per day; None while unknown.
    bytes_per_day: int | None
    kept_days: int | None
    # When housekeeping deletes the oldest of it.
    removal_at: datetime | None


@dataclass(frozen=True, slots=True)
class DiskSpace:
    """The disk of the database."""

    bytes: int
    free_bytes: int


@dataclass(frozen=True, slots=True)
class StorageReport:
    """The whole report."""

    database_bytes: int
    measured_since: datetime | None
    groups: tuple[TableGroup, ...]
    disk: DiskSpace | None

    @property
    def bytes_per_day(self) -> int | None:
        known = [group.bytes_per_day for group in self.groups if group.bytes_per_day is not None]
        return sum(known) if known else None

    @property
    def days_until_full(self) -> int | None:
        """At the current rate; None when it does not fill, or the disk is not ours."""
        pace = self.bytes_per_day
        if self.disk is None or pace is None or pace <= 0:
            return None
        return self.disk.free_bytes // pace

    def as_dict(self) -> dict[str, Any]:
        return {
            "database_bytes": self.database_bytes,
            "bytes_per_day": self.bytes_per_day,
            "measured_since": _format_time(self.measured_since),
            "disk": None
            if self.disk is None
            else {"bytes": self.disk.bytes, "free_bytes": self.disk.free_bytes},
            "days_until_full": self.days_until_full,
            "groups": [
                {
                    "name": group.name,
                    "bytes": group.bytes,
                    "rows": group.rows,
                    "oldest_at": _format_time(group.oldest_at),
                    "bytes_per_day": group.bytes_per_day,
                    "kept_days": group.kept_days,
                    "removal_at": _format_time(group.removal_at),
                }
                for group in self.groups
            ],
        }


def own_disk(settings: Settings) -> Path | None:
    """The data folder, if the database is in it; child processes of a server know its DSN, too."""
    url = settings.database_url
    return settings.home if url is None or str(settings.home) in unquote(url) else None


async def read_size(database: Database, limits: Limits, home: Path | None) -> StorageReport:
    """The report; ``home`` is the data folder if the database is in it."""
    tables = [TableSize(**dict(row)) for row in await database.fetch(_TABLES)]
    row = await database.fetchrow(_OLDEST)
    assert row is not None
    oldest = {
        group: get_id_time(row[source])
        for group, source in (
            ("runs", "runs"),
            ("steps", "runs"),
            ("calls", "runs"),
            ("events", "events"),
            ("audit", "audit"),
        )
        if row[source] is not None
    }
    until = {"artifacts": row["artifacts_until"], "firings": row["firings_until"]}
    removals = {name: moment for name, moment in until.items() if moment is not None}
    ages = TableAges(row["now"], row["since"], oldest, removals)
    kept = {
        "runs": DEFAULT_DAYS,
        "steps": DEFAULT_DAYS,
        "calls": DEFAULT_DAYS,
        "events": limits.event_days,
        "usage": limits.usage_days,
    }
    return StorageReport(row["bytes"], row["since"], group_tables(tables, ages, kept), _disk(home))


def group_tables(
    tables: Sequence[TableSize], ages: TableAges, kept: Mapping[str, int]
) -> tuple[TableGroup, ...]:
    """Tables as groups, the largest first."""
    by_group: dict[str, list[TableSize]] = {}
    for table in tables:
        by_group.setdefault(_GROUP_OF.get(table.name, _REST), []).append(table)
    found = [_group(name, some, ages, kept.get(name)) for name, some in by_group.items()]
    return tuple(sorted(found, key=lambda group: (-group.bytes, group.name)))


def _group(name: str, tables: Sequence[TableSize], ages: TableAges, days: int | None) -> TableGroup:
    oldest = ages.oldest.get(name)
    removal = ages.removals.get(name)
    if removal is None and oldest is not None and days is not None:
        removal = max(oldest + timedelta(days=days), ages.now)
    size, rows = sum(table.bytes for table in tables), sum(table.rows for table in tables)
    return TableGroup(name, size, rows, oldest, _pace(tables, ages, oldest), days, removal)


def _pace(tables: Sequence[TableSize], ages: TableAges, oldest: datetime | None) -> int | None:
    """Net inserted rows, at the current size per row of the table."""
    if ages.since is None:
        return None
    # Dropped partitions take their counters with them: the remaining ones only cover their own
    # time.
    since = ages.since if oldest is None else max(ages.since, oldest)
    measured = ages.now - since
    if ages.now - ages.since < _LEAST_MEASURED:
        return None
    days = max(measured, _LEAST_MEASURED) / _DAY
    grown = sum((table.came - table.gone) * table.bytes / max(table.rows, 1) for table in tables)
    return round(grown / days)


def _disk(home: Path | None) -> DiskSpace | None:
    if home is None:
        return None
    try:
        found = shutil.disk_usage(home)
    except OSError:
        return None
    return DiskSpace(found.total, found.free)


def _format_time(timestamp: datetime | None) -> str | None:
    return None if timestamp is None else timestamp.isoformat()


_READS: Final = Annotations(
    toolset=Toolset.ADMIN, audience=Audience.ADMINISTRATORS, permission=Permission.ACCOUNT
)
_BYTES: Final = {"type": "integer", "minimum": 0}
_MOMENT: Final = {"type": ["string", "null"], "format": "date-time"}
_PACE: Final = {
    "type": ["integer", "null"],
    "description": "Net growth per day; null: not known yet.",
}
_GROUP: Final = build_object_part(
    {
        "name": {"type": "string"},
        "bytes": {**_BYTES, "description": "With indexes."},
        "rows": {"type": "integer", "minimum": 0, "description": "Approximate."},
        "oldest_at": _MOMENT,
        "bytes_per_day": _PACE,
        "kept_days": {
            "type": ["integer", "null"],
            "description": "null: kept forever, or set per entry.",
        },
        "removal_at": {**_MOMENT, "description": "When the oldest entry is deleted."},
    }
)
_RUNS: Final = {
    "name": "runs",
    "bytes": 734_003_200,
    "rows": 1_200_000,
    "oldest_at": "2026-09-01T00:00:10+00:00",
    "bytes_per_day": 9_500_000,
    "kept_days": 90,
    "removal_at": "2026-11-30T00:00:10+00:00",
}
_SIZE: Final = build_object_schema(
    {
        "database_bytes": _BYTES,
        "bytes_per_day": _PACE,
        "measured_since": _MOMENT,
        "disk": {
            "anyOf": [build_object_part({"bytes": _BYTES, "free_bytes": _BYTES}), {"type": "null"}],
            "description": "Disk of the embedded database; null: an external database.",
        },
        "days_until_full": {"type": ["integer", "null"], "minimum": 0},
        "groups": {"type": "array", "items": _GROUP},
    },
    ["database_bytes", "bytes_per_day", "measured_since", "disk", "days_until_full", "groups"],
    [
        {
            "database_bytes": 1_073_741_824,
            "bytes_per_day": 12_000_000,
            "measured_since": "2026-09-01T00:00:00+00:00",
            "disk": {"bytes": 107_374_182_400, "free_bytes": 60_000_000_000},
            "days_until_full": 5000,
            "groups": [_RUNS],
        }
    ],
    [({"database_bytes": 1}, "the groups are missing")],
)
_NOTHING: Final = build_object_schema(
    {}, [], [{}], [({"table": "runs"}, "it is all of it or nothing")]
)


def size_capabilities(
    database: Database | None, limits: Limits, home: Path | None
) -> tuple[Capability, ...]:
    """``home`` is the data folder, if the database is in it."""

    async def show_size(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        del ctx, arguments
        return (await read_size(require_part(database), limits, home)).as_dict()

    return (
        build_capability(
            "admin_show_size",
            "Show the storage used by the installation",
            "Returns size, age, growth and retention for each kind of data.",
            _NOTHING,
            _SIZE,
            show_size,
            _READS,
        ),
    )
