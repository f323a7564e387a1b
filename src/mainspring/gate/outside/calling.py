"""A tool of an outside server as a capability, like any other.

What is built here remembers which connection, which tool, and the hash of what was agreed to.
Each call looks at the row first: a tool that is held back since then is not called, however
long ago this was built and in whichever process. The client is made for the call and thrown
away. A tool that sends is a write, which a person sees before it leaves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.capability import (
    Annotations,
    Capability,
    CapabilityHandler,
    Effect,
    Write,
)
from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import Conflict, NotFound, Problem, UpstreamError
from mainspring.definition.json_schema import compile_schema
from mainspring.definition.json_text import encode_canonical
from mainspring.gate.outside.effects import judge
from mainspring.gate.outside.quoted import escape_json
from mainspring.store.walls import WorkspaceDatabase
from mainspring.workspace.connections.tool_rows import ToolRow, find_tool

if TYPE_CHECKING:
    from mainspring.contracts.limits import Limits
    from mainspring.gate.outside.client import McpClientPool, McpToolResult
    from mainspring.store.database import Database

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
            effect=judged.effect,
            seconds=_SECONDS,
            side_effects=judged.side_effects,
            pin=f"{row.connection_id}:{row.pinned_hash.hex()}",
        ),
    )


def build_blocked_capability(row: ToolRow, alias: str) -> Capability:
    """What stands for a tool that may not be called: whoever names it is told why.

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
        annotations=Annotations(effect=judged.effect, seconds=_SECONDS, held_back=why),
    )


def preview(name: str, arguments: Mapping[str, Any]) -> str:
    """What will be called with what, in one line.

    All that is not ours stands behind our own words and is quoted, so that it cannot sound like
    them, or like an end of what is shown.
    """
    if not arguments:
        return f"Call {name}"
    text = escape_json(arguments)
    if len(text) <= _SHOWN:
        return f"Call {name} with {text}"
    left = len(text) - _SHOWN
    return f"Call {name}, {left} more characters of its arguments left out here: {text[:_SHOWN]}"


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
            suggestion=f"Look at the connection {alias}, and take the tool out of the definition "
            "or put another in its place.",
        )
    if row.state == "refused":
        why = row.reason or "A person refused it."
        return Conflict(
            f"{name} cannot be called: {why}",
            code="tool_refused",
            suggestion=f"Look at the connection {alias}.",
        )
    if row.state == "agreed":
        return Conflict(
            f"What {name} is was agreed to anew while this was under way.",
            code="tool_agreed_anew",
            suggestion="Try again.",
            retryable=True,
        )
    if row.state == "new":
        return Conflict(
            f"{name} is held back: nobody has agreed to it yet.",
            code="tool_held_back",
            suggestion=f"Look at it in the connection {alias}, and agree to it or not.",
        )
    return Conflict(
        f"{name} is held back: its server describes it otherwise than what was agreed to.",
        code="tool_held_back",
        suggestion=f"Look at what is different in the connection {alias}, and agree to it or not.",
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
