"""From where a poll goes on: kept with what the portion before it brought.

Whoever writes a portion holds the cursor and looks whether it still stands where the portion was
read from. If somebody else has moved it meanwhile, the portion is theirs already.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import orjson

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.workspace.accounts.rows import AccountRow

Cursor = Mapping[str, Any] | None

# An integration that needs no connection has one place for all of a workspace.
NO_CONNECTION: Final = UUID(int=0)

_READ = """
    SELECT cursor FROM integration_cursors
    WHERE workspace_id = $1 AND connection_id = $2 AND poll = $3
"""
_HOLD = f"{_READ} FOR UPDATE"
_PLACE = """
    INSERT INTO integration_cursors (workspace_id, connection_id, poll) VALUES ($1, $2, $3)
    ON CONFLICT DO NOTHING
"""
_MOVE = """
    UPDATE integration_cursors SET cursor = $4::text::json, moved_at = now()
    WHERE workspace_id = $1 AND connection_id = $2 AND poll = $3
"""

_FORGET = "DELETE FROM integration_cursors WHERE workspace_id = $1 AND connection_id = $2"


async def reset_poll_cursors(tx: Transaction, row: AccountRow, what: str) -> None:
    """A place in one account says nothing of another: its polls begin anew, or not at all."""
    if what in {"replaced", "disconnected"}:
        await tx.execute(_FORGET, row.workspace_id, row.id)


@dataclass(frozen=True, slots=True)
class PollCursor:
    """The place of one poll over one connection."""

    workspace_id: UUID
    connection_id: UUID
    poll: str

    async def read(self, tx: Transaction) -> Cursor:
        row = await tx.fetchrow(_READ, *self._key)
        return None if row is None else row["cursor"]

    async def hold(self, tx: Transaction) -> Cursor:
        """Where it stands, for nobody else to move until the transaction ends."""
        row = await tx.fetchrow(_HOLD, *self._key)
        if row is None:
            await tx.execute(_PLACE, *self._key)
            row = await tx.fetchrow(_HOLD, *self._key)
        return None if row is None else row["cursor"]

    async def move(self, tx: Transaction, to: Cursor) -> None:
        text = None if to is None else orjson.dumps(to).decode()
        await tx.execute(_MOVE, *self._key, text)

    @property
    def _key(self) -> tuple[UUID, UUID, str]:
        return self.workspace_id, self.connection_id, self.poll
