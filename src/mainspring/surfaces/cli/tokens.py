"""``tokens``: what programs come with; each text is shown once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import typer

from mainspring.contracts.errors import Invalid
from mainspring.contracts.roles import Role
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.consent_prompt import check_person, confirm
from mainspring.surfaces.cli.formatting import count, date_time
from mainspring.surfaces.cli.local import AuditedAction, local, local_owner
from mainspring.surfaces.cli.lookup import find_in_use
from mainspring.surfaces.cli.pages_of_rows import restore_values
from mainspring.surfaces.cli.screen import Screen, one_line
from mainspring.surfaces.cli.terminal_prompt import Ask
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.tokens import (
    APPROVE_WARNING,
    StoredToken,
    TokenLimits,
    check_bounds,
    describe_token,
    is_revoked,
    make_token,
    revoke_token,
)

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext


async def show_tokens(context: CommandContext, screen: Screen) -> int:
    async with open_client(context) as client:
        listed = (await client.request("GET", "/tokens", query={"all": "true"}))["tokens"]
    found = [restore_values(token) for token in listed]
    if screen.for_programs:
        shown = [{name: one[name] for name in one if name != "member_id"} for one in found]
        screen.answer({"tokens": shown})
        return exits.DONE
    now = datetime.now(UTC)
    rows = [
        (
            token["id"],
            one_line(token["name"]),
            f"…{token['hint']}",
            token["role"],
            date_time(token["last_used_at"]) or "never",
            _state(token, now),
            _approving(token),
        )
        for token in found
    ]
    heads = ("Id", "Name", "Ends in", "Role", "Last used", "State", "Permission")
    screen.say(columns(heads, rows, whole=("Id",)))
    return exits.DONE


_BY_PEOPLE: Final = "A person makes a token with the permission approve; a program cannot."


@dataclass(frozen=True, slots=True)
class TokenOptions:
    """A token as it is asked for."""

    name: str
    role: Role
    capabilities: tuple[str, ...] | None = None
    days: int | None = None
    # Names or ids of automations; None: without the permission approve.
    approves: tuple[str, ...] | None = None


async def create_token(
    context: CommandContext, screen: Screen, options: TokenOptions, ask: Ask | None = None
) -> int:
    """Makes a token. One with the permission approve is made by a person at a terminal."""
    async with context.doors.open(context.settings()) as services:
        now = services.clock.now()
        expires = None if options.days is None else now + timedelta(days=options.days)
        found = [await find_in_use(services, text) for text in options.approves or ()]
        approves = None if options.approves is None else tuple(one["id"] for one in found)
        bounds = TokenLimits(options.role, options.capabilities, expires, approves)
        words = await services.registry.of(
            services.workspace_id, needing=options.capabilities or ()
        )
        check_bounds(bounds, local_owner(services), words.capabilities, now, None)
        if approves is not None:
            check_person(services, screen, ask, _BY_PEOPLE, "/settings/tokens")
            shown = [f"It may approve {one_line(one['name'])}." for one in found]
            if not await confirm(screen, [APPROVE_WARNING, *shown], "Make this token?", ask):
                screen.say("No token was made.")
                return exits.DONE
        deed = AuditedAction("create_token")
        async with local(services, deed).transaction() as tx:
            stored, plain = await make_token(
                tx, services.workspace_id, FIRST_MEMBER, options.name, bounds
            )
            deed.subject, deed.detail = stored.id, describe_token(stored)
    if screen.for_programs:
        screen.answer({"token": _describe_token(stored), "text": plain})
    else:
        # Alone on its stream, so that a shell can take it as it is; a person reads both.
        screen.say(plain)
        typer.echo(_described(stored), err=True)
    return exits.DONE


async def end_token(context: CommandContext, screen: Screen, text: str) -> int:
    try:
        token_id = UUID(text)
    except ValueError:
        raise Invalid(
            "A token is revoked by its id, never by its text.",
            code="usage",
            suggestion="`tokens list` shows the ids.",
        ) from None
    deed = AuditedAction("delete_token", token_id)
    async with (
        context.doors.open(context.settings()) as services,
        local(services, deed).transaction() as tx,
    ):
        deed.idle = await is_revoked(tx, services.workspace_id, token_id)
        stored = await revoke_token(tx, services.workspace_id, token_id)
    if screen.for_programs:
        screen.answer(_describe_token(stored))
    else:
        screen.say(f"The token {one_line(stored.name)} has ended.")
    return exits.DONE


def _described(stored: StoredToken) -> str:
    """What the new token gives, in a sentence."""
    ends = stored.expires_at
    until = "works until it is revoked" if ends is None else f"works until {date_time(ends)}"
    named = stored.capabilities
    calls = "" if named is None else f", calls {', '.join(named)} and nothing else"
    return (
        f"The token {one_line(stored.name)} gives the role {stored.role.value}{calls} and {until}. "
        f"Its id is {stored.id}; its text is not shown again."
    )


def _approving(token: Mapping[str, Any]) -> str:
    """The permission that lets a program agree, where a token has it."""
    if token["approves"] is None:
        return ""
    return f"APPROVE ({count(len(token['approves']), 'automation')})"


def _state(token: Mapping[str, Any], now: datetime) -> str:
    if token["revoked_at"] is not None:
        return f"revoked {date_time(token['revoked_at'])}"
    if token["expires_at"] is None:
        return ""
    word = "ended" if token["expires_at"] <= now else "until"
    return f"{word} {date_time(token['expires_at'])}"


def _describe_token(stored: StoredToken) -> dict[str, Any]:
    """Everything about a token but its text."""
    return {
        "id": stored.id,
        "name": stored.name,
        "hint": stored.hint,
        "role": stored.role.value,
        "capabilities": stored.capabilities,
        "created_at": stored.created_at,
        "expires_at": stored.expires_at,
        "last_used_at": stored.last_used_at,
        "revoked_at": stored.revoked_at,
        "approves": stored.approves,
        "warning": None if stored.approves is None else APPROVE_WARNING,
    }
