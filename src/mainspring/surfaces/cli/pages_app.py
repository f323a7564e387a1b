"""The group of commands about pages."""

from __future__ import annotations

import typer

from mainspring.surfaces.cli.options import KEPT, help_alone, make_group
from mainspring.surfaces.cli.typer_functions import add_declared


def add_to(app: typer.Typer) -> None:
    """Adds the group of commands about pages."""
    group = make_group("Keep texts, and find them by words and by meaning.")

    @group.callback(invoke_without_command=True)
    def pages(ctx: typer.Context) -> None:
        """Keep texts, and find them by words and by meaning."""
        help_alone(ctx)

    add_declared(group, "pages")
    app.add_typer(group, name="pages", rich_help_panel=KEPT)
