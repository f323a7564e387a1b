"""``export --folder``, ``import`` of a folder and ``diff``: whole workspaces as files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.errors import Problem
from mainspring.recipes.carrying.diff import WorkspaceDifference, build_widening_check, compare
from mainspring.recipes.carrying.folder import read_folder, write_folder
from mainspring.recipes.carrying.model import WorkspaceContent
from mainspring.recipes.carrying.validation import validate_content
from mainspring.recipes.carrying.workspace_files import read_files, read_one_file, to_files
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns, short_id
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.documents import STDIN, read_document
from mainspring.surfaces.cli.formatting import count
from mainspring.surfaces.cli.offline_validation import OfflineVocabulary
from mainspring.surfaces.cli.person_prompt import offer_consents
from mainspring.surfaces.cli.progress import show_progress
from mainspring.surfaces.cli.screen import Screen, clean, one_line
from mainspring.surfaces.cli.terminal_prompt import Ask
from mainspring.surfaces.cli.versions import change_line

if TYPE_CHECKING:
    from mainspring.contracts.limits import Limits
    from mainspring.contracts.registry import Vocabulary
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.workspace.import_export import OnClash

_MOST_SHOWN: Final = 20
_SIGNS: Final = {"added": ("+", "green"), "removed": ("-", "red"), "changed": ("~", "yellow")}


def is_folder_or_file(text: str) -> bool:
    """Whether a word means a folder, or a file with automations, and not an automation."""
    return os.path.isdir(text) or (text.endswith(".json") and os.path.isfile(text))


async def export_folder(
    context: CommandContext, screen: Screen, folder: Path, *, rows: bool
) -> int:
    """The whole workspace to a folder; what else lies there stays."""
    async with open_client(context) as client:
        told = await client.call("export_workspace", {"rows": rows})
    done = write_folder(folder, told["files"], context.limits())
    if screen.for_programs:
        screen.answer(
            {
                "folder": str(folder),
                "written": list(done.written),
                "unchanged": list(done.unchanged),
                "removed": list(done.removed),
                "notes": told["notes"],
            }
        )
        return exits.DONE
    screen.say(
        f"Wrote {count(len(done.written), 'file')} to {clean(str(folder))}; "
        f"{len(done.unchanged)} were as they are, {len(done.removed)} removed."
    )
    _say_notes(screen, [f"{one['pointer']}: {one['detail']}" for one in told["notes"]])
    return exits.DONE


async def bring_folder(
    context: CommandContext,
    screen: Screen,
    place: str,
    on_clash: OnClash,
    *,
    dry_run: bool,
    ask: Ask | None = None,
) -> int:
    """All that the folder holds or nothing of it; automations wait for consent."""
    limits = context.limits()
    files = _files(place, limits)
    async with open_client(context) as client:
        try:
            with show_progress(screen, "Importing") as line:
                line.update(count(len(files), "file"), 0, 1)
                given = {"files": files, "on_clash": on_clash, "dry_run": dry_run}
                told = await client.call("import_workspace", given)
        except Problem as problem:
            if problem.code == "name_taken":
                problem.suggestion = (
                    "--on-clash new_version updates them, --on-clash rename keeps both."
                )
            raise
        if screen.for_programs:
            screen.answer(told)
            return exits.DONE
        _say_brought(screen, told, dry_run=dry_run)
        waiting = [one["consent_id"] for one in told["things"] if one["consent_id"]]
        await offer_consents(client, screen, waiting, ask)
    return exits.DONE


def _say_brought(screen: Screen, result: dict[str, Any], *, dry_run: bool) -> None:
    if not result["things"]:
        screen.say("The folder holds nothing to import.")
        return
    cells = (
        (
            one["kind"],
            one_line(one["name"], 60),
            _became(one, dry_run=dry_run),
            short_id(one["id"], screen) if one["id"] else "",
        )
        for one in result["things"]
    )
    screen.say(columns(("Kind", "Name", "", "Id"), cells, whole=("Id",)))
    _say_notes(screen, [_rows_line(one, dry_run=dry_run) for one in result["rows"]])
    _say_notes(screen, [f"{one['path']}: {one['why']}" for one in result["left"]])


async def diff_folders(
    context: CommandContext, screen: Screen, first: str, second: str | None
) -> int:
    """The workspace and a folder, or two places; what the later of the two says instead."""
    limits = context.limits()
    vocabulary: Vocabulary = OfflineVocabulary(context.doors.vocabulary(limits))
    left = _carried(first, vocabulary, limits)
    if second is None:
        after = left
        async with open_client(context) as client:
            told = await client.call("export_workspace", {"rows": _has_rows(after)})
        before = validate_content(read_files(told["files"], limits), vocabulary, limits)
    else:
        before, after = left, _carried(second, vocabulary, limits)
    if _has_file(first, second):
        # A file holds automations alone, so only those can be compared.
        before, after = _automations_of(before), _automations_of(after)
    rows = _has_rows(before) and _has_rows(after)
    found = compare(before, after, widens=build_widening_check(vocabulary, limits), rows=rows)
    if screen.for_programs:
        screen.answer({"same": not found, "differences": [one.as_dict() for one in found]})
    else:
        _show(screen, found)
    return exits.DIFFERS if found else exits.DONE


def _show(screen: Screen, found: Sequence[WorkspaceDifference]) -> None:
    from rich.text import Text

    if not found:
        screen.say("They say the same.")
    for one in found:
        sign, colour = _SIGNS[one.what]
        screen.say(Text.assemble((sign, colour), f" {one.path}  ({one_line(one.name, 60)})"))
        screen.say(*(Text.assemble("  ", change_line(each)) for each in one.changes))
        if one.widens:
            screen.say("    what it may do beyond that:")
            screen.say(*(f"      {one_line(each['says'], 300)}" for each in one.widens))


def _carried(place: str, vocabulary: Vocabulary, limits: Limits) -> WorkspaceContent:
    if os.path.isdir(place):
        return validate_content(
            read_files(read_folder(Path(place), limits), limits), vocabulary, limits
        )
    return read_one_file(read_document(place, replace(limits, json_bytes=limits.import_bytes)))


def _files(place: str, limits: Limits) -> dict[str, str]:
    if place != STDIN and os.path.isdir(place):
        return read_folder(Path(place), limits)
    document = read_document(place, replace(limits, json_bytes=limits.import_bytes))
    return to_files(read_one_file(document))


def _has_file(*places: str | None) -> bool:
    return any(place is not None and not os.path.isdir(place) for place in places)


def _automations_of(carried: WorkspaceContent) -> WorkspaceContent:
    return WorkspaceContent(carried.of("automation"))


def _has_rows(carried: WorkspaceContent) -> bool:
    return any(one.rows for one in carried.resources)


def _became(one: dict[str, Any], *, dry_run: bool) -> str:
    if one["renamed_from"]:
        return f"renamed from {one_line(one['renamed_from'], 60)}"
    said = {"made": "new", "renamed": "new, under another name"}.get(one["what"], one["what"])
    return f"would be {said}" if dry_run and one["what"] != "unchanged" else said


def _rows_line(one: dict[str, Any], *, dry_run: bool) -> str:
    would = "would be " if dry_run else ""
    return (
        f"{one['path']}: {count(one['added'], 'row')} {would}added, {one['unchanged']:,} as they "
        f"are, {one['left']:,} skipped"
    )


def _say_notes(screen: Screen, notes: Sequence[str]) -> None:
    for note in notes[:_MOST_SHOWN]:
        screen.say(f"  {one_line(note, 300)}")
    if len(notes) > _MOST_SHOWN:
        screen.say("  …")
