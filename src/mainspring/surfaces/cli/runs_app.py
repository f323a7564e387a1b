"""The commands about runs, and their words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final

import typer

from mainspring.surfaces.cli.context import finish
from mainspring.surfaces.cli.options import (
    DryRun,
    Inputs,
    InputWords,
    Json,
    RunId,
    Seconds,
    Verify,
    get_context,
    make_group,
)
from mainspring.surfaces.cli.typer_functions import declared

_PANEL: Final = "Runs"
_RUNS: Final = "List runs, newest first; watch one, or read its output."


def add_to(app: typer.Typer) -> None:
    """Starting one first, then living with it."""
    offered: dict[str, Callable[..., int]] = {
        "run": _run,
        "fire": declared("fire"),
        "logs": declared("logs"),
        "cancel": declared("cancel"),
        "retry": _retry,
        "replay": declared("replay"),
    }
    for name, command in offered.items():
        app.command(name=name, rich_help_panel=_PANEL)(command)
        if name == "fire":
            _add_group(app)


def _add_group(app: typer.Typer) -> None:
    """``runs`` alone lists them; what it is followed by looks at one."""
    group = make_group(_RUNS)
    group.callback(invoke_without_command=True)(declared("runs"))
    for name in ("output", "watch", "transcript"):
        group.command(name=name)(declared(f"runs {name}"))
    app.add_typer(group, name="runs", rich_help_panel=_PANEL)


def _run(
    ctx: typer.Context,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A definition or a script (.ts); - reads standard input."
        ),
    ],
    words: InputWords = None,
    inputs: Inputs = None,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Save and run it under this name."),
    ] = None,
    dry_run: DryRun = False,
    verify: Verify = False,
    timeout: Seconds = None,
    for_programs: Json = False,
) -> int:
    """Save a definition, run it once in this process, and show each step.

    An automation with the same name gets a new version, unless it is active or would lose
    triggers or grants. The exit code reports the result. Ctrl-C cancels the run. A second
    Ctrl-C stops at once; the next worker continues the run.
    """
    from mainspring.gate.policy import mode_of
    from mainspring.surfaces.cli.run import run_file

    context = get_context(ctx)
    screen = context.screen(for_programs=for_programs)
    mode = mode_of(dry_run=dry_run, verify=verify)
    return finish(run_file(context, screen, file, words or (), inputs, timeout, mode, name))


def _retry(
    ctx: typer.Context,
    run: RunId,
    wait: Annotated[
        bool, typer.Option(help="Execute the run in this process and wait for its end.")
    ] = True,
    timeout: Seconds = None,
    for_programs: Json = False,
) -> int:
    """Resume a failed run from the step that failed."""
    from mainspring.surfaces.cli.run import retry

    context = get_context(ctx)
    screen = context.screen(for_programs=for_programs)
    return finish(retry(context, screen, run, wait=wait, seconds=timeout))
