"""Express: what was prepared a moment ago is written by one statement, if nothing has changed.

Most calls of webhooks need nothing that was not known before: no lane, no budget to look at,
nobody has touched the automation. To find that out and to write the run is one question to the
database then, and one commit. Whatever is not taken here goes the long way, where it is judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.runs.arrivals import KEY_LIFE, NewRun, RunRequest, serialize_inputs
from mainspring.workspace.webhooks import MARK, NOTE_FIRED, OWNER_HERE

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# The triggers are held, as on the long way: whoever pauses them, or changes a token, waits, and
# nothing starts after that. A trigger's mark is another one once it is not what the run was
# prepared for; and where we had to wait for a change of it, what was read beside it is too old.
# Keys that are known, or were and have expired, are for the long way. A run that is there already
# was written by the same call, when its group was sent for the first time.
# When a trigger fired last is noted on the way, to the second, unless somebody else holds it.
_EXPRESS = f"""
    WITH held AS MATERIALIZED (
        SELECT t.workspace_id, t.id, t.automation_id, t.config ? 'signature' AS signed, w.mark
        FROM (SELECT DISTINCT * FROM unnest($1::uuid[], $2::uuid[], $3::text[])) AS w
            (workspace_id, id, mark)
        JOIN triggers t ON t.workspace_id = w.workspace_id AND t.id = w.id
        WHERE t.armed_at IS NOT NULL AND t.suspended_at IS NULL AND {MARK} = w.mark AND t.xmin = (
            SELECT u.xmin FROM triggers u WHERE u.workspace_id = t.workspace_id AND u.id = t.id)
        ORDER BY t.id FOR SHARE OF t
    ), sound AS MATERIALIZED (
        SELECT h.workspace_id, h.id, h.mark, a.version, a.id AS automation_id
        FROM held h JOIN automations a ON a.workspace_id = h.workspace_id
            AND a.id = h.automation_id AND a.state NOT IN ('paused', 'archived')
            AND (NOT h.signed OR {OWNER_HERE})
        JOIN workspaces w ON w.workspace_id = a.workspace_id AND w.cost_cap_daily_usd IS NULL
        WHERE NOT EXISTS (SELECT FROM spend d
            WHERE d.workspace_id = a.workspace_id AND d.automation_id = a.id)
    ), asked AS MATERIALIZED (
        SELECT n.*, s.automation_id FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[],
            $5::int4[], $6::text[], $7::text[], $8::text[], $9::text[], $11::bytea[])
            AS n(workspace_id, trigger_id, mark, id, version, queue, payload, inputs, key,
                body_hash)
        JOIN sound s ON s.workspace_id = n.workspace_id AND s.id = n.trigger_id
            AND s.mark = n.mark AND s.version = n.version
    ), keyed AS (
        INSERT INTO firings (workspace_id, source_id, key, expires_at, run_id, body_hash)
        SELECT workspace_id, trigger_id, key, now() + $10::interval, id, body_hash FROM asked
        WHERE key IS NOT NULL ORDER BY 1, 2, 3
        ON CONFLICT (workspace_id, source_id, key) DO NOTHING RETURNING run_id
    ), made AS (
        INSERT INTO runs (workspace_id, id, automation_id, version, trigger_id, trigger_type,
            queue, status, payload, inputs, depth, mode, due_at)
        SELECT n.workspace_id, n.id, n.automation_id, n.version, n.trigger_id, 'webhook', n.queue,
            'pending', n.payload::json, n.inputs::json, 0, 'live', clock_timestamp()
        FROM asked n WHERE n.key IS NULL OR n.id IN (SELECT run_id FROM keyed)
        ON CONFLICT (workspace_id, id) DO NOTHING RETURNING id, workspace_id, trigger_id
    ), noted AS (
        {NOTE_FIRED.format(names="workspace_id, trigger_id FROM made", more="")}
    )
    SELECT id, 'pending' AS status, NULL AS reason FROM made
    UNION ALL
    SELECT r.id, r.status, r.reason
    FROM unnest($1::uuid[], $4::uuid[]) AS n(workspace_id, id) JOIN runs r USING (workspace_id, id)
"""


def is_plain(request: RunRequest) -> bool:
    """Whether a request needs no more than its row: nothing to wait for, nothing to weigh."""
    given = request.prepared
    return (
        given is not None
        and given.lane is None
        and given.refusal is None
        and not given.timed
        and request.trigger_type == "webhook"
        and request.trigger_id is not None
        and request.run_id is not None
        and request.parent_id is None
        and request.mode == "live"
    )


async def insert_unchanged(
    tx: Transaction, runs: Sequence[tuple[NewRun, str]]
) -> dict[UUID, tuple[str, str | None]]:
    """Writes the runs whose triggers still bear the marks that are given with them.

    Answers status and reason of each that is there now.
    """
    asked = [_columns(run, mark) for run, mark in runs]
    *columns, hashes = [list(column) for column in zip(*asked, strict=True)]
    rows = await tx.fetch(_EXPRESS, *columns, KEY_LIFE, hashes)
    return {row["id"]: (row["status"], row["reason"]) for row in rows}


def _columns(run: NewRun, mark: str) -> tuple[Any, ...]:
    request, (payload, inputs) = run.request, serialize_inputs(run)
    return (
        request.workspace_id,
        request.trigger_id,
        mark,
        run.id,
        run.version,
        run.queue,
        payload,
        inputs,
        request.key,
        request.body_hash,
    )
