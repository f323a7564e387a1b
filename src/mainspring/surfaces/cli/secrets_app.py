"""The commands about secrets, and their words."""

from __future__ import annotations

from typing import Annotated

import typer

from mainspring.surfaces.cli.desk import finish
from mainspring.surfaces.cli.options import Json, desk_of, help_alone, make_group


def build() -> typer.Typer:
    """The group of commands about secrets."""
    group = make_group("Keep named secrets; definitions use them as {{ secrets.name }}.")

    @group.callback(invoke_without_command=True)
    def secrets(ctx: typer.Context) -> None:
        """Keep named secrets; definitions use them as {{ secrets.name }}."""
        help_alone(ctx)

    group.command(name="set")(_set_secret)
    group.command(name="list")(_list_secrets)
    group.command(name="delete")(_delete_secret)
    return group


SecretName = Annotated[str, typer.Argument(metavar="NAME", help="Small letters, digits and _.")]


def _set_secret(
    ctx: typer.Context,
    name: SecretName,
    description: Annotated[str, typer.Option(help="What it is for.")] = "",
    rest: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    for_programs: Json = False,
) -> int:
    """Keep a secret. Its value comes from a pipe or a hidden prompt, never as a word."""
    from mainspring.contracts.errors import Invalid
    from mainspring.surfaces.cli.secrets import read_value, set_secret

    if rest:
        # Said here and not by the parser, which would show the value once more.
        raise Invalid(
            "The value of a secret is never given on the command line, where others see it.",
            code="secret_on_command_line",
            suggestion="Leave it out and be asked for it, or send it by a pipe.",
        )
    desk = desk_of(ctx)
    value = read_value(desk.limits())
    screen = desk.screen(for_programs=for_programs)
    return finish(set_secret(desk, screen, name, description, value))


def _list_secrets(ctx: typer.Context, for_programs: Json = False) -> int:
    """List the names of secrets, never their values."""
    from mainspring.surfaces.cli.secrets import list_secrets

    desk = desk_of(ctx)
    return finish(list_secrets(desk, desk.screen(for_programs=for_programs)))


def _delete_secret(ctx: typer.Context, name: SecretName, for_programs: Json = False) -> int:
    """Forget a secret."""
    from mainspring.surfaces.cli.secrets import delete_secret

    desk = desk_of(ctx)
    return finish(delete_secret(desk, desk.screen(for_programs=for_programs), name))
