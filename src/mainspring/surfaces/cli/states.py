"""``activate``, ``pause``, ``archive``, ``restore`` and ``acknowledge``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import ConsentRequired, Finding
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.automation_view import (
    read_automation_at,
    read_board_names,
    token_hints,
    trigger_lines,
)
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.lookup import find_automation_at
from mainspring.surfaces.cli.person_prompt import agree_if_required
from mainspring.surfaces.cli.running_server import find_running_server
from mainspring.surfaces.cli.screen import Screen, one_line
from mainspring.surfaces.cli.summary import warning_lines
from mainspring.surfaces.cli.terminal_prompt import Ask

if TYPE_CHECKING:
    from pathlib import Path

    from rich.text import Text

    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.http_client import ApiClient


async def change_state(
    context: CommandContext, screen: Screen, act: str, text: str, ask: Ask | None = None
) -> int:
    """Changes the state of an automation, and prints what that means."""
    async with open_client(context) as client:
        done = await change_state_at(client, local_home(context), screen, act, text, ask)
    return exits.DONE if done else exits.FAILED


def local_home(context: CommandContext) -> Path | None:
    """The data folder of the server, if that is on this machine."""
    settings = context.settings()
    is_remote = context.server is not None or settings.url is not None
    return None if is_remote else settings.home


async def change_state_at(
    client: ApiClient,
    home: Path | None,
    screen: Screen,
    act: str,
    text: str,
    ask: Ask | None = None,
) -> bool:
    """Changes the state at a server; ``home`` is its data folder if it is on this machine.

    False: a person did not agree to what the automation may do.
    """
    found = await find_automation_at(client, text, archived_first=act == "restore")
    path = f"/automations/{found['id']}"
    forecast = await client.request("GET", f"{path}/forecast") if act == "activate" else None
    # The cost is shown before triggers can start it.
    if forecast is not None and not screen.for_programs:
        screen.say(one_line(forecast["sentence"], 400))
    try:
        changed = await client.request("POST", f"{path}/{act}")
    except ConsentRequired as problem:
        if not await agree_if_required(client, screen, problem, ask):
            screen.say("Not activated: you did not agree. The automation stays paused.")
            return False
        changed = await client.request("POST", f"{path}/{act}")
    now = await read_automation_at(client, found["id"])
    if screen.for_programs:
        screen.answer(_describe_state(now, changed, forecast))
        return True
    screen.say(*_head_lines(act, now, screen))
    if act == "activate":
        screen.say(*await _start_lines(client, home, now, changed["warnings"], screen))
    return True


def _describe_state(
    now: Mapping[str, Any], changed: Mapping[str, Any], forecast: Mapping[str, Any] | None
) -> dict[str, Any]:
    names = ("id", "name", "state", "version", "failures", "next_due_at")
    shown = {name: now[name] for name in names}
    if forecast is not None:
        shown |= {"forecast": forecast, "warnings": changed["warnings"]}
    return shown


def _head_lines(act: str, now: Mapping[str, Any], screen: Screen) -> list[Text]:
    from rich.text import Text

    sign, colour = screen.mark("succeeded")
    head = Text.assemble((sign, colour), " ", (one_line(now["name"]), "bold"))
    head.append(f" {_describe_transition(act, now)}")
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
            return "is paused. Only `fire` starts it now. Current runs continue."
        case "archive":
            return "is archived. Its name is free and its history is kept."
        case "restore":
            return f"is restored, {now['state']}."
    return f"is {now['state']}. Its failures are acknowledged."


async def _start_lines(
    client: ApiClient,
    home: Path | None,
    now: Mapping[str, Any],
    warnings: list[dict[str, Any]],
    screen: Screen,
) -> list[Text]:
    """What starts an active automation, and what it still needs."""
    from rich.text import Text

    boards = await read_board_names(client, now["triggers"])
    lines = [line for row in now["triggers"] for line in trigger_lines(row, boards)]
    lines += warning_lines([Finding(**one) for one in warnings], screen)
    calls = token_hints(now["name"], now["triggers"])
    if not now["triggers"]:
        lines.append(Text("  It has no triggers. Start it manually."))
        calls.append(hint("fire", now["name"]))
    elif not await _has_scheduler(client, home):
        sign, colour = screen.mark("warning")
        text = " No server is running. Triggers fire only while one is."
        lines.append(Text.assemble("  ", (sign, colour), text))
        calls.append(hint("up"))
    return [*lines, *(Text(f"  {call}", style="bright_black") for call in calls)]


async def _has_scheduler(client: ApiClient, home: Path | None) -> bool:
    """Whether a server or a worker runs, so that triggers can fire."""
    if home is None or find_running_server(home) is not None:
        return True
    return bool((await client.call("admin_list_workers", {}))["workers"])
