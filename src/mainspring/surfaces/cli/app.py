"""The commands and their words. What they do stands in the modules they call.

Those modules are imported when their command runs, so that help, a wrong word and a
validation answer at once.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mainspring import __version__
from mainspring.surfaces.cli.desk import Desk, finish

if TYPE_CHECKING:
    from mainspring.surfaces.cli.doors import Doors

Json = Annotated[bool, typer.Option("--json", help="Write one JSON value, for programs.")]
RunId = Annotated[
    str,
    typer.Argument(metavar="RUN", help="A run's id, its first characters, or `last`."),
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


class Schema(StrEnum):
    """The published schemas."""

    DEFINITION = "definition"
    FILTER = "filter"


class Status(StrEnum):
    """What a run can be."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    SKIPPED = "skipped"
    DEAD = "dead"


def build_app(doors: Doors) -> typer.Typer:
    """The whole command line over the given doors."""
    app = _group("Run automations that people describe, read, agree to and then trust.")

    @app.callback(invoke_without_command=True)
    def mainspring(
        ctx: typer.Context,
        version: Annotated[
            bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)
        ] = False,
        home: Annotated[
            Path | None, typer.Option(help="The data folder, instead of MAINSPRING_HOME.")
        ] = None,
        no_color: Annotated[
            bool, typer.Option("--no-color", help="No colours; NO_COLOR=1 does the same.")
        ] = False,
    ) -> None:
        """Run automations that people describe, read, agree to and then trust."""
        ctx.obj = Desk(doors, home, no_color)
        if version:
            typer.echo(f"mainspring {__version__}")
            raise typer.Exit
        _help_alone(ctx)

    app.command(name="run")(_run)
    app.command(name="validate")(_validate)
    app.command(name="schema")(_schema)
    app.command(name="runs")(_runs)
    app.command(name="logs")(_logs)
    app.command(name="cancel")(_cancel)
    app.command(name="retry")(_retry)
    app.command(name="worker")(_worker)
    app.command(name="inbox")(_inbox)
    app.command(name="doctor")(_doctor)
    app.add_typer(_secrets(), name="secrets")
    return app


def _group(sentence: str) -> typer.Typer:
    return typer.Typer(
        help=sentence, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich"
    )


def _help_alone(ctx: typer.Context) -> None:
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
        raise typer.Exit


def _desk(ctx: typer.Context) -> Desk:
    found: Any = ctx.obj
    assert isinstance(found, Desk)
    return found


def _run(
    ctx: typer.Context,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A definition; - reads standard input.")
    ],
    words: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="NAME=VALUE", help="One input; may be given again."),
    ] = None,
    inputs: Annotated[
        str | None, typer.Option(metavar="JSON", help="All inputs as one JSON object.")
    ] = None,
    timeout: Seconds = None,
    for_programs: Json = False,
) -> int:
    """Save a definition, run it once, here and now, and show each step.

    The exit code says what the run came to. Ctrl-C cancels the run.
    Ctrl-C again leaves it unfinished; the next worker goes on with it.
    """
    from mainspring.surfaces.cli.run import run_file

    desk = _desk(ctx)
    screen = desk.screen(for_programs=for_programs)
    return finish(run_file(desk, screen, file, words or (), inputs, timeout))


def _validate(
    ctx: typer.Context,
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Definitions; - reads standard input.")
    ],
    for_programs: Json = False,
) -> int:
    """Judge definitions, without a database: every problem with its place and a way out."""
    from mainspring.surfaces.cli.judging import validate_files

    desk = _desk(ctx)
    return validate_files(desk, desk.screen(for_programs=for_programs), files)


def _schema(
    ctx: typer.Context,
    which: Annotated[
        Schema, typer.Argument(metavar="[definition|filter]", help="Which schema.")
    ] = Schema.DEFINITION,
    for_programs: Json = False,
) -> int:
    """Print the JSON Schema of a definition, or of an event filter."""
    from mainspring.surfaces.cli.judging import show_schema

    del for_programs  # The answer is JSON in any case.
    return show_schema(_desk(ctx).screen(), which.value)


def _runs(
    ctx: typer.Context,
    status: Annotated[Status | None, typer.Option(help="Only runs in this status.")] = None,
    automation: Annotated[str | None, typer.Option(help="Only runs of this automation.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many at most.")] = 20,
    for_programs: Json = False,
) -> int:
    """List runs, the newest first."""
    from mainspring.surfaces.cli.reading import show_runs

    desk = _desk(ctx)
    chosen = None if status is None else status.value
    screen = desk.screen(for_programs=for_programs)
    return finish(show_runs(desk, screen, status=chosen, automation=automation, most=limit))


def _logs(
    ctx: typer.Context,
    run: RunId,
    calls: Annotated[
        bool, typer.Option("--calls", help="Also the calls each step made, secrets redacted.")
    ] = False,
    for_programs: Json = False,
) -> int:
    """Show what one run did: steps, attempts, times, errors."""
    from mainspring.surfaces.cli.reading import show_logs

    desk = _desk(ctx)
    return finish(show_logs(desk, desk.screen(for_programs=for_programs), run, calls=calls))


def _cancel(ctx: typer.Context, run: RunId, for_programs: Json = False) -> int:
    """Cancel a run that has not ended."""
    from mainspring.surfaces.cli.reading import cancel

    desk = _desk(ctx)
    return finish(cancel(desk, desk.screen(for_programs=for_programs), run))


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

    desk = _desk(ctx)
    screen = desk.screen(for_programs=for_programs)
    return finish(retry(desk, screen, run, wait=wait, seconds=timeout))


def _worker(
    ctx: typer.Context,
    queues: Annotated[
        str | None, typer.Option(help="Queues to take from: fast, medium, long; default: all.")
    ] = None,
    slots: Annotated[int | None, typer.Option(min=1, help="Runs in flight at a time.")] = None,
) -> int:
    """Take runs from the queues until told to stop (Ctrl-C or SIGTERM)."""
    from mainspring.surfaces.cli.worker import work

    desk = _desk(ctx)
    return finish(work(desk, desk.screen(), queues=queues, slots=slots))


def _inbox(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many at most.")] = 20,
    for_programs: Json = False,
) -> int:
    """Show the messages that automations left, the newest first."""
    from mainspring.surfaces.cli.reading import show_inbox

    desk = _desk(ctx)
    return finish(show_inbox(desk, desk.screen(for_programs=for_programs), most=limit))


def _doctor(ctx: typer.Context, for_programs: Json = False) -> int:
    """Check this machine, and say what to do about what is wrong."""
    from mainspring.surfaces.cli.doctor import examine

    desk = _desk(ctx)
    return examine(desk, desk.screen(for_programs=for_programs))


def _secrets() -> typer.Typer:
    group = _group("Keep named secrets; definitions use them as {{ secrets.name }}.")

    @group.callback(invoke_without_command=True)
    def secrets(ctx: typer.Context) -> None:
        """Keep named secrets; definitions use them as {{ secrets.name }}."""
        _help_alone(ctx)

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
    desk = _desk(ctx)
    value = read_value(desk.limits())
    screen = desk.screen(for_programs=for_programs)
    return finish(set_secret(desk, screen, name, description, value))


def _list_secrets(ctx: typer.Context, for_programs: Json = False) -> int:
    """List the names of secrets, never their values."""
    from mainspring.surfaces.cli.secrets import list_secrets

    desk = _desk(ctx)
    return finish(list_secrets(desk, desk.screen(for_programs=for_programs)))


def _delete_secret(ctx: typer.Context, name: SecretName, for_programs: Json = False) -> int:
    """Forget a secret."""
    from mainspring.surfaces.cli.secrets import delete_secret

    desk = _desk(ctx)
    return finish(delete_secret(desk, desk.screen(for_programs=for_programs), name))
