"""Importing board rows without duplicates.

Local rows take precedence over the file: an existing row with the same key is kept, and a deleted
one is not restored. Without a key field duplicates cannot be detected, so such a dataset takes rows
only while it is empty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import orjson

from mainspring.contracts.errors import Invalid
from mainspring.contracts.outcome import Unchanged
from mainspring.definition.strict_json import join_pointer
from mainspring.workspace.boards.columns import RowValidator
from mainspring.workspace.boards.lookup import (
    Dataset,
    list_board_datasets,
    lock_dataset,
    open_board,
)
from mainspring.workspace.boards.rows import append_handler, check_row_capacity, compute_row_keys

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.contracts.limits import Limits
    from mainspring.recipes.carrying.model import WorkspaceResource

ImportedRow = Mapping[str, Any]

_BATCH: Final = 5_000
_NOWHERE: Final = UUID(int=0)
TWICE: Final = "An earlier row of the file has the same key."
OTHER: Final = "A row with the same key has other values. It was not changed."
DELETED: Final = "They were deleted in this workspace. restore_board_rows restores them."
NO_KEY: Final = "The dataset has rows and no key field, so rows could be duplicated."

# Whether a row exists, and whether it is equal; a deleted one is neither.
_BY_KEY = """
    SELECT g.n, bool_or(r.deleted_at IS NULL) AS live,
        bool_or(r.deleted_at IS NULL AND r.data = g.data::jsonb) AS same
    FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS g(key, data, n)
    JOIN board_rows r ON r.dedupe_key = g.key
    WHERE r.workspace_id = $1 AND r.dataset_id = $2 GROUP BY g.n
"""
# With a key field other than the dataset's current one.
_BY_NEW_KEY = """
    SELECT g.n, bool_or(r.deleted_at IS NULL) AS live,
        bool_or(r.deleted_at IS NULL AND r.data = g.data::jsonb) AS same
    FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS g(key, data, n)
    JOIN board_rows r ON board_key($5, r.data) = g.key
    WHERE r.workspace_id = $1 AND r.dataset_id = $2 GROUP BY g.n
"""
_BY_CONTENT = """
    SELECT g.n, bool_or(r.deleted_at IS NULL) AS live, bool_or(r.deleted_at IS NULL) AS same
    FROM (
        SELECT data::jsonb AS data, n FROM unnest($3::text[]) WITH ORDINALITY AS u(data, n)
        OFFSET 0
    ) AS g
    JOIN board_rows r ON r.data = g.data
    WHERE r.workspace_id = $1 AND r.dataset_id = $2 GROUP BY g.n
"""


@dataclass(frozen=True, slots=True)
class ExistingRow:
    """An existing row; a deleted one is not live."""

    live: bool
    same: bool


@dataclass(frozen=True, slots=True)
class RowImportPlan:
    """What happens to a dataset's rows, by their index in the file."""

    adding: tuple[int, ...]
    unchanged: int
    # How many are skipped, by reason.
    left: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class RowImportResult:
    """The result for one dataset."""

    board: str
    path: str
    dataset: str
    added: int
    unchanged: int
    left: Mapping[str, int]

    def as_dict(self) -> dict[str, Any]:
        return {
            "board": self.board,
            "path": self.path,
            "dataset": self.dataset,
            "added": self.added,
            "unchanged": self.unchanged,
            "left": sum(self.left.values()),
        }

    def reasons(self) -> list[dict[str, str]]:
        """Why rows were skipped."""
        total = self.added + self.unchanged + sum(self.left.values())
        return [
            {"path": self.path, "why": f"{many:,} of {total:,} rows: {why}"}
            for why, many in self.left.items()
        ]


def sort_rows(
    keys: Sequence[str | None], here: Mapping[int, ExistingRow], *, takes: bool
) -> RowImportPlan:
    """Decide about each row; ``takes`` says whether the dataset accepts new ones."""
    adding: list[int] = []
    left: Counter[str] = Counter()
    seen: set[str] = set()
    unchanged = 0
    for number, key in enumerate(keys):
        found = here.get(number)
        if key is not None and key in seen:
            left[TWICE] += 1
        elif found is not None and found.same:
            unchanged += 1
        elif found is not None:
            left[OTHER if found.live else DELETED] += 1
        elif takes:
            adding.append(number)
        else:
            left[NO_KEY] += 1
        if key is not None:
            seen.add(key)
    return RowImportPlan(tuple(adding), unchanged, dict(left))


async def bring_rows(
    ctx: CallContext,
    limits: Limits,
    board_id: UUID | None,
    thing: WorkspaceResource,
    *,
    dry_run: bool,
) -> list[RowImportResult]:
    """Add new rows to each dataset; with ``dry_run`` only report them.

    A board that does not exist yet has no id.
    """
    known: dict[str, Dataset] = {}
    if board_id is not None:
        board = await open_board(ctx, {"board_id": str(board_id)})
        known = {one.name: one for one in await list_board_datasets(ctx, board)}
        for name in sorted(known.keys() & thing.rows.keys()):
            known[name] = await lock_dataset(ctx, board, name)
    brought = []
    for spoken in thing.content["datasets"]:
        name = spoken["name"]
        rows = thing.rows.get(name)
        if not rows:
            continue
        dataset = _as_it_becomes(spoken, known.get(name))
        found = await _plan_rows(ctx, dataset, known.get(name), rows)
        _check(thing, dataset, rows, found.adding, limits)
        added = len(found.adding)
        if not dry_run and board_id is not None:
            where = {"board_id": str(board_id), "dataset": name}
            added = await _append(ctx, limits, where, [rows[n] for n in found.adding])
        path = thing.beside.get(join_pointer("", "rows", name), thing.path)
        brought.append(RowImportResult(thing.name, path, name, added, found.unchanged, found.left))
    return brought


def _as_it_becomes(spoken: Mapping[str, Any], there: Dataset | None) -> Dataset:
    """A dataset with the columns and key field of the file."""
    field = spoken["dedupe_key_field"]
    if there is not None:
        return replace(there, columns=spoken["columns"], dedupe_key_field=field)
    return Dataset(_NOWHERE, spoken["name"], spoken["columns"], field, 1, 0, 0)


async def _plan_rows(
    ctx: CallContext, dataset: Dataset, there: Dataset | None, rows: Sequence[ImportedRow]
) -> RowImportPlan:
    field = dataset.dedupe_key_field
    keys: Sequence[str | None] = [None] * len(rows)
    if field is not None:
        keys = await compute_row_keys(ctx, field, rows)
    here = {} if there is None else await _find_existing_rows(ctx, there, field, keys, rows)
    return sort_rows(keys, here, takes=field is not None or dataset.live == 0)


async def _find_existing_rows(
    ctx: CallContext,
    there: Dataset,
    field: str | None,
    keys: Sequence[str | None],
    rows: Sequence[ImportedRow],
) -> dict[int, ExistingRow]:
    """Find existing rows by key, or by full content without one."""
    where = (ctx.actor.workspace_id, there.id)
    texts = [_encode_row(row) for row in rows]
    keyed = [n for n, key in enumerate(keys) if key is not None]
    plain = [n for n, key in enumerate(keys) if key is None]
    named = ([keys[n] for n in keyed], [texts[n] for n in keyed])
    found: dict[int, ExistingRow] = {}
    if keyed and field == there.dedupe_key_field:
        for row in await ctx.tx.fetch(_BY_KEY, *where, *named):
            found[keyed[row["n"] - 1]] = ExistingRow(row["live"], row["same"])
    elif keyed:
        for row in await ctx.tx.fetch(_BY_NEW_KEY, *where, *named, field):
            found[keyed[row["n"] - 1]] = ExistingRow(row["live"], row["same"])
    if plain:
        for row in await ctx.tx.fetch(_BY_CONTENT, *where, [texts[n] for n in plain]):
            found[plain[row["n"] - 1]] = ExistingRow(row["live"], row["same"])
    return found


def _encode_row(row: ImportedRow) -> str:
    try:
        return orjson.dumps(row).decode()
    except orjson.JSONEncodeError:
        # No such row exists: it is rejected when it is added.
        return "null"


def _check(
    thing: WorkspaceResource,
    dataset: Dataset,
    rows: Sequence[ImportedRow],
    adding: Sequence[int],
    limits: Limits,
) -> None:
    """Reject invalid rows before any is added."""
    checks = RowValidator(dataset.columns, limits, dataset.dedupe_key_field)
    for number in adding:
        at = join_pointer("", "rows", dataset.name, number)
        checks.check_values(rows[number], at)
        checks.encode(rows[number], at)
    try:
        checks.raise_findings()
    except Invalid as problem:
        problem.findings = tuple(
            replace(one, pointer=thing.place(one.pointer)) for one in problem.findings
        )
        raise
    check_row_capacity(dataset, len(adding), limits)


async def _append(
    ctx: CallContext, limits: Limits, where: Mapping[str, str], rows: Sequence[ImportedRow]
) -> int:
    append = append_handler(limits)
    added = 0
    for begin in range(0, len(rows), _BATCH):
        told = await append(ctx, {**where, "rows": list(rows[begin : begin + _BATCH])})
        value = told.value if isinstance(told, Unchanged) else told
        added += value["appended"]
    return added
