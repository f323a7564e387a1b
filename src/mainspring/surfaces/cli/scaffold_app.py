"""The commands for whoever begins an integration or a recipe of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mainspring.surfaces.cli import recipes_app
from mainspring.surfaces.cli.options import Json, make_group, open_context


def add_to(app: typer.Typer, panel: str) -> None:
    """Adds the group of commands that begin something new."""
    group = make_group("Begin something of your own: an integration or a recipe.")
    group.command(name="integration")(_integration)
    recipes_app.add_scaffold(group)
    app.add_typer(group, name="scaffold", rich_help_panel=panel)


def _integration(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is called, such as acme.")],
    into: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the new package is made.")
    ] = Path(),
    for_programs: Json = False,
) -> int:
    """Write the files of a new integration: a package that installs and passes every check."""
    from mainspring.surfaces.cli.scaffolding import scaffold_integration

    context, screen = open_context(ctx, for_programs)
    return scaffold_integration(context, screen, name, into)
