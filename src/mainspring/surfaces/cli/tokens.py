"""``tokens``: list, create and revoke access tokens."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Invalid
from mainspring.contracts.roles import Role
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.formatting import count, date_time, hint
from mainspring.surfaces.cli.lookup import find_in_use_at
from mainspring.surfaces.cli.pages_of_rows import restore_values
from mainspring.surfaces.cli.person_prompt import check_person, confirm
from mainspring.surfaces.cli.screen import Screen, clean, one_line
from mainspring.surfaces.cli.terminal_prompt import Ask

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext


async def show_tokens(context: CommandContext, screen: Screen) -> int:
    async with open_client(context) as client:
        listed = (await client.request("GET", "/tokens", query={"all": "true"}))["tokens"]
    found = [restore_values(token) for token in listed]
    if screen.for_programs:
        screen.answer({"tokens": [_without_member(one) for one in found]})
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


_BY_PEOPLE: Final = "Only a person can create a token with the permission approve."


@dataclass(frozen=True, slots=True)
class TokenOptions:
    """A token as it is asked for."""

    name: str
    role: Role
    capabilities: tuple[str, ...] | None = None
    days: int | None = None
    # Names or ids of automations; None: without the permission approve.
    approves: tuple[str, ...] | None = None


async def create_named_token(
    context: CommandContext,
    screen: Screen,
    name: str,
    *,
    role: str,
    capability: list[str] | None,
    days: int | None,
    approve: list[str] | None,
) -> int:
    named, approves = tuple(capability or ()) or None, tuple(approve or ()) or None
    options = TokenOptions(name, Role(role), named, days, approves)
    return await create_token(context, screen, options)


async def create_token(
    context: CommandContext, screen: Screen, options: TokenOptions, ask: Ask | None = None
) -> int:
    """Creates a token. One with the permission approve is created by a person at a terminal."""
    async with open_client(context) as client:
        found = [await find_in_use_at(client, text) for text in options.approves or ()]
        body: dict[str, Any] = {"name": options.name, "role": options.role.value}
        if options.capabilities is not None:
            body["capabilities"] = list(options.capabilities)
        ends = None if options.days is None else datetime.now(UTC) + timedelta(days=options.days)
        if ends is not None:
            body["expires_at"] = ends.isoformat()
        if options.approves is not None:
            from mainspring.workspace import tokens

            named = tuple(UUID(str(one["id"])) for one in found)
            body["approves"] = [str(one) for one in named]
            check_person(client, screen, ask, _BY_PEOPLE, "/settings/tokens")
            limits = tokens.TokenLimits(options.role, options.capabilities, ends, named)
            # A person is only asked about a token that can be created.
            if findings := list(tokens.find_approve_problems(limits)):
                raise Invalid("A token cannot be made like this.", findings=findings)
            warning = tokens.APPROVE_WARNING
            shown = [f"It may approve {one_line(one['name'])}." for one in found]
            if not await confirm(screen, [warning, *shown], "Create this token?", ask):
                screen.say("No token was created.")
                return exits.DONE
        made = await client.request("POST", "/tokens", body, confirmed=True)
    stored = restore_values(made["token"])
    if screen.for_programs:
        screen.answer({"token": _without_member(stored), "text": made["text"]})
    else:
        # The text goes to stdout alone, so that a shell can capture it.
        screen.say(made["text"])
        sys.stderr.write(f"{clean(_describe_new(stored))}\n")
    return exits.DONE


async def end_token(context: CommandContext, screen: Screen, text: str) -> int:
    try:
        token_id = UUID(text)
    except ValueError:
        raise Invalid(
            "A token is revoked by its id, not by its text.",
            code="usage",
            suggestion=f"{hint('tokens', 'list')} shows the ids.",
        ) from None
    async with open_client(context) as client:
        stored = restore_values(await client.request("DELETE", f"/tokens/{token_id}"))
    if screen.for_programs:
        screen.answer(_without_member(stored))
    else:
        screen.say(f"Revoked the token {one_line(stored['name'])}.")
    return exits.DONE


def _describe_new(stored: Mapping[str, Any]) -> str:
    """What the new token permits."""
    ends = stored["expires_at"]
    until = "works until it is revoked" if ends is None else f"expires {date_time(ends)}"
    named = stored["capabilities"]
    calls = "" if named is None else f", can call only {', '.join(named)}"
    return (
        f"The token {one_line(stored['name'])} has the role {stored['role']}{calls} and {until}. "
        f"Its id is {stored['id']}. Its text is not shown again."
    )


def _without_member(token: Mapping[str, Any]) -> dict[str, Any]:
    return {name: token[name] for name in token if name != "member_id"}


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
