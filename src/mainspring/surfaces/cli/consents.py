"""Consents by command: listed, shown, agreed to and refused.

Whoever sits at this machine is the person who reads what an automation would be able to do. At a
terminal it is shown and asked about; elsewhere the digest says what was read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import Invalid, Problem
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.asking import Ask, Terminal, at_terminal
from mainspring.surfaces.cli.columns import columns, short_id
from mainspring.surfaces.cli.finding import find_one
from mainspring.surfaces.cli.proposals import call
from mainspring.surfaces.cli.screen import Screen, clean, one_line
from mainspring.surfaces.cli.words import count, hint

if TYPE_CHECKING:
    from mainspring.surfaces.cli.desk import Desk
    from mainspring.surfaces.rooms import Rooms

_MOST = 200


async def show_consents(desk: Desk, screen: Screen, most: int) -> int:
    """Those that wait, the newest first."""
    async with desk.doors.open(desk.settings()) as rooms:
        found = await call(rooms, "list_consents", {"limit": most})
    if screen.for_programs:
        screen.answer(found)
    elif found["consents"]:
        rows = (
            (
                short_id(one["consent_id"], screen), one_line(one["name"], 40), one["origin"],
                count(len(one["additions"]), "addition"), one_line(one["additions"][0]["says"], 80),
            )
            for one in found["consents"]
        )  # fmt: skip
        heads = ("Consent", "Name", "Origin", "", "First")
        screen.say(columns(heads, rows, whole=("Consent", "Origin")))
        screen.say("", f"  {hint('consents', 'agree', 'CONSENT')}")
    else:
        screen.say("Nothing waits for your consent.")
    return exits.DONE


async def show_consent(desk: Desk, screen: Screen, text: str) -> int:
    """Each addition, and how to answer."""
    async with desk.doors.open(desk.settings()) as rooms:
        found = await _find(rooms, text)
    if screen.for_programs:
        screen.answer(found)
    else:
        screen.say(*_lines(found))
        if found["status"] in ("waiting", "refused"):
            screen.say("", f"  {hint('consents', 'agree', found['consent_id'])}")
    return exits.DONE


async def answer_consent(
    desk: Desk, screen: Screen, text: str, *, agree: bool, digest: str | None = None,
    activate: bool = False, ask: Ask | None = None,
) -> int:  # fmt: skip
    """Agrees to just what was read, or refuses it."""
    async with desk.doors.open(desk.settings()) as rooms:
        found = await _find(rooms, text)
        if agree and digest is None and not await _asked(screen, found, ask):
            screen.say("Nothing was agreed to; it stays paused.")
            return exits.DONE
        given = {
            "consent_id": found["consent_id"],
            "digest": digest or found["digest"],
            "agree": agree,
        }
        answered = await call(rooms, "answer_consent", given)
        if agree and activate and answered["state"] == "paused":
            answered = await _activated(rooms, given)
    if screen.for_programs:
        screen.answer(answered)
        return exits.DONE
    screen.say(answered["says"])
    if agree and answered["state"] == "paused":
        screen.say(f"  {hint('activate', found['name'])}")
    elif not agree and found["agreed_version"] is not None:
        screen.say(f"  {hint('rollback', found['name'], str(found['agreed_version']))}")
    return exits.DONE


async def _activated(rooms: Rooms, given: Mapping[str, Any]) -> dict[str, Any]:
    """By itself, once the answer is kept: what is agreed to stays so when this does not work."""
    try:
        return await call(rooms, "answer_consent", {**given, "activate": True})
    except Problem as reason:
        raise type(reason)(
            f"It is agreed to, and it is not active yet. {reason.detail}",
            code=reason.code,
            findings=reason.findings,
            suggestion=reason.suggestion,
        ) from reason


async def _asked(screen: Screen, found: Mapping[str, Any], ask: Ask | None) -> bool:
    if ask is None:
        if not at_terminal(screen):
            raise Invalid(
                "Nobody is here to be asked, and a person agrees to what they have read.",
                code="not_asked",
                suggestion=f"{hint('consents', 'show', found['consent_id'])} shows it. Then add "
                "--digest with the digest that --json shows.",
            )
        ask = Terminal(screen)
    screen.say(*_lines(found))
    said = await ask("Do you agree to this? Type yes:")
    return (said or "").strip().lower() == "yes"


async def _find(rooms: Rooms, text: str) -> dict[str, Any]:
    """What is meant: by its id, the id's first characters, or the automation's name."""
    listed = await call(rooms, "list_consents", {"limit": _MOST})
    named = [one for one in listed["consents"] if one["name"] == text]
    if len(named) == 1:
        return dict(named[0])
    known = await call(rooms, "list_consents", {"limit": _MOST, "status": "any"})

    async def page(before: UUID | None) -> Sequence[UUID]:
        ids = sorted({UUID(one["consent_id"]) for one in known["consents"]}, reverse=True)
        return [one for one in ids if before is None or one < before]

    found = await find_one(text, page, lambda one: one, kind="consent")
    return await call(rooms, "get_consent", {"consent_id": str(found)})


def _lines(found: Mapping[str, Any]) -> list[str]:
    version = "" if found["version"] is None else f", version {found['version']}"
    return [
        f"{clean(found['name'])}{version} ({found['status']})",
        *(f"  - {clean(one['says'])}" for one in found["additions"]),
    ]
