"""One session with a server of tools: what it offers, and one call after another."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

import orjson

from mainspring.contracts.errors import DeadlineExceeded, Problem, UpstreamError
from mainspring.contracts.limits import Limits
from mainspring.outbound.mcp.tool_results import McpToolResult

Answer = TypeVar("Answer")

# More pages than this is a list without an end.
_MOST_PAGES: Final = 500
# Problems of one call, which say nothing against the connection.
_OF_THE_CALL: Final = frozenset(
    {
        "response_too_large",
        "result_too_large",
        "tool_answer_invalid",
        "tool_asks",
        "tool_failed",
        "tool_missing",
        "tool_refused",
    }
)


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as the server tells it now; nothing in it is to be believed."""

    name: str
    title: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None = None
    # readOnlyHint, destructiveHint, idempotentHint, openWorldHint: those that were given.
    hints: Mapping[str, bool] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How long it is, as text."""
        schemas = [self.input_schema, self.output_schema]
        try:
            size = len(orjson.dumps(schemas))
        except TypeError:
            # Nested too deep, or with numbers too large: it will be refused for that.
            size = len(repr(schemas))
        return len(self.name) + len(self.title) + len(self.description) + size


class McpProtocolClient(Protocol):
    """The protocol as a session speaks it; what goes wrong there is a problem already."""

    async def page(self, cursor: str | None) -> tuple[list[ListedTool], str | None]:
        """Some tools, and where the next ones begin."""
        ...

    async def call(
        self, name: str, arguments: Mapping[str, Any], meta: Mapping[str, Any]
    ) -> McpToolResult: ...


class McpSession:
    """An open session. It is thrown away after its use."""

    def __init__(self, line: McpProtocolClient, alias: str, limits: Limits) -> None:
        self._line = line
        self._alias = alias
        self._limits = limits
        # The problem for which the connection itself is to blame, if there was one.
        self.broken: Problem | None = None

    async def tools(self) -> list[ListedTool]:
        """All tools there are, over all pages; too many or too much is a problem."""
        return await self._within(self._all_tools())

    async def call(self, name: str, arguments: Mapping[str, Any], *, key: str) -> McpToolResult:
        """One call. The key is told in a form that says nothing about us.

        A tool that answers that it has failed is a problem with the tool's own sentence.
        """
        meta = {"mainspring/key": hashlib.sha256(key.encode()).hexdigest()[:32]}
        return await self._within(self._line.call(name, arguments, meta))

    async def _all_tools(self) -> list[ListedTool]:
        found: dict[str, ListedTool] = {}
        cursor: str | None = None
        seen: set[str] = set()
        size = 0
        for _ in range(_MOST_PAGES):
            some, cursor = await self._line.page(cursor)
            for tool in some:
                # The first of a name counts: a later one cannot take its place.
                if tool.name not in found:
                    found[tool.name] = tool
                    size += tool.size
            self._check(len(found), size)
            if cursor is None:
                return list(found.values())
            if cursor in seen:
                break
            seen.add(cursor)
        raise self._too_much("tells its tools without an end")

    def _check(self, count: int, size: int) -> None:
        if count > self._limits.mcp_tools:
            raise self._too_much(f"has more than {self._limits.mcp_tools} tools")
        if size > self._limits.mcp_tools_bytes:
            raise self._too_much(
                f"tells its tools in more than {self._limits.mcp_tools_bytes} bytes"
            )

    def _too_much(self, what: str) -> UpstreamError:
        return UpstreamError(
            f"The server of {self._alias} {what}.", code="too_many_tools", retryable=False
        )

    async def _within(self, work: Awaitable[Answer]) -> Answer:
        try:
            async with asyncio.timeout(self._limits.mcp_seconds):
                return await work
        except TimeoutError:
            self.broken = DeadlineExceeded(
                f"The server of {self._alias} did not answer in time.", code="timed_out"
            )
            raise self.broken from None
        except Problem as problem:
            if problem.code not in _OF_THE_CALL:
                self.broken = problem
            raise
