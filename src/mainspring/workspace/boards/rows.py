"""Changing rows: append, update, delete and restore.

Rows are identified by id. An unknown id is reported and nothing is changed. A deleted row keeps its
position and values until it is restored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import orjson

from mainspring.contracts.capability import CapabilityHandler
from mainspring.contracts.errors import Conflict, Finding, Invalid, LimitExceeded, NotFound
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.contracts.outcome import Unchanged
from mainspring.definition.strict_json import is_same_value
from mainspring.workspace.boards.columns import MOST_FINDINGS, EncodedRow, RowValidator
from mainspring.workspace.boards.events import publish_change
from mainspring.workspace.boards.lookup import DEFAULT, Board, Dataset, lock_dataset, open_board

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext


# Bulk append with deduplication.

_KEYS = """
    SELECT board_key($1, data) AS key
    FROM (
        SELECT g.data::jsonb AS data, g.n FROM unnest($2::text[]) WITH ORDINALITY AS g(data, n)
        OFFSET 0
    ) AS given
    ORDER BY n
"""
# A join, here and in every bulk statement: a cached generic plan would compare each row with each
# array element.
_TAKEN = """
    SELECT k.key FROM unnest($3::text[]) AS k(key)
    WHERE EXISTS (
        SELECT FROM board_rows r
        WHERE r.workspace_id = $1 AND r.dataset_id = $2 AND r.dedupe_key = k.key
          AND r.dedupe_key IS NOT NULL AND r.deleted_at IS NULL
    )
"""
# Another field than the dataset's key has no index, so all rows are scanned.
_TAKEN_IN = """
    SELECT k.key FROM unnest($3::text[]) AS k(key)
    JOIN board_rows r ON board_key($4, r.data) = k.key
    WHERE r.workspace_id = $1 AND r.dataset_id = $2 AND r.deleted_at IS NULL
"""
_APPEND = """
    INSERT INTO board_rows (workspace_id, dataset_id, row_id, position, data, bytes, dedupe_key,
        src)
    SELECT $1, $2, g.row_id, $3 + g.n - 1, g.data::jsonb, g.bytes, g.key, $8
    FROM unnest($4::uuid[], $5::text[], $6::int4[], $7::text[])
        WITH ORDINALITY AS g(row_id, data, bytes, key, n)
"""
_COUNT_APPENDED = """
    UPDATE board_datasets SET appended = appended + $3, live = live + $3, updated_at = now()
    WHERE workspace_id = $1 AND id = $2
"""


def append_handler(limits: Limits) -> CapabilityHandler:
    async def append(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any] | Unchanged:
        rows = arguments["rows"]
        board = await open_board(ctx, arguments)
        dataset = await lock_dataset(ctx, board, arguments.get("dataset", DEFAULT))
        given = arguments.get("dedupe_key_field")
        written = _validate_rows(rows, dataset, given, limits)
        chosen, keys = await _select_new_rows(ctx, dataset, given, rows)
        check_row_capacity(dataset, len(chosen), limits)
        row_ids = [generate_id() for _ in chosen]
        told = {
            "board_id": str(board.id),
            "dataset": dataset.name,
            "appended": len(chosen),
            "skipped": len(rows) - len(chosen),
            "row_ids": [str(one) for one in row_ids],
            "total": dataset.live + len(chosen),
        }
        if not chosen:
            return Unchanged(told)
        await write_rows(
            ctx, dataset, row_ids, [written[n] for n in chosen], [keys[n] for n in chosen]
        )
        await publish_change(ctx, board, "rows_appended", dataset=dataset.name, row_ids=row_ids)
        return told

    return append


def _validate_rows(
    rows: Sequence[Mapping[str, Any]], dataset: Dataset, given: str | None, limits: Limits
) -> list[EncodedRow]:
    checks = RowValidator(dataset.columns, limits, given or dataset.dedupe_key_field)
    written = []
    for number, row in enumerate(rows):
        at = f"/rows/{number}"
        checks.check_values(row, at)
        written.append(checks.encode(row, at))
    checks.raise_findings()
    return written


async def _select_new_rows(
    ctx: CallContext, dataset: Dataset, given: str | None, rows: Sequence[Mapping[str, Any]]
) -> tuple[list[int], Sequence[str | None]]:
    """Select the rows that are not stored yet, by index, and compute every row's key."""
    own = dataset.dedupe_key_field
    space = ctx.actor.workspace_id
    chosen = list(range(len(rows)))
    own_keys: Sequence[str | None] = [None] * len(rows)
    if own is not None:
        own_keys = await compute_row_keys(ctx, own, rows)
        found = await ctx.tx.fetch(_TAKEN, space, dataset.id, _list_present_keys(own_keys))
        chosen = _filter_fresh(chosen, own_keys, {row["key"] for row in found})
    if given is not None and given != own:
        keys = await compute_row_keys(ctx, given, rows)
        found = await ctx.tx.fetch(_TAKEN_IN, space, dataset.id, _list_present_keys(keys), given)
        chosen = _filter_fresh(chosen, keys, {row["key"] for row in found})
    return chosen, own_keys


async def compute_row_keys(
    ctx: CallContext, field: str, rows: Sequence[Mapping[str, Any]]
) -> list[str | None]:
    """Compute each row's dedup key in the database, so that it has one spelling."""
    texts = [orjson.dumps({field: row.get(field)}).decode() for row in rows]
    return [row["key"] for row in await ctx.tx.fetch(_KEYS, field, texts)]


def _list_present_keys(keys: Sequence[str | None]) -> list[str]:
    return [key for key in keys if key is not None]


def _filter_fresh(chosen: Sequence[int], keys: Sequence[str | None], seen: set[str]) -> list[int]:
    found = []
    for number in chosen:
        key = keys[number]
        if key is None or key not in seen:
            found.append(number)
        if key is not None:
            seen.add(key)
    return found


def check_row_capacity(dataset: Dataset, more: int, limits: Limits) -> None:
    """Reject more rows than a dataset may have."""
    if dataset.appended + more > limits.board_rows:
        raise LimitExceeded(
            f"The dataset {dataset.name!r} has room for {limits.board_rows:,} rows, deleted ones "
            f"included; {dataset.appended:,} are there.",
            code="dataset_full",
            suggestion="Use another dataset for newer rows.",
            retryable=False,
        )


async def write_rows(
    ctx: CallContext,
    dataset: Dataset,
    row_ids: Sequence[UUID],
    rows: Sequence[EncodedRow],
    keys: Sequence[str | None],
    src: str | None = None,
) -> None:
    """Append validated rows to a locked dataset."""
    space = ctx.actor.workspace_id
    await ctx.tx.execute(
        _APPEND,
        space,
        dataset.id,
        dataset.appended,
        row_ids,
        [row.text for row in rows],
        [row.bytes for row in rows],
        keys,
        src or f"{ctx.actor.kind}:{ctx.actor.id}",
    )
    await ctx.tx.execute(_COUNT_APPENDED, space, dataset.id, len(rows))


# How many positions one counter of deleted rows covers.
BLOCK: Final = 1_000

_ROWS = """
    SELECT row_id, data, dedupe_key, deleted_at
    FROM board_rows JOIN unnest($3::uuid[]) AS named(row_id) USING (row_id)
    WHERE workspace_id = $1 AND dataset_id = $2
"""
_STATES = """
    SELECT row_id, dedupe_key, deleted_at
    FROM board_rows JOIN unnest($3::uuid[]) AS named(row_id) USING (row_id)
    WHERE workspace_id = $1 AND dataset_id = $2
"""
_HOLDERS = """
    SELECT r.row_id, r.dedupe_key
    FROM unnest($3::text[]) AS k(key) JOIN board_rows r ON r.dedupe_key = k.key
    WHERE r.workspace_id = $1 AND r.dataset_id = $2 AND r.dedupe_key IS NOT NULL
      AND r.deleted_at IS NULL
"""
# Two rows may swap keys; the unique index checks one row after the other.
_FREE_KEYS = """
    UPDATE board_rows r SET dedupe_key = NULL FROM unnest($3::uuid[]) AS named(row_id)
    WHERE r.workspace_id = $1 AND r.dataset_id = $2 AND r.row_id = named.row_id
"""
_CHANGE = """
    UPDATE board_rows r
    SET data = g.data::jsonb, bytes = g.bytes, dedupe_key = g.key, updated_at = now()
    FROM unnest($3::uuid[], $4::text[], $5::int4[], $6::text[]) AS g(row_id, data, bytes, key)
    WHERE r.workspace_id = $1 AND r.dataset_id = $2 AND r.row_id = g.row_id
"""
_TOUCH = "UPDATE board_datasets SET updated_at = now() WHERE workspace_id = $1 AND id = $2"
_DELETE = """
    UPDATE board_rows r SET deleted_at = now(), updated_at = now()
    FROM unnest($3::uuid[]) AS named(row_id)
    WHERE r.workspace_id = $1 AND r.dataset_id = $2 AND r.row_id = named.row_id
    RETURNING r.position
"""
_RESTORE = """
    UPDATE board_rows r SET deleted_at = NULL, updated_at = now()
    FROM unnest($3::uuid[]) AS named(row_id)
    WHERE r.workspace_id = $1 AND r.dataset_id = $2 AND r.row_id = named.row_id
    RETURNING r.position
"""
_GAPS = """
    INSERT INTO board_gaps AS gap (workspace_id, dataset_id, block, deleted)
    SELECT $1, $2, g.block, g.deleted FROM unnest($3::int8[], $4::int4[]) AS g(block, deleted)
    ON CONFLICT (workspace_id, dataset_id, block) DO UPDATE
        SET deleted = gap.deleted + excluded.deleted
"""
_COUNT_LIVE = """
    UPDATE board_datasets SET live = live + $3, updated_at = now()
    WHERE workspace_id = $1 AND id = $2
"""


def update_handler(limits: Limits) -> CapabilityHandler:
    async def update(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any] | Unchanged:
        board, dataset = await _lock_dataset(ctx, arguments)
        patches = _read_patches(arguments["rows"])
        before = await _load_rows_before(ctx, dataset, list(patches), "/rows/{}/row_id")
        checks = RowValidator(dataset.columns, limits, dataset.dedupe_key_field)
        changed: dict[UUID, tuple[dict[str, Any], EncodedRow]] = {}
        for number, (row_id, patch) in enumerate(patches.items()):
            at = f"/rows/{number}"
            checks.check_values(patch, at)
            data = before[row_id]["data"]
            merged = {**data, **patch}
            if not is_same_value(merged, data):
                changed[row_id] = merged, checks.encode(merged, at)
        checks.raise_findings()
        told = {
            "board_id": str(board.id),
            "dataset": dataset.name,
            "updated": len(changed),
            "unchanged": len(patches) - len(changed),
            "row_ids": [str(one) for one in changed],
        }
        if not changed:
            return Unchanged(told)
        places = [f"/rows/{n}" for n, one in enumerate(patches) if one in changed]
        keys = await _compute_new_keys(ctx, dataset, before, changed, places)
        await change_rows(ctx, dataset, list(changed), [row for _, row in changed.values()], keys)
        await publish_change(
            ctx, board, "rows_updated", dataset=dataset.name, row_ids=list(changed)
        )
        return told

    return update


def delete_handler() -> CapabilityHandler:
    async def delete(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any] | Unchanged:
        board, dataset = await _lock_dataset(ctx, arguments)
        named = [UUID(one) for one in arguments["row_ids"]]
        states = await _load_row_states(ctx, dataset, named)
        going = [one for one in dict.fromkeys(named) if states[one]["deleted_at"] is None]
        result = _format_moved(board, dataset, "deleted", going, dataset.live - len(going))
        if not going:
            return Unchanged(result)
        await delete_rows(ctx, dataset, going)
        await publish_change(ctx, board, "rows_deleted", dataset=dataset.name, row_ids=going)
        return result

    return delete


def restore_handler() -> CapabilityHandler:
    async def restore(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any] | Unchanged:
        board, dataset = await _lock_dataset(ctx, arguments)
        named = [UUID(one) for one in arguments["row_ids"]]
        states = await _load_row_states(ctx, dataset, named)
        coming = [one for one in dict.fromkeys(named) if states[one]["deleted_at"] is not None]
        result = _format_moved(board, dataset, "restored", coming, dataset.live + len(coming))
        if not coming:
            return Unchanged(result)
        keys = [states[one]["dedupe_key"] for one in coming]
        first = {one: number for number, one in reversed(list(enumerate(named)))}
        places = [f"/row_ids/{first[one]}" for one in coming]
        await _check_free(ctx, dataset, coming, keys, places)
        await restore_rows(ctx, dataset, coming)
        await publish_change(ctx, board, "rows_restored", dataset=dataset.name, row_ids=coming)
        return result

    return restore


async def change_rows(
    ctx: CallContext,
    dataset: Dataset,
    row_ids: Sequence[UUID],
    rows: Sequence[EncodedRow],
    keys: Sequence[str | None],
) -> None:
    """Update rows of a locked dataset; the caller has validated them."""
    await ctx.tx.execute(
        _CHANGE,
        ctx.actor.workspace_id,
        dataset.id,
        list(row_ids),
        [row.text for row in rows],
        [row.bytes for row in rows],
        list(keys),
    )
    await ctx.tx.execute(_TOUCH, ctx.actor.workspace_id, dataset.id)


async def delete_rows(ctx: CallContext, dataset: Dataset, row_ids: Sequence[UUID]) -> None:
    """Delete live rows of a locked dataset."""
    rows = await ctx.tx.fetch(_DELETE, ctx.actor.workspace_id, dataset.id, list(row_ids))
    await _count(ctx, dataset, rows, 1)


async def restore_rows(ctx: CallContext, dataset: Dataset, row_ids: Sequence[UUID]) -> None:
    """Restore deleted rows of a locked dataset; their keys are free."""
    rows = await ctx.tx.fetch(_RESTORE, ctx.actor.workspace_id, dataset.id, list(row_ids))
    await _count(ctx, dataset, rows, -1)


async def _lock_dataset(ctx: CallContext, arguments: Mapping[str, Any]) -> tuple[Board, Dataset]:
    board = await open_board(ctx, arguments)
    return board, await lock_dataset(ctx, board, arguments.get("dataset", DEFAULT))


def _format_moved(
    board: Board, dataset: Dataset, word: str, rows: Sequence[UUID], total: int
) -> dict[str, Any]:
    return {
        "board_id": str(board.id),
        "dataset": dataset.name,
        word: len(rows),
        "row_ids": [str(one) for one in rows],
        "total": total,
    }


def _read_patches(rows: Sequence[Mapping[str, Any]]) -> dict[UUID, dict[str, Any]]:
    """Parse the changes, by row."""
    found: dict[UUID, dict[str, Any]] = {}
    findings = []
    for number, row in enumerate(rows):
        row_id = UUID(row["row_id"])
        at = f"/rows/{number}"
        if row_id in found:
            findings.append(Finding(f"{at}/row_id", "This row is named twice.", "row_twice"))
        if len(row) == 1:
            findings.append(Finding(at, "Nothing changes: send the changed fields.", "no_fields"))
        found[row_id] = {key: value for key, value in row.items() if key != "row_id"}
    if findings:
        raise Invalid(
            f"The rows cannot be changed: {findings[0].detail}",
            code="rows_invalid",
            findings=findings[:MOST_FINDINGS],
        )
    return found


async def _load_rows_before(
    ctx: CallContext, dataset: Dataset, row_ids: Sequence[UUID], at: str
) -> dict[UUID, Any]:
    rows = await ctx.tx.fetch(_ROWS, ctx.actor.workspace_id, dataset.id, row_ids)
    found = {row["row_id"]: row for row in rows}
    _check_there(dataset, row_ids, found, at)
    gone = [n for n, one in enumerate(row_ids) if found[one]["deleted_at"] is not None]
    if gone:
        raise Conflict(
            f"{len(gone)} of these rows are deleted.",
            code="row_deleted",
            suggestion="Bring them back with restore_board_rows first.",
            findings=[
                Finding(at.format(n), f"The row {row_ids[n]} is deleted.", "row_deleted")
                for n in gone[:MOST_FINDINGS]
            ],
        )
    return found


async def _load_row_states(
    ctx: CallContext, dataset: Dataset, row_ids: Sequence[UUID]
) -> dict[UUID, Any]:
    rows = await ctx.tx.fetch(_STATES, ctx.actor.workspace_id, dataset.id, row_ids)
    found = {row["row_id"]: row for row in rows}
    _check_there(dataset, row_ids, found, "/row_ids/{}")
    return found


def _check_there(
    dataset: Dataset, row_ids: Sequence[UUID], found: Mapping[UUID, Any], at: str
) -> None:
    lacking = [n for n, one in enumerate(row_ids) if one not in found]
    if lacking:
        raise NotFound(
            f"{len(lacking)} of these rows are not in the dataset {dataset.name!r}, "
            f"the first is {row_ids[lacking[0]]}.",
            code="no_row",
            findings=[
                Finding(at.format(n), f"There is no row {row_ids[n]} here.", "no_row")
                for n in lacking[:MOST_FINDINGS]
            ],
        )


async def _compute_new_keys(
    ctx: CallContext,
    dataset: Dataset,
    before: Mapping[UUID, Any],
    changed: Mapping[UUID, tuple[dict[str, Any], EncodedRow]],
    places: Sequence[str],
) -> list[str | None]:
    """Compute the keys of updated rows, which must not collide with another row's."""
    if dataset.dedupe_key_field is None:
        return [None] * len(changed)
    rows = [merged for merged, _ in changed.values()]
    keys = await compute_row_keys(ctx, dataset.dedupe_key_field, rows)
    moving = {
        one: key for one, key in zip(changed, keys, strict=True) if before[one]["dedupe_key"] != key
    }
    if moving:
        await _check_free(ctx, dataset, list(changed), keys, places)
        await ctx.tx.execute(_FREE_KEYS, ctx.actor.workspace_id, dataset.id, list(moving))
    return keys


async def _check_free(
    ctx: CallContext,
    dataset: Dataset,
    row_ids: Sequence[UUID],
    keys: Sequence[str | None],
    places: Sequence[str],
) -> None:
    """Reject duplicate keys among live rows."""
    present = [key for key in keys if key is not None]
    found = await ctx.tx.fetch(_HOLDERS, ctx.actor.workspace_id, dataset.id, present)
    own = set(row_ids)
    holders = {row["dedupe_key"]: row["row_id"] for row in found if row["row_id"] not in own}
    counted = Counter(present)
    findings = [
        Finding(
            place,
            f"The row {holders.get(key, 'beside it')} has the same {dataset.dedupe_key_field!r}.",
            "key_taken",
        )
        for place, key in zip(places, keys, strict=True)
        if key is not None and (key in holders or counted[key] > 1)
    ]
    if findings:
        raise Conflict(
            f"Two rows would have the same {dataset.dedupe_key_field!r}.",
            code="key_taken",
            findings=findings[:MOST_FINDINGS],
        )


async def _count(ctx: CallContext, dataset: Dataset, rows: Sequence[Any], sign: int) -> None:
    """Update the block counters that locate offsets."""
    blocks = Counter(row["position"] // BLOCK for row in rows)
    space = ctx.actor.workspace_id
    counts = [sign * number for number in blocks.values()]
    await ctx.tx.execute(_GAPS, space, dataset.id, list(blocks), counts)
    await ctx.tx.execute(_COUNT_LIVE, space, dataset.id, -sign * len(rows))
