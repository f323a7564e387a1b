"""``export`` and ``import``: automations as files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import Conflict, Invalid
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.automation_view import token_hints
from mainspring.surfaces.cli.columns import columns, short_id
from mainspring.surfaces.cli.consent_prompt import offer_to_agree
from mainspring.surfaces.cli.documents import read_document
from mainspring.surfaces.cli.files import write_file
from mainspring.surfaces.cli.formatting import count, hint
from mainspring.surfaces.cli.local import AuditedAction, local
from mainspring.surfaces.cli.lookup import find_automation
from mainspring.surfaces.cli.offline_validation import OfflineVocabulary
from mainspring.surfaces.cli.progress import show_progress
from mainspring.surfaces.cli.screen import Screen, as_json, clean, one_line
from mainspring.surfaces.cli.terminal_prompt import Ask
from mainspring.triggers.trigger_changes import change
from mainspring.workspace.audit import describe_save
from mainspring.workspace.automations import FIRST_MEMBER, read_triggers
from mainspring.workspace.consents import summarize_consent
from mainspring.workspace.import_export import (
    ImportCandidate,
    ImportResult,
    OnClash,
    add_renamed_candidates,
    export_all,
    export_automation,
    import_validated,
    validate_import,
)
from mainspring.workspace.workspace_validation import load_vocabulary

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.contracts.limits import Limits
    from mainspring.contracts.registry import Vocabulary
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.services import ApplicationServices

_HINTS = 5


async def export(
    context: CommandContext, screen: Screen, text: str | None, output: Path | None, *, over: bool
) -> int:
    """One automation, or all that are not archived, to a file or to the standard output."""
    async with context.doors.open(context.settings()) as services:
        found = None if text is None else await find_automation(services, text)
        async with local(services).acquire() as connection:
            document = (
                await export_all(connection, services.workspace_id)
                if found is None
                else await export_automation(connection, services.workspace_id, found["id"])
            )
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
    judged = await _validate_offline(
        document, OfflineVocabulary(context.doors.vocabulary(limits)), limits
    )
    async with context.doors.open(context.settings()) as services:
        vocabulary = await load_vocabulary(services.registry, services.workspace_id, document)
        try:
            with show_progress(screen, "Importing") as line:
                line.update("validate", 0, 2)
                if judged is None:
                    judged = await validate_import(document, vocabulary, limits)
                line.update(f"store {count(len(judged), 'automation')}", 1, 2)
                made = await _imported(services, vocabulary, judged, on_clash)
        except Conflict as problem:
            if problem.code == "name_taken":
                problem.suggestion = (
                    "--on-clash new_version updates them, --on-clash rename keeps both."
                )
            raise
        calls = await _tokenless(services, made)
        if screen.for_programs:
            screen.answer({"imported": [_describe_result(one) for one in made]})
            return exits.DONE
        _say_imported(screen, made, calls)
        await offer_to_agree(
            services, screen, [str(one.consent.id) for one in made if one.consent is not None], ask
        )
    if made:
        screen.say(f"  {hint('activate', 'AUTOMATION')}")
    return exits.DONE


def _say_imported(screen: Screen, made: Sequence[ImportResult], calls: Sequence[str]) -> None:
    if not made:
        screen.say("The file holds no automations.")
        return
    heads = ("Name", "State", "Version", "", "Id")
    rows = (
        (
            one_line(one.name, 60),
            one.saved.state,
            str(one.saved.version),
            _became(one),
            short_id(one.saved.automation_id, screen),
        )
        for one in made
    )
    screen.say(columns(heads, rows, whole=("Id",)))
    if calls:
        screen.say("Files contain no webhook tokens: these are created again.")
        screen.say(*(f"  {call}" for call in calls[:_HINTS]), *(["  …"] if calls[_HINTS:] else []))


async def _validate_offline(
    document: Any, vocabulary: OfflineVocabulary, limits: Limits
) -> list[ImportCandidate] | None:
    """Before the house is opened: a bad file costs nothing. None: tools need its judgement."""
    try:
        return await validate_import(document, vocabulary, limits)
    except Invalid as unfit:
        if not vocabulary.tools(unfit.findings):
            raise
        return None


async def _imported(
    services: ApplicationServices,
    vocabulary: Vocabulary,
    candidates: Sequence[ImportCandidate],
    on_clash: OnClash,
) -> list[ImportResult]:
    space, limits = services.workspace_id, services.limits
    if on_clash == "rename":
        async with local(services).acquire() as connection:
            candidates = await add_renamed_candidates(
                connection, space, candidates, vocabulary, limits
            )

    deed = AuditedAction("import_automations")

    async def work(tx: Transaction) -> list[ImportResult]:
        made = await import_validated(
            tx, space, candidates, FIRST_MEMBER, vocabulary, limits, on_clash
        )
        deed.detail = {"imported": [describe_save(one.saved, one.name) for one in made]}
        return made

    names = [one.name for one in candidates] if on_clash == "new_version" else ()
    return await change(local(services, deed), limits, space, work, names=names)


async def _tokenless(services: ApplicationServices, made: list[ImportResult]) -> list[str]:
    """What makes the tokens that the imported webhooks lack."""
    calls = []
    async with local(services).acquire() as connection:
        for one in made:
            rows = await read_triggers(connection, services.workspace_id, one.saved.automation_id)
            calls += token_hints(one.name, rows)
    return calls


def _became(one: ImportResult) -> str:
    if one.renamed_from is not None:
        return f"renamed from {one_line(one.renamed_from, 60)}"
    if not one.saved.changed:
        return "unchanged"
    return "new" if one.saved.version == 1 else "new version"


def _describe_result(one: ImportResult) -> dict[str, Any]:
    saved = one.saved
    return {
        "id": saved.automation_id,
        "name": one.name,
        "renamed_from": one.renamed_from,
        "version": saved.version,
        "changed": saved.changed,
        "state": saved.state,
        "widened": [grant.as_dict() for grant in saved.widened],
        "consent": summarize_consent(one.consent),
    }
