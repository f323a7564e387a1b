"""Consents by command: listed, shown, agreed to and refused.

At a terminal a person is shown what an automation would be able to do, and asked. A program
agrees only with a token that has the permission approve, by the digest of what it read.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import Finding, Invalid, NotFound, Problem
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns, short_id
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.formatting import count, hint
from mainspring.surfaces.cli.lookup import beginning_with
from mainspring.surfaces.cli.person_prompt import addition_lines, check_person, confirm
from mainspring.surfaces.cli.screen import Screen, clean, one_line
from mainspring.surfaces.cli.terminal_prompt import Ask

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.http_client import ApiClient

_MOST = 200
_QUESTION = "Do you agree to this?"
_BY_PEOPLE = "Only a person can agree to what an automation may do."


async def show_consents(context: CommandContext, screen: Screen, most: int) -> int:
    """Those that wait, the newest first."""
    async with open_client(context) as where:
        found = await where.call("list_consents", {"limit": most})
    if screen.for_programs:
        screen.answer(found)
    elif found["consents"]:
        rows = (
            (
                short_id(one["consent_id"], screen),
                one_line(one["name"], 40),
                one["origin"],
                count(len(one["additions"]), "addition"),
                one_line(one["additions"][0]["says"], 80),
            )
            for one in found["consents"]
        )
        heads = ("Consent", "Name", "Origin", "", "First")
        screen.say(columns(heads, rows, whole=("Consent", "Origin")))
        screen.say("", f"  {hint('consents', 'agree', 'CONSENT')}")
    else:
        screen.say("Nothing needs your consent.")
    return exits.DONE


async def show_consent(context: CommandContext, screen: Screen, text: str) -> int:
    """Each addition, and how to answer."""
    async with open_client(context) as where:
        found = await _find(where, text)
    if screen.for_programs:
        screen.answer(found)
    else:
        screen.say(*_lines(found))
        if found["status"] in ("waiting", "refused"):
            screen.say("", f"  {hint('consents', 'agree', found['consent_id'])}")
    return exits.DONE


async def answer_consent(
    desk: CommandContext,
    screen: Screen,
    text: str,
    *,
    agree: bool,
    digest: str | None = None,
    activate: bool = False,
    ask: Ask | None = None,
) -> int:
    """Agrees to just what was read, or refuses it.

    A person is shown it and asked. A token with the permission approve says by its digest what
    it agrees to.
    """
    async with open_client(desk) as where:
        found = await _find(where, text)
        if not where.by_token:
            check_person(where, screen, ask, _BY_PEOPLE, _page(found))
            if agree and not await confirm(screen, _lines(found), _QUESTION, ask):
                screen.say("Not agreed. The automation stays paused.")
                return exits.DONE
        elif digest is None:
            raise _unread(found)
        given = {
            "consent_id": found["consent_id"],
            "digest": digest or found["digest"],
            "agree": agree,
        }
        answered = await where.call("answer_consent", given, confirmed=True)
        if agree and activate and answered["state"] == "paused":
            answered = await _activated(where, given)
    if screen.for_programs:
        screen.answer(answered)
        return exits.DONE
    screen.say(answered["says"])
    if agree and answered["state"] == "paused":
        screen.say(f"  {hint('activate', found['name'])}")
    elif not agree and found["agreed_version"] is not None:
        screen.say(f"  {hint('rollback', found['name'], str(found['agreed_version']))}")
    return exits.DONE


async def _activated(where: ApiClient, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """By itself, once the answer is kept: what is agreed to stays so when this does not work."""
    try:
        return await where.call("answer_consent", {**arguments, "activate": True}, confirmed=True)
    except Problem as reason:
        raise type(reason)(
            f"It is agreed to, and it is not active yet. {reason.detail}",
            code=reason.code,
            findings=reason.findings,
            suggestion=reason.suggestion,
        ) from reason


def _unread(found: Mapping[str, Any]) -> Invalid:
    detail = "A token says what it agrees to by the digest of it."
    return Invalid(
        detail,
        code="not_asked",
        findings=[Finding("/digest", detail, "required")],
        suggestion=f"{hint('consents', 'show', found['consent_id'], '--json')} shows it. Then add "
        "--digest.",
    )


def _page(found: Mapping[str, Any]) -> str:
    """Where a person can answer instead."""
    if found["automation_id"] is None:
        return "/connect"
    return f"/automations/{found['automation_id']}"


async def _find(where: ApiClient, text: str) -> dict[str, Any]:
    """What is meant: a consent by its id, or the newest of an automation by its id or its name.

    An id may be shortened to its first characters. A run of an older version has its own id as
    the id of its consent.
    """
    waiting = await where.call("list_consents", {"limit": _MOST})
    others = await where.call("list_consents", {"limit": _MOST, "status": "any"})
    known = [*waiting["consents"], *others["consents"]]
    named = next((one for one in known if one["name"] == text), None)
    if named is not None:
        return dict(named)
    for field in ("consent_id", "automation_id"):
        newest = {UUID(one[field]): one for one in reversed(known) if one[field] is not None}

        async def page(before: UUID | None, ids: Iterable[UUID] = newest) -> Sequence[UUID]:
            return [one for one in ids if before is None or one < before]

        found = await beginning_with(text, page, lambda one: one)
        if len(found) == 1:
            return dict(newest[found[0]])
    with contextlib.suppress(ValueError):
        return await where.call("get_consent", {"consent_id": str(UUID(text))})
    raise NotFound(
        f"There is no consent {text[:40]!r}, and no automation of that name or id asks for one.",
        code="no_consent",
        suggestion=f"{hint('consents')} lists what waits for an answer.",
    )


def _lines(found: Mapping[str, Any]) -> list[str]:
    version = "" if found["version"] is None else f", version {found['version']}"
    return [
        f"{clean(found['name'])}{version} ({found['status']})",
        *addition_lines(found["additions"]),
    ]
