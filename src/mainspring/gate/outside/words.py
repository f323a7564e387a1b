"""The tools of each workspace as capabilities, remembered for a moment and built when needed.

The rows are the truth. What is remembered here is made of them and can be lost at any time: a
process that has just started builds a tool when it is first named. Whoever looks twice within a
second looks once; whoever names a tool that is not here looks again. A tool that has not changed
stays the very same object, so that what others keep for it stays good.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Final
from uuid import UUID

from mainspring.gate.outside.calling import build_blocked_capability, tool_capability
from mainspring.workspace.connections.tool_rows import (
    ConnectionGeneration,
    ToolRow,
    find_tools_by_name,
    list_agreed_tools,
    list_connection_generations,
)

if TYPE_CHECKING:
    from mainspring.contracts.capability import Capability
    from mainspring.contracts.limits import Limits
    from mainspring.gate.outside.client import McpClientPool
    from mainspring.store.database import Database

FRESH_SECONDS: Final = 1.0
_STIRRED_SECONDS: Final = 2.0
_MOST_WORKSPACES: Final = 1_000
# All that one process remembers, as text; as values it is some ten times that.
_MOST_BYTES: Final = 16_777_216

_Key = tuple[UUID, str, str, bytes, str | None]


@dataclass(slots=True)
class _WorkspaceTools:
    """What is remembered of one workspace."""

    looked_at: float = float("-inf")
    # Until then somebody here is changing it, and every look is a new one.
    stirred_until: float = float("-inf")
    stands: tuple[ConnectionGeneration, ...] = ()
    tools: Mapping[str, Capability] = field(default_factory=dict)
    made: dict[_Key, Capability] = field(default_factory=dict)
    size: int = 0
    looking: asyncio.Lock = field(default_factory=asyncio.Lock)


class McpToolRegistry:
    """The agreed tools of all workspaces, one shelf for each."""

    def __init__(
        self,
        database: Database,
        outside: McpClientPool,
        limits: Limits,
        most_bytes: int = _MOST_BYTES,
    ) -> None:
        self._database = database
        self._outside = outside
        self._limits = limits
        self._most_bytes = most_bytes
        self._shelves: OrderedDict[UUID, _WorkspaceTools] = OrderedDict()

    async def of(self, workspace_id: UUID, needing: Sequence[str] = ()) -> Mapping[str, Capability]:
        """The tools of a workspace by name; the same mapping as before if nothing has changed.

        A name that is not here makes it look again. Whoever names one that is held back gets it
        as one that says so.
        """
        shelf = self._shelf(workspace_id)
        began = monotonic()
        if self._is_good(shelf, began, needing):
            return shelf.tools
        async with shelf.looking:
            # Somebody may have looked while this one waited.
            if shelf.looked_at < began:
                await self._look(workspace_id, shelf)
        held = await self._held(workspace_id, shelf, needing)
        return {**shelf.tools, **held} if held else shelf.tools

    def stir(self, workspace_id: UUID) -> None:
        """Somebody in this process changes the tools of a workspace, and will look at them next.

        When that commits is not known here, so for a moment nothing remembered is good enough.
        """
        self._shelf(workspace_id).stirred_until = monotonic() + _STIRRED_SECONDS

    def _is_good(self, shelf: _WorkspaceTools, now: float, needing: Sequence[str]) -> bool:
        if now - shelf.looked_at >= FRESH_SECONDS or now < shelf.stirred_until:
            return False
        # One that was held back may be agreed to by now.
        return all(name in shelf.tools for name in needing)

    def _shelf(self, workspace_id: UUID) -> _WorkspaceTools:
        shelf = self._shelves.setdefault(workspace_id, _WorkspaceTools())
        self._shelves.move_to_end(workspace_id)
        return shelf

    def _tidy(self) -> None:
        """Forgets what was not used for the longest time; the newest stays."""
        size = sum(shelf.size for shelf in self._shelves.values())
        while len(self._shelves) > 1 and (
            size > self._most_bytes or len(self._shelves) > _MOST_WORKSPACES
        ):
            size -= self._shelves.popitem(last=False)[1].size

    async def _look(self, workspace_id: UUID, shelf: _WorkspaceTools) -> None:
        at = monotonic()
        # Whoever asks may hold a connection behind the wall, and those are few.
        async with self._database.acquire() as connection:
            stands = await list_connection_generations(connection, workspace_id)
            if stands != shelf.stands:
                rows = await list_agreed_tools(connection, workspace_id) if stands else []
                self._fill(shelf, stands, rows)
        shelf.looked_at = at
        self._tidy()

    async def _held(
        self, workspace_id: UUID, shelf: _WorkspaceTools, needing: Sequence[str]
    ) -> dict[str, Capability]:
        """Those that are named and only say why they cannot be called; none is remembered."""
        known = {stand.alias: stand.connection_id for stand in shelf.stands}
        parts = [name.partition(".") for name in needing if name not in shelf.tools]
        wanted = [(known[alias], name) for alias, _, name in parts if alias in known]
        if not wanted:
            return {}
        async with self._database.acquire() as connection:
            rows = await find_tools_by_name(connection, workspace_id, wanted)
        aliases = {stand.connection_id: stand.alias for stand in shelf.stands}
        made = [
            build_blocked_capability(row, aliases[row.connection_id])
            for row in rows
            if row.state != "agreed"
        ]
        return {one.id: one for one in made}

    def _fill(
        self,
        shelf: _WorkspaceTools,
        stands: tuple[ConnectionGeneration, ...],
        rows: Iterable[ToolRow],
    ) -> None:
        aliases = {stand.connection_id: stand.alias for stand in stands}
        made: dict[_Key, Capability] = {}
        size = 0
        # A row may be newer than what was read of its connection; the next look finds both.
        for row in (row for row in rows if row.connection_id in aliases):
            alias = aliases[row.connection_id]
            key = (row.connection_id, alias, row.name, row.pinned_hash, row.effect)
            made[key] = shelf.made.get(key) or tool_capability(
                row, alias, self._database, self._outside, self._limits
            )
            size += row.size
        shelf.made = made
        shelf.tools = {one.id: one for one in made.values()}
        shelf.stands = stands
        shelf.size = size
