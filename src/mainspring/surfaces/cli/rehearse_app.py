"""The command that rehearses, and its words."""

from __future__ import annotations

from typing import Annotated

import typer

from mainspring.surfaces.cli.context import finish
from mainspring.surfaces.cli.options import Json, Named, open_context

_PANEL = "Automations"


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="rehearse", rich_help_panel=_PANEL)(_rehearse)


def _rehearse(
    ctx: typer.Context,
    automation: Named,
    definition: Annotated[
        str | None, typer.Option(metavar="FILE", help="Try this definition, .json or .ts.")
    ] = None,
    version: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Try this version of it.")
    ] = None,
    proposal: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Try this proposal: its id, or `last` for the newest."),
    ] = None,
    upgrade: Annotated[
        bool, typer.Option("--upgrade", help="Try the newest version of its recipe.")
    ] = False,
    last: Annotated[
        int | None,
        typer.Option(min=1, max=20, metavar="N", help="Over so many of its last firings; else 5."),
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
            help="Ask outside what is on no record; else: unless it may do more than before.",
        ),
    ] = None,
    for_programs: Json = False,
) -> int:
    """Show what a change would have done with what came in before; nothing is changed by it.

    Ends with 0 when nothing would have gone otherwise, and with 11 when something would.
    """
    from mainspring.surfaces.cli.rehearse import RehearseOptions, rehearse

    context, screen = open_context(ctx, for_programs)
    options = RehearseOptions(
        automation, definition, version, proposal, upgrade, last, tuple(sample or ()), live_reads
    )
    return finish(rehearse(context, screen, options))
