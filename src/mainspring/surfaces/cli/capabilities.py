"""``capabilities`` and ``call``: what the gate offers, and one call through it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NoReturn

from mainspring.contracts.errors import Finding, Invalid, NotFound
from mainspring.definition.suggestions import suggest_nearest
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.documents import STDIN, read_document, read_object
from mainspring.surfaces.cli.formatting import count, date_time, duration, usd
from mainspring.surfaces.cli.http_client import capability_path
from mainspring.surfaces.cli.screen import Screen, as_json, clean, one_line

if TYPE_CHECKING:
    from mainspring.contracts.limits import Limits
    from mainspring.surfaces.cli.context import CommandContext


async def show_capabilities(
    context: CommandContext, screen: Screen, name: str | None, *, everything: bool
) -> int:
    """Everything that may be called here, or one capability with its schemas."""
    async with open_client(context) as client:
        if name is not None:
            try:
                found = await client.request("GET", capability_path(name))
            except NotFound:
                listed = await client.request("GET", "/capabilities", query={"all": "true"})
                _unknown([one["id"] for one in listed["capabilities"]], name)
            _show_one(screen, found)
            return exits.DONE
        query = {"all": "true" if everything else None}
        offers = (await client.request("GET", "/capabilities", query=query))["capabilities"]
    if screen.for_programs:
        screen.answer({"capabilities": offers})
        return exits.DONE
    marked = ["For"] if everything else []
    rows = [
        (
            one["id"],
            one["effect"],
            *([_audience(one)] if marked else []),
            one_line(one["label"], 80),
        )
        for one in offers
    ]
    heads = ["Name", "Effect", *marked, "What it does"]
    screen.say(columns(heads, rows, whole=heads[:-1]))
    return exits.DONE


def _audience(capability: Mapping[str, Any]) -> str:
    """Whom a capability is for, where that is not everybody who reads this."""
    return "steps alone" if capability["audience"] == "runs" else ""


async def call_by_words(
    context: CommandContext, screen: Screen, name: str, arguments: str | None
) -> int:
    given = read_arguments(arguments, context.limits())
    return await call_capability(context, screen, name, given)


def read_arguments(text: str | None, limits: Limits) -> dict[str, Any]:
    """The arguments as a word, from a pipe for ``-``, or none."""
    if text is None:
        return {}
    if text != STDIN:
        return read_object(text, limits, "arguments")
    found = read_document(STDIN, limits)
    if not isinstance(found, dict):
        detail = "The arguments must be one JSON object."
        raise Invalid(detail, code="type", findings=[Finding("", detail, "type")])
    return found


async def call_capability(
    context: CommandContext, screen: Screen, name: str, arguments: dict[str, Any]
) -> int:
    """Calls it as whoever gives the command; its value is what is written."""
    async with open_client(context) as client:
        value = await client.call(name, arguments, as_program=True)
    screen.answer(value)
    return exits.DONE


def _history_line(history: Mapping[str, Any]) -> str:
    """What it came to here so far, in a sentence."""
    average = usd(round(Decimal(str(history["average_usd"])), 6))
    took = duration(history["average_ms"] / 1000)
    calls = count(history["calls"], "call")
    since = date_time(datetime.fromisoformat(history["since"]))
    return f"{calls} since {since}: {average} and {took} on average."


def _unknown(known: Sequence[str], name: str) -> NoReturn:
    raise NotFound(
        f"There is no capability called {name[:100]!r}.",
        code="unknown_capability",
        suggestion=suggest_nearest(name, known),
    )


def _show_one(screen: Screen, one: Mapping[str, Any]) -> None:
    if screen.for_programs:
        screen.answer(one)
        return
    history = one["history"]
    screen.say(f"{one['id']}  ({one['effect']})", "", clean(one["description"].strip()))
    if _audience(one):
        screen.say("", "Only a step of an automation may call it.")
    if history and history["calls"]:
        screen.say("", _history_line(history))
    screen.say("", "It takes:", as_json(one["input_schema"]))
    screen.say("", "It answers:", as_json(one["output_schema"]))
