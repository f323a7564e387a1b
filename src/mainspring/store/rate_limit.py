"""Rate limits as leaky buckets in the database, shared by all processes.

Each attempt adds one unit, or its weight, to its bucket, which leaks at a constant rate; an attempt
that would overflow it is refused. The table is unlogged: a crash empties it, which allows at most
one extra bucket.
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
# The longest time that any bucket needs to drain.
_SWEEP = "DELETE FROM buckets WHERE at < now() - interval '1 day'"


@dataclass(frozen=True, slots=True)
class LeakyBucket:
    """The capacity of a bucket and its leak rate per second."""

    most: float
    per_second: float


async def fill_bucket(
    tx: Transaction, key: str, bucket: LeakyBucket, amount: float = 1.0
) -> float | None:
    """None when the attempt is allowed; else the seconds until the next one may be."""
    held = key, float(bucket.per_second), float(bucket.most), float(amount)
    if await tx.fetchrow(_POUR, *held) is not None:
        return None
    row = await tx.fetchrow(_OVER, *held)
    over = 0.0 if row is None else float(row["over"])
    return max(over / bucket.per_second, 0.001)


async def refund_bucket(tx: Transaction, key: str) -> None:
    """Remove one unit, for an attempt that should not count."""
    await tx.execute(_SCOOP, key)


async def clear_bucket(tx: Transaction, key: str) -> None:
    """Empty a bucket."""
    await tx.execute(_EMPTY, key)


async def delete_empty_buckets(tx: Transaction) -> None:
    """Delete buckets that have drained."""
    await tx.execute(_SWEEP)
