"""Problems on the command line: a sentence, its findings, a way out, an exit code."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import (
    Finding,
    InternalError,
    Invalid,
    Problem,
    as_problem,
    describe_for_log,
)
from mainspring.settings import BadSetting, setting_names, unknown_settings
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.cli.declarations import parse
from mainspring.surfaces.cli.formatting import PROGRAM, as_called_here
from mainspring.surfaces.cli.screen import Screen, clean, make_console, one_line, steady_streams
from mainspring.surfaces.cli.workspace_selection import FOR_PROGRAMS, select_workspace

if TYPE_CHECKING:
    import typer
    from rich.text import Text

    from mainspring.surfaces.cli.declarations import ParsedLine
    from mainspring.surfaces.cli.factory import ApplicationFactory


def run_cli(app: typer.Typer, words: Sequence[str]) -> int:
    """Runs one command line; whatever happens becomes an exit code, never a trace."""
    from mainspring.surfaces.cli.shell_app import enable_completion

    enable_completion()
    for_programs = _for_programs(words)
    return _run_guarded(
        lambda: _command_of(app).main(
            args=list(words),
            prog_name=PROGRAM,
            standalone_mode=False,
            obj=FOR_PROGRAMS if for_programs else None,
        ),
        words,
        for_programs=for_programs,
    )


def run_declared(factory: ApplicationFactory, words: Sequence[str]) -> int | None:
    """Runs a line that names a declared command and has no mistake; None for any other line."""
    from mainspring.surfaces.cli.command_table import COMMANDS

    line = parse(words, COMMANDS)
    if line is None:
        return None
    return _run_guarded(lambda: _execute(factory, line), words, for_programs=line.for_programs)


def _execute(factory: ApplicationFactory, line: ParsedLine) -> int:
    command, json = line.command.words.split()[0], line.for_programs
    home = None if line.home is None else Path(line.home)
    doors = select_workspace(factory, command, for_programs=json, server=line.server)
    context = CommandContext(doors, home, line.no_color, json, line.server, command, json)
    return line.command.execute(context, context.screen(for_programs=json), line.values)


def _run_guarded(run: Callable[[], Any], words: Sequence[str], *, for_programs: bool) -> int:
    """Runs a command; whatever happens becomes an exit code, never a trace."""
    steady_streams()
    _log_plainly()
    if words and not for_programs:
        _warn_of_unknown_settings()
    try:
        answered = run()
    except KeyboardInterrupt:
        answered = exits.INTERRUPTED
    except Exception as error:
        problem = _problem_of(error, words)
        show_problem(problem, for_programs=for_programs, no_color="--no-color" in words)
        return exits.of_problem(problem)
    if answered == exits.INTERRUPTED:
        sys.stderr.write("Interrupted.\n")
    return answered if isinstance(answered, int) else exits.DONE


@lru_cache(maxsize=1)
def _command_of(app: typer.Typer) -> Any:
    """Building it takes longer than most commands, so a process does it once."""
    from typer.main import get_command

    return with_plain_flags(get_command(app))


def with_plain_flags(command: Any) -> Any:
    """The same command line; help shows a flag as the one word it is, without a value."""
    import typer

    # The help option is made and kept here, so its names are given here.
    context = typer.Context(command, help_option_names=["-h", "--help"])
    for param in command.get_params(context):
        if getattr(param, "is_flag", False):
            param.metavar = ""
    for inner in getattr(command, "commands", {}).values():
        with_plain_flags(inner)
    return command


def show_problem(problem: Problem, *, for_programs: bool, no_color: bool) -> None:
    """Red on stderr for a person; the problem document on stdout for a program."""
    if for_programs:
        Screen(for_programs=True).answer(problem.as_dict())
        return
    console = make_console(sys.stderr, no_color=no_color)
    with suppress(OSError, SystemExit):
        for line in problem_lines(problem.detail, problem.findings, problem.suggestion):
            console.print(line)


def problem_lines(
    detail: str, findings: Iterable[Finding], suggestion: str | None, *, style: str = "red"
) -> list[Text]:
    """The lines of a problem, wherever they are shown."""
    from rich.text import Text

    lines = [Text(clean(as_called_here(detail)), style=style)]
    told = set()
    for finding in findings:
        # The sentence of a problem often ends with that of its only finding.
        if not detail.endswith(finding.detail):
            lines += finding_lines(finding)
            told.add(finding.suggestion)
        elif finding.pointer:
            lines.append(Text(f"  at {one_line(finding.pointer, 120)}"))
    if suggestion and suggestion not in told:
        lines.append(Text(f"  {clean(as_called_here(suggestion))}"))
    return lines


def finding_lines(finding: Finding) -> list[Text]:
    """One finding: where, what, and what to do."""
    from rich.text import Text

    where = one_line(finding.pointer, 120) or "the whole document"
    lines = [Text.assemble("  ", (where, "bold"), f": {one_line(finding.detail, 600)}")]
    if finding.suggestion:
        lines.append(Text(f"    {one_line(as_called_here(finding.suggestion), 600)}"))
    return lines


def _problem_of(error: Exception, words: Sequence[str]) -> Problem:
    match error:
        case BadSetting():
            return Invalid(str(error), code="bad_setting")
        case Problem() | TimeoutError():
            return as_problem(error)
    if "typer" in sys.modules:
        import typer

        if isinstance(error, typer.TyperException):
            from mainspring.surfaces.cli.usage import usage_problem

            return usage_problem(error, words)
        if isinstance(error, typer.Abort):
            return Invalid("Nothing was entered.", code="no_answer")
    # The terminal is the log of whoever sits at it.
    way_out = "This is a mistake of ours; please report it with what you did."
    return InternalError(describe_for_log(error), suggestion=way_out)


def _for_programs(words: Sequence[str]) -> bool:
    options = words[: words.index("--")] if "--" in words else words
    return "--json" in options


def _warn_of_unknown_settings() -> None:
    """A setting that is spelled wrong sets nothing, and nobody would ever know."""
    for name in unknown_settings():
        from mainspring.definition.suggestions import suggest_nearest

        guess = suggest_nearest(name, setting_names())
        text = f"{one_line(name, 80)} is no setting and changes nothing."
        sys.stderr.write(f"{PROGRAM}: {text}{f' {guess}' if guess else ''}\n")


def _log_plainly() -> None:
    """What the rooms report goes to stderr as one line; a trace is never part of it."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(f"{PROGRAM}: %(message)s"))
    handler.addFilter(_without_trace)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)


def _without_trace(record: logging.LogRecord) -> bool:
    record.exc_info = record.exc_text = record.stack_info = None
    return True
