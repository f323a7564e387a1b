"""The group of commands about boards."""

from __future__ import annotations

import typer

from mainspring.surfaces.cli.options import KEPT, help_alone, make_group
from mainspring.surfaces.cli.typer_functions import add_declared


def add_to(app: typer.Typer) -> None:
    """Adds the group of commands about boards."""
    group = make_group("Keep rows: list boards, show, fill, change, export and link them.")

    @group.callback(invoke_without_command=True)
    def boards(ctx: typer.Context) -> None:
        """Keep rows: list boards, show, fill, change, export and link them."""
        help_alone(ctx)

    add_declared(group, "boards")
    app.add_typer(group, name="boards", rich_help_panel=KEPT)
