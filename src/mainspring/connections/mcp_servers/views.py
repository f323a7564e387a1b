"""Connections and their tools as people see them: what they do, and what is different."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from mainspring.connections.mcp_servers.tool_changes import (
    find_current_decision,
    hash_offered_tool,
    read_pinned_tool,
)
from mainspring.connections.mcp_servers.tool_effects import judge
from mainspring.connections.mcp_servers.tool_inspection import (
    MOST_LINES,
    ToolDescription,
    differences,
)
from mainspring.workspace.connections.rows import McpConnection
from mainspring.workspace.connections.tool_rows import ToolRow

_WAITING: Final = ("new", "changed")
# In a list; one tool by itself is shown whole.
_SHORT: Final = 300
_FEW_LINES: Final = 40


def describe_mcp_connection(found: McpConnection, counts: Mapping[str, int]) -> dict[str, Any]:
    """A connection, with nothing secret in it."""
    return {
        "id": str(found.id),
        "alias": found.alias,
        "transport": found.transport,
        "server_url": found.server_url,
        "auth": found.auth,
        "health": health(found),
        "failures_in_row": found.failures_in_row,
        "last_ok_at": _format_time(found.last_ok_at),
        "last_failed_at": _format_time(found.last_failed_at),
        "last_error": _wrong(found.last_error),
        "last_harvested_at": _format_time(found.last_harvested_at),
        "harvest_error": _wrong(found.harvest_error),
        "token_ends_at": _format_time(found.expires_at),
        "tools": {
            "agreed": counts.get("agreed", 0),
            "waiting": sum(counts.get(state, 0) for state in _WAITING),
            "gone": counts.get("gone", 0),
            "refused": counts.get("refused", 0),
        },
        "created_at": found.created_at.isoformat(),
        "created_by": str(found.created_by),
    }


def health(found: McpConnection) -> str:
    """How it fares, in a word."""
    if found.state == "sign_in":
        return "sign_in"
    if found.failures_in_row:
        return "failing"
    return "ok" if found.last_ok_at is not None else "unknown"


def describe_tool(
    row: ToolRow,
    alias: str,
    used: Mapping[str, Sequence[str]],
    *,
    whole: bool,
    compared: bool = True,
) -> dict[str, Any]:
    """A tool as its server describes it now, and what of that is new if it is ``compared``."""
    offered = (
        read_pinned_tool(row) if row.offered is None else ToolDescription.from_dict(row.offered)
    )
    judged, said = judge(row.name, offered.hints, find_current_decision(row)), ""
    if find_current_decision(row) != row.effect:
        said = "; its classification as read applied to the earlier version, so set it again"
    most = MOST_LINES if whole else _FEW_LINES
    lines = []
    if compared and row.offered is not None:
        lines = differences(read_pinned_tool(row), offered, most)
    capability = f"{alias}.{row.name}"
    return {
        "name": row.name,
        "capability": capability,
        "state": row.state,
        "title": offered.title,
        "description": offered.description if whole else _short(offered.description),
        "effect": judged.effect.value,
        "effect_because": judged.why + said,
        "side_effects": sorted(judged.side_effects),
        "hints": dict(offered.hints),
        "hash": hash_offered_tool(row).hex(),
        "differences": lines,
        "reason": row.reason,
        "used_by": list(used.get(capability, ())),
        "agreed_at": _format_time(row.agreed_at),
        "agreed_by": None if row.agreed_by is None else str(row.agreed_by),
        "input_schema": offered.input_schema if whole else None,
        "output_schema": offered.output_schema if whole else None,
    }


def _short(text: str) -> str:
    left = len(text) - _SHORT
    return text if left <= 0 else f"{text[:_SHORT]} … ({left} more characters)"


def _format_time(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _wrong(error: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if error is None:
        return None
    kept = ("code", "detail", "suggestion")
    return {name: error[name] for name in kept if name in error}
