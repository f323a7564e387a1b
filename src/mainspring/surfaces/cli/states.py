"""``activate``, ``pause``, ``archive``, ``restore`` and ``acknowledge``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.preflight import DefinitionOwner
from mainspring.definition.validate import read_definition
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.automations import token_hints, trigger_lines, with_address
from mainspring.surfaces.cli.consent_prompt import agree_first
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.local import AuditedAction, local
from mainspring.surfaces.cli.lookup import find_automation
from mainspring.surfaces.cli.screen import Screen, one_line
from mainspring.surfaces.cli.server_presence import is_watched
from mainspring.surfaces.cli.summary import warning_lines
from mainspring.surfaces.cli.terminal_prompt import Ask
from mainspring.surfaces.pricing import price_of
from mainspring.triggers.trigger_changes import change
from mainspring.workspace import automation_states
from mainspring.workspace.automation_list import read_automation
from mainspring.workspace.automation_resources import find_missing_boards, load_watched_boards
from mainspring.workspace.automations import AutomationStatus, read_grants
from mainspring.workspace.workspace_validation import find_missing_dependencies, load_vocabulary

if TYPE_CHECKING:
    from rich.text import Text

    from mainspring.authoring.forecast.forecast import CostForecast
    from mainspring.contracts.context import Transaction
    from mainspring.contracts.errors import Finding
    from mainspring.contracts.registry import Vocabulary
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.services import ApplicationServices

Act = Callable[["Transaction", UUID, UUID], Awaitable[AutomationStatus]]

_ACTS: Mapping[str, Act] = {
    "pause": automation_states.pause,
    "archive": automation_states.archive,
    "restore": automation_states.restore,
    "acknowledge": automation_states.acknowledge,
}


async def change_state(
    context: CommandContext, screen: Screen, act: str, text: str, ask: Ask | None = None
) -> int:
    """Does one of the five, and says what that means for the automation."""
    async with context.doors.open(context.settings()) as services:
        done = await change_state_in(services, screen, act, text, ask)
    return exits.DONE if done else exits.FAILED


async def change_state_in(
    services: ApplicationServices, screen: Screen, act: str, text: str, ask: Ask | None = None
) -> bool:
    """The same in a house that is open; False: a person did not agree to what it may do."""
    found = await find_automation(services, text, archived_first=act == "restore")
    async with local(services).acquire() as connection:
        before = await read_automation(connection, services.workspace_id, found["id"])
    # Refused at once, and no price is shown for what does not start.
    starts = act == "activate" and before["state"] == "paused"
    if starts and not await agree_first(services, screen, found["id"], before["version"], ask):
        screen.say("Nothing was agreed to; it stays paused.")
        return False
    vocabulary = await load_vocabulary(
        services.registry, services.workspace_id, before["definition"]
    )
    # What it will cost is said before it is set going, and not when it is too late.
    priced = await price_of(services, local(services), before) if act == "activate" else None
    if priced is not None and not screen.for_programs:
        screen.say(one_line(priced.sentence, 400))

    missing = await _doubts(before, services, vocabulary) if act == "activate" else ()

    async def work(tx: Transaction) -> dict[str, Any]:
        await _done(tx, services, vocabulary, act, found["id"], missing)
        return await read_automation(tx, services.workspace_id, found["id"])

    held = [found["id"]] if act in ("pause", "archive") else ()
    side = local(services, AuditedAction(f"{act}_automation", found["id"]))
    now = await change(side, services.limits, services.workspace_id, work, automations=held)
    if screen.for_programs:
        screen.answer(await _describe_state(now, services, vocabulary, priced))
    else:
        screen.say(*await _lines(act, now, services, vocabulary, screen))
    return True


async def _describe_state(
    now: Mapping[str, Any],
    services: ApplicationServices,
    vocabulary: Vocabulary,
    priced: CostForecast | None,
) -> dict[str, Any]:
    names = ("id", "name", "state", "version", "failures", "next_due_at")
    told = {name: now[name] for name in names}
    if priced is not None:
        told["forecast"] = priced.as_dict()
        told["warnings"] = [one.as_dict() for one in await _doubts(now, services, vocabulary)]
    return told


async def _doubts(
    now: Mapping[str, Any], services: ApplicationServices, vocabulary: Vocabulary
) -> tuple[Finding, ...]:
    """What it counts on and would not find if it ran now."""
    space, document = services.workspace_id, now["definition"]
    async with local(services).acquire() as connection:
        lacking = await find_missing_boards(connection, space, document)
    granted = read_grants(now["grants"])
    whose, gate = DefinitionOwner(space, now["id"]), services.gate
    doubts = await find_missing_dependencies(
        document, granted, vocabulary, gate.models, gate.preflight, whose
    )
    return (*lacking, *doubts)


async def _done(
    tx: Transaction,
    services: ApplicationServices,
    vocabulary: Vocabulary,
    act: str,
    automation_id: UUID,
    missing: Sequence[Finding],
) -> None:
    if act == "activate":
        await automation_states.activate(
            tx, services.workspace_id, automation_id, vocabulary, services.limits, missing
        )
    else:
        await _ACTS[act](tx, services.workspace_id, automation_id)


async def _lines(
    act: str,
    now: Mapping[str, Any],
    services: ApplicationServices,
    vocabulary: Vocabulary,
    screen: Screen,
) -> list[Text]:
    from rich.text import Text

    sign, colour = screen.mark("succeeded")
    head = Text.assemble((sign, colour), " ", (one_line(now["name"]), "bold"))
    head.append(f" {_describe_transition(act, now)}")
    if act == "activate":
        return [head, *await _what_starts_it(now, services, vocabulary, screen)]
    if act == "archive":
        return [head, Text(f"  {hint('restore', now['id'])}", style="bright_black")]
    if now["state"] == "paused" and act in ("restore", "acknowledge"):
        return [head, Text(f"  {hint('activate', now['name'])}", style="bright_black")]
    return [head]


def _describe_transition(act: str, now: Mapping[str, Any]) -> str:
    match act:
        case "activate":
            return "is active."
        case "pause":
            return "is paused: only `fire` starts it now. Runs under way go on."
        case "archive":
            return "is archived: nothing starts it, its name is free, its history stays."
        case "restore":
            return f"is back, {now['state']}."
    return f"is {now['state']}, and its failures so far are known."


async def _what_starts_it(
    now: Mapping[str, Any], services: ApplicationServices, vocabulary: Vocabulary, screen: Screen
) -> list[Text]:
    from rich.text import Text

    entries = {entry.id: entry for entry in read_definition(now["definition"]).triggers}
    async with local(services).acquire() as connection:
        boards = await load_watched_boards(connection, services.workspace_id, now["triggers"])
    doubts = await _doubts(now, services, vocabulary)
    lines: list[Text] = []
    for row in now["triggers"]:
        lines += trigger_lines(with_address(row, services), entries.get(row["slug"]), boards)
    lines += warning_lines(doubts, screen)
    calls = token_hints(now["name"], now["triggers"])
    if not now["triggers"]:
        lines.append(Text("  It has no triggers, so it starts by hand only."))
        calls.append(hint("fire", now["name"]))
    elif not await is_watched(services):
        sign, colour = screen.mark("warning")
        text = " No server is up; nothing starts by itself before one is."
        lines.append(Text.assemble("  ", (sign, colour), text))
        calls.append(hint("up"))
    return [*lines, *(Text(f"  {call}", style="bright_black") for call in calls)]
