"""The commands about links of boards, and their words."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mainspring.surfaces.cli.context import finish
from mainspring.surfaces.cli.options import Json, open_context

Board = Annotated[str, typer.Argument(metavar="BOARD", help="A board's name, or its id.")]
LinkId = Annotated[str, typer.Argument(metavar="LINK", help="The link's id.")]


def add_to(group: typer.Typer) -> None:
    """Adds the commands about links to those about boards."""
    group.command(name="link")(_link)
    group.command(name="links")(_links)
    group.command(name="fill")(_fill)
    group.command(name="refresh")(_refresh)
    group.command(name="unlink")(_unlink)


def _link(
    ctx: typer.Context,
    board: Board,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="Such as github, ics or rss.")],
    ref: Annotated[
        list[str] | None,
        typer.Argument(metavar="REF...", help="An address, or name=value as in owner=octo."),
    ] = None,
    name: Annotated[str, typer.Option("--name", help="What the link is called.")] = "",
    provider: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Your connection, which must be used then."),
    ] = None,
    for_programs: Json = False,
) -> int:
    """Link a board to something outside."""
    from mainspring.surfaces.cli.board_links import link_board, read_pairs

    context, screen = open_context(ctx, for_programs)
    arguments: dict[str, Any] = {"kind": kind, "ref": read_pairs(ref or [])}
    arguments["display_name"] = name or " ".join([kind, *(ref or [])])[:200]
    if provider is not None:
        arguments["integration_provider"] = provider
    return finish(link_board(context, screen, board, arguments))


def _links(ctx: typer.Context, board: Board, for_programs: Json = False) -> int:
    """List what a board is linked to, and how its datasets are filled."""
    from mainspring.surfaces.cli.board_links import list_links

    context, screen = open_context(ctx, for_programs)
    return finish(list_links(context, screen, board))


def _fill(
    ctx: typer.Context,
    link: LinkId,
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="Made if it is not there.")],
    operation: Annotated[
        str, typer.Argument(metavar="OPERATION", help="Such as github.list_open_prs.")
    ],
    params: Annotated[
        list[str] | None,
        typer.Option("--param", metavar="NAME=VALUE", help="An argument of the operation."),
    ] = None,
    cron: Annotated[
        str | None, typer.Option("--cron", metavar="CRON", help="Refresh it so, in UTC.")
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="FIELD", help="The field over there that tells rows apart."),
    ] = None,
    keep_as: Annotated[
        str | None, typer.Option("--keep-as", metavar="COLUMN", help="Where that field is kept.")
    ] = None,
    for_programs: Json = False,
) -> int:
    """Fill a dataset from a link, once now and by a schedule if one is given."""
    from mainspring.surfaces.cli.board_links import fill_dataset, read_pairs

    context, screen = open_context(ctx, for_programs)
    arguments: dict[str, Any] = {"link_id": link, "dataset_name": dataset, "adapter_op": operation}
    more = {"refresh_cron": cron, "dedupe_key_field": key, "dedupe_target_field": keep_as}
    arguments |= {name: value for name, value in more.items() if value is not None}
    if params:
        arguments["params"] = read_pairs(params)
    return finish(fill_dataset(context, screen, arguments))


def _refresh(
    ctx: typer.Context,
    board: Board,
    dataset: Annotated[
        str | None, typer.Argument(metavar="[DATASET]", help="Only this one; else all of them.")
    ] = None,
    for_programs: Json = False,
) -> int:
    """Refresh the datasets of a board that are filled from links."""
    from mainspring.surfaces.cli.board_links import refresh_board

    context, screen = open_context(ctx, for_programs)
    return finish(refresh_board(context, screen, board, dataset))


def _unlink(
    ctx: typer.Context,
    link: LinkId,
    recipe: Annotated[
        bool, typer.Option("--recipe", help="The id is a recipe's: the link stays.")
    ] = False,
    for_programs: Json = False,
) -> int:
    """Delete a link, or one recipe of it; the rows stay."""
    from mainspring.surfaces.cli.board_links import unlink

    context, screen = open_context(ctx, for_programs)
    return finish(unlink(context, screen, link, recipe=recipe))
