"""The commands about servers of tools, and their words."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from mainspring.surfaces.cli.context import finish
from mainspring.surfaces.cli.options import Json, make_group, open_context

Alias = Annotated[str, typer.Argument(metavar="ALIAS", help="What its tools are called by.")]
Tools = Annotated[list[str], typer.Argument(metavar="TOOL...", help="Names of its tools.")]
LookFirst = Annotated[
    bool,
    typer.Option("--look-first", help="Its tools wait until somebody has looked at them."),
]


class ToolEffectOption(StrEnum):
    """What somebody may say of a tool."""

    READ = "read"
    SEND = "send"
    GUESS = "guess"


def add_to(app: typer.Typer, panel: str) -> None:
    """Adds the group of commands about servers of tools."""
    group = make_group("Connect servers of tools; agree to what may be called.")

    @group.callback(invoke_without_command=True)
    def connections(ctx: typer.Context, for_programs: Json = False) -> int:
        """Connect servers of tools; agree to what may be called."""
        if ctx.invoked_subcommand is not None:
            return 0
        return _list(ctx, for_programs)

    group.command(name="list")(_list)
    group.command(name="show")(_show)
    group.command(name="add")(_add)
    group.command(name="add-stdio")(_add_stdio)
    group.command(name="sign-in")(_sign_in)
    group.command(name="token")(_token)
    group.command(name="harvest")(_harvest)
    group.command(name="agree")(_agree)
    group.command(name="refuse")(_refuse)
    group.command(name="effect")(_effect)
    group.command(name="remove")(_remove)
    app.add_typer(group, name="connections", rich_help_panel=panel)


def _list(ctx: typer.Context, for_programs: Json = False) -> int:
    """List the servers of tools, how they fare, and what waits."""
    from mainspring.surfaces.cli.connections import list_connections

    context, screen = open_context(ctx, for_programs)
    return finish(list_connections(context, screen))


def _show(
    ctx: typer.Context,
    alias: Alias,
    tool: Annotated[
        str | None, typer.Option(metavar="TOOL", help="Only this tool, with all of its text.")
    ] = None,
    for_programs: Json = False,
) -> int:
    """Show a server of tools with its tools, and what is different."""
    from mainspring.surfaces.cli.connections import show_connection

    context, screen = open_context(ctx, for_programs)
    return finish(show_connection(context, screen, alias, tool))


def _add(
    ctx: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="Such as https://example.com/mcp.")],
    alias: Annotated[
        str, typer.Option(metavar="ALIAS", help="What its tools are called by: ALIAS.tool.")
    ],
    token: Annotated[
        bool, typer.Option("--token", help="Take a token from a pipe or a hidden prompt.")
    ] = False,
    oauth: Annotated[
        bool, typer.Option("--oauth", help="Sign in with a browser; this waits for it.")
    ] = False,
    client_id: Annotated[
        str | None, typer.Option(metavar="ID", help="Of an application that you made there.")
    ] = None,
    look_first: LookFirst = False,
    for_programs: Json = False,
) -> int:
    """Connect to a server of tools, and agree to the tools that it has now."""
    from mainspring.contracts.errors import Invalid
    from mainspring.surfaces.cli.connections import add
    from mainspring.surfaces.cli.secrets import read_value

    context, screen = open_context(ctx, for_programs)
    if token and oauth:
        raise Invalid("A token is given, or one signs in; not both.", code="auth")
    arguments: dict[str, Any] = {"alias": alias, "server_url": url, "agree": not look_first}
    if oauth:
        arguments["auth"] = "oauth"
    if client_id is not None:
        arguments["client_id"] = client_id
    if token:
        arguments["token"] = read_value(context.limits())
    return finish(add(context, screen, arguments))


def _add_stdio(
    ctx: typer.Context,
    alias: Alias,
    command: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND...", help="The program and its words.")
    ],
    look_first: LookFirst = False,
    for_programs: Json = False,
) -> int:
    """Connect a program on this machine; it runs as the server does."""
    from mainspring.surfaces.cli.connections import add_program, check_command

    context, screen = open_context(ctx, for_programs)
    check_command(command)
    return finish(add_program(context, screen, alias, command, agree=not look_first))


def _sign_in(ctx: typer.Context, alias: Alias, for_programs: Json = False) -> int:
    """Sign in again with a browser on this machine; this waits for it."""
    from mainspring.surfaces.cli.connections import sign_in

    context, screen = open_context(ctx, for_programs)
    return finish(sign_in(context, screen, alias))


def _token(ctx: typer.Context, alias: Alias, for_programs: Json = False) -> int:
    """Take another token from a pipe or a hidden prompt; agreements stay."""
    from mainspring.surfaces.cli.connections import set_token
    from mainspring.surfaces.cli.secrets import read_value

    context, screen = open_context(ctx, for_programs)
    return finish(set_token(context, screen, alias, read_value(context.limits())))


def _harvest(ctx: typer.Context, alias: Alias, for_programs: Json = False) -> int:
    """Look at its tools now; what is new or different waits."""
    from mainspring.surfaces.cli.connections import harvest

    context, screen = open_context(ctx, for_programs)
    return finish(harvest(context, screen, alias))


def _agree(
    ctx: typer.Context,
    alias: Alias,
    tools: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TOOL]...", help="Which tools; left out: all that wait."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not wait for an answer where no terminal is.")
    ] = False,
    for_programs: Json = False,
) -> int:
    """Show what is new or different, and agree to just that."""
    from mainspring.contracts.errors import Invalid
    from mainspring.surfaces.cli import exits
    from mainspring.surfaces.cli.connections import agree, say_waiting, waiting
    from mainspring.surfaces.cli.terminal_prompt import at_terminal

    context, screen = open_context(ctx, for_programs)
    found = finish(waiting(context, alias, tools or ()))
    if not found:
        if screen.for_programs:
            screen.answer({"tools": []})
        screen.say(f"No tool of {alias} waits.")
        return exits.DONE
    say_waiting(screen, found)
    if at_terminal(screen):
        # Asked whatever was said before: a person agrees by answering.
        if not typer.confirm("Agree?"):
            return exits.FAILED
    elif not yes:
        raise Invalid("Nobody is here to ask.", code="not_asked", suggestion="Add --yes.")
    return finish(agree(context, screen, alias, found))


def _refuse(ctx: typer.Context, alias: Alias, tools: Tools, for_programs: Json = False) -> int:
    """Say that tools may not be called."""
    from mainspring.surfaces.cli.connections import refuse

    context, screen = open_context(ctx, for_programs)
    return finish(refuse(context, screen, alias, tools))


def _effect(
    ctx: typer.Context,
    alias: Alias,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The name of a tool.")],
    said: Annotated[
        ToolEffectOption,
        typer.Argument(metavar="read|send|guess", help="What it does; guess: as before."),
    ],
    for_programs: Json = False,
) -> int:
    """Say whether a tool reads or sends, above what can be guessed."""
    from mainspring.surfaces.cli.connections import set_effect

    context, screen = open_context(ctx, for_programs)
    effect = None if said is ToolEffectOption.GUESS else said.value
    return finish(set_effect(context, screen, alias, tool, effect))


def _remove(ctx: typer.Context, alias: Alias, for_programs: Json = False) -> int:
    """Forget a connection with its tools and its tokens."""
    from mainspring.surfaces.cli.connections import remove

    context, screen = open_context(ctx, for_programs)
    return finish(remove(context, screen, alias))
