"""Lists of the API, page by page, with times and amounts as values again."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

if TYPE_CHECKING:
    from mainspring.surfaces.cli.http_client import ApiClient

_LARGEST_PAGE: Final = 200
# Times whose names do not end in _at.
_TIMES: Final = frozenset({"at", "until"})
_LONGEST_SEARCH: Final = 200
# The statuses of a run that has ended.
FINAL: Final = frozenset({"succeeded", "failed", "cancelled", "timed_out", "skipped", "dead"})
# What the API adds to an automation for the page that lists them.
AUTOMATION_SIGNS: Final = frozenset(
    {
        *("month_usd", "drafts_waiting", "approvals_waiting", "consent_waiting"),
        *("trigger_types", "streak", "recent"),
    }
)


async def list_rows(
    client: ApiClient,
    path: str,
    most: int,
    query: Mapping[str, Any],
    *,
    after: UUID | None = None,
    name_has: str | None = None,
) -> list[dict[str, Any]]:
    """At most so many entries of a list; with ``name_has``, those whose names have this text."""
    found: list[dict[str, Any]] = []
    cursor = None if after is None else _write_cursor(after)
    while len(found) < most:
        size = _LARGEST_PAGE if name_has is not None else min(most - len(found), _LARGEST_PAGE)
        page = await client.request("GET", path, query={**query, "cursor": cursor, "limit": size})
        rows = [restore_values(row) for row in page["items"]]
        if name_has is not None:
            rows = [row for row in rows if name_has.lower() in row["name"].lower()]
        found += rows
        cursor = page["next"]
        if cursor is None:
            break
    return found[:most]


async def list_automations_at(
    client: ApiClient,
    *,
    state: str | None = None,
    search: str | None = None,
    after: UUID | None = None,
    most: int = 50,
) -> list[dict[str, Any]]:
    """Automations, the newest first; ``search`` is a part of the name."""
    if search is not None and len(search) > _LONGEST_SEARCH:
        return []
    query = {"state": state, "search": search}
    rows = await list_rows(client, "/automations", most, query, after=after, name_has=search)
    return [{name: row[name] for name in row if name not in AUTOMATION_SIGNS} for row in rows]


async def list_versions_at(
    client: ApiClient, automation_id: str, most: int
) -> list[dict[str, Any]]:
    """The versions of an automation, newest first."""
    return await list_rows(client, f"/automations/{automation_id}/versions", most, {})


def restore_values(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with its times and amounts, which JSON has no form for."""
    restored = {name: _restore(name, value) for name, value in row.items()}
    if isinstance(restored.get("last_run"), dict):
        restored["last_run"] = restore_values(restored["last_run"])
    return restored


async def read_run_at(client: ApiClient, run_id: str) -> dict[str, Any]:
    """A run with its times and amounts as values."""
    run = restore_values(await client.request("GET", f"/runs/{run_id}"))
    run["steps"] = [restore_values(row) for row in run["steps"]]
    run["usage"] = [restore_values(row) for row in run["usage"]]
    return run


def _restore(name: str, value: Any) -> Any:
    if isinstance(value, str) and (name in _TIMES or name.endswith("_at")):
        return datetime.fromisoformat(value)
    if name == "cost_usd" and value is not None:
        return Decimal(str(value))
    return value


def _write_cursor(last: UUID) -> str:
    return base64.urlsafe_b64encode(last.bytes).rstrip(b"=").decode()
