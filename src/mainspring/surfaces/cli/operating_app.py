"""The commands of whoever operates the installation: halts and workers, and their words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.surfaces.cli.context import finish
from mainspring.surfaces.cli.options import Json, make_group, open_context

if TYPE_CHECKING:
    from mainspring.surfaces.cli.halts import HaltSelection

MaybeNamed = Annotated[
    str | None,
    typer.Argument(
        metavar="[AUTOMATION]", help="An automation's name, its id, or the id's first characters."
    ),
]
Recipe = Annotated[
    str | None,
    typer.Option(metavar="SLUG", help="All that came with this recipe, instead of one automation."),
]
Everywhere = Annotated[
    bool, typer.Option("--everywhere", help="With --recipe: in every workspace.")
]
Workspace = Annotated[
    bool, typer.Option("--all", help="The whole workspace, instead of one automation.")
]


def add_to(app: typer.Typer, panel: str) -> None:
    """Adds the commands."""
    app.command(name="halt", rich_help_panel=panel)(_halt)
    app.command(name="release", rich_help_panel=panel)(_release)
    app.command(name="halts", rich_help_panel=panel)(_halts)
    group = make_group("List the workers and what each queue asks of them; drain one.")

    @group.callback(invoke_without_command=True)
    def workers(ctx: typer.Context, for_programs: Json = False) -> int:
        """List the workers and what each queue asks of them; drain one."""
        if ctx.invoked_subcommand is not None:
            return 0
        return _list(ctx, for_programs)

    group.command(name="list")(_list)
    group.command(name="drain")(_drain)
    app.add_typer(group, name="workers", rich_help_panel=panel)


def _halt(
    ctx: typer.Context,
    automation: MaybeNamed = None,
    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Why; everybody who finds it so reads it.")
    ] = None,
    whole: Workspace = False,
    recipe: Recipe = None,
    everywhere: Everywhere = False,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="Cancel the runs there are, instead of holding them.")
    ] = False,
    for_programs: Json = False,
) -> int:
    """Make an automation, a recipe or the workspace stand still at once; nothing is lost."""
    from mainspring.surfaces.cli.halts import halt

    context, screen = open_context(ctx, for_programs)
    selection = _build_selection(automation, recipe, whole=whole, everywhere=everywhere)
    return finish(halt(context, screen, selection, reason, cancel=cancel))


def _release(
    ctx: typer.Context,
    automation: MaybeNamed = None,
    whole: Workspace = False,
    recipe: Recipe = None,
    everywhere: Everywhere = False,
    for_programs: Json = False,
) -> int:
    """Let go on what was halted; held runs go on where they stood."""
    from mainspring.surfaces.cli.halts import release

    context, screen = open_context(ctx, for_programs)
    selection = _build_selection(automation, recipe, whole=whole, everywhere=everywhere)
    return finish(release(context, screen, selection))


def _build_selection(
    automation: str | None, recipe: str | None, *, whole: bool, everywhere: bool
) -> HaltSelection:
    from mainspring.surfaces.cli.halts import HaltSelection

    return HaltSelection(automation, recipe, whole, everywhere)


def _halts(ctx: typer.Context, for_programs: Json = False) -> int:
    """List what is halted, why, and how many runs are held."""
    from mainspring.surfaces.cli.halts import show_halts

    context, screen = open_context(ctx, for_programs)
    return finish(show_halts(context, screen))


def _list(ctx: typer.Context, for_programs: Json = False) -> int:
    """List the workers and what each queue asks of them."""
    from mainspring.surfaces.cli.fleet import show_workers

    context, screen = open_context(ctx, for_programs)
    return finish(show_workers(context, screen))


def _drain(
    ctx: typer.Context,
    worker: Annotated[
        str | None, typer.Argument(metavar="[WORKER]", help="A worker's name or number.")
    ] = None,
    host: Annotated[
        str | None, typer.Option(metavar="NAME", help="All workers of this machine instead.")
    ] = None,
    for_programs: Json = False,
) -> int:
    """Let a worker finish what it has, take nothing new, and leave."""
    from mainspring.surfaces.cli.fleet import drain_workers

    context, screen = open_context(ctx, for_programs)
    return finish(drain_workers(context, screen, worker, host))
