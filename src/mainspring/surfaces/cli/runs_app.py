"""The commands about runs, and their words."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Final

import typer

from mainspring.surfaces.cli.context import finish
from mainspring.surfaces.cli.options import (
    DryRun,
    Inputs,
    InputWords,
    Json,
    Named,
    RunId,
    Seconds,
    Verify,
    Wait,
    get_context,
    make_group,
    wants_json,
)
from mainspring.surfaces.cli.typer_functions import declared

_PANEL: Final = "Runs"
_RUNS: Final = (
    "List runs, the newest first; `runs watch` follows one, `runs output` shows what it has said."
)


class ReplayVersion(StrEnum):
    """Which version a replay runs."""

    SAME = "same"
    ACTIVE = "active"


def add_to(app: typer.Typer) -> None:
    """Starting one first, then living with it."""
    offered: dict[str, Callable[..., int]] = {
        "run": _run,
        "fire": _fire,
        "logs": declared("logs"),
        "cancel": declared("cancel"),
        "retry": _retry,
        "replay": _replay,
    }
    for name, command in offered.items():
        app.command(name=name, rich_help_panel=_PANEL)(command)
        if name == "fire":
            _add_group(app)


def _add_group(app: typer.Typer) -> None:
    """``runs`` alone lists them; what it is followed by looks at one."""
    group = make_group(_RUNS)
    group.callback(invoke_without_command=True)(declared("runs"))
    group.command(name="output")(_output)
    group.command(name="watch")(_watch)
    group.command(name="transcript")(_transcript)
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
        typer.Option(metavar="NAME", help="Save and run it under this name, not its own."),
    ] = None,
    dry_run: DryRun = False,
    verify: Verify = False,
    timeout: Seconds = None,
    for_programs: Json = False,
) -> int:
    """Save a definition, run it once, here and now, and show each step.

    An automation of the same name gets a new version; one that is active, or would lose
    triggers or written grants, is never replaced so.
    The exit code says what the run came to. Ctrl-C cancels the run.
    Ctrl-C again leaves it unfinished; the next worker goes on with it.
    """
    from mainspring.gate.policy import mode_of
    from mainspring.surfaces.cli.run import run_file

    context = get_context(ctx)
    screen = context.screen(for_programs=for_programs)
    mode = mode_of(dry_run=dry_run, verify=verify)
    return finish(run_file(context, screen, file, words or (), inputs, timeout, mode, name))


def _fire(
    ctx: typer.Context,
    automation: Named,
    words: InputWords = None,
    inputs: Inputs = None,
    payload: Annotated[
        str | None,
        typer.Option(
            metavar="JSON", help="What a webhook or an event would bring: the run's `trigger`."
        ),
    ] = None,
    dry_run: DryRun = False,
    verify: Verify = False,
    wait: Wait = False,
    timeout: Seconds = None,
    for_programs: Json = False,
) -> int:
    """Run an automation now, also while it is paused, by a worker of the running server.

    With --wait the exit code says what the run came to. Ctrl-C leaves it; `cancel` ends it.
    """
    from mainspring.gate.policy import mode_of
    from mainspring.surfaces.cli.fire import fire

    context = get_context(ctx)
    screen = context.screen(for_programs=for_programs)
    work = fire(
        context,
        screen,
        automation,
        words or (),
        inputs,
        payload,
        mode=mode_of(dry_run=dry_run, verify=verify),
        wait=wait,
        seconds=timeout,
    )
    return finish(work)


def _output(
    ctx: typer.Context,
    run: RunId,
    step: Annotated[str | None, typer.Option(help="Only what this step said.")] = None,
    follow: Annotated[
        bool,
        typer.Option("--follow", "-f", help="Stay until the run has ended; Ctrl-C only leaves it."),
    ] = False,
    stderr: Annotated[
        bool, typer.Option("--stderr", help="Only what went to stderr; both are shown otherwise.")
    ] = False,
    for_programs: Json = False,
) -> int:
    """Show what the steps of a run have said: stdout and stderr, in order."""
    from mainspring.surfaces.cli.runs_output import OutputFilter, show_output

    context = get_context(ctx)
    screen = context.screen(for_programs=wants_json(ctx, for_programs))
    return finish(show_output(context, screen, run, OutputFilter(step, stderr), follow=follow))


def _watch(
    ctx: typer.Context, run: RunId, timeout: Seconds = None, for_programs: Json = False
) -> int:
    """Follow a run that a worker has, from its first step to its end, as `run` shows it.

    The exit code says what the run came to. Ctrl-C leaves it; `cancel` ends it.
    """
    from mainspring.surfaces.cli.fire import watch_run

    context = get_context(ctx)
    screen = context.screen(for_programs=wants_json(ctx, for_programs))
    return finish(watch_run(context, screen, run, timeout))


def _transcript(
    ctx: typer.Context,
    run: RunId,
    step: Annotated[
        str | None, typer.Argument(metavar="[STEP]", help="Only the agents of this step.")
    ] = None,
    for_programs: Json = False,
) -> int:
    """Show what the agents of a run were told, said, called and cost, turn by turn."""
    from mainspring.surfaces.cli.transcripts import show_transcript

    context = get_context(ctx)
    screen = context.screen(for_programs=wants_json(ctx, for_programs))
    return finish(show_transcript(context, screen, run, step))


def _retry(
    ctx: typer.Context,
    run: RunId,
    wait: Annotated[
        bool, typer.Option(help="Stay and work until the run has ended, as `run` does.")
    ] = True,
    timeout: Seconds = None,
    for_programs: Json = False,
) -> int:
    """Send a run that broke off round again, from the step that failed."""
    from mainspring.surfaces.cli.run import retry

    context = get_context(ctx)
    screen = context.screen(for_programs=for_programs)
    return finish(retry(context, screen, run, wait=wait, seconds=timeout))


def _replay(
    ctx: typer.Context,
    run: RunId,
    version: Annotated[
        ReplayVersion, typer.Option(help="The version of then, or the one in force now.")
    ] = ReplayVersion.SAME,
    inputs: Annotated[
        str | None, typer.Option(metavar="JSON", help="Other inputs, as one JSON object.")
    ] = None,
    wait: Wait = False,
    timeout: Seconds = None,
    for_programs: Json = False,
) -> int:
    """Start a new run with what an earlier one was given."""
    from mainspring.surfaces.cli.fire import replay_run

    context = get_context(ctx)
    screen = context.screen(for_programs=for_programs)
    work = replay_run(
        context, screen, run, inputs, version=version.value, wait=wait, seconds=timeout
    )
    return finish(work)
