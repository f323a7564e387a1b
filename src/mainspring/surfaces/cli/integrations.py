"""``integrations``: accounts elsewhere, how they fare, and as whom people sign in.

What lets somebody in goes in by a pipe or a hidden prompt and never comes out. The commands call
the same capabilities as every other surface, as the local owner.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import typer

from mainspring.contracts.errors import Invalid, NotFound
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.screen import Screen, clean, one_line

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext

_MOST: Final = 65_536
_STATES: Final = {
    "ready": "connected",
    "reconnect": "connect again",
    "not_connected": "not connected",
    "not_needed": "needs no connection",
    "operator": "not set up by the operator",
    "secret_missing": "needs a secret",
}


async def list_integrations(context: CommandContext, screen: Screen, *, connected: bool) -> int:
    found = await _call(context, "list_integrations", {"include_unconnected": not connected})
    if screen.for_programs:
        screen.answer(found)
        return exits.DONE
    rows = [
        (
            one["name"],
            _STATES[one["state"]],
            _account(one),
            _does(one),
            one_line(one["description"]),
        )
        for one in found["integrations"]
    ]
    screen.say(
        columns(("Name", "State", "Account", "Does", "What it is"), rows, whole=("Name", "State"))
    )
    for one in found["integrations"]:
        if one["state"] == "reconnect":
            _say_trouble(screen, one)
    return exits.DONE


async def fields_of(context: CommandContext, name: str) -> list[dict[str, Any]]:
    """What an integration asks for."""
    found = (await _call(context, "list_integrations", {}))["integrations"]
    for one in found:
        if one["name"] == name:
            fields: list[dict[str, Any]] = one["fields"]
            return fields
    raise NotFound(
        f"There is no integration called {name[:64]!r} here.",
        code="unknown_integration",
        suggestion=f"There is {', '.join(one['name'] for one in found)}.",
    )


def ask_fields(fields: Sequence[Mapping[str, Any]], given: Sequence[str]) -> dict[str, Any]:
    """What was given, and what a person or a pipe says for the rest."""
    said = _settings(fields, given)
    left = [one for one in fields if one["name"] not in said]
    if not left:
        return said
    if sys.stdin.isatty():
        return said | {name: value for name, value in map(_prompted, left) if value != ""}
    text = _piped()
    secret = [one["name"] for one in left if one["secret"]]
    if not text:
        return said
    if len(secret) == 1 and not text.startswith("{"):
        return said | {secret[0]: text}
    try:
        more = json.loads(text)
    except ValueError:
        more = None
    if not isinstance(more, dict):
        # The cause would quote what may be secret.
        raise Invalid(
            "Several fields come from a pipe as one JSON object.", code="bad_fields"
        ) from None
    return said | more


def read_secret(text: str) -> str | None:
    """A secret from the pipe or from a person; None when there is none."""
    if sys.stdin.isatty():
        asked = typer.prompt(text, default="", show_default=False, hide_input=True, err=True)
        return str(asked).strip() or None
    return _piped() or None


async def connect(
    context: CommandContext,
    screen: Screen,
    name: str,
    fields: Mapping[str, Any],
    *,
    share: bool = False,
) -> int:
    arguments: dict[str, Any] = {"integration": name}
    if fields:
        arguments["fields"] = dict(fields)
    if share:
        arguments["share"] = True
    made = await _call(context, "connect_integration", arguments)
    if screen.for_programs:
        screen.answer(made)
    elif made["sign_in_url"] is not None:
        screen.say(
            "Open this in the browser in which you are signed in to Mainspring:",
            f"  {clean(made['sign_in_url'])}",
        )
    else:
        who = made["integration"]["account"]
        screen.say(made["note"] or f"{name} is connected{f' as {one_line(who)}' if who else ''}.")
    return exits.DONE


async def test_connection(context: CommandContext, screen: Screen, name: str) -> int:
    found = await _call(context, "test_integration_connection", {"integration": name})
    if screen.for_programs:
        screen.answer(found)
    elif found["works"]:
        screen.say(f"{name} works. You are {one_line(found['integration']['account'])} there.")
    else:
        screen.say(one_line(found["problem"]["detail"], 400))
        if found["problem"].get("suggestion"):
            screen.say(f"  {one_line(found['problem']['suggestion'], 400)}")
    return exits.DONE if found["works"] else exits.FAILED


async def share(
    context: CommandContext, screen: Screen, name: str, *, withdraw: bool = False
) -> int:
    deed = "withdraw_integration_connection" if withdraw else "share_integration_connection"
    found = await _call(context, deed, {"integration": name})
    if screen.for_programs:
        screen.answer(found)
    elif withdraw:
        screen.say(f"The workspace has no connection to {name} any more.")
    else:
        screen.say(f"Automations of every member may use this connection to {name} now.")
    return exits.DONE


async def disconnect(context: CommandContext, screen: Screen, name: str) -> int:
    gone = await _call(context, "disconnect_integration", {"integration": name})
    if screen.for_programs:
        screen.answer(gone)
    elif gone["disconnected"]:
        screen.say(f"{name} is disconnected. Its credentials are deleted.")
        if "note" in gone:
            screen.say(gone["note"])
    else:
        screen.say(f"{name} was not connected.")
    return exits.DONE


async def list_clients(context: CommandContext, screen: Screen) -> int:
    found = await _call(context, "list_oauth_clients", {})
    if screen.for_programs:
        screen.answer(found)
        return exits.DONE
    ids = {one["provider"]: one["client_id"] for one in reversed(found["clients"])}
    rows = [
        (
            one["provider"],
            one_line(ids.get(one["provider"], "none yet")),
            ", ".join(one["integrations"]),
            one["redirect_url"],
        )
        for one in found["providers"]
    ]
    screen.say(
        columns(
            ("Provider", "Client", "For", "Register this address there"),
            rows,
            whole=("Provider", "Register this address there"),
        )
    )
    return exits.DONE


async def set_client(
    context: CommandContext,
    screen: Screen,
    provider: str,
    client_id: str,
    secret: str | None,
    *,
    for_everyone: bool,
) -> int:
    name = "admin_set_oauth_client" if for_everyone else "set_oauth_client"
    given = {"provider": provider, "client_id": client_id}
    if secret is not None:
        given["client_secret"] = secret
    made = await _call(context, name, given)
    if screen.for_programs:
        screen.answer(made)
    else:
        screen.say(
            f"People sign in at {provider} as {one_line(made['client']['client_id'])} now.",
            "Register this address there, as it is:",
            f"  {made['redirect_url']}",
        )
    return exits.DONE


async def remove_client(
    context: CommandContext, screen: Screen, provider: str, *, for_everyone: bool
) -> int:
    name = "admin_remove_oauth_client" if for_everyone else "remove_oauth_client"
    gone = await _call(context, name, {"provider": provider})
    if screen.for_programs:
        screen.answer(gone)
    else:
        said = "is deleted." if gone["removed"] else "was not set."
        screen.say(f"The client of {one_line(provider)} {said}")
    return exits.DONE


async def _call(context: CommandContext, capability: str, given: Mapping[str, Any]) -> Any:
    async with open_client(context) as client:
        return await client.call(capability, given)


def _account(one: Mapping[str, Any]) -> str:
    shared = one["connection"] is not None and one["connection"]["owner"] == "workspace"
    account = one_line(one["account"] or "")
    return f"{account} (workspace)".strip() if shared else account


def _does(one: Mapping[str, Any]) -> str:
    words = {"fetch": "reads", "act": "writes", "adapter": "boards"}
    return ", ".join(word for name, word in words.items() if one["supports"][name])


def _say_trouble(screen: Screen, one: Mapping[str, Any]) -> None:
    last = (one["connection"] or {}).get("last_error")
    screen.say(
        f"{one['label']}: {one_line(last['detail'], 400)}" if last else one["label"],
        f"  {hint('integrations', 'connect', one['name'])}",
    )


def _settings(fields: Sequence[Mapping[str, Any]], given: Sequence[str]) -> dict[str, Any]:
    """Fields that are no secret, as words of the command."""
    known = {one["name"]: one for one in fields}
    answer: dict[str, Any] = {}
    for word in given:
        name, equals, value = word.partition("=")
        one = known.get(name)
        if not equals or one is None:
            open_ones = ", ".join(n for n, f in known.items() if not f["secret"]) or "none"
            raise Invalid(
                "A setting is written as FIELD=VALUE.",
                code="bad_fields",
                suggestion=f"There is: {open_ones}.",
            )
        if one["secret"]:
            raise Invalid(
                f"{one['label']} is secret: a word of a command can be read by others.",
                code="secret_as_word",
                suggestion="Leave it out: a prompt asks for it, or it is read from standard input.",
            )
        answer[name] = _typed(one, value)
    return answer


def _prompted(one: Mapping[str, Any]) -> tuple[str, Any]:
    default = "" if one["default"] is None else str(one["default"])
    words = one["label"] if one["required"] else f"{one['label']} (Enter for none)"
    asked = typer.prompt(
        words, default=default, show_default=bool(default), hide_input=bool(one["secret"]), err=True
    )
    value = str(asked).strip()
    return one["name"], "" if value == "" else _typed(one, value)


def _typed(one: Mapping[str, Any], value: str) -> Any:
    """A word as the field wants it; what does not fit is judged like any other."""
    if one["type"] == "integer" and value.lstrip("-").isdigit():
        return int(value)
    if one["type"] == "boolean" and value.lower() in ("true", "false", "yes", "no"):
        return value.lower() in ("true", "yes")
    return value


def _piped() -> str:
    data = sys.stdin.buffer.read(_MOST)
    try:
        return data.decode().strip()
    except UnicodeDecodeError:
        # The cause would quote the value.
        raise Invalid("The input is not UTF-8 text.", code="bad_fields") from None
