"""The words that many commands share, and how a command finds its desk."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mainspring.surfaces.cli.context import CommandContext, finish

if TYPE_CHECKING:
    from mainspring.surfaces.cli.screen import Screen

# The panel of whatever people and automations put away.
KEPT = "What is kept"
Json = Annotated[bool, typer.Option("--json", help="Write one JSON value, for programs.")]
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
        help="Stop waiting after so long; the run is left for the next worker.",
    ),
]
Wait = Annotated[bool, typer.Option("--wait", help="Stay until the run has ended.")]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Change nothing: calls that would are only pretended."),
]
Verify = Annotated[
    bool,
    typer.Option("--verify", help="Send nothing outside; what the workspace keeps is kept."),
]
Limit = Annotated[int, typer.Option(min=1, max=1_000, help="How many at most.")]
InputWords = Annotated[
    list[str] | None,
    typer.Option("--input", metavar="NAME=VALUE", help="One input; may be given again."),
]
Inputs = Annotated[str | None, typer.Option(metavar="JSON", help="All inputs as one JSON object.")]


def get_context(ctx: typer.Context) -> CommandContext:
    found: Any = ctx.obj
    assert isinstance(found, CommandContext)
    return found


def open_context(ctx: typer.Context, for_programs: bool) -> tuple[CommandContext, Screen]:
    """The desk of a command, and the screen it answers on."""
    context = get_context(ctx)
    return context, context.screen(for_programs=wants_json(ctx, for_programs))


def run_command(
    ctx: typer.Context,
    for_programs: bool,
    work: Callable[..., Coroutine[Any, Any, int]],
    *value: Any,
) -> int:
    """Runs the work of a command that takes a desk, a screen and what the person gave."""
    return finish(work(*open_context(ctx, for_programs), *value))


def wants_json(ctx: typer.Context, given: bool) -> bool:
    """Whether ``--json`` was given, here or before the name of a command inside a group."""
    return given or (ctx.parent is not None and bool(ctx.parent.params.get("for_programs")))


def make_group(sentence: str) -> typer.Typer:
    return typer.Typer(
        help=sentence, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich"
    )


def help_alone(ctx: typer.Context) -> None:
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
        raise typer.Exit
