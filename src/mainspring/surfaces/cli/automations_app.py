"""The commands about automations, and their words."""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mainspring.surfaces.cli.connection import finish_request
from mainspring.surfaces.cli.options import Json, get_context
from mainspring.surfaces.cli.typer_functions import declared, declared_group

_PANEL = "Automations"
_LONGEST_NUMBER = 9


class TriggerOption(StrEnum):
    """What may start an automation."""

    MANUAL = "manual"
    SCHEDULE = "schedule"
    WEBHOOK = "webhook"
    EVENT = "event"


class OnClash(StrEnum):
    """What to do if the name exists."""

    REFUSE = "refuse"
    NEW_VERSION = "new_version"
    RENAME = "rename"


def add_to(app: typer.Typer) -> None:
    """In the order of an automation's life."""
    offered: dict[str, Callable[..., int]] = {
        "starter": _starter,
        "when": _when,
        "validate": _validate,
        "save": declared("save"),
        "list": declared("list"),
        "show": declared("show"),
        "next": declared("next"),
        "activate": declared("activate"),
        "pause": declared("pause"),
        "acknowledge": declared("acknowledge"),
        "archive": declared("archive"),
        "restore": declared("restore"),
        "versions": declared("versions"),
        "diff": _diff,
        "rollback": declared("rollback"),
        "export": _export,
        "import": _import,
    }
    for name, command in offered.items():
        app.command(name=name, rich_help_panel=_PANEL)(command)
    app.add_typer(declared_group("webhook"), name="webhook", rich_help_panel=_PANEL)


def _starter(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The name.")] = None,
    trigger: Annotated[TriggerOption, typer.Option(help="The trigger.")] = TriggerOption.MANUAL,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Output file. Default: derived from NAME."
        ),
    ] = None,
    for_programs: Json = False,
) -> int:
    """Write a small working definition to edit."""
    from mainspring.surfaces.cli.starters import write_starter

    context = get_context(ctx)
    screen = context.screen(for_programs=for_programs)
    return write_starter(context, screen, name, trigger.value, output)


def _when(
    ctx: typer.Context,
    words: Annotated[
        list[str], typer.Argument(metavar="WORDS...", help="A schedule in plain English.")
    ],
    timezone: Annotated[
        str | None,
        typer.Option(
            metavar="ZONE", help="Time zone, if the text names none, such as Europe/Berlin."
        ),
    ] = None,
    for_programs: Json = False,
) -> int:
    """Convert a schedule in plain English to a trigger, and show the next fire times."""
    from mainspring.surfaces.cli.when import tell_when

    context = get_context(ctx)
    return tell_when(context.screen(for_programs=for_programs), " ".join(words), timezone)


def _validate(
    ctx: typer.Context,
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Definitions; - reads standard input.")
    ],
    for_programs: Json = False,
) -> int:
    """Check definitions: every problem, and what is missing to run them, each with a remedy."""
    from mainspring.surfaces.cli.validate import validate_files

    context = get_context(ctx)
    return validate_files(context, context.screen(for_programs=for_programs), files)


def _diff(
    ctx: typer.Context,
    first: Annotated[
        str, typer.Argument(metavar="AUTOMATION|PLACE", help="An automation, a folder or a file.")
    ],
    second: Annotated[
        str | None,
        typer.Argument(metavar="BEFORE|PLACE", help="A version, or another folder or file."),
    ] = None,
    after: Annotated[
        int | None,
        typer.Argument(metavar="AFTER", min=1, help="A version. Default: the current one."),
    ] = None,
    for_programs: Json = False,
) -> int:
    """Compare two versions, two folders, or the workspace with a folder."""
    from mainspring.surfaces.cli.versions import show_diff
    from mainspring.surfaces.cli.workspace_files import diff_folders, is_folder_or_file

    context = get_context(ctx)
    screen = context.screen(for_programs=for_programs)
    if after is None and is_folder_or_file(first) and (second is None or is_folder_or_file(second)):
        return finish_request(diff_folders(context, screen, first, second))
    return finish_request(show_diff(context, screen, first, _version(second), after))


def _version(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal() or len(text) > _LONGEST_NUMBER or int(text) == 0:
        raise typer.BadParameter(f"{text[:60]!r} is not a version, a folder or a file.")
    return int(text)


def _export(
    ctx: typer.Context,
    automation: Annotated[
        str | None,
        typer.Argument(
            metavar="AUTOMATION", help="A name or an id. Default: all that are not archived."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Output file. Default: standard output."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder", metavar="DIR", help="Export the whole workspace as files for Git."
        ),
    ] = None,
    rows: Annotated[
        bool, typer.Option("--rows", help="With --folder: include the rows of boards.")
    ] = False,
    for_programs: Json = False,
) -> int:
    """Export one automation, or all of them, to a file."""
    from mainspring.surfaces.cli.export_import import export
    from mainspring.surfaces.cli.workspace_files import export_folder

    context = get_context(ctx)
    screen = context.screen(for_programs=for_programs)
    if folder is not None:
        if automation is not None or output is not None:
            raise typer.BadParameter(
                "--folder exports the whole workspace. Leave out AUTOMATION and --output."
            )
        return finish_request(export_folder(context, screen, folder, rows=rows))
    if rows:
        raise typer.BadParameter("--rows needs --folder.")
    return finish_request(export(context, screen, automation, output, over=force))


def _import(
    ctx: typer.Context,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="An export, a definition or a folder; - reads standard input."
        ),
    ],
    on_clash: Annotated[
        OnClash, typer.Option(help="What to do if the name exists.")
    ] = OnClash.REFUSE,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would happen, and store nothing.")
    ] = False,
    for_programs: Json = False,
) -> int:
    """Import a file or a folder, completely or not at all. Imports are paused."""
    from mainspring.surfaces.cli.export_import import bring_in
    from mainspring.surfaces.cli.workspace_files import bring_folder

    context = get_context(ctx)
    screen = context.screen(for_programs=for_programs)
    if dry_run or os.path.isdir(file):
        return finish_request(bring_folder(context, screen, file, on_clash.value, dry_run=dry_run))
    return finish_request(bring_in(context, screen, file, on_clash.value))
