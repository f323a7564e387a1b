"""The commands about models, and their words."""

from __future__ import annotations

from typing import Annotated

import typer

from mainspring.surfaces.cli.connection import finish_request
from mainspring.surfaces.cli.options import Json, make_group, open_context

Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="anthropic, openai, groq, or a name of your own."),
]
Model = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model, or NAME/MODEL for one connection.")
]
Everyone = Annotated[
    bool, typer.Option("--for-everyone", help="The installation's own, for every workspace.")
]
_PER_MILLION = "in dollars for a million tokens."


def add_to(app: typer.Typer, panel: str) -> None:
    """Adds the group of commands about models."""
    group = make_group("Connect models; list available models and their prices.")

    @group.callback(invoke_without_command=True)
    def models(ctx: typer.Context, for_programs: Json = False) -> int:
        """Connect models; list available models and their prices."""
        if ctx.invoked_subcommand is not None:
            return 0
        return _list(ctx, for_programs)

    group.command(name="list")(_list)
    group.command(name="connect")(_connect)
    group.command(name="disconnect")(_disconnect)
    group.command(name="test")(_test)
    group.command(name="price")(_price)
    group.command(name="prices")(_prices)
    app.add_typer(group, name="models", rich_help_panel=panel)


def _list(ctx: typer.Context, for_programs: Json = False) -> int:
    """List the connections, the models that were named, and what they cost."""
    from mainspring.surfaces.cli.models import list_models

    context, screen = open_context(ctx, for_programs)
    return finish_request(list_models(context, screen))


def _connect(
    ctx: typer.Context,
    name: Name,
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Its address. Default: the provider's own."),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(help="anthropic, openai, groq or compatible. Default: derived from the name."),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="MODEL", help="A model that it has; may be given again."),
    ] = None,
    usual: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="The default model."),
    ] = None,
    for_everyone: Everyone = False,
    no_key: Annotated[
        bool, typer.Option("--no-key", help="Do not ask for a key: none, or the one there is.")
    ] = False,
    for_programs: Json = False,
) -> int:
    """Connect models. The key comes from a pipe or a hidden prompt, never as a word."""
    from mainspring.surfaces.cli.models import ModelConnectionOptions, connect, read_key

    context, screen = open_context(ctx, for_programs)
    key = None if no_key else read_key()
    options = ModelConnectionOptions(name, url, kind, tuple(model or ()), usual, key)
    return finish_request(connect(context, screen, options, for_everyone=for_everyone))


def _disconnect(
    ctx: typer.Context, name: Name, for_everyone: Everyone = False, for_programs: Json = False
) -> int:
    """Forget a connection and its key."""
    from mainspring.surfaces.cli.models import disconnect

    context, screen = open_context(ctx, for_programs)
    return finish_request(disconnect(context, screen, name, for_everyone=for_everyone))


def _test(ctx: typer.Context, name: Name, for_programs: Json = False) -> int:
    """Try a connection: it is asked which models it has, which costs nothing."""
    from mainspring.surfaces.cli.models import try_connection

    context, screen = open_context(ctx, for_programs)
    return finish_request(try_connection(context, screen, name))


def _price(
    ctx: typer.Context,
    model: Model,
    read: Annotated[
        float | None, typer.Option("--input", min=0, help=f"What it reads, {_PER_MILLION}")
    ] = None,
    written: Annotated[
        float | None, typer.Option("--output", min=0, help=f"What it writes, {_PER_MILLION}")
    ] = None,
    cached: Annotated[
        float | None, typer.Option(min=0, help=f"What it has read before, {_PER_MILLION}")
    ] = None,
    stored: Annotated[
        float | None, typer.Option(min=0, help=f"What is put aside, {_PER_MILLION}")
    ] = None,
    delete: Annotated[
        bool, typer.Option("--delete", help="Forget it; the price list counts again.")
    ] = False,
    for_programs: Json = False,
) -> int:
    """Set what a model costs, above every price list."""
    from mainspring.surfaces.cli.models import delete_price, set_price

    context, screen = open_context(ctx, for_programs)
    if delete:
        return finish_request(delete_price(context, screen, model))
    rates = {"input": read, "output": written, "cached": cached, "stored": stored}
    return finish_request(set_price(context, screen, model, rates))


def _prices(ctx: typer.Context, for_programs: Json = False) -> int:
    """List the prices that were set."""
    from mainspring.surfaces.cli.models import list_prices

    context, screen = open_context(ctx, for_programs)
    return finish_request(list_prices(context, screen))
