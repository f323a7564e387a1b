"""The commands that turn a description into an automation."""

from __future__ import annotations

import typer

from mainspring.surfaces.cli.typer_functions import declared, declared_group

_PANEL = "Automations"


def add_to(app: typer.Typer) -> None:
    """Descriptions come first: they are how most automations begin."""
    for name in ("new", "change", "review"):
        app.command(name=name, rich_help_panel=_PANEL)(declared(name))
    app.add_typer(declared_group("prompts"), name="prompts", rich_help_panel=_PANEL)
