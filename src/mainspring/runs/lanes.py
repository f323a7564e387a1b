"""Lanes: runs that may not overlap are queued in order of arrival.

A lane is a number computed from the automation and its optional concurrency key. Adding to a lane
or leaving it holds the lane's advisory lock for that transaction, so the check for an earlier run
is consistent. A run that must wait has the due time 'infinity'; the first one is released when the
run before it has ended.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

Lane = tuple[UUID, int]

_LOCK = "SELECT pg_advisory_xact_lock(lane) FROM unnest($1::int8[]) AS l(lane)"

_RELEASE = """
    UPDATE runs r SET due_at = now()
    FROM unnest($1::uuid[], $2::int8[]) AS l(workspace_id, lane),
    LATERAL (
        SELECT f.id, f.status, f.due_at FROM runs f
        WHERE f.workspace_id = l.workspace_id AND f.lane = l.lane AND f.finished_at IS NULL
        ORDER BY f.arrival LIMIT 1
    ) AS front
    WHERE r.workspace_id = l.workspace_id AND r.id = front.id
      AND front.status = 'pending' AND front.due_at = 'infinity'
"""

_OCCUPIED = """
    SELECT l.workspace_id, l.lane
    FROM unnest($1::uuid[], $2::int8[]) AS l(workspace_id, lane)
    WHERE EXISTS (
        SELECT 1 FROM runs r WHERE r.workspace_id = l.workspace_id AND r.lane = l.lane
          AND r.finished_at IS NULL
    )
"""

# For the sweep: every lane whose first run is still blocked, whatever the cause.
STUCK = """
    SELECT b.workspace_id, b.lane FROM runs b
    WHERE b.status = 'pending' AND b.due_at = 'infinity' AND b.queue = ANY($1::text[])
      AND b.lane IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM runs f WHERE f.workspace_id = b.workspace_id AND f.lane = b.lane
          AND f.finished_at IS NULL AND f.arrival < b.arrival)
    LIMIT 1000
"""


def lane_of(automation_id: UUID, key: str | None) -> int:
    """The lane's number: 63 bits of a hash, so that it can be the key of an advisory lock."""
    text = f"{automation_id}/{key or ''}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 1


async def lock_lanes(tx: Transaction, lanes: Sequence[Lane]) -> None:
    """Take the locks in a fixed order, so that two writers cannot deadlock."""
    if lanes:
        # By workspace first: a batch of several workspaces locks one workspace after another.
        await tx.execute(_LOCK, [lane for _, lane in sorted(set(lanes))])


async def find_occupied_lanes(tx: Transaction, lanes: Sequence[Lane]) -> set[Lane]:
    """The lanes in which a run is waiting or running."""
    if not lanes:
        return set()
    rows = await tx.fetch(_OCCUPIED, [space for space, _ in lanes], [lane for _, lane in lanes])
    return {(row["workspace_id"], row["lane"]) for row in rows}


async def release_lanes(tx: Transaction, lanes: Sequence[Lane]) -> None:
    """Release the first run of each lane, if it was blocked."""
    if lanes:
        await tx.execute(_RELEASE, [space for space, _ in lanes], [lane for _, lane in lanes])
