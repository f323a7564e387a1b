"""``boards``: made, listed and shown; rows appended, changed, deleted and exported."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import Problem
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.board_rows import batches, placed
from mainspring.surfaces.cli.columns import columns, short_id
from mainspring.surfaces.cli.files import write_file
from mainspring.surfaces.cli.screen import Screen, as_json, one_line
from mainspring.surfaces.cli.visiting import visitor_here
from mainspring.surfaces.cli.words import count, hint

if TYPE_CHECKING:
    from mainspring.surfaces.cli.desk import Desk
    from mainspring.surfaces.rooms import Rooms

_SERVER_KEYS = ("row_id", "_src", "_updated_at", "_deleted_at")


async def list_boards(desk: Desk, screen: Screen, *, archived: bool) -> int:
    found: list[dict[str, Any]] = []
    async with desk.doors.open(desk.settings()) as rooms:
        after: dict[str, Any] = {}
        while True:
            page = await _call(rooms, "list_boards", archived=archived, limit=500, **after)
            found += page["boards"]
            if page["next"] is None:
                break
            after = {"after": page["next"]}
    if screen.for_programs:
        screen.answer({"boards": found})
    elif not found:
        screen.say("There are no boards yet.", f"  {hint('boards', 'create', 'NAME')}")
    else:
        rows = [
            (
                short_id(board["id"], screen),
                one_line(board["name"], 60) + (" (archived)" if board["archived"] else ""),
                ", ".join(f"{one['name']}: {one['total']}" for one in board["datasets"]),
            )
            for board in found
        ]
        screen.say(columns(("id", "name", "rows"), rows, whole=("id",)))
    return exits.DONE


async def create_board(desk: Desk, screen: Screen, arguments: dict[str, Any]) -> int:
    async with desk.doors.open(desk.settings()) as rooms:
        made = await _call(rooms, "create_board", **arguments)
    if screen.for_programs:
        screen.answer(made)
    else:
        screen.say(f"The board {one_line(made['name'])} is {made['id']}.")
        screen.say(f"  {hint('boards', 'append', made['id'], 'ROWS.jsonl')}")
    return exits.DONE


async def show_board(desk: Desk, screen: Screen, board: str, asked: dict[str, Any]) -> int:
    """What a board is, and a page of its rows."""
    async with desk.doors.open(desk.settings()) as rooms:
        found = await _call(rooms, "get_board", **_meant(board), **asked)
    if screen.for_programs:
        screen.answer(found)
        return exits.DONE
    screen.say(f"{one_line(found['name'])}  {found['id']}", one_line(found["description"], 400))
    for name, dataset in found["data"]["datasets"].items():
        screen.say(f"{one_line(name)}: {count(dataset['total'], 'row')}")
        keys = [column["key"] for column in dataset["schema"]["columns"]][:6]
        keys = keys or list(dict.fromkeys(_keys(dataset["rows"])))[:6]
        if dataset["rows"]:
            screen.say(
                columns(keys, [[_cell(row, key) for key in keys] for row in dataset["rows"]])
            )
    return exits.DONE


async def append_rows(
    desk: Desk, screen: Screen, board: str, file: str, more: dict[str, Any]
) -> int:
    """Every batch is one call: taken whole, or not at all."""
    told = {"appended": 0, "skipped": 0, "batches": 0}
    async with desk.doors.open(desk.settings()) as rooms:
        board_id = await _board_id(rooms, board)
        for batch in batches(file, rooms.limits):
            try:
                made = await _call(
                    rooms, "append_board_rows", board_id=board_id, rows=batch.rows, **more
                )
            except Problem as problem:
                done = f"The {count(batch.before, 'row')} before this batch are in."
                raise placed(problem, batch, done) from None
            told["appended"] += made["appended"]
            told["skipped"] += made["skipped"]
            told["batches"] += 1
    _say(screen, {"board_id": board_id, **told},
         f"{count(told['appended'], 'row')} appended, {told['skipped']} skipped.")  # fmt: skip
    return exits.DONE


async def update_rows(
    desk: Desk, screen: Screen, board: str, file: str, more: dict[str, Any]
) -> int:
    """Each row of the file has a row_id and the fields that change."""
    updated = 0
    async with desk.doors.open(desk.settings()) as rooms:
        board_id = await _board_id(rooms, board)
        for batch in batches(file, rooms.limits):
            try:
                made = await _call(
                    rooms, "update_board_rows", board_id=board_id, rows=batch.rows, **more
                )
            except Problem as problem:
                done = f"The {count(batch.before, 'row')} before this batch are changed."
                raise placed(problem, batch, done) from None
            updated += made["updated"]
    _say(screen, {"board_id": board_id, "updated": updated}, f"{count(updated, 'row')} changed.")
    return exits.DONE


async def delete_rows(
    desk: Desk, screen: Screen, board: str, row_ids: Sequence[str], more: dict[str, Any]
) -> int:
    async with desk.doors.open(desk.settings()) as rooms:
        board_id = await _board_id(rooms, board)
        made = await _call(
            rooms, "delete_board_rows", board_id=board_id, row_ids=list(row_ids), **more
        )
    _say(screen, made, f"{count(made['deleted'], 'row')} deleted; they can be restored.")
    return exits.DONE


async def export_rows(
    desk: Desk, screen: Screen, board: str, out: Path | None, *, dataset: str, whole: bool
) -> int:
    """One JSON object a line, as ``append`` takes them; to a file, or to the standard output."""
    lines: list[str] = []
    written = 0
    async with desk.doors.open(desk.settings()) as rooms:
        async for row in _every_row(rooms, await _board_id(rooms, board), dataset):
            shown = row if whole else {k: v for k, v in row.items() if k not in _SERVER_KEYS}
            text = as_json(shown, indent=None)
            written += 1
            if out is not None:
                lines.append(text)
                continue
            with screen.forgiving():
                sys.stdout.write(text + "\n")
    if out is not None:
        suggestion = "Name another file, or move this one away."
        write_file(out, "".join(f"{line}\n" for line in lines), suggestion=suggestion)
        _say(screen, {"file": str(out), "rows": written}, f"{count(written, 'row')} written.")
    return exits.DONE


async def _every_row(rooms: Rooms, board_id: str, dataset: str) -> AsyncIterator[dict[str, Any]]:
    after: dict[str, Any] = {}
    while True:
        found = await _call(rooms, "get_board", board_id=board_id, dataset=dataset, **after)
        rows = found["data"]["datasets"][dataset]["rows"]
        for row in rows:
            yield row
        if not rows:
            return
        after = {"after": rows[-1]["row_id"]}


def _meant(board: str) -> dict[str, str]:
    """An id where it looks like one, else a name."""
    try:
        return {"board_id": str(UUID(board))}
    except ValueError:
        return {"name": board}


async def _board_id(rooms: Rooms, board: str) -> str:
    meant = _meant(board)
    if "board_id" in meant:
        return meant["board_id"]
    return str((await _call(rooms, "get_board", **meant, limit=1))["id"])


async def _call(rooms: Rooms, capability: str, **arguments: Any) -> dict[str, Any]:
    answer: dict[str, Any] = await rooms.gate.serve(
        await visitor_here(rooms), capability, arguments
    )
    return answer


def _say(screen: Screen, told: dict[str, Any], sentence: str) -> None:
    if screen.for_programs:
        screen.answer(told)
    else:
        screen.say(sentence)


def _keys(rows: Sequence[dict[str, Any]]) -> list[str]:
    return [key for row in rows for key in row if key not in _SERVER_KEYS]


def _cell(row: dict[str, Any], key: str) -> str:
    value = row.get(key)
    if value is None:
        return ""
    return one_line(value if isinstance(value, str) else as_json(value, indent=None), 60)
