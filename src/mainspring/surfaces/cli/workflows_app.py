"""The group of commands about workflows."""

from __future__ import annotations

import typer

from mainspring.surfaces.cli.options import KEPT, help_alone, make_group
from mainspring.surfaces.cli.typer_functions import add_declared, declared


def add_to(app: typer.Typer) -> None:
    """Adds the group of commands about workflows."""
    group = make_group("Hold numbers, days, people, a board and automations together.")

    @group.callback(invoke_without_command=True)
    def workflows(ctx: typer.Context) -> None:
        """Hold numbers, days, people, a board and automations together."""
        help_alone(ctx)

    add_declared(group, "workflows")
    kpi = make_group("Say what a KPI of a workflow is now.")

    @kpi.callback(invoke_without_command=True)
    def kpis(ctx: typer.Context) -> None:
        """Say what a KPI of a workflow is now."""
        help_alone(ctx)

    kpi.command(name="set")(declared("workflows kpi set"))
    group.add_typer(kpi, name="kpi")
    app.add_typer(group, name="workflows", rich_help_panel=KEPT)
