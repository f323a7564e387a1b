"""``boards``: made, listed, shown, archived; rows appended, changed, deleted and exported."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Conflict, Finding, Invalid, Problem
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns, short_id
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.documents import STDIN, display_name, read_document
from mainspring.surfaces.cli.files import write_file
from mainspring.surfaces.cli.formatting import count, date_time, hint
from mainspring.surfaces.cli.screen import Screen, as_json, one_line

if TYPE_CHECKING:
    from rich.table import Table

    from mainspring.contracts.limits import Limits
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.http_client import ApiClient


# Rows from a file or a pipe, JSON lines or one JSON array, in batches for one call each.

MOST_ROWS: Final = 5_000
# Around the rows there are names and signs that count too.
_ROOM: Final = 0.9


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Rows that go in one call, and how many came before them."""

    rows: list[dict[str, Any]]
    before: int


def batches(file: str, limits: Limits) -> Iterator[RowBatch]:
    """The rows of a file in order; nothing is read that is not needed yet."""
    rows: list[dict[str, Any]] = []
    size = before = 0
    room = int(limits.board_append_bytes * _ROOM)
    with _opened(file) as source:
        for row, length in _rows(source, limits):
            if rows and (len(rows) == MOST_ROWS or size + length > room):
                yield RowBatch(rows, before)
                before, rows, size = before + len(rows), [], 0
            rows.append(row)
            size += length
    if rows:
        yield RowBatch(rows, before)
    elif not before:
        raise Invalid(f"There are no rows in {display_name(file)}.", code="no_rows")


def offset_problem_rows(problem: Problem, batch: RowBatch, done: str) -> Problem:
    """A problem of one batch with places that count from the first row of the file."""
    findings = [replace(one, pointer=_moved(one.pointer, batch.before)) for one in problem.findings]
    made = type(problem)(
        problem.detail,
        code=problem.code,
        findings=findings,
        retry_after=problem.retry_after,
        suggestion=problem.suggestion,
    )
    if batch.before:
        made.suggestion = f"{done} {problem.suggestion or ''}".strip()
    return made


def _moved(pointer: str, by: int) -> str:
    head, _, rest = pointer.removeprefix("/rows/").partition("/")
    if not pointer.startswith("/rows/") or not head.isdecimal():
        return pointer
    return f"/rows/{int(head) + by}" + (f"/{rest}" if rest else "")


@contextmanager
def _opened(file: str) -> Iterator[IO[bytes]]:
    if file == STDIN:
        yield sys.stdin.buffer
        return
    try:
        source = open(file, "rb")  # noqa: SIM115
    except (OSError, ValueError):
        raise Invalid(
            f"The file {display_name(file)} cannot be read.",
            code="file_unreadable",
            suggestion="Give the path of a file of JSON lines, or - for the standard input.",
        ) from None
    with source:
        yield source


def _rows(source: IO[bytes], limits: Limits) -> Iterator[tuple[dict[str, Any], int]]:
    longest = limits.board_row_bytes * 4
    number = 0
    while line := source.readline(longest + 1):
        text = line.strip()
        if number == 0 and text.startswith(b"["):
            yield from _array(line + source.read(limits.import_bytes + 1), limits)
            return
        if len(line) > longest:
            raise _wrong(number, f"A line is at most {longest:,} bytes.")
        if text:
            yield _read(text, number, limits), len(text)
            number += 1


def _array(text: bytes, limits: Limits) -> Iterator[tuple[dict[str, Any], int]]:
    from mainspring.definition.strict_json import encode_canonical, read_json

    found = read_json(text, replace(limits, json_bytes=limits.import_bytes))
    for number, row in enumerate(found):
        if not isinstance(row, dict):
            raise _wrong(number, "A row is a JSON object.")
        yield row, len(encode_canonical(row))


def _read(text: bytes, number: int, limits: Limits) -> dict[str, Any]:
    from mainspring.definition.strict_json import read_json

    try:
        row = read_json(text, limits)
    except Invalid as problem:
        raise _wrong(number, problem.detail) from None
    if not isinstance(row, dict):
        raise _wrong(number, "A row is a JSON object.")
    return row


def _wrong(number: int, detail: str) -> Invalid:
    text = f"Row {number + 1} cannot be read: {detail}"
    return Invalid(text, code="row", findings=[Finding(f"/rows/{number}", detail, "row")])


# The words of a capability name capabilities; here there are commands.
_INSTEAD = {
    "no_board": "See what there is: {list}",
    "ambiguous_name": "Name the one you mean by its id.",
    "board_archived": "Bring it back: {restore}",
    "row_deleted": "Bring them back first: {restore} ROW...",
}
_SERVER_KEYS = ("row_id", "_src", "_updated_at", "_deleted_at")


async def _listed(client: ApiClient, *, archived: bool) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    after: dict[str, Any] = {}
    while True:
        page = await call_board(client, "list_boards", archived=archived, limit=500, **after)
        found += page["boards"]
        if page["next"] is None:
            return found
        after = {"after": page["next"]}


async def list_boards(context: CommandContext, screen: Screen, *, archived: bool) -> int:
    async with open_client(context) as client:
        found = await _listed(client, archived=archived)
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
        screen.say(columns(("Id", "Name", "Rows"), rows, whole=("Id",)))
    return exits.DONE


async def create_board(
    context: CommandContext,
    screen: Screen,
    name: str,
    description: str,
    key: str | None,
    datasets: str | None,
) -> int:
    arguments: dict[str, Any] = {"name": name, "description": description}
    if key is not None and datasets is not None:
        raise Invalid("With --datasets, set the key field in the file.", code="usage")
    if key is not None:
        arguments["datasets"] = [{"name": "default", "dedupe_key_field": key}]
    if datasets is not None:
        arguments["datasets"] = read_document(datasets, context.limits())
    async with open_client(context) as client:
        made = await call_board(client, "create_board", **arguments)
        alone = screen.for_programs or await _is_alone(client, made["name"])
    if screen.for_programs:
        screen.answer(made)
    else:
        screen.say(f"The board {one_line(made['name'])} is {made['id']}.")
        if not alone:
            screen.say("Another board has this name too: name each of them by its id.")
        screen.say(f"  {hint('boards', 'append', made['id'], 'ROWS.jsonl')}")
    return exits.DONE


async def show_board(
    context: CommandContext,
    screen: Screen,
    board: str,
    dataset: str = "default",
    offset: int = 0,
    limit: int = 20,
    deleted: bool = False,
) -> int:
    """What a board is, and a page of its rows."""
    request = {"dataset": dataset, "offset": offset, "limit": limit, "include_deleted": deleted}
    async with open_client(context) as client:
        found = await call_board(client, "get_board", **_meant(board), **request)
    if screen.for_programs:
        screen.answer(found)
        return exits.DONE
    screen.say(f"{one_line(found['name'])}  {found['id']}", one_line(found["description"], 400))
    filled = {one["dataset_name"]: one for link in found["links"] for one in link["recipes"]}
    for name, held in found["data"]["datasets"].items():
        screen.say(f"{one_line(name)}: {count(held['total'], 'row')}" + freshness(filled.get(name)))
        keys = [column["key"] for column in held["schema"]["columns"]][:6]
        keys = keys or list(dict.fromkeys(_keys(held["rows"])))[:6]
        if held["rows"]:
            screen.say(_table(held["rows"], keys))
    return exits.DONE


def freshness(recipe: dict[str, Any] | None) -> str:
    """How fresh a dataset is that is filled from a link, and what went wrong there."""
    if recipe is None:
        return ""
    at, problem = recipe["last_refreshed_at"], recipe["last_error"]
    fresh = f"refreshed {date_time(datetime.fromisoformat(at))}" if at else "not refreshed yet"
    failed = f"; {one_line(str(problem.get('detail', '')), 200)}" if problem else ""
    return f", {fresh}{failed}"


def _table(rows: Sequence[dict[str, Any]], keys: Sequence[str]) -> Table:
    """Rows by their ids, which other commands take; those that are deleted say so."""
    marked = ["Deleted"] if any(row.get("_deleted_at") for row in rows) else []
    cells = [
        [row["row_id"], *([_when(row)] if marked else []), *(_cell(row, key) for key in keys)]
        for row in rows
    ]
    return columns(["Row", *marked, *(one_line(key, 60) for key in keys)], cells, whole=("Row",))


def _when(row: dict[str, Any]) -> str:
    at = row.get("_deleted_at")
    return date_time(datetime.fromisoformat(at)) if at else ""


async def append_rows(
    context: CommandContext, screen: Screen, board: str, file: str, dataset: str, key: str | None
) -> int:
    """Every batch is one call: taken whole, or not at all."""
    more = {"dataset": dataset, **({} if key is None else {"dedupe_key_field": key})}
    told = {"appended": 0, "skipped": 0, "batches": 0}
    async with open_client(context) as client:
        board_id = await board_id_of(client, board)
        for batch in batches(file, context.limits()):
            try:
                made = await call_board(
                    client, "append_board_rows", board_id=board_id, rows=batch.rows, **more
                )
            except Problem as problem:
                done = f"The {count(batch.before, 'row')} before this batch are in."
                raise offset_problem_rows(problem, batch, done) from None
            told["appended"] += made["appended"]
            told["skipped"] += made["skipped"]
            told["batches"] += 1
    _say(
        screen,
        {"board_id": board_id, **told},
        f"{count(told['appended'], 'row')} appended, {told['skipped']} skipped.",
    )
    return exits.DONE


async def update_rows(
    context: CommandContext, screen: Screen, board: str, file: str, dataset: str
) -> int:
    """Each row of the file has a row_id and the fields that change."""
    updated = 0
    async with open_client(context) as client:
        board_id = await board_id_of(client, board)
        for batch in batches(file, context.limits()):
            try:
                made = await call_board(
                    client, "update_board_rows", board_id=board_id, rows=batch.rows, dataset=dataset
                )
            except Problem as problem:
                done = f"The {count(batch.before, 'row')} before this batch are changed."
                raise offset_problem_rows(problem, batch, done) from None
            updated += made["updated"]
    said = f"{count(updated, 'row')} changed." if updated else "No row was changed."
    _say(screen, {"board_id": board_id, "updated": updated}, said)
    return exits.DONE


async def delete_rows(
    context: CommandContext,
    screen: Screen,
    board: str,
    row_ids: Sequence[str],
    dataset: str,
) -> int:
    async with open_client(context) as client:
        board_id = await board_id_of(client, board)
        made = await call_board(
            client, "delete_board_rows", board_id=board_id, row_ids=list(row_ids), dataset=dataset
        )
    rows = made["row_ids"] if made["deleted"] == 1 else ["ROW..."]
    back = hint("boards", "restore", board, *rows)
    text = f"{count(made['deleted'], 'row')} deleted.\n  {back}"
    _say(screen, made, text if made["deleted"] else "No row was deleted.")
    return exits.DONE


async def restore(
    context: CommandContext,
    screen: Screen,
    board: str,
    row_ids: Sequence[str] | None,
    dataset: str,
) -> int:
    """Deleted rows come back to their places; without rows, an archived board comes back."""
    async with open_client(context) as client:
        if row_ids:
            board_id, deed = await board_id_of(client, board), "restore_board_rows"
            made = await call_board(
                client, deed, board_id=board_id, row_ids=list(row_ids), dataset=dataset
            )
            number = made["restored"]
            said = f"{count(number, 'row')} restored." if number else "No row was restored."
        else:
            board_id = await board_id_of(client, board, archived=True)
            made = await call_board(client, "update_board", board_id=board_id, archived=False)
            said = f"The board {one_line(made['name'])} is no longer archived."
    _say(screen, made, said)
    return exits.DONE


async def archive_board(context: CommandContext, screen: Screen, board: str) -> int:
    async with open_client(context) as client:
        board_id = await board_id_of(client, board)
        made = await call_board(client, "archive_board", board_id=board_id)
    back = hint("boards", "restore", board_id)
    _say(screen, made, f"The board {one_line(board)} is archived: it can be read.\n  {back}")
    return exits.DONE


async def export_rows(
    context: CommandContext,
    screen: Screen,
    board: str,
    out: str | None,
    dataset: str,
    whole: bool,
) -> int:
    """One JSON object a line, as ``append`` takes them; to a file, or to the standard output."""
    lines: list[str] = []
    written = 0
    async with open_client(context) as client:
        async for row in _every_row(client, await board_id_of(client, board), dataset):
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
        write_file(Path(out), "".join(f"{line}\n" for line in lines), suggestion=suggestion)
        _say(screen, {"file": str(Path(out)), "rows": written}, f"{count(written, 'row')} written.")
    return exits.DONE


async def _every_row(
    client: ApiClient, board_id: str, dataset: str
) -> AsyncIterator[dict[str, Any]]:
    after: dict[str, Any] = {}
    while True:
        found = await call_board(client, "get_board", board_id=board_id, dataset=dataset, **after)
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


async def board_id_of(client: ApiClient, board: str, *, archived: bool = False) -> str:
    """The id of a board that is named, or given by its id."""
    meant = _meant(board)
    if "board_id" in meant:
        return meant["board_id"]
    if archived:
        found = [one for one in await _listed(client, archived=True) if one["archived"]]
        named = [one["id"] for one in found if one["name"] == board]
        if len(named) == 1:
            return str(named[0])
        if named:
            raise Conflict(
                f"{len(named)} archived boards are called {board!r}: {', '.join(named)}.",
                code="ambiguous_name",
                suggestion=_INSTEAD["ambiguous_name"],
            )
    return str((await call_board(client, "get_board", **meant, limit=1))["id"])


async def _is_alone(client: ApiClient, name: str) -> bool:
    """Whether no other board has this name; unknown to a token that may not read counts as yes."""
    try:
        await call_board(client, "get_board", name=name, limit=1)
    except Problem as problem:
        return problem.code != "ambiguous_name"
    return True


async def call_board(client: ApiClient, capability: str, **arguments: Any) -> dict[str, Any]:
    """Calls a capability of boards; its way out names commands instead of capabilities."""
    try:
        answer = await client.call(capability, arguments)
    except Problem as problem:
        said = _INSTEAD.get(problem.code)
        if said and not (problem.suggestion or "").startswith("Did you mean"):
            commands = {name: hint("boards", name) for name in ("list", "restore")}
            commands["restore"] += " BOARD"
            problem.suggestion = said.format_map(commands)
        raise
    return answer


def _say(screen: Screen, result: dict[str, Any], sentence: str) -> None:
    if screen.for_programs:
        screen.answer(result)
    else:
        screen.say(sentence)


def _keys(rows: Sequence[dict[str, Any]]) -> list[str]:
    return [key for row in rows for key in row if key not in _SERVER_KEYS]


def _cell(row: dict[str, Any], key: str) -> str:
    value = row.get(key)
    if value is None:
        return ""
    return one_line(value if isinstance(value, str) else as_json(value, indent=None), 60)
