"""``save`` and ``rollback``: store a version of an automation.

A person at a terminal agrees to what a version adds before it is stored. The API has no request
that lists these additions beforehand, so these commands open the application.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.actions.script.prebuild import prebuild_scripts
from mainspring.contracts.preflight import DefinitionOwner
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.automation_view import token_hints
from mainspring.surfaces.cli.consent_prompt import (
    agree_to_version,
    consent_page,
    has_person,
    waiting_lines,
)
from mainspring.surfaces.cli.documents import read_definition_file
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.local import AuditedAction, local, local_owner
from mainspring.surfaces.cli.lookup import find_automation, find_in_use, find_name
from mainspring.surfaces.cli.offline_validation import validate_offline
from mainspring.surfaces.cli.screen import Screen, one_line
from mainspring.surfaces.cli.summary import describe_trigger_summary, grant_lines, warning_lines
from mainspring.surfaces.cli.terminal_prompt import Ask
from mainspring.triggers.trigger_changes import change
from mainspring.workspace.audit import describe_save, is_unchanged
from mainspring.workspace.automation_list import read_automation
from mainspring.workspace.automation_resources import load_watched_boards
from mainspring.workspace.automations import (
    FIRST_MEMBER,
    AutomationStatus,
    SavedAutomation,
    read_grants,
    read_triggers,
    save,
    update,
)
from mainspring.workspace.consents import agree_or_ask, change_by, summarize_consent
from mainspring.workspace.versions import read_version, restore_version, validate_version
from mainspring.workspace.workspace_validation import load_vocabulary, validate_in_workspace

if TYPE_CHECKING:
    from rich.text import Text

    from mainspring.contracts.context import Transaction
    from mainspring.contracts.registry import Vocabulary
    from mainspring.definition.validate import ValidationReport
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.services import ApplicationServices
    from mainspring.workspace.consent_rows import AutomationConsent

# --- save


async def save_file(
    context: CommandContext, screen: Screen, file: str, to: str | None, ask: Ask | None = None
) -> int:
    """Keeps a definition under its name, or as the next version of another automation.

    A person at a terminal sees what it may do beyond what was agreed to, and agrees to that.
    What a program saves waits for a person where it may do more.
    """
    limits = context.limits()
    document = read_definition_file(file, limits)
    # Validated before the application is opened, so an invalid file fails fast.
    judged = validate_offline(document, context.doors.vocabulary(limits), limits).report
    name = judged.accepted().name
    async with context.doors.open(context.settings()) as services:
        vocabulary = await load_vocabulary(services.registry, services.workspace_id, document)
        there = await find_name(services, name) if to is None else await find_in_use(services, to)
        own = None if there is None else there["id"]
        report = await _validate_with_server(services, vocabulary, document, own)
        if has_person(services, screen, ask) and not await agree_to_version(
            services,
            screen,
            own,
            report.accepted(),
            report.grants,
            report.traits,
            "Save it and agree to this?",
            ask,
        ):
            screen.say("Not saved: you did not agree.")
            return exits.FAILED
        saved, consent = await _stored(services, report, own)
        async with local(services).acquire() as connection:
            rows = await read_triggers(connection, services.workspace_id, saved.automation_id)
            watched = await load_watched_boards(connection, services.workspace_id, rows)
            boards = {board_id: one.name for board_id, one in watched.items()}
        request = summarize_consent(consent)
        if request is not None:
            request["url"] = consent_page(services, saved.automation_id)
    if screen.for_programs:
        screen.answer({**_describe_saved(report, saved), "consent": request})
    else:
        screen.say(*_saved_lines(report, saved, boards, vocabulary, screen))
        if consent is not None:
            screen.say(*waiting_lines(services, consent))
        starts = consent is None
        screen.say(*_next_lines(report.accepted().name, rows, saved.state, starts=starts))
    return exits.DONE


async def store_next(
    services: ApplicationServices, document: Any, automation_id: UUID
) -> SavedAutomation:
    """Keeps a definition as the next version of an automation."""
    vocabulary = await load_vocabulary(services.registry, services.workspace_id, document)
    report = await _validate_with_server(services, vocabulary, document, automation_id)
    return (await _stored(services, report, automation_id))[0]


async def _validate_with_server(
    services: ApplicationServices, vocabulary: Vocabulary, document: Any, there: UUID | None
) -> ValidationReport:
    whose, gate = DefinitionOwner(services.workspace_id, there, FIRST_MEMBER), services.gate
    report = await validate_in_workspace(
        document, whose, vocabulary, gate.models, services.limits, gate.preflight
    )
    return await prebuild_scripts(services.script_runner, services.workspace_id, report)


async def _stored(
    services: ApplicationServices, report: ValidationReport, there: UUID | None
) -> tuple[SavedAutomation, AutomationConsent | None]:
    """The next version of the automation that is there, or a new one."""
    definition, space = report.accepted(), services.workspace_id
    kept = (definition, report.grants, FIRST_MEMBER)

    deed = AuditedAction("create_automation" if there is None else "update_automation")

    async def work(tx: Transaction) -> tuple[SavedAutomation, AutomationConsent | None]:
        owner = local_owner(services)
        if there is None:
            saved = await save(tx, space, *kept, report.traits)
            consent = await agree_or_ask(tx, space, saved.automation_id, owner)
        else:
            saved, consent = await change_by(
                tx,
                space,
                there,
                owner,
                lambda: update(tx, space, there, *kept, traits=report.traits),
            )
        saved = saved if consent is None else replace(saved, state="paused")
        deed.subject, deed.detail = saved.automation_id, describe_save(saved, definition.name)
        deed.idle = is_unchanged(saved)
        return saved, consent

    return await change(
        local(services, deed),
        services.limits,
        services.workspace_id,
        work,
        automations=() if there is None else [there],
        names=[definition.name] if there is None else (),
    )


def _describe_saved(report: ValidationReport, saved: SavedAutomation) -> dict[str, Any]:
    return {
        "id": saved.automation_id,
        "name": report.accepted().name,
        "version": saved.version,
        "changed": saved.changed,
        "state": saved.state,
        "grants": [grant.as_dict() for grant in report.grants],
        "widened": [grant.as_dict() for grant in saved.widened],
        "warnings": [finding.as_dict() for finding in (*report.warnings, *saved.warnings)],
    }


def _saved_lines(
    report: ValidationReport,
    saved: SavedAutomation,
    boards: Mapping[str, str],
    vocabulary: Vocabulary,
    screen: Screen,
) -> list[Text]:
    from rich.text import Text

    definition = report.accepted()
    sign, colour = screen.mark("succeeded")
    became = "is saved as" if saved.changed else "is unchanged: it is still"
    head = Text.assemble((sign, colour), " ", (one_line(definition.name), "bold"))
    head.append(f" {became} version {saved.version}, {saved.state}.")
    lines = [head, Text(f"  id {saved.automation_id}")]
    starts = [describe_trigger_summary(entry, boards) for entry in definition.triggers]
    lines += [Text(f"  starts {one_line(when, 400)}") for when in starts]
    if not definition.triggers:
        lines.append(Text("  manual start only"))
    lines += grant_lines(report.grants, vocabulary)
    lines += widened_lines(saved, vocabulary, screen)
    return [*lines, *warning_lines([*report.warnings, *saved.warnings], screen)]


def widened_lines(saved: SavedAutomation, vocabulary: Vocabulary, screen: Screen) -> list[Text]:
    """What a new version may do that the one before might not."""
    from rich.text import Text

    if saved.version == 1 or not saved.widened:
        return []
    sign, colour = screen.mark("warning")
    head = Text.assemble("  ", (sign, colour), " New permissions in this version:")
    lines = grant_lines(saved.widened, vocabulary)
    for line in lines:
        line.pad_left(2)
    return [head, *lines]


def _next_lines(
    name: str, rows: Sequence[Mapping[str, Any]], state: AutomationStatus, *, starts: bool
) -> list[Text]:
    """The commands that come next; without consent, none that would start it."""
    from rich.text import Text

    act = "activate" if rows and state != "active" else "fire"
    calls = [*token_hints(name, rows), *([hint(act, name)] if starts else [])]
    return [Text(f"  {call}", style="bright_black") for call in calls]


# --- rollback


async def go_back(
    context: CommandContext, screen: Screen, text: str, version: int, ask: Ask | None = None
) -> int:
    """Brings an earlier version back as a new one.

    A person at a terminal sees what it may do beyond what was agreed to, and agrees to that. What
    a program brings back waits for a person where it may do more.
    """
    async with context.doors.open(context.settings()) as services:
        found = await find_automation(services, text)
        automation_id: UUID = found["id"]
        async with local(services).acquire() as connection:
            then = await read_version(connection, services.workspace_id, automation_id, version)
        vocabulary = await load_vocabulary(
            services.registry, services.workspace_id, then["definition"]
        )
        async with local(services).acquire() as connection:
            content = await validate_version(
                connection,
                services.workspace_id,
                automation_id,
                version,
                vocabulary,
                services.limits,
            )
        if has_person(services, screen, ask) and not await agree_to_version(
            services,
            screen,
            automation_id,
            content.definition,
            read_grants(content.grants),
            content.traits,
            f"Roll back to version {version} and agree to this?",
            ask,
        ):
            screen.say("Not changed: you did not agree.")
            return exits.FAILED

        deed = AuditedAction("roll_back", automation_id)

        async def work(
            tx: Transaction,
        ) -> tuple[SavedAutomation, dict[str, Any], AutomationConsent | None]:
            space, owner = services.workspace_id, local_owner(services)

            async def put() -> SavedAutomation:
                return await restore_version(
                    tx, space, automation_id, version, content, FIRST_MEMBER
                )

            made, consent = await change_by(tx, space, automation_id, owner, put)
            made = made if consent is None else replace(made, state="paused")
            now = await read_automation(tx, services.workspace_id, automation_id)
            deed.detail = {**describe_save(made, now["name"]), "rollback_of": version}
            return made, now, consent

        saved, now, consent = await change(
            local(services, deed),
            services.limits,
            services.workspace_id,
            work,
            automations=[automation_id],
            names=(),
        )
        request = summarize_consent(consent)
        if request is not None:
            request["url"] = consent_page(services, automation_id)
    if screen.for_programs:
        screen.answer(
            {
                "id": automation_id,
                "name": now["name"],
                "version": saved.version,
                "changed": saved.changed,
                "state": saved.state,
                "rollback_of": version,
                "widened": [grant.as_dict() for grant in saved.widened],
                "consent": request,
            }
        )
    elif saved.changed:
        screen.say(
            f"{one_line(now['name'])}: rolled back to version {version}, saved as version "
            f"{saved.version}, {saved.state}.",
            *widened_lines(saved, vocabulary, screen),
        )
    else:
        screen.say(f"{one_line(now['name'])}: version {saved.version} is already the same.")
    if consent is not None and not screen.for_programs:
        screen.say(*waiting_lines(services, consent))
    return exits.DONE
