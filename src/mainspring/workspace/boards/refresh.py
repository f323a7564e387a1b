"""Writing a refresh: one transaction that makes a dataset match its source.

When nothing changed, nothing is written: no row, event or version. An invalid row is reported and
skipped, keeping the board's copy; the others are written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import orjson

from mainspring.contracts.display_text import clean_name
from mainspring.contracts.errors import Conflict, Invalid, Problem
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.definition.strict_json import check_value, encode_canonical, is_same_value
from mainspring.workspace.boards.columns import SERVER_KEYS, EncodedRow, RowValidator
from mainspring.workspace.boards.datasets import change_columns, store_datasets
from mainspring.workspace.boards.events import publish_change
from mainspring.workspace.boards.links import RefreshRecipe, note_refreshed
from mainspring.workspace.boards.lookup import (
    Board,
    Dataset,
    list_board_datasets,
    lock_dataset,
    open_board,
)
from mainspring.workspace.boards.rows import (
    change_rows,
    check_row_capacity,
    compute_row_keys,
    delete_rows,
    restore_rows,
    write_rows,
)

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.contracts.integration import Operation


# Diff between the current rows and the rows of the source.

MOST_TOLD: Final = 20
# Above this, a float cannot represent every integer.
_EXACT: Final = 2**53

BoardRow = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CurrentRow:
    """A row of the board: live, or deleted and identified by its key."""

    row_id: UUID
    key: str | None
    data: BoardRow
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class RefreshPlan:
    """The minimal changes that make the board match the source."""

    # Indexes of the new rows: those to insert, and those that update a row.
    inserts: tuple[int, ...] = ()
    updates: Mapping[UUID, int] = field(default_factory=dict)
    restores: tuple[UUID, ...] = ()
    deletes: tuple[UUID, ...] = ()
    unchanged: int = 0
    # Indexes of new rows whose key an earlier row of the same response has.
    doubles: tuple[int, ...] = ()

    @property
    def changes(self) -> bool:
        return bool(self.inserts or self.updates or self.restores or self.deletes)


def plan_refresh(
    old: Sequence[CurrentRow],
    rows: Sequence[BoardRow],
    keys: Sequence[str | None],
    spared: frozenset[str] = frozenset(),
) -> RefreshPlan:
    """Diff the current rows against the incoming ones.

    A row whose key is in ``spared`` is kept: the source has it, but it could not be read now.
    """
    live = {one.key: one for one in old if one.key is not None and not one.deleted}
    gone = {one.key: one for one in old if one.key is not None and one.deleted}
    inserts, doubles, restores = [], [], []
    updates: dict[UUID, int] = {}
    seen: set[str] = set()
    met: set[UUID] = set()
    unchanged = 0
    for number, (row, key) in enumerate(zip(rows, keys, strict=True)):
        if key is None or key in seen:
            doubles.append(number)
            continue
        seen.add(key)
        before = live.get(key) or gone.get(key)
        if before is None:
            inserts.append(number)
            continue
        met.add(before.row_id)
        if before.deleted:
            restores.append(before.row_id)
        if not is_same_value(dict(before.data), dict(row)):
            updates[before.row_id] = number
        elif not before.deleted:
            unchanged += 1
    deletes = [
        one.row_id
        for one in old
        if not one.deleted and one.row_id not in met and one.key not in spared
    ]
    return RefreshPlan(
        tuple(inserts), updates, tuple(restores), tuple(deletes), unchanged, tuple(doubles)
    )


def compute_content_keys(rows: Sequence[BoardRow]) -> list[str]:
    """Compute a key from a row's content; equal rows are numbered."""
    met: Counter[bytes] = Counter()
    keys = []
    for row in rows:
        content = encode_canonical(_normalize_numbers(dict(row)))
        met[content] += 1
        keys.append(f"{content.decode()}#{met[content]}")
    return keys


def _normalize_numbers(value: Any) -> Any:
    """Normalize 1.0 to 1: the database may change the spelling of a number."""
    if isinstance(value, dict):
        return {name: _normalize_numbers(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_normalize_numbers(one) for one in value]
    whole = isinstance(value, float) and abs(value) < _EXACT and value.is_integer()
    return int(value) if whole else value


def choose_key_field(asked: str | None, usual: str, rows: Sequence[BoardRow]) -> str | None:
    """Choose the field that identifies rows; None when none is set and no row has the usual one."""
    if asked is not None:
        return asked
    return usual if usual and any(row.get(usual) is not None for row in rows) else None


def choose_free_names(fields: Iterable[str]) -> dict[str, str]:
    """Rename source fields that collide with the server's own keys."""
    taken = set(fields)
    found: dict[str, str] = {}
    for name in sorted(taken & SERVER_KEYS):
        free = f"{name}_"
        while free in taken:
            free += "_"
        found[name] = free
        taken.add(free)
    return found


def rename_key(row: BoardRow, source: str | None, target: str | None) -> dict[str, Any]:
    """Move a row's key to the column in which the board stores it."""
    if source is None or target is None or source == target or source not in row:
        return dict(row)
    moved = {target: row[source]}
    return {**moved, **{name: value for name, value in row.items() if name not in (source, target)}}


_LIVE = """
    SELECT row_id, data, board_key($3, data) AS key FROM board_rows
    WHERE workspace_id = $1 AND dataset_id = $2 AND deleted_at IS NULL ORDER BY position
"""
# The last row of each key: a row that was deleted and came back is the same row.
_GONE = """
    SELECT DISTINCT ON (k.key) r.row_id, r.data, k.key
    FROM unnest($4::text[]) AS k(key) JOIN board_rows r ON board_key($3, r.data) = k.key
    WHERE r.workspace_id = $1 AND r.dataset_id = $2 AND r.deleted_at IS NOT NULL
    ORDER BY k.key, r.position DESC
"""
_FOREIGN = """
    SELECT count(*) AS rows FROM board_rows r
    JOIN board_datasets d ON d.workspace_id = r.workspace_id AND d.id = r.dataset_id
    WHERE d.workspace_id = $1 AND d.board_id = $2 AND d.name = $3 AND r.deleted_at IS NULL
      AND r.src NOT LIKE 'link:%'
"""
# Column types for the fields of an operation; other types get no column.
_FIELD_TYPES: Final = {"number": "number", "date": "date", "datetime": "date"}
_NO_CELL: Final = "json"


@dataclass(frozen=True, slots=True)
class IncomingRows:
    """The rows of the source, with what is known about its fields."""

    rows: Sequence[BoardRow]
    # Names and types of the columns; empty: taken from the rows.
    columns: Mapping[str, str]
    # The field that identifies rows when the recipe names none.
    key: str
    # Items of the source that could not be read as rows.
    unreadable: Sequence[Problem] = ()


@dataclass(frozen=True, slots=True)
class _MappedRows:
    """Rows under their board names, and the dataset's columns."""

    rows: list[dict[str, Any]]
    # Fields with a different name on the board.
    names: dict[str, str]
    # The column that identifies rows, if any.
    target: str | None
    columns: list[dict[str, Any]]


@dataclass(slots=True)
class _ValidatedRows:
    """The valid rows, and the others with their problems."""

    rows: list[dict[str, Any]]
    written: list[EncodedRow]
    broken: list[tuple[int, dict[str, Any], Problem]]


async def check_own_rows(ctx: CallContext, board_id: UUID, name: str) -> None:
    """Reject a recipe for a dataset with rows of other origin, which a refresh would delete."""
    row = await ctx.tx.fetchrow(_FOREIGN, ctx.actor.workspace_id, board_id, name)
    if row["rows"]:
        raise Conflict(
            f"The dataset {name!r} has {row['rows']:,} rows of its own, and a refresh would "
            "replace them.",
            code="dataset_in_use",
            suggestion="Name another dataset; a new one is made for you.",
        )


async def write_refresh(
    ctx: CallContext, recipe: RefreshRecipe, incoming: IncomingRows, limits: Limits
) -> tuple[dict[str, Any], bool]:
    """Make a dataset match the source; return the changes, and whether there were any."""
    board = await open_board(ctx, {"board_id": recipe.board_id}, hold=True)
    shaped = _map_incoming(recipe, incoming)
    rows, names, target = shaped.rows, shaped.names, shaped.target
    dataset, made = await _lock_or_create_dataset(ctx, board, recipe.dataset_name, shaped, limits)
    if not rows:
        # No key identifies the rows, so the existing ones are replaced.
        target = dataset.dedupe_key_field
    _check_key(dataset, target)
    judged = _validate_incoming(rows, dataset, target, limits)
    keys = await _compute_keys(ctx, target, judged.rows)
    spared = await _list_unreadable_keys(ctx, target, judged.broken, limits)
    old = await _load_current_rows(ctx, dataset, target, keys)
    plan = plan_refresh(old, judged.rows, keys, spared)
    check_row_capacity(dataset, len(plan.inserts), limits)
    await _apply(ctx, board, dataset, plan, judged, f"link:{recipe.link_id}")
    total = dataset.live + len(plan.inserts) + len(plan.restores) - len(plan.deletes)
    doubles = [str(judged.rows[n].get(target or "", "")) for n in plan.doubles]
    left = [(number, problem) for number, _, problem in judged.broken]
    left += enumerate(incoming.unreadable, len(rows))
    problem = _summarize_row_problems(
        [one for _, one in left], len(rows) + len(incoming.unreadable)
    )
    await note_refreshed(ctx.tx, ctx.actor.workspace_id, recipe.id, total, problem)
    result = _format_refresh(board, recipe, plan, left, doubles, total)
    return {**result, "renamed": names}, made or plan.changes


async def prepare_dataset(
    ctx: CallContext, board: Board, recipe: RefreshRecipe, operation: Operation, limits: Limits
) -> None:
    """Create the empty dataset of a new recipe with the columns of its operation.

    When an operation does not know its columns, the first refresh sets them.
    """
    shaped = _map_incoming(recipe, IncomingRows([], operation.columns, operation.key))
    await _lock_or_create_dataset(ctx, board, recipe.dataset_name, shaped, limits)


def _map_incoming(recipe: RefreshRecipe, incoming: IncomingRows) -> _MappedRows:
    """Map incoming fields to their names on the board."""
    usual = incoming.key if incoming.key in incoming.columns else None
    source = choose_key_field(recipe.dedupe_key_field or usual, incoming.key, incoming.rows)
    target = recipe.dedupe_target_field if source and recipe.dedupe_target_field else source
    rows = [rename_key(row, source, target) for row in incoming.rows]
    names = choose_free_names([*incoming.columns, *(name for row in rows for name in row)])
    rows = [{names.get(name, name): value for name, value in row.items()} for row in rows]
    target = names.get(target, target) if target else target
    return _MappedRows(rows, names, target, _build_columns(incoming, rows, names, (source, target)))


async def _lock_or_create_dataset(
    ctx: CallContext, board: Board, name: str, shaped: _MappedRows, limits: Limits
) -> tuple[Dataset, bool]:
    """Lock the dataset, or create it with its columns."""
    columns, target = shaped.columns, shaped.target
    known = {one.name: one for one in await list_board_datasets(ctx, board)}
    made = name not in known
    if made:
        entry = {"name": name, "columns": columns, "dedupe_key_field": target}
        await store_datasets(ctx, board, [entry], limits, from_provider=True)
    dataset = await lock_dataset(ctx, board, name)
    if not made and not dataset.columns and not dataset.appended and columns:
        field = dataset.dedupe_key_field or target
        content = {"columns": columns, "dedupe_key_field": field}
        made = await change_columns(ctx, board, dataset, content, limits)
        dataset = await lock_dataset(ctx, board, name)
    return dataset, made


def _check_key(dataset: Dataset, target: str | None) -> None:
    """Reject a key that differs from the dataset's own."""
    own = dataset.dedupe_key_field
    if own in (None, target):
        return
    other = "by nothing that they have" if target is None else f"by {target!r}"
    raise Conflict(
        f"The dataset {dataset.name!r} tells its rows apart by {own!r}, and the new rows are "
        f"distinguished {other}.",
        code="other_key",
        suggestion="Give the recipe this dedupe_target_field, or the dataset another key.",
    )


def _build_columns(
    incoming: IncomingRows,
    rows: Sequence[BoardRow],
    names: Mapping[str, str],
    key: tuple[str | None, str | None],
) -> list[dict[str, Any]]:
    """Build the board's columns, the key first, under its name on the board."""
    source, target = key
    kinds = {
        name if name == source else names.get(name, name): kind
        for name, kind in incoming.columns.items()
    } or _collect_fields(rows)
    if source is not None and target is not None and source in kinds:
        kind = kinds.pop(source)
        kinds = {target: kind, **kinds}
    return [
        {
            "key": name,
            "label": clean_name(name.replace("_", " ")).capitalize() or name,
            "field_type": _FIELD_TYPES.get(kind, "text"),
        }
        for name, kind in list(kinds.items())[:200]
        if kind != _NO_CELL and name
    ]


def _collect_fields(rows: Sequence[BoardRow]) -> dict[str, str]:
    """Collect the fields of the rows that hold scalar values."""
    kinds: dict[str, str] = {}
    for row in rows:
        for name, value in row.items():
            wide = isinstance(value, (list, dict))
            kinds[name] = _NO_CELL if wide else kinds.get(name, "text")
    return kinds


def _validate_incoming(
    rows: Sequence[dict[str, Any]], dataset: Dataset, target: str | None, limits: Limits
) -> _ValidatedRows:
    """Validate each row on its own: one invalid row does not block the others."""
    judged = _ValidatedRows([], [], [])
    check = RowValidator(dataset.columns, limits, target)
    for number, row in enumerate(rows):
        check.findings.clear()
        try:
            check_value(row, limits)
            check.check_values(row, "")
            written = check.encode(row, "")
            check.raise_findings()
        except Problem as problem:
            judged.broken.append((number, row, problem))
            continue
        # As it will be read back, so that it compares equal to the stored row.
        judged.rows.append(orjson.loads(written.text))
        judged.written.append(written)
    return judged


async def _compute_keys(
    ctx: CallContext, target: str | None, rows: Sequence[dict[str, Any]]
) -> Sequence[str | None]:
    return (
        compute_content_keys(rows) if target is None else await compute_row_keys(ctx, target, rows)
    )


async def _list_unreadable_keys(
    ctx: CallContext,
    target: str | None,
    broken: Sequence[tuple[int, dict[str, Any], Problem]],
    limits: Limits,
) -> frozenset[str]:
    """List the keys of rows that the source has and that could not be read."""
    if target is None:
        return frozenset()
    named = []
    for _, row, _ in broken:
        try:
            check_value({target: row.get(target)}, limits)
        except Invalid:
            continue
        named.append({target: row.get(target)})
    return frozenset(key for key in await compute_row_keys(ctx, target, named) if key is not None)


async def _load_current_rows(
    ctx: CallContext, dataset: Dataset, target: str | None, keys: Sequence[str | None]
) -> list[CurrentRow]:
    where = (ctx.actor.workspace_id, dataset.id, target or "")
    found = await ctx.tx.fetch(_LIVE, *where)
    if target is None:
        own = compute_content_keys([row["data"] for row in found])
        return [
            CurrentRow(row["row_id"], key, row["data"]) for row, key in zip(found, own, strict=True)
        ]
    live = [CurrentRow(row["row_id"], row["key"], row["data"]) for row in found]
    new = {key for key in keys if key is not None} - {one.key for one in live}
    if not new or dataset.live == dataset.appended:
        return live
    gone = await ctx.tx.fetch(_GONE, *where, sorted(new))
    return [
        *live,
        *(CurrentRow(row["row_id"], row["key"], row["data"], deleted=True) for row in gone),
    ]


async def _apply(
    ctx: CallContext,
    board: Board,
    dataset: Dataset,
    plan: RefreshPlan,
    judged: _ValidatedRows,
    src: str,
) -> None:
    """Write a plan and publish one event per kind of change."""
    name, own = dataset.name, dataset.dedupe_key_field
    if plan.deletes:
        await delete_rows(ctx, dataset, plan.deletes)
        await publish_change(ctx, board, "rows_deleted", dataset=name, row_ids=plan.deletes)
    if plan.restores:
        await restore_rows(ctx, dataset, plan.restores)
        await publish_change(ctx, board, "rows_restored", dataset=name, row_ids=plan.restores)
    if plan.updates:
        ids, numbers = list(plan.updates), list(plan.updates.values())
        keys = await _compute_own_keys(ctx, own, [judged.rows[n] for n in numbers])
        await change_rows(ctx, dataset, ids, [judged.written[n] for n in numbers], keys)
        await publish_change(ctx, board, "rows_updated", dataset=name, row_ids=ids)
    if plan.inserts:
        ids = [generate_id() for _ in plan.inserts]
        keys = await _compute_own_keys(ctx, own, [judged.rows[n] for n in plan.inserts])
        written = [judged.written[n] for n in plan.inserts]
        await write_rows(ctx, dataset, ids, written, keys, src)
        await publish_change(ctx, board, "rows_appended", dataset=name, row_ids=ids)


async def _compute_own_keys(
    ctx: CallContext, own: str | None, rows: Sequence[dict[str, Any]]
) -> Sequence[str | None]:
    return [None] * len(rows) if own is None else await compute_row_keys(ctx, own, rows)


def _summarize_row_problems(left: Sequence[Problem], count: int) -> Problem | None:
    """Summarize unreadable and invalid rows for the board."""
    if not left:
        return None
    first = left[0]
    return Invalid(
        f"{len(left):,} of {count:,} rows could not be kept; the first: {first.detail}",
        code="rows_left_out",
        findings=first.findings[:MOST_TOLD],
    )


def _format_refresh(
    board: Board,
    recipe: RefreshRecipe,
    plan: RefreshPlan,
    left: Sequence[tuple[int, Problem]],
    doubles: Sequence[str],
    total: int,
) -> dict[str, Any]:
    return {
        "recipe_id": str(recipe.id),
        "board_id": str(board.id),
        "dataset": recipe.dataset_name,
        "total": total,
        "appended": len(plan.inserts),
        "updated": len(plan.updates),
        "restored": len(plan.restores),
        "deleted": len(plan.deletes),
        "unchanged": plan.unchanged,
        "duplicates": len(doubles),
        "duplicate_keys": [one[:200] for one in doubles[:MOST_TOLD]],
        "left_out": len(left),
        "problems": [
            {"row": number, "detail": problem.detail, "code": problem.code}
            for number, problem in left[:MOST_TOLD]
        ],
    }
