"""Parameters that several commands share, and access to the command context."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from mainspring.surfaces.cli.context import CommandContext, finish

if TYPE_CHECKING:
    from mainspring.surfaces.cli.screen import Screen

# The panel of boards, pages and workflows.
KEPT = "Data"
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RunId = Annotated[
    str,
    typer.Argument(metavar="RUN", help="A run's id, its first characters, or `last`."),
]
Named = Annotated[
    str,
    typer.Argument(
        metavar="AUTOMATION", help="An automation's name, its id, or the id's first characters."
    ),
]
Seconds = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        min=0.1,
        metavar="SECONDS",
        help="Stop waiting after this time. The run continues on a worker.",
    ),
]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until the run ends.")]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Dry run: simulate calls that change something."),
]
Verify = Annotated[
    bool,
    typer.Option(
        "--verify", help="Send nothing to external systems. Data of the workspace is written."
    ),
]
Limit = Annotated[int, typer.Option(min=1, max=1_000, help="Maximum number of entries.")]
InputWords = Annotated[
    list[str] | None,
    typer.Option("--input", metavar="NAME=VALUE", help="One input. Repeatable."),
]
Inputs = Annotated[str | None, typer.Option(metavar="JSON", help="All inputs as one JSON object.")]


def get_context(ctx: typer.Context) -> CommandContext:
    found: Any = ctx.obj
    assert isinstance(found, CommandContext)
    return found


def open_context(ctx: typer.Context, for_programs: bool) -> tuple[CommandContext, Screen]:
    """The context of a command, and the screen it prints to."""
    context = get_context(ctx)
    return context, context.screen(for_programs=wants_json(ctx, for_programs))


def run_command(
    ctx: typer.Context,
    for_programs: bool,
    work: Callable[..., Coroutine[Any, Any, int]],
    *value: Any,
) -> int:
    """Runs a command function with its context, screen and values."""
    return finish(work(*open_context(ctx, for_programs), *value))


def wants_json(ctx: typer.Context, given: bool) -> bool:
    """Whether ``--json`` was given, here or before the name of a command inside a group."""
    return given or (ctx.parent is not None and bool(ctx.parent.params.get("for_programs")))


def make_group(sentence: str, cls: type[TyperGroup] | None = None) -> typer.Typer:
    return typer.Typer(
        cls=cls,
        help=sentence,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )


def help_alone(ctx: typer.Context) -> None:
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
        raise typer.Exit
