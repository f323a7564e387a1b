"""``capabilities`` and ``call``: what the gate offers, and one call through it."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NoReturn

from mainspring.contracts.capability import Audience
from mainspring.contracts.errors import Finding, Invalid, NotFound
from mainspring.definition.suggestions import suggest_nearest
from mainspring.gate.usage_ledger import history_of
from mainspring.surfaces.capability_list import as_dict, find_offer, list_offers
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.caller import behind, local_caller
from mainspring.surfaces.cli.columns import columns
from mainspring.surfaces.cli.documents import STDIN, read_document, read_object
from mainspring.surfaces.cli.formatting import count, date_time, duration, usd
from mainspring.surfaces.cli.screen import Screen, as_json, clean, one_line

if TYPE_CHECKING:
    from mainspring.contracts.capability import Capability
    from mainspring.contracts.limits import Limits
    from mainspring.gate.capability_offers import CapabilityOffer
    from mainspring.surfaces.cli.context import CommandContext


async def show_capabilities(
    context: CommandContext, screen: Screen, name: str | None, *, everything: bool
) -> int:
    """Everything that may be called here, or one capability with its schemas."""
    async with context.doors.open(context.settings()) as services:
        caller = await local_caller(services)
        if name is not None:
            found = await find_offer(services, caller, name)
            if found is None:
                _unknown(await list_offers(services, caller, everything=True), name)
            space = caller.actor.workspace_id
            async with behind(services, caller).acquire() as connection:
                history = await history_of(
                    connection, space, found.capability.id, services.clock.now()
                )
            _show_one(screen, found, history)
            return exits.DONE
        offers = await list_offers(services, caller, everything=everything)
    if screen.for_programs:
        screen.answer({"capabilities": [as_dict(offer) for offer in offers]})
        return exits.DONE
    marked = ["For"] if everything else []
    rows = [
        (
            one.id,
            one.annotations.effect.value,
            *([_audience(one)] if marked else []),
            one_line(one.label, 80),
        )
        for one in (offer.capability for offer in offers)
    ]
    heads = ["Name", "Effect", *marked, "What it does"]
    screen.say(columns(heads, rows, whole=heads[:-1]))
    return exits.DONE


def _audience(capability: Capability) -> str:
    """Whom a capability is for, where that is not everybody who reads this."""
    return "steps alone" if capability.annotations.audience is Audience.RUNS else ""


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
    async with context.doors.open(context.settings()) as services:
        caller = await local_caller(services, by_program=True, approves=True)
        value = await services.gate.serve(caller, name, arguments)
    screen.answer(value)
    return exits.DONE


def _history_line(history: Mapping[str, Any]) -> str:
    """What it came to here so far, in a sentence."""
    average = usd(round(Decimal(str(history["average_usd"])), 6))
    took = duration(history["average_ms"] / 1000)
    calls = count(history["calls"], "call")
    return f"{calls} since {date_time(history['since'])}: {average} and {took} on average."


def _unknown(offers: list[CapabilityOffer], name: str) -> NoReturn:
    known = [offer.capability.id for offer in offers]
    raise NotFound(
        f"There is no capability called {name[:100]!r}.",
        code="unknown_capability",
        suggestion=suggest_nearest(name, known),
    )


def _show_one(screen: Screen, offer: CapabilityOffer, history: Mapping[str, Any]) -> None:
    if screen.for_programs:
        screen.answer({**as_dict(offer), "history": history})
        return
    one = offer.capability
    screen.say(f"{one.id}  ({one.annotations.effect.value})", "", clean(one.description.strip()))
    if _audience(one):
        screen.say("", "Only a step of an automation may call it.")
    if history["calls"]:
        screen.say("", _history_line(history))
    screen.say("", "It takes:", as_json(dict(offer.input_schema)))
    screen.say("", "It answers:", as_json(dict(one.output_schema)))
