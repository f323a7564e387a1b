"""The command that rehearses, and its words."""

from __future__ import annotations

from typing import Annotated

import typer

from mainspring.surfaces.cli.connection import finish_request
from mainspring.surfaces.cli.options import Json, Named, open_context

_PANEL = "Automations"


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="rehearse", rich_help_panel=_PANEL)(_rehearse)


def _rehearse(
    ctx: typer.Context,
    automation: Named,
    definition: Annotated[
        str | None, typer.Option(metavar="FILE", help="Test this definition (.json or .ts).")
    ] = None,
    version: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Test this version.")
    ] = None,
    proposal: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Test this proposal: its id, or `last`."),
    ] = None,
    upgrade: Annotated[
        bool, typer.Option("--upgrade", help="Test the newest version of its recipe.")
    ] = False,
    last: Annotated[
        int | None,
        typer.Option(min=1, max=20, metavar="N", help="Number of past runs to replay. Default: 5."),
    ] = None,
    sample: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help='Over this instead: {"inputs": …} or {"payload": …} as JSON; may be given again.',
        ),
    ] = None,
    live_reads: Annotated[
        bool | None,
        typer.Option(
            "--live-reads/--no-live-reads",
            help="Read from external systems where no response was recorded. Default: only if "
            "the change adds no permissions.",
        ),
    ] = None,
    for_programs: Json = False,
) -> int:
    """Replay past runs against a change, and show what would differ. Nothing is changed.

    Exits with 0 if nothing differs, and with 11 if something does.
    """
    from mainspring.surfaces.cli.rehearse import RehearseOptions, rehearse

    context, screen = open_context(ctx, for_programs)
    options = RehearseOptions(
        automation, definition, version, proposal, upgrade, last, tuple(sample or ()), live_reads
    )
    return finish_request(rehearse(context, screen, options))
