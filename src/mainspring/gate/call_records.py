"""The record of a call: what was asked, what came of it, what it cost.

A record is keyed by run, step, item, attempt and the number of the call in that attempt.
Its arguments are redacted before they are kept; the hash is of the real ones, so that a
resumed script that asks something else is noticed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import orjson

from mainspring.contracts.context import RunRef, Transaction
from mainspring.contracts.errors import Problem
from mainspring.contracts.ids import generate_id
from mainspring.definition.strict_json import dumps, encode_exact
from mainspring.store.audit import AuditRecord, append_audit
from mainspring.store.statement_parts import StatementPart


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call, ready to be written."""

    # None for a call that no run made; it is then written by ``write_direct``.
    run: RunRef | None
    number: int
    capability: str
    # read, kept, sent, held, confirmed, pretended, recorded, nothing, unclear, denied or failed
    outcome: str
    arguments: Any
    arguments_hash: bytes
    ms: int
    at: datetime
    result: Any = None
    error: Problem | None = None
    cost: Decimal = Decimal(0)
    # What a call without a run was done to.
    subject: str | None = None
    # What the audit log is told with it, in the same transaction.
    audit: tuple[AuditRecord, ...] = ()
    # By what a program's or an agent's call is told, whichever turn it comes at.
    name: str = ""


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call read back for a run that resumes."""

    capability: str
    outcome: str
    arguments_hash: bytes
    result: Any
    error: dict[str, Any] | None
    cost: Decimal
    at: datetime | None = None
    # As they were kept; read for a rehearsal alone.
    arguments: Any = None


# The columns of a call as arrays, in the order of ``call_columns``; $1 is the first.
INSERT_CALLS = """
    INSERT INTO calls (workspace_id, run_id, step, item, attempt, call, capability, outcome,
        arguments_hash, arguments, result, error, cost_usd, ms, result_id, at,
        name)
    SELECT c.workspace_id, c.run_id, c.step, c.item, c.attempt, c.call, c.capability, c.outcome,
        c.arguments_hash, c.arguments::json, c.result::json, c.error::json, c.cost_usd, c.ms,
        c.result_id, c.at, nullif(c.name, '')
    FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::int2[], $6::int2[],
        $7::text[], $8::text[], $9::bytea[], $10::text[], $11::text[], $12::text[],
        $13::numeric[], $14::int4[], $15::uuid[], $16::timestamptz[],
        $17::text[])
        AS c(workspace_id, run_id, step, item, attempt, call, capability, outcome,
            arguments_hash, arguments, result, error, cost_usd, ms, result_id, at,
            name)
    ON CONFLICT DO NOTHING
"""

# The same as a part of one statement that writes a step's rows together: $1 and $2 are the
# workspaces and the runs of it, each row names its own by number, and a column that holds what
# most calls have is not sent at all. The numbers of the others come from whoever puts it together.
_PART = """
    INSERT INTO calls (workspace_id, run_id, step, item, attempt, call, capability, outcome,
        arguments_hash, arguments, result, error, cost_usd, ms, at, name)
    SELECT ($1::uuid[])[c.n], ($2::uuid[])[c.n], c.step, coalesce(c.item, ''),
        coalesce(c.attempt, 1::int2), coalesce(c.call, 1::int2), c.capability, c.outcome,
        c.arguments_hash, c.arguments::json, c.result::json, c.error::json,
        coalesce(c.cost_usd, 0), coalesce(c.ms, 0), c.at, nullif(c.name, '')
    FROM unnest({}::int4[], {}::text[], {}::text[], {}::int2[], {}::int2[], {}::text[],
        {}::text[], {}::bytea[], {}::text[], {}::text[], {}::text[], {}::numeric[], {}::int4[],
        {}::timestamptz[], {}::text[])
        AS c(n, step, item, attempt, call, capability, outcome, arguments_hash, arguments,
            result, error, cost_usd, ms, at, name)
"""
CALLS_PART = StatementPart(
    _PART,
    (None, None, "", 1, 1, None, None, None, None, None, None, Decimal(0), 0, None, ""),
    "ON CONFLICT DO NOTHING",
)

# A record that was there already was told of then.
_NEW = "RETURNING run_id, step, item, attempt, call"

INSERT_LARGE = """
    INSERT INTO large_results (workspace_id, run_id, id, media_type, content)
    VALUES ($1, $2, $3, 'application/json', $4)
"""

READ_CALLS = """
    SELECT c.step, c.item, c.attempt, c.call, c.capability, c.outcome, c.arguments_hash,
        coalesce(c.result, convert_from(a.content, 'UTF8')::json) AS result, c.error, c.cost_usd,
        c.at
    FROM calls c
    LEFT JOIN large_results a ON a.workspace_id = c.workspace_id AND a.run_id = c.run_id
        AND a.id = c.result_id
    WHERE c.workspace_id = $1 AND c.run_id = $2
"""

Journal = dict[tuple[str, str, int, int], RecordedCall]


async def read_calls(tx: Transaction, workspace_id: UUID, run_id: UUID) -> Journal:
    """Every call a run has made so far, by its place."""
    rows = await tx.fetch(READ_CALLS, workspace_id, run_id)
    return {
        (row["step"], row["item"], row["attempt"], row["call"]): RecordedCall(
            row["capability"],
            row["outcome"],
            row["arguments_hash"],
            row["result"],
            row["error"],
            row["cost_usd"],
            row["at"],
        )
        for row in rows
    }


async def read_call(
    tx: Transaction, workspace_id: UUID, run: RunRef, number: int
) -> RecordedCall | None:
    """One call by its place, if it was recorded."""
    calls = await read_calls(tx, workspace_id, run.id)
    return calls.get((run.step, run.item, run.attempt, number))


@dataclass(frozen=True, slots=True)
class LargeResult:
    """A value too large for its record, kept beside it."""

    id: UUID
    run_id: UUID
    content: bytes


def call_columns(
    records: Sequence[tuple[UUID, CallRecord]], most_bytes: int
) -> tuple[list[list[Any]], list[tuple[UUID, LargeResult]]]:
    """The arrays for INSERT_CALLS, and the rows that hold results too large for it."""
    columns: list[list[Any]] = [[] for _ in range(17)]
    large: list[tuple[UUID, LargeResult]] = []
    for workspace_id, record in records:
        assert record.run is not None
        result, one = _fit_result(record, record.run.id, most_bytes)
        if one is not None:
            large.append((workspace_id, one))
        error = None if record.error is None else dumps(record.error.as_dict())
        values = (
            workspace_id,
            record.run.id,
            record.run.step,
            record.run.item,
            record.run.attempt,
            record.number,
            record.capability,
            record.outcome,
            record.arguments_hash,
            dumps(record.arguments),
            result,
            error,
            record.cost,
            record.ms,
            None if one is None else one.id,
            record.at,
            record.name,
        )
        for column, value in zip(columns, values, strict=True):
            column.append(value)
    return columns, large


def call_row(n: int, record: CallRecord, most_bytes: int) -> tuple[Any, ...] | None:
    """The row for CALLS_PART; None for a record that leaves more than one row."""
    run, result = record.run, None
    if run is None or record.audit:
        return None
    if record.result is not None:
        result, large = _fit_result(record, run.id, most_bytes)
        if large is not None:
            return None
    error = None if record.error is None else dumps(record.error.as_dict())
    return (
        n,
        run.step,
        run.item,
        run.attempt,
        record.number,
        record.capability,
        record.outcome,
        record.arguments_hash,
        dumps(record.arguments),
        result,
        error,
        record.cost,
        record.ms,
        record.at,
        record.name,
    )


def _fit_result(
    record: CallRecord, run_id: UUID, most_bytes: int
) -> tuple[str | None, LargeResult | None]:
    if record.result is None:
        return None, None
    content = orjson.dumps(record.result, default=encode_exact)
    if len(content) <= most_bytes:
        return content.decode(), None
    return None, LargeResult(generate_id(), run_id, content)


async def write_calls(
    tx: Transaction, records: Sequence[tuple[UUID, CallRecord]], most_bytes: int
) -> None:
    """Writes records inside the caller's transaction, and tells the audit log once of each."""
    columns, large = call_columns(records, most_bytes)
    for workspace_id, one in large:
        await tx.execute(INSERT_LARGE, workspace_id, one.run_id, one.id, one.content)
    if not any(record.audit for _, record in records):
        await tx.execute(INSERT_CALLS, *columns)
        return
    rows = await tx.fetch(INSERT_CALLS + _NEW, *columns)
    new = {(row["run_id"], row["step"], row["item"], row["attempt"], row["call"]) for row in rows}
    told = [entry for _, one in records if _row_key(one) in new for entry in one.audit]
    await append_audit(tx, told)


def _row_key(record: CallRecord) -> tuple[UUID, str, str, int, int] | None:
    run = record.run
    return None if run is None else (run.id, run.step, run.item, run.attempt, record.number)
