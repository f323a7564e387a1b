"""The size of the installation, as a capability for those who look after it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.capability import (
    Annotations,
    Audience,
    Capability,
    build_capability,
    require_part,
)
from mainspring.contracts.object_schema import build_object_part, build_object_schema
from mainspring.contracts.roles import Permission
from mainspring.triggers.size import read_size

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.contracts.limits import Limits
    from mainspring.store.database import Database

_READS: Final = Annotations(audience=Audience.ADMINISTRATORS, permission=Permission.ACCOUNT)
_BYTES: Final = {"type": "integer", "minimum": 0}
_MOMENT: Final = {"type": ["string", "null"], "format": "date-time"}
_PACE: Final = {
    "type": ["integer", "null"],
    "description": "What it grows by on a day, what was deleted taken off; null: not known yet.",
}
_GROUP: Final = build_object_part(
    {
        "name": {"type": "string"},
        "bytes": {**_BYTES, "description": "With indexes."},
        "rows": {"type": "integer", "minimum": 0, "description": "Close, not exact."},
        "oldest_at": _MOMENT,
        "bytes_per_day": _PACE,
        "kept_days": {
            "type": ["integer", "null"],
            "description": "Null: kept for good, or each entry says so itself.",
        },
        "removal_at": {**_MOMENT, "description": "When housekeeping takes the oldest of it."},
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
            "description": "The disk of the embedded database; null: the database is elsewhere.",
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
    """``home`` is the data folder, where the database lives in it."""

    async def show_size(ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
        del ctx, given
        return (await read_size(require_part(database), limits, home)).as_dict()

    return (
        build_capability(
            "admin_show_size",
            "Show how large the installation is",
            "By what is kept: how large, how old, how fast it grows and what is deleted when.",
            _NOTHING,
            _SIZE,
            show_size,
            _READS,
        ),
    )
