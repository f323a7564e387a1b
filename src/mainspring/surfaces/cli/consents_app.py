"""The commands about consents, and their words."""

from __future__ import annotations

from typing import Annotated

import typer

from mainspring.surfaces.cli.context import finish
from mainspring.surfaces.cli.options import Json, Limit, make_group, open_context

_PANEL = "Automations"
Asked = Annotated[
    str,
    typer.Argument(
        metavar="CONSENT",
        help="A consent's id, or the id or the name of its automation. The first characters of an "
        "id are enough.",
    ),
]
Digest = Annotated[
    str | None,
    typer.Option(
        metavar="HEX", help="The digest of what was read, as --json shows it; nothing is asked."
    ),
]


def add_to(app: typer.Typer) -> None:
    """Adds the group."""
    group = make_group("List what waits for your consent; agree to it or refuse it.")

    @group.callback(invoke_without_command=True)
    def consents(ctx: typer.Context, limit: Limit = 20, for_programs: Json = False) -> int:
        """List what waits for your consent; agree to it or refuse it."""
        if ctx.invoked_subcommand is not None:
            return 0
        return _list(ctx, limit, for_programs)

    group.command(name="list")(_list)
    group.command(name="show")(_show)
    group.command(name="agree")(_agree)
    group.command(name="refuse")(_refuse)
    app.add_typer(group, name="consents", rich_help_panel=_PANEL)


def _list(ctx: typer.Context, limit: Limit = 20, for_programs: Json = False) -> int:
    """List what waits for your consent."""
    from mainspring.surfaces.cli.consents import show_consents

    context, screen = open_context(ctx, for_programs)
    return finish(show_consents(context, screen, most=limit))


def _show(ctx: typer.Context, consent: Asked, for_programs: Json = False) -> int:
    """Show each thing that an automation would be able to do."""
    from mainspring.surfaces.cli.consents import show_consent

    context, screen = open_context(ctx, for_programs)
    return finish(show_consent(context, screen, consent))


def _agree(
    ctx: typer.Context,
    consent: Asked,
    digest: Digest = None,
    activate: Annotated[
        bool, typer.Option("--activate", help="Also let its triggers start it.")
    ] = False,
    for_programs: Json = False,
) -> int:
    """Agree to exactly what is shown."""
    from mainspring.surfaces.cli.consents import answer_consent

    context, screen = open_context(ctx, for_programs)
    return finish(
        answer_consent(context, screen, consent, agree=True, digest=digest, activate=activate)
    )


def _refuse(
    ctx: typer.Context, consent: Asked, digest: Digest = None, for_programs: Json = False
) -> int:
    """Refuse it; the automation stays paused."""
    from mainspring.surfaces.cli.consents import answer_consent

    context, screen = open_context(ctx, for_programs)
    return finish(answer_consent(context, screen, consent, agree=False, digest=digest))
