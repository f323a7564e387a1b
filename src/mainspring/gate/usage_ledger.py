"""The ledger of models as people read it: sums over days, single asks, what a call usually costs.

A day is a day in UTC, as it is for the caps. Rows hold no text of anybody, so whoever may see
what the runs of a workspace did may see all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.ids import get_lowest_id_at

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

USUAL_DAYS: Final = 30
MOST_DAYS: Final = 366
# Of automations, models and callers those that cost most; a page of their asks shows the rest.
MOST_LINES: Final = 100
# The records of calls that are looked through for what one of them usually costs.
_HISTORY: Final = timedelta(days=30)
_HISTORY_CALLS: Final = 10_000

_SUMS = """
    WITH asked AS (
        SELECT (at AT TIME ZONE 'UTC')::date AS day, automation_id, provider, model, caller,
            input_tokens, output_tokens, cached_tokens, cost_usd, reported
        FROM llm_usage
        WHERE workspace_id = $1 AND at >= $2 AND at < $3
          AND ($4::uuid IS NULL OR automation_id = $4)
    )
    SELECT grouping(day, automation_id, model, caller) AS kind, day, automation_id, provider,
        model, caller, (SELECT a.name FROM automations a
            WHERE a.workspace_id = $1 AND a.id = asked.automation_id) AS name,
        count(*) AS asks, coalesce(sum(input_tokens), 0)::int8 AS input_tokens,
        coalesce(sum(output_tokens), 0)::int8 AS output_tokens,
        coalesce(sum(cached_tokens), 0)::int8 AS cached_tokens,
        coalesce(sum(cost_usd), 0) AS cost_usd,
        coalesce(sum(cost_usd) FILTER (WHERE reported), 0) AS reported_usd
    FROM asked
    GROUP BY GROUPING SETS ((), (day), (automation_id), (provider, model), (caller))
    ORDER BY day, cost_usd DESC, automation_id, provider, model, caller
"""
# What ``grouping`` says of each set: a one for every column that it adds up over.
_KINDS: Final = {7: "days", 11: "automations", 13: "models", 14: "callers"}
_TOTAL: Final = 15
_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "days": ("day",),
    "automations": ("automation_id", "name"),
    "models": ("provider", "model"),
    "callers": ("caller",),
}
_COUNTS: Final = ("asks", "input_tokens", "output_tokens", "cached_tokens")
_MONEY: Final = ("cost_usd", "reported_usd")

# The row behind the cursor says how far the page before went.
_ASKS = """
    SELECT u.id, u.at, u.automation_id, a.name AS automation, u.run_id, u.step, u.item, u.attempt,
        u.call, u.caller, u.provider, u.model, u.input_tokens, u.output_tokens, u.cached_tokens,
        u.cost_usd, u.price, u.ms, u.reported
    FROM llm_usage u
    LEFT JOIN automations a ON a.workspace_id = u.workspace_id AND a.id = u.automation_id
    WHERE u.workspace_id = $1 AND u.at >= $2 AND u.at < $3
      AND ($4::uuid IS NULL OR u.automation_id = $4) AND ($5::uuid IS NULL OR u.run_id = $5)
      AND ($6::text IS NULL OR u.model = $6) AND ($7::text IS NULL OR u.caller = $7)
      AND ($8::uuid IS NULL OR (u.at, u.id) < (
          SELECT c.at, c.id FROM llm_usage c WHERE c.workspace_id = $1 AND c.id = $8))
    ORDER BY u.at DESC, u.id DESC LIMIT $9
"""
_OF_RUN = """
    SELECT step, caller, provider, model, reported, count(*) AS asks,
        sum(input_tokens)::int8 AS input_tokens, sum(output_tokens)::int8 AS output_tokens,
        sum(cached_tokens)::int8 AS cached_tokens, sum(cost_usd) AS cost_usd
    FROM llm_usage WHERE workspace_id = $1 AND run_id = $2
    GROUP BY step, caller, provider, model, reported
    ORDER BY min(at), step, caller, provider, model
"""
# The newest records, through the key of the table; what was not performed tells nothing.
_USUAL = """
    SELECT count(*) AS calls, avg(c.cost_usd) AS average_usd, avg(c.ms) AS average_ms,
        min(c.at) AS since
    FROM (
        SELECT capability, outcome, cost_usd, ms, at FROM calls
        WHERE workspace_id = $1 AND run_id >= $2 ORDER BY run_id DESC LIMIT $3
    ) AS c
    WHERE c.capability = $4 AND c.outcome NOT IN ('denied', 'held', 'pretended', 'recorded')
"""


@dataclass(frozen=True, slots=True)
class UsagePeriod:
    """Days in UTC, the first and the last of them included."""

    first: date
    last: date

    @property
    def bounds(self) -> tuple[datetime, datetime]:
        """The moments at which it begins and at which it is over."""
        begins = datetime.combine(self.first, time(), UTC)
        return begins, datetime.combine(self.last, time(), UTC) + timedelta(days=1)


@dataclass(frozen=True, slots=True)
class UsageFilter:
    """Which asks; None: all of them."""

    automation_id: UUID | None = None
    run_id: UUID | None = None
    model: str | None = None
    caller: str | None = None


def span_of(first: date | None, last: date | None, now: datetime, at: str = "") -> UsagePeriod:
    """The days that were asked for; by default the last thirty, today included."""
    last = last or now.astimezone(UTC).date()
    if first is None:
        first = date.fromordinal(max(last.toordinal() - USUAL_DAYS + 1, 2))
    if first > last:
        raise _wrong(f"{at}/from", "The first day must not be after the last one.", "wrong_order")
    if last.toordinal() - first.toordinal() >= MOST_DAYS:
        raise _wrong(f"{at}/from", f"A sum covers at most {MOST_DAYS} days.", "too_long")
    if first.year < 2 or last.year > 9998:
        raise _wrong(f"{at}/from", "The range is too far in the past or the future.", "no_such_day")
    return UsagePeriod(first, last)


async def read_sums(
    tx: Transaction, workspace_id: UUID, span: UsagePeriod, automation_id: UUID | None = None
) -> dict[str, Any]:
    """What was asked of models on some days: in all, and by day, automation, model and caller."""
    rows = await tx.fetch(_SUMS, workspace_id, *span.bounds, automation_id)
    made: dict[str, Any] = {
        "from": span.first.isoformat(),
        "to": span.last.isoformat(),
        "zone": "UTC",
        "total": {},
        **{kind: [] for kind in _KINDS.values()},
    }
    for row in rows:
        sums = _sums(row)
        if row["kind"] == _TOTAL:
            made["total"] = sums
            continue
        kind = _KINDS[row["kind"]]
        if kind == "days" or len(made[kind]) < MOST_LINES:
            made[kind].append({**{name: _plain(row[name]) for name in _NAMES[kind]}, **sums})
    return made


async def read_asks(
    tx: Transaction,
    workspace_id: UUID,
    span: UsagePeriod,
    wanted: UsageFilter,
    *,
    after: UUID | None = None,
    most: int,
) -> list[dict[str, Any]]:
    """Single asks, the newest first; ``after`` goes on where a page ended."""
    rows = await tx.fetch(
        _ASKS,
        workspace_id,
        *span.bounds,
        wanted.automation_id,
        wanted.run_id,
        wanted.model,
        wanted.caller,
        after,
        most,
    )
    return [dict(row) for row in rows]


async def usage_of_run(
    tx: Transaction, workspace_id: UUID, run_id: UUID
) -> Sequence[dict[str, Any]]:
    """What a run has asked of models, by step and model, in the order in which it began."""
    return [dict(row) for row in await tx.fetch(_OF_RUN, workspace_id, run_id)]


async def history_of(
    tx: Transaction, workspace_id: UUID, capability: str, now: datetime
) -> dict[str, Any]:
    """What calls of a capability came to on average, as far as the newest records tell."""
    oldest = get_lowest_id_at(now - _HISTORY)
    row = await tx.fetchrow(_USUAL, workspace_id, oldest, _HISTORY_CALLS, capability)
    if not row["calls"]:
        return {"calls": 0, "average_usd": None, "average_ms": None, "since": None}
    return {
        "calls": row["calls"],
        "average_usd": float(row["average_usd"]),
        "average_ms": round(row["average_ms"]),
        "since": row["since"],
    }


def _sums(row: Mapping[str, Any]) -> dict[str, Any]:
    counts = {name: row[name] for name in _COUNTS}
    return {**counts, **{name: float(row[name]) for name in _MONEY}}


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, date | UUID) else value


def _wrong(pointer: str, detail: str, code: str) -> Invalid:
    return Invalid(detail, code=code, findings=[Finding(pointer, detail, code)])
