"""Rows that come with a board: appended where none can be there twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.errors import Finding, Problem
from mainspring.definition.pointers import parts_of, under
from mainspring.workspace.boards.appending import append_handler
from mainspring.workspace.boards.finding import Dataset, datasets_of, open_board

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.contracts.limits import Limits
    from mainspring.recipes.carrying.carried import Thing

_BATCH: Final = 5_000


async def bring_rows(
    ctx: CallContext, limits: Limits, board_id: str, thing: Thing
) -> list[dict[str, str]]:
    """Appends the rows of each dataset; answers what was left, and why.

    Without a key field nothing tells a row that is there from one that comes, so such a dataset
    takes rows only while it is empty.
    """
    board = await open_board(ctx, {"board_id": board_id})
    known = {one.name: one for one in await datasets_of(ctx, board)}
    left = []
    for name, rows in thing.rows.items():
        path = thing.beside.get(under("", "rows", name), thing.path)
        if not _takes(known.get(name)):
            why = "The dataset has rows already and no key field, so they would stand there twice."
            left.append({"path": path, "why": why})
            continue
        await _append(ctx, limits, {"board_id": board_id, "dataset": name}, rows, path)
    return left


def _takes(dataset: Dataset | None) -> bool:
    return dataset is not None and (dataset.live == 0 or dataset.dedupe_key_field is not None)


async def _append(
    ctx: CallContext,
    limits: Limits,
    where: Mapping[str, str],
    rows: Sequence[Mapping[str, Any]],
    path: str,
) -> None:
    append = append_handler(limits)
    for begin in range(0, len(rows), _BATCH):
        try:
            await append(ctx, {**where, "rows": list(rows[begin : begin + _BATCH])})
        except Problem as problem:
            problem.findings = tuple(_in_file(one, path, begin) for one in problem.findings)
            raise


def _in_file(finding: Finding, path: str, begin: int) -> Finding:
    parts = parts_of(finding.pointer)
    if len(parts) < 2 or not parts[1].isdigit():
        return replace(finding, pointer=f"{path}#")
    return replace(finding, pointer=f"{path}#{under('', int(parts[1]) + begin, *parts[2:])}")
