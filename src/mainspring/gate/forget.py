"""Forgetting what runs have called, when the runs themselves are forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# The two ends say which partitions to look into.
_LARGE_RESULTS = """
    DELETE FROM large_results l
    USING unnest($1::uuid[], $2::uuid[]) AS old(workspace_id, run_id)
    WHERE l.workspace_id = old.workspace_id AND l.run_id = old.run_id
      AND l.run_id BETWEEN $3 AND $4
"""
_CALLS = """
    DELETE FROM calls c
    USING unnest($1::uuid[], $2::uuid[]) AS old(workspace_id, run_id)
    WHERE c.workspace_id = old.workspace_id AND c.run_id = old.run_id
      AND c.run_id BETWEEN $3 AND $4
"""


async def forget_calls(tx: Transaction, runs: Sequence[tuple[UUID, UUID]]) -> None:
    """Deletes the calls of runs, each named by its workspace and its id."""
    if not runs:
        return
    spaces, ids = [space for space, _ in runs], [run_id for _, run_id in runs]
    for statement in (_LARGE_RESULTS, _CALLS):
        await tx.execute(statement, spaces, ids, min(ids), max(ids))
