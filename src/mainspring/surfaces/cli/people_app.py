"""Commands to sign in and out, and the groups about members, workspaces and tokens."""

from __future__ import annotations

from typing import Annotated

import typer

from mainspring.surfaces.cli.context import finish
from mainspring.surfaces.cli.options import Json, get_context
from mainspring.surfaces.cli.typer_functions import declared, declared_group


def add_to(app: typer.Typer, panel: str) -> None:
    """Adds the commands."""
    app.command(name="login", rich_help_panel=panel)(_login)
    app.command(name="logout", rich_help_panel=panel)(_logout)
    app.command(name="sign-in", rich_help_panel=panel)(declared("sign-in"))
    for name in ("email", "members", "workspaces", "tokens"):
        app.add_typer(declared_group(name), name=name, rich_help_panel=panel)


Address = Annotated[
    str | None,
    typer.Argument(metavar="ADDRESS", help="The server. Default: the one on this data folder."),
]


def _login(ctx: typer.Context, address: Address = None, for_programs: Json = False) -> int:
    """Sign in to a server from this terminal. You confirm a code in your browser."""
    from mainspring.surfaces.cli.login import log_in

    context = get_context(ctx)
    return finish(log_in(context, context.screen(for_programs=for_programs), address))


def _logout(ctx: typer.Context, address: Address = None, for_programs: Json = False) -> int:
    """End this terminal's session at a server."""
    from mainspring.surfaces.cli.login import log_out

    context = get_context(ctx)
    return finish(log_out(context, context.screen(for_programs=for_programs), address))
