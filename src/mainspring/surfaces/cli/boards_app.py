"""The commands about boards, and their words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mainspring.surfaces.cli import board_links_app
from mainspring.surfaces.cli.context import finish
from mainspring.surfaces.cli.options import KEPT, Json, help_alone, make_group, open_context

Board = Annotated[str, typer.Argument(metavar="BOARD", help="A board's name, or its id.")]
Dataset = Annotated[str, typer.Option(metavar="NAME", help="One of the board's datasets.")]
Rows = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="JSON lines, or one JSON array; - reads the standard input."
    ),
]
KeyField = Annotated[
    str | None,
    typer.Option("--key", metavar="FIELD", help="Skip rows whose value of it is there already."),
]


def add_to(app: typer.Typer) -> None:
    """Adds the group of commands about boards."""
    group = make_group("Keep rows: list boards, show, fill, change, export and link them.")

    @group.callback(invoke_without_command=True)
    def boards(ctx: typer.Context) -> None:
        """Keep rows: list boards, show, fill, change, export and link them."""
        help_alone(ctx)

    group.command(name="list")(_list)
    group.command(name="show")(_show)
    group.command(name="create")(_create)
    group.command(name="append")(_append)
    group.command(name="update")(_update)
    group.command(name="delete")(_delete)
    group.command(name="restore")(_restore)
    group.command(name="export")(_export)
    group.command(name="archive")(_archive)
    board_links_app.add_to(group)
    app.add_typer(group, name="boards", rich_help_panel=KEPT)


def _list(
    ctx: typer.Context,
    archived: Annotated[bool, typer.Option("--archived", help="Archived ones too.")] = False,
    for_programs: Json = False,
) -> int:
    """List boards and how many rows they have."""
    from mainspring.surfaces.cli.boards import list_boards

    context, screen = open_context(ctx, for_programs)
    return finish(list_boards(context, screen, archived=archived))


def _show(
    ctx: typer.Context,
    board: Board,
    dataset: Dataset = "default",
    offset: Annotated[int, typer.Option(min=0, help="Pass over so many rows.")] = 0,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Rows at most.")] = 20,
    deleted: Annotated[bool, typer.Option("--deleted", help="Deleted rows too.")] = False,
    for_programs: Json = False,
) -> int:
    """Show a board and a page of its rows."""
    from mainspring.surfaces.cli.boards import show_board

    context, screen = open_context(ctx, for_programs)
    asked = {"dataset": dataset, "offset": offset, "limit": limit, "include_deleted": deleted}
    return finish(show_board(context, screen, board, asked))


def _create(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is called.")],
    description: Annotated[str, typer.Option(help="What it is for.")] = "",
    key: KeyField = None,
    datasets: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Datasets with their columns, as a JSON array."),
    ] = None,
    for_programs: Json = False,
) -> int:
    """Create a board."""
    from mainspring.contracts.errors import Invalid
    from mainspring.surfaces.cli.boards import create_board
    from mainspring.surfaces.cli.documents import read_document

    context, screen = open_context(ctx, for_programs)
    arguments: dict[str, Any] = {"name": name, "description": description}
    if key is not None and datasets is not None:
        raise Invalid("With --datasets, the key field stands in the file.", code="usage")
    if key is not None:
        arguments["datasets"] = [{"name": "default", "dedupe_key_field": key}]
    if datasets is not None:
        arguments["datasets"] = read_document(datasets, context.limits())
    return finish(create_board(context, screen, arguments))


def _append(
    ctx: typer.Context,
    board: Board,
    file: Rows,
    dataset: Dataset = "default",
    key: KeyField = None,
    for_programs: Json = False,
) -> int:
    """Append rows, 5,000 in a call; a call is taken whole, or not at all."""
    from mainspring.surfaces.cli.boards import append_rows

    context, screen = open_context(ctx, for_programs)
    more = {"dataset": dataset, **({} if key is None else {"dedupe_key_field": key})}
    return finish(append_rows(context, screen, board, file, more))


def _update(
    ctx: typer.Context,
    board: Board,
    file: Rows,
    dataset: Dataset = "default",
    for_programs: Json = False,
) -> int:
    """Change rows: each has its row_id and the fields that change."""
    from mainspring.surfaces.cli.boards import update_rows

    context, screen = open_context(ctx, for_programs)
    return finish(update_rows(context, screen, board, file, {"dataset": dataset}))


def _delete(
    ctx: typer.Context,
    board: Board,
    row_ids: Annotated[list[str], typer.Argument(metavar="ROW...", help="The rows' ids.")],
    dataset: Dataset = "default",
    for_programs: Json = False,
) -> int:
    """Delete rows; they can be restored."""
    from mainspring.surfaces.cli.boards import delete_rows

    context, screen = open_context(ctx, for_programs)
    return finish(delete_rows(context, screen, board, row_ids, {"dataset": dataset}))


def _restore(
    ctx: typer.Context,
    board: Board,
    row_ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ROW...]", help="The rows' ids; none: the archived board."),
    ] = None,
    dataset: Dataset = "default",
    for_programs: Json = False,
) -> int:
    """Bring deleted rows back, or an archived board."""
    from mainspring.surfaces.cli.boards import restore

    context, screen = open_context(ctx, for_programs)
    return finish(restore(context, screen, board, row_ids or [], {"dataset": dataset}))


def _archive(ctx: typer.Context, board: Board, for_programs: Json = False) -> int:
    """Take a board out of the list; it can be read and restored."""
    from mainspring.surfaces.cli.boards import archive_board

    context, screen = open_context(ctx, for_programs)
    return finish(archive_board(context, screen, board))


def _export(
    ctx: typer.Context,
    board: Board,
    out: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Where to; else the standard output.")
    ] = None,
    dataset: Dataset = "default",
    whole: Annotated[
        bool, typer.Option("--whole", help="With row_id and what else the server adds.")
    ] = False,
    for_programs: Json = False,
) -> int:
    """Write all rows as JSON lines."""
    from mainspring.surfaces.cli.boards import export_rows

    context, screen = open_context(ctx, for_programs)
    return finish(export_rows(context, screen, board, out, dataset=dataset, whole=whole))
