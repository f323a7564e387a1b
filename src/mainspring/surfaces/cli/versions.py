"""``versions``, ``diff`` and ``rollback``: what an automation was, and the way back."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import NotFound
from mainspring.contracts.grant import Grant
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.automations import widened_lines
from mainspring.surfaces.cli.columns import columns, format_time
from mainspring.surfaces.cli.consent_prompt import (
    agree_to_version,
    consent_page,
    has_person,
    waiting_lines,
)
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.local import AuditedAction, local, local_owner
from mainspring.surfaces.cli.lookup import find_automation
from mainspring.surfaces.cli.screen import Screen, as_json, one_line
from mainspring.surfaces.cli.summary import grant_lines
from mainspring.surfaces.cli.terminal_prompt import Ask
from mainspring.triggers.trigger_changes import change
from mainspring.workspace.audit import describe_save
from mainspring.workspace.automation_list import read_automation
from mainspring.workspace.automations import FIRST_MEMBER, SavedAutomation, read_grants
from mainspring.workspace.consents import change_by, summarize_consent
from mainspring.workspace.versions import (
    diff,
    list_versions,
    read_version,
    restore_version,
    validate_version,
)
from mainspring.workspace.workspace_validation import load_vocabulary

if TYPE_CHECKING:
    from rich.text import Text

    from mainspring.contracts.context import Transaction
    from mainspring.contracts.registry import Vocabulary
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.workspace.consent_rows import AutomationConsent

_VALUE = 100
# How much of what is alike is shown before the first difference.
_BEFORE_PLACE = 30
_SIGNS = {"add": ("+", "green"), "remove": ("-", "red"), "replace": ("~", "yellow")}
_MOVED = (">", "cyan")


async def show_versions(context: CommandContext, screen: Screen, text: str, *, most: int) -> int:
    async with context.doors.open(context.settings()) as services:
        found = await find_automation(services, text)
        async with local(services).acquire() as connection:
            rows = await list_versions(connection, services.workspace_id, found["id"], most=most)
    if screen.for_programs:
        screen.answer({"id": found["id"], "name": found["name"], "versions": rows})
        return exits.DONE
    cells = (
        (
            str(row["version"]),
            format_time(row["created_at"], screen),
            "in force" if row["in_force"] else "",
            str(row["rollback_of"] or ""),
            row["definition_hash"][:12],
        )
        for row in rows
    )
    heads = ("Version", "Saved", "", "Brought back", "Hash")
    screen.say(columns(heads, cells, whole=("Saved",)))
    return exits.DONE


async def show_diff(
    context: CommandContext, screen: Screen, text: str, before: int | None, after: int | None
) -> int:
    """Between two versions; the one in force and the one before it when none is named."""
    async with context.doors.open(context.settings()) as services:
        found = await find_automation(services, text)
        old, new = _chosen(found, before, after)
        words = await services.registry.of(services.workspace_id)
        async with local(services).acquire() as connection:
            result = await diff(connection, services.workspace_id, found["id"], old, new)
    if screen.for_programs:
        screen.answer({"id": found["id"], "name": found["name"], **result})
    else:
        screen.say(*_diff_lines(found["name"], result, words))
    return exits.DONE


def _chosen(found: Mapping[str, Any], before: int | None, after: int | None) -> tuple[int, int]:
    in_force: int = found["version"]
    if before is None and in_force == 1:
        raise NotFound(
            f"{found['name'][:60]!r} has one version only, so there is nothing to compare.",
            code="no_version",
            suggestion=f"{hint('save', 'FILE')} makes the next one.",
        )
    return before or in_force - 1, after or in_force


def _diff_lines(name: str, result: Mapping[str, Any], vocabulary: Vocabulary) -> list[Text]:
    from rich.text import Text

    lines = [Text(f"{one_line(name)}: version {result['from']} to {result['to']}", style="bold")]
    if not result["changes"]:
        lines.append(Text("  They say the same."))
    lines += [change_line(change) for change in result["changes"]]
    for key, words in (("widened", "more may be called"), ("narrowed", "less may be called")):
        if result[key]:
            grants = [Grant(entry["capability"], entry["params"]) for entry in result[key]]
            lines += [Text(f"  {words}:", style="bold"), *grant_lines(grants, vocabulary)]
    return lines


def change_line(change: Mapping[str, Any]) -> Text:
    """One difference: its place, and the two values beside each other."""
    from rich.text import Text

    sign, colour = _SIGNS.get(change["op"], _MOVED)
    text = Text.assemble("  ", (sign, colour), f" {one_line(change['pointer'], 120) or '/'}")
    if change["op"] == "move":
        return text.append(f"  moved from {one_line(change['from'], 120)}")
    sides = [side for side in ("before", "after") if side in change]
    shown = values_beside([change[side] for side in sides])
    for side, value in zip(sides, shown, strict=True):
        text.append("  →" if side == "after" and len(sides) == 2 else "")
        text.append(f"  {value}", style="red" if side == "before" else "green")
    return text


def values_beside(values: Sequence[Any]) -> list[str]:
    """Values as short texts; two long ones are shown from where they begin to differ."""
    texts = [one_line(as_json(value, indent=None), sys.maxsize) for value in values]
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[-1], zip(*texts, strict=False)))
    return [_around(text, alike if len(texts) > 1 else 0) for text in texts]


def _around(text: str, place: int) -> str:
    if len(text) <= _VALUE:
        return text
    start = max(0, min(place - _BEFORE_PLACE, len(text) - _VALUE + 1))
    if start == 0:
        return text[: _VALUE - 1] + "…"
    if len(text) - start < _VALUE:
        return f"…{text[start:]}"
    return f"…{text[start : start + _VALUE - 2]}…"


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
            f"Bring version {version} back, and agree to this?",
            ask,
        ):
            screen.say("Nothing was agreed to, and nothing was changed.")
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
            f"{one_line(now['name'])} says again what version {version} said, as version "
            f"{saved.version}, {saved.state}.",
            *widened_lines(saved, vocabulary, screen),
        )
    else:
        screen.say(f"{one_line(now['name'])} says that already, as version {saved.version}.")
    if consent is not None and not screen.for_programs:
        screen.say(*waiting_lines(services, consent))
    return exits.DONE
