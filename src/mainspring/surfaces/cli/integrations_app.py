"""The commands about integrations, and their words."""

from __future__ import annotations

from typing import Annotated

import typer

from mainspring.surfaces.cli.connection import finish_request
from mainspring.surfaces.cli.options import Json, make_group, open_context

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="For example gmail. `integrations list` shows all.")
]
Provider = Annotated[str, typer.Argument(metavar="PROVIDER", help="Such as google.")]
Everyone = Annotated[
    bool, typer.Option("--for-everyone", help="The installation's own, for every workspace.")
]


def add_to(app: typer.Typer, panel: str) -> None:
    """Adds the group of commands about integrations."""
    group = make_group("Connect your accounts elsewhere; see how they fare.")

    @group.callback(invoke_without_command=True)
    def integrations(ctx: typer.Context, for_programs: Json = False) -> int:
        """Connect your accounts elsewhere; see how they fare."""
        if ctx.invoked_subcommand is not None:
            return 0
        return _list(ctx, for_programs=for_programs)

    group.command(name="list")(_list)
    group.command(name="connect")(_connect)
    group.command(name="test")(_test)
    group.command(name="disconnect")(_disconnect)
    group.command(name="share")(_share)
    group.command(name="unshare")(_unshare)
    clients = make_group("The OAuth applications for sign-in at providers.")
    clients.command(name="list")(_clients)
    clients.command(name="set")(_set_client)
    clients.command(name="remove")(_remove_client)
    group.add_typer(clients, name="client")
    app.add_typer(group, name="integrations", rich_help_panel=panel)


def _list(
    ctx: typer.Context,
    connected: Annotated[
        bool, typer.Option("--connected", help="Only those that can be used now.")
    ] = False,
    for_programs: Json = False,
) -> int:
    """List the integrations, and what you are connected to."""
    from mainspring.surfaces.cli.integrations import list_integrations

    context, screen = open_context(ctx, for_programs)
    return finish_request(list_integrations(context, screen, connected=connected))


def _connect(
    ctx: typer.Context,
    name: Name,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="A field that is no secret."),
    ] = None,
    share: Annotated[bool, typer.Option("--share", help="Share it with the workspace.")] = False,
    for_programs: Json = False,
) -> int:
    """Connect an account. Secrets come from a pipe or a hidden prompt, never as a word."""
    from mainspring.surfaces.cli.integrations import ask_fields, connect, fields_of

    context, screen = open_context(ctx, for_programs)
    asked = finish_request(fields_of(context, name))
    return finish_request(
        connect(context, screen, name, ask_fields(asked, setting or []), share=share)
    )


def _test(ctx: typer.Context, name: Name, for_programs: Json = False) -> int:
    """Ask the other side who you are there."""
    from mainspring.surfaces.cli.integrations import test_connection

    context, screen = open_context(ctx, for_programs)
    return finish_request(test_connection(context, screen, name))


def _disconnect(ctx: typer.Context, name: Name, for_programs: Json = False) -> int:
    """Forget a connection with all that lets it in."""
    from mainspring.surfaces.cli.integrations import disconnect

    context, screen = open_context(ctx, for_programs)
    return finish_request(disconnect(context, screen, name))


def _share(ctx: typer.Context, name: Name, for_programs: Json = False) -> int:
    """Share a connection of yours: automations of every member may use it."""
    from mainspring.surfaces.cli.integrations import share

    context, screen = open_context(ctx, for_programs)
    return finish_request(share(context, screen, name))


def _unshare(ctx: typer.Context, name: Name, for_programs: Json = False) -> int:
    """Withdraw the connection of the workspace; only its holder uses it then."""
    from mainspring.surfaces.cli.integrations import share

    context, screen = open_context(ctx, for_programs)
    return finish_request(share(context, screen, name, withdraw=True))


def _clients(ctx: typer.Context, for_programs: Json = False) -> int:
    """List the providers, as whom people sign in there, and where they come back to."""
    from mainspring.surfaces.cli.integrations import list_clients

    context, screen = open_context(ctx, for_programs)
    return finish_request(list_clients(context, screen))


def _set_client(
    ctx: typer.Context,
    provider: Provider,
    client_id: Annotated[str, typer.Option(metavar="ID", help="Of the application made there.")],
    no_secret: Annotated[
        bool, typer.Option("--no-secret", help="Do not ask for a secret.")
    ] = False,
    for_everyone: Everyone = False,
    for_programs: Json = False,
) -> int:
    """Say as whom people sign in. The secret comes from a pipe or a hidden prompt."""
    from mainspring.surfaces.cli.integrations import read_secret, set_client

    context, screen = open_context(ctx, for_programs)
    secret = None if no_secret else read_secret("Client secret (Enter for none)")
    return finish_request(
        set_client(context, screen, provider, client_id, secret, for_everyone=for_everyone)
    )


def _remove_client(
    ctx: typer.Context,
    provider: Provider,
    for_everyone: Everyone = False,
    for_programs: Json = False,
) -> int:
    """Forget a client and its secret."""
    from mainspring.surfaces.cli.integrations import remove_client

    context, screen = open_context(ctx, for_programs)
    return finish_request(remove_client(context, screen, provider, for_everyone=for_everyone))
