"""The commands about runs, and their words."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Final

import typer

from mainspring.surfaces.cli.connection import finish_request
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
_RUNS: Final = "List runs, newest first; watch one, or read its output."


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


def _fire(
    ctx: typer.Context,
    automation: Named,
    words: InputWords = None,
    inputs: Inputs = None,
    payload: Annotated[
        str | None,
        typer.Option(
            metavar="JSON", help="Payload of the trigger, as a webhook or an event would send it."
        ),
    ] = None,
    dry_run: DryRun = False,
    verify: Verify = False,
    wait: Wait = False,
    timeout: Seconds = None,
    for_programs: Json = False,
) -> int:
    """Run an automation now on a worker, even if it is paused.

    With --wait, the exit code reports the result. Ctrl-C stops waiting; `cancel` ends the run.
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
    return finish_request(work)


def _output(
    ctx: typer.Context,
    run: RunId,
    step: Annotated[str | None, typer.Option(help="Only the output of this step.")] = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", "-f", help="Follow until the run ends. Ctrl-C stops following only."
        ),
    ] = False,
    stderr: Annotated[
        bool, typer.Option("--stderr", help="Only stderr. Default: stdout and stderr.")
    ] = False,
    for_programs: Json = False,
) -> int:
    """Show the output of a run's steps: stdout and stderr, in order."""
    from mainspring.surfaces.cli.runs_output import OutputFilter, show_output

    context = get_context(ctx)
    screen = context.screen(for_programs=wants_json(ctx, for_programs))
    return finish_request(
        show_output(context, screen, run, OutputFilter(step, stderr), follow=follow)
    )


def _watch(
    ctx: typer.Context, run: RunId, timeout: Seconds = None, for_programs: Json = False
) -> int:
    """Follow a run from its first step to its end.

    The exit code reports the result. Ctrl-C stops following; `cancel` ends the run.
    """
    from mainspring.surfaces.cli.fire import watch_run

    context = get_context(ctx)
    screen = context.screen(for_programs=wants_json(ctx, for_programs))
    return finish_request(watch_run(context, screen, run, timeout))


def _transcript(
    ctx: typer.Context,
    run: RunId,
    step: Annotated[
        str | None, typer.Argument(metavar="[STEP]", help="Only the agents of this step.")
    ] = None,
    for_programs: Json = False,
) -> int:
    """Show the conversation of a run's agents: messages, calls and cost."""
    from mainspring.surfaces.cli.transcripts import show_transcript

    context = get_context(ctx)
    screen = context.screen(for_programs=wants_json(ctx, for_programs))
    return finish_request(show_transcript(context, screen, run, step))


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


def _replay(
    ctx: typer.Context,
    run: RunId,
    version: Annotated[
        ReplayVersion, typer.Option(help="The original version, or the current one.")
    ] = ReplayVersion.SAME,
    inputs: Annotated[
        str | None, typer.Option(metavar="JSON", help="Different inputs, as a JSON object.")
    ] = None,
    wait: Wait = False,
    timeout: Seconds = None,
    for_programs: Json = False,
) -> int:
    """Start a new run with the inputs of an earlier run."""
    from mainspring.surfaces.cli.fire import replay_run

    context = get_context(ctx)
    screen = context.screen(for_programs=for_programs)
    work = replay_run(
        context, screen, run, inputs, version=version.value, wait=wait, seconds=timeout
    )
    return finish_request(work)
