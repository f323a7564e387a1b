"""A small integration for tests: parcels that arrive somewhere, and notes that can be sent there.

What it has to tell is kept in a list that the test fills; how it answers can be made to fail.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from mainspring.app import build_application, build_registry
from mainspring.contracts.capability import Annotations, Capability, ConnectionRoute, Effect, Write
from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import Finding, Invalid, Problem
from mainspring.contracts.event import EventType
from mainspring.contracts.integration import (
    Integration,
    Item,
    ItemBatch,
    ItemFile,
    Poll,
    Source,
    UnreadableItem,
    WriteOffer,
)
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import ModelCatalog
from tests.kit.bench import Bench
from tests.kit.boards import Boards

HOST = "parcels.example"
ARRIVED = "parcels.arrived"
_INPUT: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["query"],
    "properties": {
        "query": {"type": "string", "minLength": 1},
        "limit": {"type": "integer", "minimum": 1},
    },
    "examples": [{"query": "red", "limit": 10}],
}
_NOTE: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["to", "subject", "body"],
    "properties": {
        "to": {"type": "array", "minItems": 1, "items": {"type": "string", "format": "email"}},
        "subject": {"type": "string", "minLength": 1},
        "body": {"type": "string", "minLength": 1},
        "attachments": {"type": "array", "items": {"type": "object"}},
    },
    "examples": [{"to": ["ada@example.com"], "subject": "Hello", "body": "It has come."}],
    "x-mainspring-anti-examples": [{"value": {}, "reason": "to whom?"}],
}
_SENT: dict[str, Any] = {
    "type": "object",
    "required": ["message_id"],
    "properties": {"message_id": {"type": "string"}},
    "examples": [{"message_id": "m-1"}],
}


def parcel(number: int | str, title: str = "", **more: Any) -> Item:
    return Item(
        f"parcels:{number}",
        "parcel",
        title or f"Parcel {number}",
        f"It weighs {number} grams.",
        {"number": str(number)},
        ARRIVED,
        {"number": str(number)},
        **more,
    )


@dataclass(slots=True)
class Parcels:
    """The outside system, and how it answers."""

    things: list[Item | UnreadableItem] = field(default_factory=list)
    # How many things one portion brings.
    size: int = 3
    # Raised by the next look, once each.
    problems: list[Problem] = field(default_factory=list)
    # Raised by a look from this place.
    forgotten: dict[int, Problem] = field(default_factory=dict)
    looks: list[int] = field(default_factory=list)
    sent: list[Mapping[str, Any]] = field(default_factory=list)
    labelled: set[str] = field(default_factory=set)
    auth: str = "none"

    async def _portion(self, found: list[Item | UnreadableItem], cursor: Any) -> ItemBatch:
        place = 0 if cursor is None else int(cursor["at"])
        self.looks.append(place)
        if place in self.forgotten:
            raise self.forgotten.pop(place)
        if self.problems:
            raise self.problems.pop(0)
        accepted = found[place : place + self.size]
        end = place + len(accepted)
        return ItemBatch(accepted, {"at": end}, more=end < len(found))

    async def search(
        self, ctx: CallContext, arguments: Mapping[str, Any], cursor: Mapping[str, Any] | None
    ) -> ItemBatch:
        del ctx
        word = str(arguments["query"]).lower()
        found = [t for t in self.things if word == "all" or word in getattr(t, "title", "").lower()]
        return await self._portion(found, cursor)

    async def arrivals(
        self, ctx: CallContext, arguments: Mapping[str, Any], cursor: Mapping[str, Any] | None
    ) -> ItemBatch:
        del ctx, arguments
        return await self._portion(list(self.things), cursor)

    async def labels(self, ctx: CallContext, page: Mapping[str, Any]) -> list[ItemFile]:
        """The label of a parcel, if it has one."""
        del ctx
        number = str(page["number"])
        named = ItemFile(f"label-{number}.txt", f"To {number}".encode(), "text/plain")
        return [named] if number in self.labelled else []

    async def send(self, ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
        del ctx
        self.sent.append(given)
        return {"message_id": f"m-{len(self.sent)}"}

    def integration(self) -> Integration:
        manifest = {
            "id": "parcels",
            "name": "Parcels",
            "description": "Parcels that arrive.",
            "tier": "bronze",
            "auth": {"kind": self.auth, "how": "Nobody signs in.", **_fields(self.auth)},
            "hosts": [HOST],
            "capabilities": ["parcels.send_note"],
        }
        needs = "needed" if self.auth == "token" else "none"
        send = Capability(
            "parcels.send_note",
            "Send a note\n\nWrites to somebody about a parcel.",
            _NOTE,
            _SENT,
            self.send,
            Write(_preview, editable=("subject", "body"), family="email"),
            Annotations(
                effect=Effect.SEND,
                hosts=frozenset({HOST}),
                route=ConnectionRoute("parcels", frozenset({HOST}), needs),  # type: ignore[arg-type]
            ),
        )
        shown = {"type": "object", "properties": {"number": {}, "page_slug": {}}}
        return Integration(
            manifest,
            (send,),
            events=(EventType(ARRIVED, "A parcel has arrived.", shown),),
            offers=(WriteOffer(send.id, _NOTE, dict, name="send_note"),),
            sources=(
                Source("parcels", _INPUT, self.search, _from_request, most=250, files=self.labels),
            ),
            polls=(Poll("arrivals", "New parcels.", self.arrivals),),
        )


def _fields(auth: str) -> dict[str, Any]:
    field_ = {"name": "token", "label": "Token", "secret": True}
    return {"fields": [field_]} if auth == "token" else {}


def _preview(arguments: Mapping[str, Any]) -> str:
    names = [str(one.get("filename")) for one in arguments.get("attachments", ())]
    files = f" with {', '.join(names)}" if names else ""
    return (
        f"Send to {', '.join(arguments['to'])} “{arguments['subject']}”: {arguments['body']}{files}"
    )


def _from_request(request: str, now: datetime) -> Mapping[str, Any]:
    del now
    if request.startswith("?"):
        raise Invalid(
            "No word can be read from this.",
            code="request_unclear",
            findings=[Finding("/request", "No word can be read from this.", "request_unclear")],
        )
    return {"query": request}


@asynccontextmanager
async def reading(
    bench: Bench, parcels: Parcels, models: ModelCatalog | None = None
) -> AsyncIterator[tuple[Bench, Boards]]:
    """An application with the parcel integration, and a member of it."""
    old = bench.application
    registry = build_registry(
        Limits(),
        vault=old.vault,
        database=old.database,
        integrations=[parcels.integration()],
        script_runner=old.script_runner,
    )
    application = build_application(
        old.settings, Limits(), registry, old.database, old.script_runner, models
    )
    try:
        yield Bench(application, bench.outside), Boards(application)
    finally:
        await application.gate.aclose()
        await application.wakeup_sender.aclose()
        await application.egress.aclose()
