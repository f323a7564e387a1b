"""Definitions that nothing refers to any more.

A version is never deleted, so what it is made of stays. What was only tried goes with the
rehearsal that tried it. A definition is kept under the hash of its content, and whoever saves
the same content finds it there and adds no second one. So nothing may go between that look and
the row that refers to it: a save keeps its lock on the table from its look to its end, and what
deletes waits for it. Whoever saves after that finds nothing, and keeps the definition anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# At odds with the lock of every INSERT, also of one that finds its row there already, and with
# nothing that reads.
_HOLD = "LOCK TABLE definitions IN SHARE ROW EXCLUSIVE MODE"
_FORGET = """
    DELETE FROM definitions d
    USING (SELECT DISTINCT * FROM unnest($1::uuid[], $2::bytea[]) AS one(workspace_id, hash)) AS old
    WHERE d.workspace_id = old.workspace_id AND d.hash = old.hash
      AND NOT EXISTS (
        SELECT 1 FROM automation_versions v
        WHERE v.workspace_id = d.workspace_id AND v.definition_hash = d.hash)
      AND NOT EXISTS (
        SELECT 1 FROM rehearsals h
        WHERE h.workspace_id = d.workspace_id AND h.definition_hash = d.hash)
"""


async def forget_unused(tx: Transaction, hashes: Sequence[tuple[UUID, bytes]]) -> None:
    """Deletes those of these definitions that no version and no rehearsal refers to."""
    if not hashes:
        return
    await tx.execute(_HOLD)
    # Only now, so that it sees what every save before has referred to.
    await tx.execute(_FORGET, [space for space, _ in hashes], [digest for _, digest in hashes])
