"""``capabilities`` and ``call``: what the gate offers, and one call through it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import Finding, Invalid, Missing
from mainspring.definition.words import did_you_mean
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.documents import STDIN, read_document, read_object
from mainspring.surfaces.cli.screen import Screen, as_json, clean, one_line
from mainspring.surfaces.cli.visiting import visitor_here

if TYPE_CHECKING:
    from mainspring.contracts.limits import Limits
    from mainspring.gate.pinned import Offer
    from mainspring.surfaces.cli.desk import Desk


async def show_capabilities(desk: Desk, screen: Screen, name: str | None) -> int:
    """Everything that may be called here, or one capability with its schemas."""
    async with desk.doors.open(desk.settings()) as rooms:
        offers = rooms.gate.offers(await visitor_here(rooms))
    if name is not None:
        _show_one(screen, _find(offers, name))
    elif screen.for_programs:
        screen.answer({"capabilities": [_told(offer) for offer in offers]})
    else:
        widest = max((len(offer.capability.id) for offer in offers), default=0)
        for offer in offers:
            one = offer.capability
            effect = one.annotations.effect.value
            screen.say(f"{one.id:<{widest}}  {effect:<4}  {one_line(one.label, 80)}")
    return exits.DONE


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


async def call_capability(desk: Desk, screen: Screen, name: str, arguments: dict[str, Any]) -> int:
    """Calls it as whoever gives the command; its value is what is written."""
    async with desk.doors.open(desk.settings()) as rooms:
        value = await rooms.gate.serve(await visitor_here(rooms), name, arguments)
    screen.answer(value)
    return exits.DONE


def _find(offers: list[Offer], name: str) -> Offer:
    for offer in offers:
        if offer.capability.id == name:
            return offer
    known = [offer.capability.id for offer in offers]
    raise Missing(
        f"There is no capability called {name[:100]!r}.",
        code="unknown_capability",
        suggestion=did_you_mean(name, known),
    )


def _show_one(screen: Screen, offer: Offer) -> None:
    if screen.for_programs:
        screen.answer(_told(offer))
        return
    one = offer.capability
    screen.say(f"{one.id}  ({one.annotations.effect.value})", "", clean(one.description.strip()))
    screen.say("", "It takes:", as_json(dict(offer.input_schema)))
    screen.say("", "It answers:", as_json(dict(one.output_schema)))


def _told(offer: Offer) -> dict[str, Any]:
    one = offer.capability
    return {
        "id": one.id,
        "label": one.label,
        "description": one.description,
        "effect": one.annotations.effect.value,
        "permission": one.permission.value,
        "confirmation": one.write is not None,
        "input_schema": offer.input_schema,
        "output_schema": one.output_schema,
    }
