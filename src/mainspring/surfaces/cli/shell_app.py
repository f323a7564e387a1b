"""Commands about the command line itself: help, the version and shell completion."""

from __future__ import annotations

from enum import StrEnum
from pathlib import PurePath
from typing import Annotated

import typer

from mainspring import __version__
from mainspring.settings import program_name
from mainspring.surfaces.cli.formatting import PROGRAM

COMPLETION_VARIABLE = "_MAINSPRING_COMPLETE"


class Shell(StrEnum):
    """The shells that completion is written for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def add_to(app: typer.Typer, panel: str) -> None:
    app.command(name="help", rich_help_panel=panel)(_help)
    app.command(name="version", rich_help_panel=panel)(_version)
    app.command(name="completion", rich_help_panel=panel)(_completion)


def enable_completion() -> None:
    """Registers the shells with the parser, which answers when a shell asks what comes next."""
    from typer.completion import completion_init  # type: ignore[attr-defined]

    completion_init()


def _help(
    ctx: typer.Context,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[COMMAND]...", help="A command, such as runs.")
    ] = None,
) -> int:
    """Show the help of a command, or the list of commands."""
    root = ctx.find_root().command
    root.main(args=[*(command or ()), "--help"], prog_name=PROGRAM, standalone_mode=False)
    return 0


def _version() -> int:
    """Print the version."""
    typer.echo(f"mainspring {__version__}")
    return 0


def _completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> int:
    """Print a shell's completion script.

    For bash, add this to ~/.bashrc: eval "$(mainspring completion bash)". For zsh, add the same
    with zsh to ~/.zshrc, after compinit. For fish, write it to
    ~/.config/fish/completions/mainspring.fish.
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    name = PurePath(program_name() or PROGRAM).name
    script = get_completion_script(
        prog_name=name, complete_var=COMPLETION_VARIABLE, shell=shell.value
    )
    typer.echo(script)
    return 0
