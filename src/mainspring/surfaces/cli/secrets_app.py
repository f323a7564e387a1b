"""The commands about secrets, and their words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mainspring.surfaces.cli.context import finish
from mainspring.surfaces.cli.options import Json, get_context, help_alone, make_group
from mainspring.surfaces.cli.typer_functions import declared


def add_to(app: typer.Typer, panel: str) -> None:
    """Adds the group of commands about secrets."""
    group = make_group("Keep named secrets; definitions use them as {{ secrets.name }}.")

    @group.callback(invoke_without_command=True)
    def secrets(ctx: typer.Context) -> None:
        """Keep named secrets; definitions use them as {{ secrets.name }}."""
        help_alone(ctx)

    group.command(name="set")(_set_secret)
    group.command(name="list")(declared("secrets list"))
    group.command(name="delete")(declared("secrets delete"))
    group.command(name="rotate")(_rotate)
    app.add_typer(group, name="secrets", rich_help_panel=panel)


SecretName = Annotated[str, typer.Argument(metavar="NAME", help="Small letters, digits and _.")]
Owner = Annotated[
    str | None,
    typer.Option(
        "--owner", metavar="WHO", help="The member whose secrets are meant, by email or id."
    ),
]
Publisher = Annotated[
    bool, typer.Option("--publisher", help="What the workspace publishes with; names in capitals.")
]


def _set_secret(
    ctx: typer.Context,
    name: SecretName,
    description: Annotated[str, typer.Option(help="What it is for.")] = "",
    owner: Owner = None,
    publisher: Publisher = False,
    rest: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    for_programs: Json = False,
) -> int:
    """Keep a secret. Its value comes from a pipe or a hidden prompt, never as a word."""
    from mainspring.contracts.errors import Invalid
    from mainspring.surfaces.cli.secrets import parse_secret_owner, read_value, set_secret

    if rest:
        # Said here and not by the parser, which would show the value once more.
        raise Invalid(
            "The value of a secret is never given on the command line, where others see it.",
            code="secret_on_command_line",
            suggestion="Leave it out and be asked for it, or send it by a pipe.",
        )
    context = get_context(ctx)
    about = parse_secret_owner(owner, publisher)
    value = read_value(context.limits())
    screen = context.screen(for_programs=for_programs)
    return finish(set_secret(context, screen, about, name, description, value))


def _rotate(
    ctx: typer.Context,
    new_key_file: Annotated[
        Path | None,
        typer.Option(help="A file with the new key; left out, a new key is made.", metavar="FILE"),
    ] = None,
    for_programs: Json = False,
) -> int:
    """Seal every secret with a new master key, while the server goes on working."""
    from mainspring.surfaces.cli.secrets import rotate_key

    context = get_context(ctx)
    return finish(rotate_key(context, context.screen(for_programs=for_programs), new_key_file))
