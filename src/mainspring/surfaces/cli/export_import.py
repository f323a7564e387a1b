"""``export`` and ``import``: automations as files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import Conflict, Invalid
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.automation_view import read_automation_at, token_hints
from mainspring.surfaces.cli.columns import columns, short_id
from mainspring.surfaces.cli.connection import enter_event_loop, has_server, open_client
from mainspring.surfaces.cli.documents import read_document
from mainspring.surfaces.cli.files import write_file
from mainspring.surfaces.cli.formatting import count, hint
from mainspring.surfaces.cli.lookup import find_automation_at
from mainspring.surfaces.cli.person_prompt import offer_consents
from mainspring.surfaces.cli.progress import show_progress
from mainspring.surfaces.cli.screen import Screen, as_json, clean, one_line
from mainspring.surfaces.cli.terminal_prompt import Ask

if TYPE_CHECKING:
    from mainspring.contracts.limits import Limits
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.http_client import ApiClient
    from mainspring.workspace.import_export import OnClash

_HINTS = 5


async def export(
    context: CommandContext, screen: Screen, text: str | None, output: Path | None, *, over: bool
) -> int:
    """One automation, or all that are not archived, to a file or to the standard output."""
    async with open_client(context) as client:
        found = None if text is None else await find_automation_at(client, text)
        path = "/export" if found is None else f"/automations/{found['id']}/export"
        document = await client.request("GET", path)
    if output is None:
        screen.answer(document)
        return exits.DONE
    suggestion = "Choose another file, or replace it with --force."
    write_file(output, as_json(document) + "\n", over=over, suggestion=suggestion)
    number = len(document["automations"]) if found is None else 1
    if screen.for_programs:
        screen.answer({"file": str(output), "automations": number})
    else:
        screen.say(f"Wrote {count(number, 'automation')} to {clean(str(output))}.")
    return exits.DONE


async def bring_in(
    context: CommandContext, screen: Screen, file: str, on_clash: OnClash, ask: Ask | None = None
) -> int:
    """All that the file holds or nothing of it, paused; a person is asked to agree to it."""
    limits = context.limits()
    document = read_document(file, replace(limits, json_bytes=limits.import_bytes))
    async with open_client(context) as client:
        if not has_server(client):
            # Before the database is opened, so that an invalid file fails fast.
            await _validate_offline(context, document, limits)
        try:
            with show_progress(screen, "Importing") as line:
                line.update("store", 0, 1)
                # An import gives no consent, also when a person runs it.
                query = {"on_clash": on_clash}
                answer = await client.request(
                    "POST", "/import", document, query=query, as_program=True
                )
        except Conflict as problem:
            if problem.code == "name_taken":
                problem.suggestion = (
                    "--on-clash new_version updates them, --on-clash rename keeps both."
                )
            raise
        if screen.for_programs:
            screen.answer(answer)
            return exits.DONE
        made = answer["imported"]
        _say_imported(screen, made, await _list_token_hints(client, made))
        waiting = [one["consent"]["consent_id"] for one in made if one["consent"] is not None]
        await offer_consents(client, screen, waiting, ask)
    if made:
        screen.say(f"  {hint('activate', 'AUTOMATION')}")
    return exits.DONE


def _say_imported(screen: Screen, made: Sequence[Mapping[str, Any]], calls: Sequence[str]) -> None:
    if not made:
        screen.say("The file holds no automations.")
        return
    heads = ("Name", "State", "Version", "", "Id")
    rows = (
        (
            one_line(one["name"], 60),
            one["state"],
            str(one["version"]),
            _became(one),
            short_id(one["id"], screen),
        )
        for one in made
    )
    screen.say(columns(heads, rows, whole=("Id",)))
    if calls:
        screen.say("Files contain no webhook tokens: these are created again.")
        screen.say(*(f"  {call}" for call in calls[:_HINTS]), *(["  …"] if calls[_HINTS:] else []))


async def _validate_offline(context: CommandContext, document: Any, limits: Limits) -> None:
    """Refuses what is wrong for certain; the tools of MCP servers are not known here."""
    from mainspring.surfaces.cli.offline_validation import OfflineVocabulary
    from mainspring.workspace.import_export import validate_import

    vocabulary = OfflineVocabulary(context.doors.vocabulary(limits))
    await enter_event_loop()
    try:
        await validate_import(document, vocabulary, limits)
    except Invalid as unfit:
        if not vocabulary.tools(unfit.findings):
            raise


async def _list_token_hints(client: ApiClient, made: Sequence[Mapping[str, Any]]) -> list[str]:
    """The commands that make the tokens which the imported webhooks lack."""
    calls = []
    for one in made:
        now = await read_automation_at(client, one["id"])
        calls += token_hints(one["name"], now["triggers"])
    return calls


def _became(one: Mapping[str, Any]) -> str:
    if one["renamed_from"] is not None:
        return f"renamed from {one_line(one['renamed_from'], 60)}"
    if not one["changed"]:
        return "unchanged"
    return "new" if one["version"] == 1 else "new version"
