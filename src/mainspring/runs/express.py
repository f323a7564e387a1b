"""Express: what was prepared a moment ago is written by one statement, if nothing has changed.

Most calls of webhooks need nothing that was not known before: no lane, no budget to look at,
nobody has touched the automation. To find that out and to write the run is one question to the
database then, and one commit. Whatever is not taken here goes the long way, where it is judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.runs.arrivals import NewRun, Request, given_texts

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# The triggers are held, as on the long way: whoever pauses them, or changes a token, waits, and
# nothing starts after that. A row has another mark after every change of it. Keys that are known,
# or were and have expired, are for the long way.
_EXPRESS = """
    WITH held AS MATERIALIZED (
        SELECT t.workspace_id, t.id, t.automation_id
        FROM unnest($1::uuid[], $2::uuid[], $3::int8[]) AS w(workspace_id, id, mark)
        JOIN triggers t ON t.workspace_id = w.workspace_id AND t.id = w.id
        WHERE t.armed_at IS NOT NULL AND t.xmin::text::int8 = w.mark
        ORDER BY t.id FOR SHARE OF t
    ), sound AS MATERIALIZED (
        SELECT h.workspace_id, h.id, a.version, a.id AS automation_id
        FROM held h JOIN automations a ON a.workspace_id = h.workspace_id
            AND a.id = h.automation_id AND a.state NOT IN ('paused', 'archived')
        JOIN workspaces w ON w.workspace_id = a.workspace_id AND w.cost_cap_daily_usd IS NULL
        WHERE NOT EXISTS (SELECT FROM spend d
            WHERE d.workspace_id = a.workspace_id AND d.automation_id = a.id)
    ), asked AS MATERIALIZED (
        SELECT n.* FROM unnest($4::uuid[], $5::uuid[], $6::int4[], $7::uuid[], $8::text[],
            $9::text[], $10::text[], $11::text[], $12::timestamptz[], $13::bytea[])
            AS n(workspace_id, id, version, trigger_id, queue, payload, inputs, key,
                expires_at, body_hash)
        JOIN sound s ON s.workspace_id = n.workspace_id AND s.id = n.trigger_id
            AND s.version = n.version
    ), keyed AS (
        INSERT INTO firings (workspace_id, source_id, key, expires_at, run_id, body_hash)
        SELECT workspace_id, trigger_id, key, expires_at, id, body_hash FROM asked
        WHERE key IS NOT NULL ORDER BY 1, 2, 3
        ON CONFLICT (workspace_id, source_id, key) DO NOTHING RETURNING run_id
    )
    INSERT INTO runs (workspace_id, id, automation_id, version, trigger_id, trigger_type, queue,
        status, payload, inputs, depth, mode, due_at)
    SELECT n.workspace_id, n.id, s.automation_id, n.version, n.trigger_id, 'webhook', n.queue,
        'pending', n.payload::json, n.inputs::json, 0, 'live', clock_timestamp()
    FROM asked n JOIN sound s ON s.workspace_id = n.workspace_id AND s.id = n.trigger_id
    WHERE n.key IS NULL OR n.id IN (SELECT run_id FROM keyed)
    ON CONFLICT (workspace_id, id) DO NOTHING
    RETURNING id, now() AS now
"""


def is_plain(request: Request) -> bool:
    """Whether a request needs no more than its row: nothing to wait for, nothing to weigh."""
    given = request.prepared
    return (
        given is not None
        and given.lane is None
        and given.refusal is None
        and request.trigger_type == "webhook"
        and request.trigger_id is not None
        and request.run_id is not None
        and request.parent_id is None
        and request.mode == "live"
    )


async def insert_unchanged(
    tx: Transaction, runs: Sequence[NewRun], marks: Mapping[tuple[UUID, UUID], int]
) -> tuple[set[UUID], datetime | None]:
    """Writes the runs whose triggers, by workspace and id, still bear their marks.

    Answers which they were, and the database's time if there were any.
    """
    spaces, triggers = [space for space, _ in marks], [trigger for _, trigger in marks]
    columns = [list(column) for column in zip(*map(_columns, runs), strict=True)]
    rows = await tx.fetch(_EXPRESS, spaces, triggers, list(marks.values()), *columns)
    return {row["id"] for row in rows}, rows[0]["now"] if rows else None


def _columns(run: NewRun) -> tuple[Any, ...]:
    request, (payload, inputs) = run.request, given_texts(run)
    return (
        request.workspace_id, run.id, run.version, request.trigger_id, run.queue, payload, inputs,
        request.key, request.key_expires_at, request.body_hash,
    )  # fmt: skip
