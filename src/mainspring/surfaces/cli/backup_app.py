"""The commands that keep, carry and take back the whole of what an installation knows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from mainspring.surfaces.cli.context import finish
from mainspring.surfaces.cli.options import Json, help_alone, make_group, open_context

_File = Annotated[Path, typer.Argument(metavar="FILE", help="The file of the backup.")]
_Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def add_to(app: typer.Typer, panel: str) -> None:
    """Adds the group about backups, and the commands about the database."""
    sentence = "Create, verify and restore backups."
    group = make_group(sentence)

    @group.callback(invoke_without_command=True)
    def backup(ctx: typer.Context) -> None:
        """Create, verify and restore backups."""
        help_alone(ctx)

    group.command(name="make")(_make)
    group.command(name="check")(_check)
    group.command(name="restore")(_restore)
    app.add_typer(group, name="backup", rich_help_panel=panel)
    app.command(name="move", rich_help_panel=panel)(_move)
    app.command(name="migrate", rich_help_panel=panel)(_migrate)
    app.command(name="downgrade", rich_help_panel=panel)(_downgrade)


def _make(ctx: typer.Context, file: _File, for_programs: Json = False) -> int:
    """Write a backup: the database at one moment and its files, while the server goes on.

    The master key is not in it. Keep a copy of that apart: without it no secret opens.
    """
    from mainspring.surfaces.cli.backup import make

    context, screen = open_context(ctx, for_programs)
    return finish(make(context, screen, _place(file)))


def _check(ctx: typer.Context, file: _File, for_programs: Json = False) -> int:
    """Read a backup from end to end and say what is in it; needs no database."""
    from mainspring.surfaces.cli.backup import check

    _, screen = open_context(ctx, for_programs)
    return check(screen, _place(file))


def _restore(
    ctx: typer.Context,
    file: _File,
    replace: Annotated[
        bool, typer.Option("--replace", help="Set aside the database that is in the data folder.")
    ] = False,
    without_key: Annotated[
        bool, typer.Option("--without-key", help="Restore though the secrets will not open.")
    ] = False,
    yes: _Yes = False,
    for_programs: Json = False,
) -> int:
    """Fill an empty data folder, or an empty outside database, from a backup."""
    from mainspring.surfaces.cli.backup import RestoreOptions, restore

    context, screen = open_context(ctx, for_programs)
    if replace and not yes:
        _agree(f"Set aside what is in {context.settings().home}?")
    return finish(restore(context, screen, _place(file), RestoreOptions(replace, without_key)))


def _move(
    ctx: typer.Context,
    database_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The new Postgres. Default: a prompt, or standard input."),
    ] = None,
    broker_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="A broker too, for the transport celery."),
    ] = None,
    for_programs: Json = False,
) -> int:
    """Move everything to another, empty Postgres, and use that one from then on.

    The server must be stopped. The database before is left as it was.
    """
    from mainspring.surfaces.cli.move import move, parse_move_target

    context, screen = open_context(ctx, for_programs)
    given = _prompt_address() if database_url is None else database_url
    return finish(move(context, screen, parse_move_target(given, broker_url)))


def _migrate(ctx: typer.Context, for_programs: Json = False) -> int:
    """Bring the tables up to date after an upgrade, as `up` does. Stop the server first.

    No other command changes them: each one refuses an older database and names this command.
    """
    from mainspring.surfaces.cli.migrate import migrate_tables

    context, screen = open_context(ctx, for_programs)
    return finish(migrate_tables(context, screen))


def _downgrade(
    ctx: typer.Context,
    to: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="The last migration to keep.")],
    lose: Annotated[
        bool, typer.Option("--lose", help="Also if the older tables have no place for something.")
    ] = False,
    yes: _Yes = False,
    for_programs: Json = False,
) -> int:
    """Take the tables back, so that an older Mainspring starts on them. Stop the server first."""
    from mainspring.surfaces.cli.downgrade import go_back

    context, screen = open_context(ctx, for_programs)
    if not yes:
        _agree(f"Take the tables back to number {to}?")
    return finish(go_back(context, screen, to, lose=lose))


def _place(file: Path) -> Path:
    return file.expanduser().absolute()


def _agree(question: str) -> None:
    from mainspring.contracts.errors import Conflict

    if not sys.stdin.isatty() or not typer.confirm(question, err=True):
        raise Conflict(
            "Nothing was changed.", code="not_agreed", suggestion="Say --yes to do it unasked."
        )


def _prompt_address() -> str:
    """An address may hold a password, which the list of processes should not show."""
    if sys.stdin.isatty():
        return str(typer.prompt("Address of the new Postgres", hide_input=True, err=True))
    return sys.stdin.readline(8_192).strip()
