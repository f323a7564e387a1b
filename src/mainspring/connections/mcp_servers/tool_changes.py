"""What becomes of the tools of a connection once they have been looked at again.

A pure decision. What a person agreed to stays callable while the server says exactly that; what
is new or different waits, with what was agreed to beside it. Nothing here ever agrees to
anything, but for the tools that are seen first of all, where connecting meant just that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from mainspring.connections.mcp_servers.tool_effects import judge
from mainspring.connections.mcp_servers.tool_inspection import (
    InspectedTool,
    ToolDescription,
    hash_tool,
)
from mainspring.contracts.ids import generate_id
from mainspring.workspace.connections.tool_rows import ToolRow, ToolState


@dataclass(frozen=True, slots=True)
class ToolChanges:
    """What is to be written, and what a person should know."""

    put: tuple[ToolRow, ...]
    drop: tuple[str, ...]
    # Names by what has become of them: new, changed, gone or refused.
    news: Mapping[str, tuple[str, ...]]

    @property
    def is_change(self) -> bool:
        return bool(self.put or self.drop)


@dataclass(frozen=True, slots=True)
class ToolConsent:
    """Who agrees to the tools that are seen first, and when."""

    by: UUID
    at: datetime


def compare_tools(
    connection_id: UUID,
    before: Sequence[ToolRow],
    looked: Iterable[InspectedTool],
    first: ToolConsent | None = None,
) -> ToolChanges:
    """Compares what is kept with what is offered now."""
    known = {row.name: row for row in before}
    put: list[ToolRow] = []
    seen: set[str] = set()
    for one in looked:
        seen.add(one.offered.name)
        row = known.get(one.offered.name)
        made = _new(connection_id, one, first) if row is None else _again(row, one)
        if made != row:
            put.append(made)
    missing = [row for row in before if row.name not in seen and row.state != "gone"]
    drop = [row.name for row in missing if row.agreed_at is None and not _is_refused(row)]
    put += [
        replace(row, state="gone", offered=None, reason=None)
        for row in missing
        if row.agreed_at is not None
    ]
    return ToolChanges(tuple(put), tuple(drop), _news(known, put))


def refuse_tool(row: ToolRow) -> ToolRow:
    """A tool that a person does not want, as it is offered now."""
    offered = row.offered
    made = (
        row
        if offered is None
        else _offering(row, ToolDescription.from_dict(offered), hash_offered_tool(row))
    )
    return replace(made, state="refused", reason=None, agreed_by=None, agreed_at=None)


def approve_tool(row: ToolRow, consent: ToolConsent) -> ToolRow:
    """A tool that a person agrees to, as it is offered now."""
    if row.offered is not None:
        text = find_current_decision(row)
        row = _offering(row, ToolDescription.from_dict(row.offered), hash_offered_tool(row))
        row = replace(row, effect=text)
    made = replace(row, state="agreed", reason=None, agreed_by=consent.by, agreed_at=consent.at)
    return with_effects(made)


def find_current_decision(row: ToolRow) -> str | None:
    """What a person's word on a tool comes to for what is offered now.

    That it only reads was said of what it was, and is asked for anew; that it sends still holds.
    """
    return None if row.offered is not None and row.effect == "read" else row.effect


def hash_offered_tool(row: ToolRow) -> bytes:
    """By what a tool is agreed to: the hash of what its server says now."""
    return (
        row.pinned_hash
        if row.offered is None
        else hash_tool(ToolDescription.from_dict(row.offered))
    )


def with_effects(row: ToolRow) -> ToolRow:
    """The row with what its calls may do, from its own words and a person's."""
    judged = judge(row.name, row.hints, row.effect)
    return replace(row, side_effects=tuple(sorted(judged.side_effects)))


def read_pinned_tool(row: ToolRow) -> ToolDescription:
    """What stands in the columns of a row."""
    return ToolDescription(
        row.name, row.title, row.description, row.input_schema, row.output_schema, row.hints
    )


def _is_refused(row: ToolRow) -> bool:
    return row.state == "refused" and row.reason is None


def _new(connection_id: UUID, looked: InspectedTool, first: ToolConsent | None) -> ToolRow:
    one = looked.offered
    row = ToolRow(
        generate_id(),
        connection_id,
        one.name,
        "new",
        one.title,
        one.description,
        one.input_schema,
        one.output_schema,
        one.hints,
        looked.hash,
    )
    if looked.reason is not None:
        return with_effects(replace(row, state="refused", reason=looked.reason))
    return with_effects(row) if first is None else approve_tool(row, first)


def _again(row: ToolRow, looked: InspectedTool) -> ToolRow:
    same = looked.hash == row.pinned_hash
    if row.agreed_at is None:
        if same and looked.reason == row.reason:
            return row
        if same and _is_refused(row):
            return row
        made = _offering(row, looked.offered, looked.hash)
        state: ToolState = "new" if looked.reason is None else "refused"
        return replace(made, state=state, reason=looked.reason)
    offered = None if same else looked.offered.as_dict()
    if looked.reason is not None:
        return replace(row, state="refused", reason=looked.reason, offered=offered)
    return replace(row, state="agreed" if same else "changed", reason=None, offered=offered)


def _offering(row: ToolRow, offered: ToolDescription, made_of: bytes) -> ToolRow:
    return with_effects(
        replace(
            row,
            title=offered.title,
            description=offered.description,
            input_schema=offered.input_schema,
            output_schema=offered.output_schema,
            hints=dict(offered.hints),
            pinned_hash=made_of,
            offered=None,
        )
    )


def _news(known: Mapping[str, ToolRow], put: Iterable[ToolRow]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for row in put:
        before = known.get(row.name)
        moved = before is None or before.state != row.state or before.offered != row.offered
        if moved and row.state != "agreed" and (row.state != "refused" or before is not None):
            found.setdefault(row.state, []).append(row.name)
    return {state: tuple(names) for state, names in found.items()}
