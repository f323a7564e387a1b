"""Datasets: their columns and the key field that deduplicates rows.

Columns may change at any time and never touch rows: a removed column leaves its values in place.
When the key field changes, every row's key is recomputed first, and rows with the same key are
reported instead of merged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.display_text import name_findings
from mainspring.contracts.errors import Conflict, Finding, Invalid, LimitExceeded
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.contracts.outcome import Unchanged
from mainspring.definition.strict_json import is_same_value, join_pointer
from mainspring.workspace.boards.columns import SERVER_KEYS, complete_columns, find_column_problems
from mainspring.workspace.boards.events import publish_change
from mainspring.workspace.boards.lookup import (
    DEFAULT,
    Board,
    Dataset,
    list_board_datasets,
    lock_dataset,
)
from mainspring.workspace.boards.parts import add_version, read_version

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext

_ADD = """
    INSERT INTO board_datasets (workspace_id, id, board_id, name, columns, dedupe_key_field)
    VALUES ($1, $2, $3, $4, $5, $6)
"""
_CHANGE = """
    UPDATE board_datasets SET columns = $3, dedupe_key_field = $4, version = $5, updated_at = now()
    WHERE workspace_id = $1 AND id = $2
"""
_DOUBLES = """
    SELECT key, rows FROM (
        SELECT board_key($3, data) AS key, array_agg(row_id ORDER BY position) AS rows
        FROM board_rows WHERE workspace_id = $1 AND dataset_id = $2 AND deleted_at IS NULL
        GROUP BY 1
    ) AS grouped
    WHERE key IS NOT NULL AND cardinality(rows) > 1 LIMIT 10
"""
_REKEY = """
    UPDATE board_rows SET dedupe_key = board_key($3, data)
    WHERE workspace_id = $1 AND dataset_id = $2
"""


def check_datasets(
    datasets: Sequence[Mapping[str, Any]],
    at: str = "/datasets",
    known: Mapping[str, Sequence[Mapping[str, Any]]] = MappingProxyType({}),
) -> None:
    """Reject invalid columns and names; a stored dataset keeps its own."""
    findings: list[Finding] = []
    names: set[str] = set()
    for number, dataset in enumerate(datasets):
        place = join_pointer(at, number)
        if dataset["name"] in names:
            detail = f"Two datasets are called {dataset['name']!r}."
            findings.append(Finding(join_pointer(place, "name"), detail, "dataset_twice"))
        names.add(dataset["name"])
        findings += name_findings(dataset["name"], join_pointer(place, "name"), known)
        stored = known.get(dataset["name"], ())
        findings += find_column_problems(
            dataset.get("columns", []), join_pointer(place, "columns"), stored
        )
        if dataset.get("dedupe_key_field") in SERVER_KEYS:
            detail = "The server sets this field for each row, so it cannot identify rows."
            findings.append(Finding(join_pointer(place, "dedupe_key_field"), detail, "server_key"))
    if findings:
        raise Invalid(
            f"The datasets cannot be kept: {findings[0].detail}",
            code="datasets_invalid",
            findings=findings,
        )


async def store_datasets(
    ctx: CallContext,
    board: Board,
    wanted: Sequence[Mapping[str, Any]],
    limits: Limits,
    *,
    from_provider: bool = False,
) -> bool:
    """Add new datasets and change the others; return whether anything changed.

    Field names from a provider are kept, with any characters they have.
    """
    known = {one.name: one.columns for one in await list_board_datasets(ctx, board)}
    sent = {one["name"]: one.get("columns", []) for one in wanted} if from_provider else {}
    check_datasets(wanted, known={**known, **sent})
    adding = [one for one in wanted if one["name"] not in known]
    if len(known) + len(adding) > limits.board_datasets:
        raise LimitExceeded(
            f"A board has at most {limits.board_datasets} datasets.",
            code="board_full",
            retryable=False,
        )
    changed = False
    for entry in wanted:
        if entry["name"] in known:
            dataset = await lock_dataset(ctx, board, entry["name"])
            columns = complete_columns(entry["columns"]) if "columns" in entry else dataset.columns
            field = entry.get("dedupe_key_field", dataset.dedupe_key_field)
            content = {"columns": columns, "dedupe_key_field": field}
            made = await change_columns(ctx, board, dataset, content, limits)
        else:
            await _add(ctx, board, entry, limits)
            made = True
        changed = changed or made
    return changed


async def add_first_datasets(
    ctx: CallContext, board: Board, wanted: Sequence[Mapping[str, Any]], limits: Limits
) -> None:
    """Add the default dataset that every board has."""
    check_datasets(wanted)
    first = [] if any(one["name"] == DEFAULT for one in wanted) else [{"name": DEFAULT}]
    for entry in (*first, *wanted):
        await _add(ctx, board, entry, limits, quiet=True)


async def _add(
    ctx: CallContext, board: Board, entry: Mapping[str, Any], limits: Limits, *, quiet: bool = False
) -> None:
    columns = complete_columns(entry.get("columns", []))
    field = entry.get("dedupe_key_field")
    await ctx.tx.execute(
        _ADD, ctx.actor.workspace_id, generate_id(), board.id, entry["name"], columns, field
    )
    content = {"columns": columns, "dedupe_key_field": field}
    await add_version(ctx, board.id, ("columns", entry["name"]), content, limits)
    if not quiet:
        await publish_change(ctx, board, "schema", dataset=entry["name"])


async def change_columns(
    ctx: CallContext,
    board: Board,
    dataset: Dataset,
    content: dict[str, Any],
    limits: Limits,
    revert_of: int | None = None,
) -> bool:
    """Change the columns or key field of a locked dataset; False when nothing changed."""
    field = content["dedupe_key_field"]
    if is_same_value(
        content, {"columns": dataset.columns, "dedupe_key_field": dataset.dedupe_key_field}
    ):
        return False
    if field != dataset.dedupe_key_field:
        await _rekey(ctx, dataset, field)
    version = await add_version(
        ctx, board.id, ("columns", dataset.name), content, limits, revert_of
    )
    await ctx.tx.execute(
        _CHANGE, ctx.actor.workspace_id, dataset.id, content["columns"], field, version
    )
    await publish_change(ctx, board, "schema", dataset=dataset.name)
    return True


async def revert_columns(
    ctx: CallContext, board: Board, name: str, version: int, limits: Limits
) -> dict[str, Any] | Unchanged:
    """Revert to the columns of an earlier version; rows are not changed."""
    dataset = await lock_dataset(ctx, board, name)
    content = await read_version(ctx, board.id, ("columns", name), version)
    assert content is not None
    told = {"board_id": str(board.id), "part": "columns", "name": name}
    if not await change_columns(ctx, board, dataset, content, limits, version):
        return Unchanged({**told, "version": dataset.version})
    return {**told, "version": (await lock_dataset(ctx, board, name)).version}


async def _rekey(ctx: CallContext, dataset: Dataset, field: str | None) -> None:
    where: tuple[UUID, UUID] = (ctx.actor.workspace_id, dataset.id)
    if field is not None:
        doubles = await ctx.tx.fetch(_DOUBLES, *where, field)
        if doubles:
            raise Conflict(
                f"Rows of {dataset.name!r} share a value of {field!r} already, so it cannot "
                "tell them apart.",
                code="key_taken",
                suggestion="Change or delete the doubles first.",
                findings=[
                    Finding(
                        "/dedupe_key_field",
                        f"The rows {', '.join(str(one) for one in row['rows'][:5])} share a value.",
                        "key_taken",
                    )
                    for row in doubles
                ],
            )
    await ctx.tx.execute(_REKEY, *where, field)
