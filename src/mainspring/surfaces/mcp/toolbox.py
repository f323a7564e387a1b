"""The tools of one caller: what the gate offers them, and a call served by the gate.

Who is asking may differ from message to message, and so may the answer; a tool's text is
the same for everybody who is offered it without pins, so it is made once.
"""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import (
    ConsentRequired,
    Finding,
    Invalid,
    NotFound,
    PersonRequired,
    Problem,
)
from mainspring.definition.tool_names import map_tool_aliases
from mainspring.surfaces.mcp.results import failure_of, result_of
from mainspring.surfaces.mcp.tool import PAGE, describe, wraps

if TYPE_CHECKING:
    import asyncio
    from uuid import UUID

    from mainspring.contracts.capability import Capability
    from mainspring.contracts.context import Actor
    from mainspring.gate.call import Gate
    from mainspring.gate.direct import CapabilityCaller
    from mainspring.gate.pinned import CapabilityOffer
    from mainspring.surfaces.mcp.elicitation import AskPerson

# Brings a tool into the form of one version of the protocol.
Spelling = Callable[[str, dict[str, Any]], dict[str, Any]]
# The id and the name of the workspace of a caller who is in several.
NameWorkspace = Callable[["Actor"], Awaitable["tuple[UUID, str] | None"]]


class McpToolbox:
    """Lists and calls, for any caller and any version of the protocol."""

    def __init__(
        self,
        gate: Gate,
        spell: Spelling,
        address: str = "",
        workspace: NameWorkspace | None = None,
    ) -> None:
        self._address = address
        self._workspace = workspace
        self._gate = gate
        self._spell = spell
        self._made: dict[tuple[str, str], tuple[Capability, dict[str, Any]]] = {}

    async def page(
        self, visitor: CapabilityCaller, version: str, cursor: str | None
    ) -> tuple[list[dict[str, Any]], str | None]:
        """The tools after the cursor, and the cursor of the next page if there is one."""
        space = visitor.actor.workspace_id
        alias_of = {
            known: alias for alias, known in map_tool_aliases(await self._gate.names(space)).items()
        }
        offers = sorted(
            (
                (alias_of.get(offer.capability.id, offer.capability.id), offer)
                for offer in await self._gate.offers(visitor)
            ),
            key=_name,
        )
        begin = 0 if cursor is None else bisect_right(offers, _read_cursor(cursor), key=_name)
        shown = offers[begin : begin + PAGE]
        more = begin + PAGE < len(offers)
        tools = [self._tool(name, offer, version) for name, offer in shown]
        return tools, _cursor(_name(shown[-1])) if more else None

    async def call(
        self,
        visitor: CapabilityCaller,
        name: str,
        arguments: Mapping[str, Any],
        *,
        structured: bool,
        ask_person: AskPerson | None = None,
    ) -> dict[str, Any]:
        """The result of a call, also when it failed; ``Missing`` for a tool that is not offered.

        ``structured`` says whether an error may have structured content. ``ask_person`` is for
        clients that open pages.
        """
        space = visitor.actor.workspace_id
        capability, found = name, await self._gate.find(space, name)
        if found is None:
            capability = map_tool_aliases(await self._gate.names(space)).get(name, name)
            found = await self._gate.find(space, capability)
        try:
            value = await self._served(visitor, capability, arguments, ask_person)
        except Problem as problem:
            if found is None or not visitor.sees(found):
                raise unknown_tool(name) from None
            if isinstance(problem, ConsentRequired):
                problem.locate(self._address)
            return failure_of(problem, structured=structured)
        # A tool that has come only while it was called is asked for anew.
        found = found or await self._gate.find(space, capability)
        return result_of(value, wrapped=found is None or wraps(found))

    async def _served(
        self,
        visitor: CapabilityCaller,
        capability: str,
        arguments: Mapping[str, Any],
        ask_person: AskPerson | None,
    ) -> Any:
        wait = visitor.client_wait
        if wait is not None:
            wait = replace(wait, opens_pages=ask_person is not None)
            visitor = replace(visitor, client_wait=wait)
        try:
            return await self._gate.serve(visitor, capability, arguments)
        except PersonRequired as problem:
            if self._workspace is not None:
                problem.name_workspace(await self._workspace(visitor.actor))
            if ask_person is None or wait is None:
                raise

            async def again(dismissed: asyncio.Event) -> Any:
                opened = replace(wait, dismissed=dismissed.is_set)
                waiting = replace(visitor, client_wait=opened)
                return await self._gate.serve(waiting, capability, arguments)

            return await ask_person(problem, again, wait.seconds)

    def _tool(self, name: str, offer: CapabilityOffer, version: str) -> dict[str, Any]:
        capability = offer.capability
        if offer.input_schema is not capability.input_schema:
            return self._spell(version, describe(name, capability, offer.input_schema))
        known, made = self._made.get((name, version), (None, {}))
        # One name may mean another tool in another workspace, or a newer one in the same.
        if known is not capability:
            made = self._spell(version, describe(name, capability, offer.input_schema))
            self._made[name, version] = (capability, made)
        return made


def unknown_tool(name: str) -> NotFound:
    """The same for what does not exist and for what this caller may not know of."""
    return NotFound(
        f"There is no tool called {name[:100]!r}.",
        code="unknown_tool",
        suggestion="Ask for tools/list to see what you may call.",
    )


def _cursor(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode()


def _read_cursor(cursor: str) -> str:
    """The last name of the page before; a tool that is gone since then breaks nothing."""
    try:
        return base64.b64decode(cursor, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        detail = "The cursor was not given out by this server."
        raise Invalid(detail, findings=[Finding("/cursor", detail, "cursor")]) from None


def _name(named: tuple[str, CapabilityOffer]) -> str:
    return named[0]
