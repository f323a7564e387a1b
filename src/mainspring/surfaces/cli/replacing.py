"""What ``run`` may put in the place of an automation that has the same name.

Whoever runs a file wants to see it run. That must never end what others count on: an
automation at work keeps its version, and triggers and written grants are not lost on the way.
``save`` replaces all of that, for whoever says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import Conflict
from mainspring.surfaces.cli.documents import STDIN
from mainspring.surfaces.cli.words import hint
from mainspring.workspace.automations import (
    FIRST_MEMBER,
    SavedAutomation,
    find_automation_ids,
    hold,
    hold_names,
    save,
)
from mainspring.workspace.consents import NOTHING, ask_if_wider, check_consent, load_baseline

if TYPE_CHECKING:
    from uuid import UUID

    from mainspring.contracts.context import Actor, Transaction
    from mainspring.definition.validate import ValidationReport


@dataclass(frozen=True, slots=True)
class DefinitionFile:
    """The file that a person handed over, and whether they gave it another name."""

    file: str
    renamed: bool = False


async def save_to_run(
    tx: Transaction,
    workspace_id: UUID,
    report: ValidationReport,
    handed: DefinitionFile,
    owner: Actor,
) -> SavedAutomation:
    """Saves under the name; refuses what would take something away from the one that has it.

    A person agrees with that to what it may do from now on; without a terminal nobody does. That
    is asked about once it is activated, and no message is left: the owner wanted to run the file.
    """
    definition = report.accepted()
    await hold_names(tx, workspace_id)
    there = await find_automation_ids(tx, workspace_id, [definition.name])
    before = await hold(tx, workspace_id, there[0]) if there else None
    agreed = None if owner.is_person else NOTHING
    if there:
        agreed = await load_baseline(tx, workspace_id, there[0], owner)
    saved = await save(tx, workspace_id, definition, report.grants, FIRST_MEMBER)
    if before is not None and saved.changed:
        reason = _reason(before["state"], before["document"], definition.as_dict())
        if reason:
            raise _refusal(definition.name, reason, handed)
    at = (tx, workspace_id, saved.automation_id)
    # What is in force and agreed to stays as it is.
    if saved.changed or await check_consent(*at, saved.version) is not None:
        await ask_if_wider(*at, agreed, owner, report.traits, tell=False)
    return saved


def _reason(state: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Why a version must not be replaced by the way; empty when it may."""
    if state == "active":
        return "is active, and this file says something else"
    triggers = _triggers(before) - _triggers(after)
    if triggers:
        return f"has triggers that this file does not have: {', '.join(sorted(triggers))}"
    granted = set(_granted(before)) - set(_granted(after))
    if granted:
        return f"has written grants that this file does not have: {', '.join(sorted(granted))}"
    return ""


def _triggers(document: Mapping[str, Any]) -> set[str]:
    return {entry["id"] for entry in document.get("triggers") or ()}


def _granted(document: Mapping[str, Any]) -> Iterator[str]:
    """What somebody wrote down as allowed: for the whole plan, or for one of its scripts."""
    for entry in document.get("grants") or ():
        yield entry["capability"]
    yield from _of_scripts(document)


def _of_scripts(part: Any) -> Iterator[str]:
    if isinstance(part, Mapping):
        config = part.get("config")
        if part.get("action") == "script" and isinstance(config, Mapping):
            yield from (entry["tool"] for entry in config.get("grants") or ())
        else:
            for inner in part.values():
                yield from _of_scripts(inner)
    elif isinstance(part, list | tuple):
        for inner in part:
            yield from _of_scripts(inner)


def _refusal(name: str, reason: str, handed: DefinitionFile) -> Conflict:
    file = "FILE" if handed.file == STDIN else handed.file
    # A file that was renamed for the run would be saved under its own name.
    replace = hint("save", file, "--to", name) if handed.renamed else hint("save", file)
    return Conflict(
        f"There is an automation called {name!r} already. It {reason}. Nothing was saved or run.",
        code="would_replace",
        suggestion=f"{replace} replaces it; "
        f"{hint('run', file, '--name', 'OTHER')} runs the file under another name.",
    )
