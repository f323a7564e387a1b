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
    group = make_group("Store secrets. Definitions use them as {{ secrets.name }}.")

    @group.callback(invoke_without_command=True)
    def secrets(ctx: typer.Context) -> None:
        """Store secrets. Definitions use them as {{ secrets.name }}."""
        help_alone(ctx)

    group.command(name="set")(_set_secret)
    group.command(name="list")(declared("secrets list"))
    group.command(name="delete")(declared("secrets delete"))
    group.command(name="rotate")(_rotate)
    app.add_typer(group, name="secrets", rich_help_panel=panel)


SecretName = Annotated[
    str, typer.Argument(metavar="NAME", help="Lowercase letters, digits and underscores.")
]
Owner = Annotated[
    str | None,
    typer.Option("--owner", metavar="WHO", help="The member who owns the secrets (email or id)."),
]
Publisher = Annotated[
    bool,
    typer.Option(
        "--publisher", help="Secrets of the workspace's publisher. Names are in capitals."
    ),
]


def _set_secret(
    ctx: typer.Context,
    name: SecretName,
    description: Annotated[str, typer.Option(help="The description.")] = "",
    owner: Owner = None,
    publisher: Publisher = False,
    rest: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    for_programs: Json = False,
) -> int:
    """Store a secret. Its value is read from a pipe or a hidden prompt."""
    from mainspring.contracts.errors import Invalid
    from mainspring.surfaces.cli.secrets import parse_secret_owner, read_value, set_secret

    if rest:
        # Said here and not by the parser, which would show the value once more.
        raise Invalid(
            "Do not pass the value of a secret on the command line, where others can see it.",
            code="secret_on_command_line",
            suggestion="Leave it out and enter it at the prompt, or pipe it in.",
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
        typer.Option(help="A file with the new key. Default: generate one.", metavar="FILE"),
    ] = None,
    for_programs: Json = False,
) -> int:
    """Re-encrypt every secret with a new master key. The server keeps running."""
    from mainspring.surfaces.cli.secrets import rotate_key

    context = get_context(ctx)
    return finish(rotate_key(context, context.screen(for_programs=for_programs), new_key_file))
