"""``save``, ``list`` and ``show``: automations as they are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.actions.script.prebuild import prebuild_scripts
from mainspring.contracts.grant import Grant
from mainspring.contracts.preflight import DefinitionOwner
from mainspring.definition.validate import read_definition
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import format_time
from mainspring.surfaces.cli.consent_prompt import (
    agree_to_version,
    consent_page,
    has_person,
    waiting_lines,
)
from mainspring.surfaces.cli.documents import read_definition_file
from mainspring.surfaces.cli.formatting import count, date_time, format_in_zone, hint
from mainspring.surfaces.cli.listings import STATE_COLOURS, state_words
from mainspring.surfaces.cli.local import AuditedAction, local, local_owner
from mainspring.surfaces.cli.lookup import find_automation, find_in_use, find_name
from mainspring.surfaces.cli.offline_validation import validate_offline
from mainspring.surfaces.cli.screen import Screen, one_line
from mainspring.surfaces.cli.server_presence import fire_url
from mainspring.surfaces.cli.summary import (
    describe_trigger_summary,
    grant_lines,
    step_counts,
    warning_lines,
)
from mainspring.surfaces.cli.terminal_prompt import Ask
from mainspring.surfaces.pricing import price_of
from mainspring.triggers.trigger_changes import change
from mainspring.workspace.audit import describe_save, is_unchanged
from mainspring.workspace.automation_list import read_automation
from mainspring.workspace.automation_resources import WatchedBoard, load_watched_boards
from mainspring.workspace.automations import (
    FIRST_MEMBER,
    AutomationStatus,
    SavedAutomation,
    read_triggers,
    save,
    update,
)
from mainspring.workspace.consents import (
    agree_or_ask,
    change_by,
    summarize_consent,
)
from mainspring.workspace.versions import list_versions
from mainspring.workspace.workspace_validation import load_vocabulary, validate_in_workspace

if TYPE_CHECKING:
    from rich.text import Text

    from mainspring.contracts.context import Transaction
    from mainspring.contracts.registry import Vocabulary
    from mainspring.definition.model import TriggerEntry
    from mainspring.definition.validate import ValidationReport
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.services import ApplicationServices
    from mainspring.workspace.consent_rows import AutomationConsent

_VERSIONS_SHOWN = 5


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
    # Judged before the house is opened: a bad file costs nothing and makes nothing.
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
            "Save it, and agree to this?",
            ask,
        ):
            screen.say("Nothing was agreed to, and nothing was saved.")
            return exits.FAILED
        saved, consent = await _stored(services, report, own)
        async with local(services).acquire() as connection:
            rows = await read_triggers(connection, services.workspace_id, saved.automation_id)
            boards = await load_watched_boards(connection, services.workspace_id, rows)
        request = summarize_consent(consent)
        if request is not None:
            request["url"] = consent_page(services, saved.automation_id)
    if screen.for_programs:
        screen.answer({**_describe_saved(report, saved), "consent": request})
    else:
        screen.say(*_saved_lines(report, saved, boards, vocabulary, screen))
        if consent is not None:
            screen.say(*waiting_lines(services, consent))
        screen.say(*_next_lines(report.accepted().name, rows, saved.state))
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
    boards: Mapping[str, WatchedBoard],
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
        lines.append(Text("  starts by hand only"))
    lines += grant_lines(report.grants, vocabulary)
    lines += widened_lines(saved, vocabulary, screen)
    return [*lines, *warning_lines([*report.warnings, *saved.warnings], screen)]


def widened_lines(saved: SavedAutomation, vocabulary: Vocabulary, screen: Screen) -> list[Text]:
    """What a new version may do that the one before might not."""
    from rich.text import Text

    if saved.version == 1 or not saved.widened:
        return []
    sign, colour = screen.mark("warning")
    head = Text.assemble("  ", (sign, colour), " New in this version, not allowed before:")
    lines = grant_lines(saved.widened, vocabulary)
    for line in lines:
        line.pad_left(2)
    return [head, *lines]


def token_hints(name: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """How to make the tokens that are not there yet; one that works is left in peace."""
    hooks = [row for row in rows if row["type"] == "webhook"]
    return [
        hint("webhook", "token", name, *([row["slug"]] if len(hooks) > 1 else []))
        for row in hooks
        if not row["secret_hint"]
    ]


def _next_lines(
    name: str, rows: Sequence[Mapping[str, Any]], state: AutomationStatus
) -> list[Text]:
    from rich.text import Text

    act = "activate" if rows and state != "active" else "fire"
    calls = [*token_hints(name, rows), hint(act, name)]
    return [Text(f"  {call}", style="bright_black") for call in calls]


# --- show


async def show_automation(context: CommandContext, screen: Screen, text: str) -> int:
    async with context.doors.open(context.settings()) as services:
        found = await find_automation(services, text)
        async with local(services).acquire() as connection:
            whole = await read_automation(connection, services.workspace_id, found["id"])
            versions = await list_versions(
                connection, services.workspace_id, found["id"], most=_VERSIONS_SHOWN
            )
            boards = await load_watched_boards(connection, services.workspace_id, whole["triggers"])
        whole["triggers"] = [with_address(row, services) for row in whole["triggers"]]
        whole["forecast"] = (await price_of(services, local(services), whole)).as_dict()
        if screen.for_programs:
            screen.answer({**whole, "versions": versions})
        else:
            words = await services.registry.of(services.workspace_id)
            screen.say(*_lines(whole, versions, boards, words, screen))
    return exits.DONE


def with_address(row: Mapping[str, Any], services: ApplicationServices) -> dict[str, Any]:
    """A trigger, and where it is called if it is a webhook."""
    if row["type"] != "webhook":
        return dict(row)
    url = fire_url(services.settings, row["automation_id"])
    shown = {**row, "url": url}
    if "signature" in row["config"]:
        shown["signed_url"] = f"{url.removesuffix('/fire')}/hooks/{row['slug']}"
    return shown


def _lines(
    whole: Mapping[str, Any],
    versions: list[dict[str, Any]],
    boards: Mapping[str, WatchedBoard],
    vocabulary: Vocabulary,
    screen: Screen,
) -> list[Text]:
    from rich.text import Text

    definition = read_definition(whole["definition"])
    head = Text.assemble((one_line(whole["name"]), "bold"), "  ")
    head.append(state_words(whole), style=STATE_COLOURS[whole["state"]])
    lines = [head, Text(f"  {one_line(definition.goal)}"), Text(f"  id {whole['id']}")]
    lines.append(Text(f"  {step_counts(definition, vocabulary)}"))
    if whole["halted"] is not None:
        message = (
            f"halted ({one_line(whole['halted'], 300)}). Its runs are held; see {hint('halts')}"
        )
        lines.append(Text(f"  {message}", style="red"))
    if whole["failures"]:
        lines.append(Text(f"  {count(whole['failures'], 'failure')} in a row", style="red"))
    if whole["last_run"] is not None:
        last = whole["last_run"]
        ended = f"{last['status']} {format_time(last['at'], screen)}"
        lines.append(Text(f"  last run {last['id']}: {ended}"))
    entries = {entry.id: entry for entry in definition.triggers}
    for row in whole["triggers"]:
        lines += trigger_lines(row, entries.get(row["slug"]), boards)
    if not whole["triggers"]:
        lines.append(Text("  starts by hand only"))
    lines.append(Text(f"  {one_line(whole['forecast']['sentence'], 400)}"))
    grants = [Grant(entry["capability"], entry["params"]) for entry in whole["grants"]]
    return [*lines, *grant_lines(grants, vocabulary), *map(_version_line, versions)]


def trigger_lines(
    row: Mapping[str, Any], entry: TriggerEntry | None, boards: Mapping[str, WatchedBoard]
) -> list[Text]:
    """When it starts, the moment that comes next, and where a webhook is called."""
    from rich.text import Text

    words = row["type"] if entry is None else describe_trigger_summary(entry, boards)
    at_rest = "" if row["armed_at"] is not None or not row["enabled"] else ", once it is active"
    lines = [Text(f"  starts {one_line(words, 400)}{at_rest}")]
    if row["next_due_at"] is not None:
        zone = row["config"].get("timezone")
        lines.append(Text(f"    next {format_in_zone(row['next_due_at'], zone)}"))
    if row["last_fired_at"] is not None:
        lines.append(Text(f"    last {date_time(row['last_fired_at'])}"))
    if "url" in row:
        hint = f"token …{row['secret_hint']}" if row["secret_hint"] else "no token yet"
        lines.append(Text(f"    POST {row['url']} ({hint})"))
    if "signed_url" in row:
        lines.append(Text(f"    POST {row['signed_url']} (signed)"))
    return lines


def _version_line(row: Mapping[str, Any]) -> Text:
    from rich.text import Text

    back = f", brought version {row['rollback_of']} back" if row["rollback_of"] else ""
    force = ", in force" if row["in_force"] else ""
    return Text(f"  version {row['version']} of {date_time(row['created_at'])}{back}{force}")
