"""``connections``: servers of tools, and which of their tools may be called.

The commands call the same capabilities as every other surface, as the local owner. A program on
this machine can be connected by a command alone.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Invalid, NotFound, PersonRequired, UpstreamError
from mainspring.definition.escaping import escape_json
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns, format_time
from mainspring.surfaces.cli.connection import enter_event_loop, open_client
from mainspring.surfaces.cli.formatting import count, hint
from mainspring.surfaces.cli.person_prompt import confirm
from mainspring.surfaces.cli.screen import Screen, clean, one_line
from mainspring.surfaces.cli.server_presence import server_address
from mainspring.surfaces.cli.terminal_prompt import Ask, at_terminal

if TYPE_CHECKING:
    from rich.text import Text

    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.http_client import ApiClient
    from mainspring.surfaces.services import ApplicationServices

_WAITING: Final = frozenset({"new", "changed"})
_PATIENCE: Final = 600.0


async def list_connections(context: CommandContext, screen: Screen) -> int:
    async with open_client(context) as client:
        found = await client.call("list_connections", {})
    if screen.for_programs:
        screen.answer(found)
    elif found["connections"]:
        rows = [_row(one, screen) for one in found["connections"]]
        screen.say(
            columns(
                ("Alias", "Health", "Tools", "Looked at", "Where"), rows, whole=("Alias", "Health")
            )
        )
        for one in found["connections"]:
            if one["tools"]["waiting"]:
                screen.say(f"  {hint('connections', 'agree', one['alias'])}")
    else:
        screen.say("There are no connections yet.", f"  {hint('connections', 'add', 'URL')}")
    return exits.DONE


async def show_connection(
    context: CommandContext, screen: Screen, alias: str, tool: str | None
) -> int:
    async with open_client(context) as client:
        given = {"connection_id": await _id_of(client, alias)}
        found = await client.call("get_connection", given | ({"tool": tool} if tool else {}))
    _say_whole(screen, found, whole=tool is not None)
    return exits.DONE


async def add_server(
    context: CommandContext,
    screen: Screen,
    url: str,
    alias: str,
    *,
    token: bool,
    oauth: bool,
    client_id: str | None,
    look_first: bool,
) -> int:
    """Connects to an MCP server with the options of the command."""
    if token and oauth:
        raise Invalid("Use either --token or --oauth, not both.", code="auth")
    arguments: dict[str, Any] = {"alias": alias, "server_url": url, "agree": not look_first}
    if oauth:
        arguments["auth"] = "oauth"
    if client_id is not None:
        arguments["client_id"] = client_id
    if token:
        from mainspring.surfaces.cli.secrets import read_value

        arguments["token"] = read_value(context.limits())
    return await add(context, screen, arguments)


async def add(context: CommandContext, screen: Screen, arguments: Mapping[str, Any]) -> int:
    """Connects over HTTP; with OAuth it waits for the sign-in."""
    async with open_client(context) as client:
        made = await client.call("connect_mcp_server", arguments)
        if arguments.get("auth") == "oauth":
            await _sign_in_here(context, screen, UUID(made["connection"]["id"]))
        shown = await client.call("get_connection", {"connection_id": made["connection"]["id"]})
    _say_whole(screen, shown)
    return exits.DONE


async def add_stdio(
    context: CommandContext, screen: Screen, alias: str, command: Sequence[str], *, look_first: bool
) -> int:
    check_command(command)
    return await add_program(context, screen, alias, command, agree=not look_first)


async def add_program(
    context: CommandContext,
    screen: Screen,
    alias: str,
    command: Sequence[str],
    *,
    agree: bool,
    ask: Ask | None = None,
) -> int:
    """Connects a program on this machine, which nobody can do from elsewhere.

    A person at a terminal sees what is started and agrees to its tools. Without one its tools can
    only be connected so that they wait for a person.
    """
    from mainspring.gate.callers import CapabilityCaller
    from mainspring.surfaces.cli.local import AuditedAction, local, local_owner
    from mainspring.surfaces.cli.person_prompt import has_person

    async with context.doors.open(context.settings()) as services:
        owner = local_owner(services)
        if agree:
            if not has_person(services, screen, ask):
                raise PersonRequired(
                    "Only a person can agree to the tools of a program on this machine.",
                    suggestion="Give the same command at a terminal, without --json and "
                    "MAINSPRING_TOKEN. Or add --look-first: its tools then wait for a person at "
                    f"{server_address(services.settings)}/connect.",
                )
            lines = [
                "This program will run on this machine, as the user of the server:",
                f"  {clean(shlex.join(command))}",
                f"Its current tools will be callable as {alias}.TOOL.",
            ]
            if not await confirm(screen, lines, "Connect it and agree to its tools?", ask):
                screen.say("Not connected: you did not agree.")
                return exits.FAILED
        made = await services.mcp_connection_service.connect_program(
            owner, alias, list(command), agree=agree
        )
        deed = AuditedAction("connect_program", alias, {"connection_id": str(made.id)})
        async with local(services, deed).transaction():
            pass  # The entry of the audit log is all there is to write.
        shown = await services.gate.direct(
            CapabilityCaller(owner), "get_connection", {"connection_id": str(made.id)}
        )
    _say_whole(screen, shown)
    return exits.DONE


async def sign_in(context: CommandContext, screen: Screen, alias: str) -> int:
    async with open_client(context) as client:
        wanted = await _id_of(client, alias)
        await _sign_in_here(context, screen, UUID(wanted))
        shown = await client.call("get_connection", {"connection_id": wanted})
    _say_whole(screen, shown)
    return exits.DONE


async def replace_token(context: CommandContext, screen: Screen, alias: str) -> int:
    """Reads a token from a pipe or a hidden prompt, and stores it."""
    from mainspring.surfaces.cli.secrets import read_value

    return await set_token(context, screen, alias, read_value(context.limits()))


async def set_token(context: CommandContext, screen: Screen, alias: str, token: str) -> int:
    """Stores the token and lists the tools with it, so a wrong token fails immediately."""
    async with open_client(context) as client:
        given = {"connection_id": await _id_of(client, alias)}
        await client.call("set_connection_token", {**given, "token": token})
        shown = await client.call("harvest_connection", given)
    _say_whole(screen, shown)
    return exits.DONE


async def harvest(context: CommandContext, screen: Screen, alias: str) -> int:
    async with open_client(context) as client:
        given = {"connection_id": await _id_of(client, alias)}
        shown = await client.call("harvest_connection", given)
    _say_whole(screen, shown)
    return exits.DONE


async def waiting(
    context: CommandContext, alias: str, names: Sequence[str]
) -> list[dict[str, Any]]:
    """The tools that wait for somebody, or those that are named, with all there is to read."""
    async with open_client(context) as client:
        given = {"connection_id": await _id_of(client, alias)}
        brief = (await client.call("get_connection", given))["tools"]
        wanted = list(names) or [one["name"] for one in brief if one["state"] in _WAITING]
        found = []
        for name in wanted:
            found += (await client.call("get_connection", {**given, "tool": name}))["tools"]
    return found


def say_waiting(screen: Screen, tools: Sequence[Mapping[str, Any]]) -> None:
    """What would be agreed to: what is different, and all of it as it is now."""
    for tool in tools:
        screen.say(*_tool_lines(tool, whole=True))


async def agree_to_tools(
    context: CommandContext, screen: Screen, alias: str, tools: Sequence[str] | None, *, yes: bool
) -> int:
    """Shows new and changed tools, asks, and agrees to exactly what was shown."""
    found = await waiting(context, alias, tools or ())
    if not found:
        if screen.for_programs:
            screen.answer({"tools": []})
        screen.say(f"No tool of {alias} is waiting for agreement.")
        return exits.DONE
    say_waiting(screen, found)
    if at_terminal(screen):
        # Asked even with --yes: a person agrees by answering.
        if not await confirm(screen, (), "Agree?"):
            return exits.FAILED
    elif not yes:
        raise Invalid("There is no terminal to ask on.", code="not_asked", suggestion="Add --yes.")
    return await agree(context, screen, alias, found)


async def agree(
    context: CommandContext, screen: Screen, alias: str, tools: Sequence[Mapping[str, Any]]
) -> int:
    """Agrees to tools as they were shown, and to nothing else."""
    chosen = [{"name": tool["name"], "hash": tool["hash"]} for tool in tools]
    async with open_client(context) as client:
        given = {"connection_id": await _id_of(client, alias), "tools": chosen}
        shown = await client.call("agree_to_tools", given)
    if screen.for_programs:
        screen.answer(shown)
    else:
        screen.say(f"{count(len(chosen), 'tool')} of {alias} can now be called.")
    return exits.DONE


async def refuse(context: CommandContext, screen: Screen, alias: str, names: Sequence[str]) -> int:
    async with open_client(context) as client:
        given = {"connection_id": await _id_of(client, alias), "tools": list(names)}
        shown = await client.call("refuse_tools", given)
    if screen.for_programs:
        screen.answer(shown)
    else:
        screen.say(f"{count(len(names), 'tool')} of {alias} can no longer be called.")
    return exits.DONE


async def set_effect(
    context: CommandContext, screen: Screen, alias: str, tool: str, effect: str | None
) -> int:
    effect = None if effect == "guess" else effect
    async with open_client(context) as client:
        given = {"connection_id": await _id_of(client, alias), "tool": tool, "effect": effect}
        shown = await client.call("set_tool_effect", given)
    if screen.for_programs:
        screen.answer(shown)
    else:
        now = next(one for one in shown["tools"] if one["name"] == tool)
        screen.say(f"{now['capability']} {_DOES[now['effect']]}: {now['effect_because']}.")
    return exits.DONE


async def remove(context: CommandContext, screen: Screen, alias: str) -> int:
    async with open_client(context) as client:
        given = {"connection_id": await _id_of(client, alias)}
        gone = await client.call("disconnect_mcp_server", given)
    if screen.for_programs:
        screen.answer(gone)
    else:
        screen.say(f"{alias} is disconnected. Its tools and tokens are deleted.")
    return exits.DONE


_DOES: Final = {"read": "reads", "send": "sends, and waits for a person when a run calls it"}


async def _sign_in_here(context: CommandContext, screen: Screen, connection_id: UUID) -> None:
    """Shows where to sign in, and waits for the browser to return to this machine."""
    await enter_event_loop()
    async with context.doors.open(context.settings()) as services:
        await _sign_in_with(services, screen, connection_id)


async def _sign_in_with(services: ApplicationServices, screen: Screen, connection_id: UUID) -> None:
    from mainspring.surfaces.cli.local import local_owner
    from mainspring.surfaces.cli.oauth_redirect import listening

    owner, outside = local_owner(services), services.mcp_connection_service.parts.outside
    async with listening(connection_id) as back:
        link = await outside.begin_sign_in(owner, connection_id, back.address)
        back.expect_callback_for(link)
        screen.say("Open this in a browser on this machine, and sign in:", f"  {clean(link)}")
        try:
            brought = await back.wait(_PATIENCE)
        except TimeoutError:
            raise UpstreamError(
                "The sign-in was not completed in time.",
                code="sign_in_expired",
                suggestion="Start again with the command sign-in.",
                retryable=False,
            ) from None
    _, failed = await services.mcp_connection_service.finish_sign_in(
        owner,
        connection_id,
        state=brought["state"],
        code=brought.get("code"),
        iss=brought.get("iss"),
        error=brought.get("error"),
    )
    if failed is not None:
        raise failed


async def _id_of(client: ApiClient, alias: str) -> str:
    found = (await client.call("list_connections", {}))["connections"]
    for one in found:
        if alias in (one["alias"], one["id"]):
            return str(one["id"])
    names = ", ".join(one["alias"] for one in found)
    raise NotFound(
        f"There is no connection called {alias[:64]!r}.",
        code="connection_missing",
        suggestion=f"There are: {names}." if names else hint("connections", "add", "URL"),
    )


def check_command(command: Sequence[str]) -> None:
    """Refuses an empty command."""
    if not command:
        raise Invalid(
            "Name the program to start, after --.",
            code="bad_command",
            suggestion="mainspring connections add-stdio notes -- npx -y notes-server",
        )


def _row(one: Mapping[str, Any], screen: Screen) -> tuple[str, ...]:
    tools = one["tools"]
    said = [f"{tools['agreed']} agreed"]
    said += [f"{tools[name]} {name}" for name in ("waiting", "gone", "refused") if tools[name]]
    at = one["last_harvested_at"]
    seen = "" if at is None else format_time(datetime.fromisoformat(at), screen)
    where = one["server_url"] or "a program on this machine"
    return one["alias"], _HEALTH[one["health"]], ", ".join(said), seen, one_line(where)


_HEALTH: Final = {
    "ok": "ok",
    "failing": "failing",
    "sign_in": "sign in again",
    "unknown": "not used yet",
}


def _say_whole(screen: Screen, found: Mapping[str, Any], *, whole: bool = False) -> None:
    if screen.for_programs:
        screen.answer(found)
        return
    from rich.text import Text

    one = found["connection"]
    screen.say(Text(f"{one['alias']}: {_HEALTH[one['health']]}", style="bold"))
    wrong = [one[label] for label in ("last_error", "harvest_error") if one[label] is not None]
    for detail in dict.fromkeys(error["detail"] for error in wrong):
        screen.say(Text(f"  {one_line(detail, 400)}", style="red"))
    for tool in found["tools"]:
        screen.say(*_tool_lines(tool, whole=whole))
    if one["tools"]["waiting"]:
        screen.say(f"  {hint('connections', 'agree', one['alias'])}")


def _tool_lines(tool: Mapping[str, Any], *, whole: bool) -> list[Text]:
    from rich.text import Text

    style = {"agreed": "green", "new": "yellow", "changed": "yellow"}.get(tool["state"], "red")
    head = Text("  ")
    head.append(tool["state"], style=style)
    head.append(f" {clean(tool['capability'])} ({tool['effect']}: {clean(tool['effect_because'])})")
    lines = [head]
    if tool["reason"]:
        lines.append(Text(f"    {one_line(tool['reason'], 400)}"))
    if tool["used_by"]:
        lines.append(Text(f"    used by {one_line(', '.join(tool['used_by']), 400)}"))
    lines += [Text(f"    {clean(line)}") for line in tool["differences"]]
    if whole:
        lines += [Text(f"    {clean(line)}") for line in _all_of(tool)]
    elif tool["description"]:
        lines.append(Text(f"    {one_line(tool['description'])}", style="bright_black"))
    return lines


def _all_of(tool: Mapping[str, Any]) -> list[str]:
    """All that is agreed to with a tool, and nothing in it that is not seen."""
    lines = [f"title: {escape_json(tool['title'])}"] if tool["title"] else []
    lines += ["description:", *(f"  {line}" for line in tool["description"].splitlines())]
    for name in ("input_schema", "output_schema", "hints"):
        if tool[name]:
            lines.append(f"{name.replace('_schema', '')}:")
            lines += [f"  {line}" for line in escape_json(tool[name], indent=2).splitlines()]
    return lines
