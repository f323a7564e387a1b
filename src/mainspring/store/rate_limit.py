"""Leaking buckets in the database, for limits that hold over all processes.

Each try pours one, or what it weighs, into its bucket, which leaks at a steady rate; a try
that would make it run over is not taken. A database that crashed forgets them, which gives
nobody more than one bucket's worth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_LEFT = "greatest(0, b.level - extract(epoch FROM now() - b.at)::float8 * $2)"
_POUR = f"""
    INSERT INTO buckets AS b (key, level, at)
    SELECT $1, $4::float8, now() WHERE $4::float8 <= $3::float8
    ON CONFLICT (key) DO UPDATE SET level = {_LEFT} + $4::float8, at = now()
        WHERE {_LEFT} + $4::float8 <= $3::float8
    RETURNING level
"""
_OVER = f"SELECT {_LEFT} + $4::float8 - $3::float8 AS over FROM buckets b WHERE key = $1"
_SCOOP = "UPDATE buckets SET level = greatest(0, level - 1) WHERE key = $1"
_EMPTY = "DELETE FROM buckets WHERE key = $1"
# No bucket takes longer than this to run dry by itself.
_SWEEP = "DELETE FROM buckets WHERE at < now() - interval '1 day'"


@dataclass(frozen=True, slots=True)
class LeakyBucket:
    """How much it holds, and how much leaks out of it in a second."""

    most: float
    per_second: float


async def fill_bucket(
    tx: Transaction, key: str, bucket: LeakyBucket, amount: float = 1.0
) -> float | None:
    """None when it was taken; else the seconds after which the next one may be."""
    held = key, float(bucket.per_second), float(bucket.most), float(amount)
    if await tx.fetchrow(_POUR, *held) is not None:
        return None
    row = await tx.fetchrow(_OVER, *held)
    over = 0.0 if row is None else float(row["over"])
    return max(over / bucket.per_second, 0.001)


async def refund_bucket(tx: Transaction, key: str) -> None:
    """Takes one out again, for a try that is held against nobody."""
    await tx.execute(_SCOOP, key)


async def clear_bucket(tx: Transaction, key: str) -> None:
    """Forgets everything that a bucket holds."""
    await tx.execute(_EMPTY, key)


async def delete_empty_buckets(tx: Transaction) -> None:
    """Forgets buckets that have run dry since anybody used them."""
    await tx.execute(_SWEEP)
