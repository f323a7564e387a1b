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

from mainspring.gate.outside.calling import held_capability, tool_capability
from mainspring.workspace.connections.tool_rows import Stand, ToolRow, all_tools, stands_of

if TYPE_CHECKING:
    from mainspring.contracts.capability import Capability
    from mainspring.contracts.limits import Limits
    from mainspring.gate.outside.client import Outside
    from mainspring.store.database import Database

FRESH_SECONDS: Final = 1.0
_STIRRED_SECONDS: Final = 2.0
_MOST_WORKSPACES: Final = 1_000

_Key = tuple[UUID, str, str, str, bytes, str | None]


@dataclass(slots=True)
class _Shelf:
    """What is remembered of one workspace."""

    looked_at: float = float("-inf")
    # Until then somebody here is changing it, and every look is a new one.
    stirred_until: float = float("-inf")
    stands: tuple[Stand, ...] = ()
    # Those that can be called, and those that only say why they cannot.
    tools: Mapping[str, Capability] = field(default_factory=dict)
    held: Mapping[str, Capability] = field(default_factory=dict)
    made: dict[_Key, Capability] = field(default_factory=dict)
    looking: asyncio.Lock = field(default_factory=asyncio.Lock)


class Tools:
    """The agreed tools of all workspaces, one shelf for each."""

    def __init__(self, database: Database, outside: Outside, limits: Limits) -> None:
        self._database = database
        self._outside = outside
        self._limits = limits
        self._shelves: OrderedDict[UUID, _Shelf] = OrderedDict()

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
        held = {name: shelf.held[name] for name in needing if name in shelf.held}
        return {**shelf.tools, **held} if held else shelf.tools

    def stir(self, workspace_id: UUID) -> None:
        """Somebody in this process changes the tools of a workspace, and will look at them next.

        When that commits is not known here, so for a moment nothing remembered is good enough.
        """
        self._shelf(workspace_id).stirred_until = monotonic() + _STIRRED_SECONDS

    def _is_good(self, shelf: _Shelf, now: float, needing: Sequence[str]) -> bool:
        if now - shelf.looked_at >= FRESH_SECONDS or now < shelf.stirred_until:
            return False
        # One that was held back may be agreed to by now.
        return all(name in shelf.tools for name in needing)

    def _shelf(self, workspace_id: UUID) -> _Shelf:
        shelf = self._shelves.setdefault(workspace_id, _Shelf())
        self._shelves.move_to_end(workspace_id)
        if len(self._shelves) > _MOST_WORKSPACES:
            self._shelves.popitem(last=False)
        return shelf

    async def _look(self, workspace_id: UUID, shelf: _Shelf) -> None:
        at = monotonic()
        # Whoever asks may hold a connection behind the wall, and those are few.
        async with self._database.acquire() as connection:
            stands = await stands_of(connection, workspace_id)
            if stands != shelf.stands:
                rows = await all_tools(connection, workspace_id) if stands else []
                self._fill(shelf, stands, rows)
        shelf.looked_at = at

    def _fill(self, shelf: _Shelf, stands: tuple[Stand, ...], rows: Iterable[ToolRow]) -> None:
        aliases = {stand.connection_id: stand.alias for stand in stands}
        made: dict[_Key, Capability] = {}
        # A row may be newer than what was read of its connection; the next look finds both.
        for row in (row for row in rows if row.connection_id in aliases):
            alias = aliases[row.connection_id]
            key = (row.connection_id, alias, row.name, row.state, row.pinned_hash, row.effect)
            made[key] = shelf.made.get(key) or self._made(row, alias)
        shelf.made = made
        shelf.tools = {one.id: one for key, one in made.items() if key[3] == "agreed"}
        shelf.held = {one.id: one for key, one in made.items() if key[3] != "agreed"}
        shelf.stands = stands

    def _made(self, row: ToolRow, alias: str) -> Capability:
        if row.state != "agreed":
            return held_capability(row, alias)
        return tool_capability(row, alias, self._database, self._outside, self._limits)
