"""The tools of each workspace as capabilities, remembered for a moment and built when needed.

The rows are the truth. What is remembered here is made of them and can be lost at any time: a
process that has just started builds a tool when it is first named. Whoever looks twice within a
second looks once; whoever names a tool that is not here looks again. A tool that has not changed
stays the very same object, so that what others keep for it stays good.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.connections.mcp_servers.tool_effects import judge
from mainspring.contracts.capability import (
    Annotations,
    Capability,
    CapabilityHandler,
    Effect,
    Write,
)
from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import Conflict, NotFound, Problem, UpstreamError
from mainspring.contracts.toolset import Toolset
from mainspring.definition.escaping import escape_json
from mainspring.definition.json_schema import compile_schema
from mainspring.definition.strict_json import encode_canonical
from mainspring.store.database import WorkspaceDatabase
from mainspring.workspace.connections.tool_rows import (
    ConnectionGeneration,
    ToolRow,
    find_tool,
    find_tools_by_name,
    list_agreed_tools,
    list_connection_generations,
)

if TYPE_CHECKING:
    from mainspring.connections.mcp_servers.client import McpClientPool, McpToolResult
    from mainspring.contracts.limits import Limits
    from mainspring.store.database import Database


# A tool of an outside server as a capability, like any other.

_SHOWN: Final = 600
_SECONDS: Final = 5.0
# With these a server says that it has not begun at all.
_NOT_BEGUN: Final = frozenset({"tool_missing", "tool_refused"})

# What a tool answers that does not say what it answers.
PLAIN_OUTPUT: Final[Mapping[str, Any]] = {
    "type": "object",
    "required": ["text"],
    "properties": {
        "text": {"type": "string", "description": "What it said, as text."},
        "json": {"description": "The same as a value, where the text is JSON."},
        "others": {
            "type": "array",
            "description": "What was no text: its kind, its type and its size.",
            "items": {"type": "object"},
        },
    },
    "examples": [{"text": "Three issues are open."}],
}


def tool_capability(
    row: ToolRow, alias: str, database: Database, outside: McpClientPool, limits: Limits
) -> Capability:
    """The capability of an agreed tool."""
    judged = judge(row.name, row.hints, row.effect)
    name = f"{alias}.{row.name}"
    sends = judged.effect is Effect.SEND
    return Capability(
        id=name,
        description=_description(row, alias),
        input_schema=row.input_schema,
        output_schema=PLAIN_OUTPUT if row.output_schema is None else row.output_schema,
        handler=_handler(row, alias, database, outside, limits),
        write=Write(preview=lambda given: preview(name, given)) if sends else None,
        annotations=Annotations(
            toolset=Toolset.CONNECTED,
            effect=judged.effect,
            seconds=_SECONDS,
            side_effects=judged.side_effects,
            pin=f"{row.connection_id}:{row.pinned_hash.hex()}",
        ),
    )


def build_blocked_capability(row: ToolRow, alias: str) -> Capability:
    """The placeholder of a tool that may not be called: a call is refused with the reason.

    It says nothing of what the server says now, and holds nothing for later.
    """
    name = f"{alias}.{row.name}"
    judged = judge(row.name, row.hints, row.effect)

    async def call(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        del ctx, arguments
        raise not_callable(row, name, alias)

    is_known, why = row.agreed_at is not None, not_callable(row, name, alias).detail
    return Capability(
        id=name,
        description=f"{name}\n\nIt cannot be called: {why}",
        input_schema=row.input_schema if is_known else {"type": "object"},
        output_schema={"type": "object"},
        handler=call,
        annotations=Annotations(
            toolset=Toolset.CONNECTED, effect=judged.effect, seconds=_SECONDS, held_back=why
        ),
    )


def preview(name: str, arguments: Mapping[str, Any]) -> str:
    """What will be called with what, in one line.

    Text of the server comes after our own and is quoted, so that it cannot look like
    ours, or like the end of the preview.
    """
    if not arguments:
        return f"Call {name}"
    text = escape_json(arguments)
    if len(text) <= _SHOWN:
        return f"Call {name} with {text}"
    left = len(text) - _SHOWN
    return f"Call {name}, {left} more characters of its arguments omitted here: {text[:_SHOWN]}"


def _description(row: ToolRow, alias: str) -> str:
    label = row.title or row.name
    said = row.description.strip()
    return f"{label}\n\n{said}\n\nA tool of the connection {alias}." if said else label


def _handler(
    row: ToolRow, alias: str, database: Database, outside: McpClientPool, limits: Limits
) -> CapabilityHandler:
    connection_id, tool, agreed = row.connection_id, row.name, row.pinned_hash
    schema = row.output_schema

    async def call(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        space = ctx.actor.workspace_id
        async with WorkspaceDatabase(database, space).acquire() as connection:
            now = await find_tool(connection, space, connection_id, tool)
        asked = False
        try:
            if now is None or now.state != "agreed" or now.pinned_hash != agreed:
                raise not_callable(now, f"{alias}.{tool}", alias)
            async with outside.session(space, connection_id) as session:
                asked = True
                answer = await session.call(tool, arguments, key=ctx.key)
            return _value(answer, schema, f"{alias}.{tool}", limits)
        except Problem as problem:
            # A failure after the call was handed over proves nothing, whatever it is.
            problem.unsent = not asked or problem.code in _NOT_BEGUN
            raise

    return call


def not_callable(row: ToolRow | None, name: str, alias: str) -> Problem:
    """Why a tool that was there cannot be called now, and what a person can do."""
    if row is None or row.state == "gone":
        return NotFound(
            f"The server of {alias} has no tool called {name} any more.",
            code="tool_gone",
            suggestion=(
                f"Check the connection {alias}, and remove the tool from the definition or "
                "replace it."
            ),
        )
    if row.state == "refused":
        why = row.reason or "A person refused it."
        return Conflict(
            f"{name} cannot be called: {why}",
            code="tool_refused",
            suggestion=f"Review the connection {alias}.",
        )
    if row.state == "agreed":
        return Conflict(
            f"The tool {name} was approved again while this was in progress.",
            code="tool_agreed_anew",
            suggestion="Try again.",
            retryable=True,
        )
    if row.state == "new":
        return Conflict(
            f"{name} is blocked: it is not approved yet.",
            code="tool_held_back",
            suggestion=f"Review it in the connection {alias}, and agree to it or not.",
        )
    return Conflict(
        f"{name} is blocked: its server changed it after it was approved.",
        code="tool_held_back",
        suggestion=f"Review what changed in the connection {alias}, and agree to it or not.",
    )


def _value(answer: McpToolResult, schema: Any, name: str, limits: Limits) -> Any:
    """The answer in the shape that was agreed to, or a problem that blames the server."""
    value = answer.value
    if schema is None:
        if not answer.structured:
            return value
        return {"text": encode_canonical(value).decode(), "json": value}
    if not answer.structured:
        value = value.get("json")
    findings = compile_schema(schema, limits).findings(value, "")
    if findings:
        raise UpstreamError(
            f"{name} answered in another shape than its server declares: {findings[0].detail}",
            code="tool_answer_invalid",
            findings=findings,
            retryable=False,
        )
    return value


FRESH_SECONDS: Final = 1.0
_STIRRED_SECONDS: Final = 2.0
_MOST_WORKSPACES: Final = 1_000
# All that one process remembers, as text; as values it is some ten times that.
_MOST_BYTES: Final = 16_777_216

_Key = tuple[UUID, str, str, bytes, str | None]


@dataclass(slots=True)
class _WorkspaceTools:
    """What is remembered of one workspace."""

    looked_at: float = float("-inf")
    # Until then somebody here is changing it, and every look is a new one.
    stirred_until: float = float("-inf")
    generations: tuple[ConnectionGeneration, ...] = ()
    tools: Mapping[str, Capability] = field(default_factory=dict)
    made: dict[_Key, Capability] = field(default_factory=dict)
    size: int = 0
    looking: asyncio.Lock = field(default_factory=asyncio.Lock)


class McpToolRegistry:
    """The agreed tools of all workspaces, one shelf for each."""

    def __init__(
        self,
        database: Database,
        outside: McpClientPool,
        limits: Limits,
        most_bytes: int = _MOST_BYTES,
    ) -> None:
        self._database = database
        self._outside = outside
        self._limits = limits
        self._most_bytes = most_bytes
        self._shelves: OrderedDict[UUID, _WorkspaceTools] = OrderedDict()

    async def of(self, workspace_id: UUID, needing: Sequence[str] = ()) -> Mapping[str, Capability]:
        """The tools of a workspace by name; the same mapping as before if nothing has changed.

        A name that is not here makes it look again. Whoever names one that is held back gets it
        as one that says so.
        """
        shelf = self._shelf(workspace_id)
        began = monotonic()
        if self._is_good(shelf, began, needing):
            return shelf.tools
        async with shelf.looking:
            # Somebody may have looked while this one waited.
            if shelf.looked_at < began:
                await self._look(workspace_id, shelf)
        held = await self._held(workspace_id, shelf, needing)
        return {**shelf.tools, **held} if held else shelf.tools

    def stir(self, workspace_id: UUID) -> None:
        """Somebody in this process changes the tools of a workspace, and will look at them next.

        When that commits is not known here, so for a moment nothing remembered is good enough.
        """
        self._shelf(workspace_id).stirred_until = monotonic() + _STIRRED_SECONDS

    def _is_good(
        self, workspace_tools: _WorkspaceTools, now: float, needing: Sequence[str]
    ) -> bool:
        if now - workspace_tools.looked_at >= FRESH_SECONDS or now < workspace_tools.stirred_until:
            return False
        # One that was held back may be agreed to by now.
        return all(name in workspace_tools.tools for name in needing)

    def _shelf(self, workspace_id: UUID) -> _WorkspaceTools:
        shelf = self._shelves.setdefault(workspace_id, _WorkspaceTools())
        self._shelves.move_to_end(workspace_id)
        return shelf

    def _tidy(self) -> None:
        """Forgets what was not used for the longest time; the newest stays."""
        size = sum(shelf.size for shelf in self._shelves.values())
        while len(self._shelves) > 1 and (
            size > self._most_bytes or len(self._shelves) > _MOST_WORKSPACES
        ):
            size -= self._shelves.popitem(last=False)[1].size

    async def _look(self, workspace_id: UUID, workspace_tools: _WorkspaceTools) -> None:
        at = monotonic()
        # Whoever asks may hold a connection behind the wall, and those are few.
        async with self._database.acquire() as connection:
            generations = await list_connection_generations(connection, workspace_id)
            if generations != workspace_tools.generations:
                rows = await list_agreed_tools(connection, workspace_id) if generations else []
                self._fill(workspace_tools, generations, rows)
        workspace_tools.looked_at = at
        self._tidy()

    async def _held(
        self, workspace_id: UUID, workspace_tools: _WorkspaceTools, needing: Sequence[str]
    ) -> dict[str, Capability]:
        """Those that are named and only say why they cannot be called; none is remembered."""
        known = {one.alias: one.connection_id for one in workspace_tools.generations}
        parts = [name.partition(".") for name in needing if name not in workspace_tools.tools]
        wanted = [(known[alias], name) for alias, _, name in parts if alias in known]
        if not wanted:
            return {}
        async with self._database.acquire() as connection:
            rows = await find_tools_by_name(connection, workspace_id, wanted)
        aliases = {one.connection_id: one.alias for one in workspace_tools.generations}
        made = [
            build_blocked_capability(row, aliases[row.connection_id])
            for row in rows
            if row.state != "agreed"
        ]
        return {one.id: one for one in made}

    def _fill(
        self,
        workspace_tools: _WorkspaceTools,
        generations: tuple[ConnectionGeneration, ...],
        rows: Iterable[ToolRow],
    ) -> None:
        aliases = {one.connection_id: one.alias for one in generations}
        made: dict[_Key, Capability] = {}
        size = 0
        # A row may be newer than what was read of its connection; the next look finds both.
        for row in (row for row in rows if row.connection_id in aliases):
            alias = aliases[row.connection_id]
            key = (row.connection_id, alias, row.name, row.pinned_hash, row.effect)
            made[key] = workspace_tools.made.get(key) or tool_capability(
                row, alias, self._database, self._outside, self._limits
            )
            size += row.size
        workspace_tools.made = made
        workspace_tools.tools = {one.id: one for one in made.values()}
        workspace_tools.generations = generations
        workspace_tools.size = size
