"""Speaking the protocol with the official library, which is read when it is first needed.

The newest version that both sides know is spoken. We offer the server nothing: it may not ask
for a model, for folders or for a person. What it answers is not checked against its own
schema here, as that is done with the schema that a person agreed to.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, Protocol, cast

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    REQUEST_TIMEOUT,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    InputRequiredResult,
    PaginatedRequestParams,
    Tool,
)
from pydantic import TypeAdapter, ValidationError

from mainspring import __version__
from mainspring.contracts.errors import DeadlineExceeded, Invalid, NotFound, Problem, UpstreamError
from mainspring.contracts.limits import Limits
from mainspring.outbound.mcp.http_transport import McpHttpTransport
from mainspring.outbound.mcp.session import ListedTool, McpSession
from mainspring.outbound.mcp.tool_results import McpToolResult, failure, read_answer, sentence
from mainspring.store.database_errors import log_and_convert_error

_HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_BUSY: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_RELIST_PAGES: Final = 100
_ANSWER: Final[TypeAdapter[Any]] = TypeAdapter(CallToolResult | InputRequiredResult)


class McpChannel(Protocol):
    """What lies between us and the server, and remembers why it broke."""

    problem: Problem | None
    status: int | None
    retry_after: float | None


@asynccontextmanager
async def over_http(
    url: str, wire: McpHttpTransport, alias: str, limits: Limits
) -> AsyncIterator[McpSession]:
    """A session over HTTP; every request of the library goes through the wire."""
    async with httpx2.AsyncClient(transport=wire, trust_env=False, timeout=None) as http:
        streams = streamable_http_client(
            url, http_client=http, max_sse_event_size=limits.mcp_response_bytes
        )
        async with over(streams, wire, alias, limits) as session:
            yield session


@asynccontextmanager
async def over(
    streams: AbstractAsyncContextManager[Any], way: McpChannel, alias: str, limits: Limits
) -> AsyncIterator[McpSession]:
    """A session over any streams. An error of whoever uses it is theirs, as they raised it."""
    _hush()
    client = Client(
        streams,
        mode="auto",
        cache=None,
        client_info=Implementation(name="mainspring", version=__version__),
        read_timeout_seconds=float(limits.mcp_seconds),
    )
    failed: Exception | None = None
    try:
        async with asyncio.timeout(limits.mcp_seconds) as patience:
            async with client:
                patience.reschedule(None)
                try:
                    yield McpSession(_SdkProtocolClient(client, way, alias, limits), alias, limits)
                except Exception as error:
                    # The library would wrap it in groups of its own.
                    failed = error
    except Exception as error:
        if failed is None:
            raise _problem(_leaf(error), way, alias) from None
    if failed is not None:
        raise failed


class _SdkProtocolClient:
    """The library's client as a session asks it."""

    def __init__(self, client: Client, way: McpChannel, alias: str, limits: Limits) -> None:
        self._client = client
        self._way = way
        self._alias = alias
        self._limits = limits

    async def page(self, cursor: str | None) -> tuple[list[ListedTool], str | None]:
        params = PaginatedRequestParams(cursor=cursor)
        try:
            found = await self._client.session.list_tools(params=params)
        except Exception as error:
            raise _problem(error, self._way, self._alias) from None
        return [_to_listed_tool(tool, self._limits) for tool in found.tools], found.next_cursor

    async def call(
        self, name: str, arguments: Mapping[str, Any], meta: Mapping[str, Any]
    ) -> McpToolResult:
        request = CallToolRequest(
            params=CallToolRequestParams(
                name=name, arguments=dict(arguments), _meta=cast("Any", dict(meta))
            )
        )
        try:
            answer = await self._asked(request, name)
        except Exception as error:
            raise _problem(error, self._way, self._alias, name) from None
        if isinstance(answer, InputRequiredResult):
            raise UpstreamError(
                f"{self._alias}.{name} asks a question, and no person is available to answer it.",
                code="tool_asks",
                retryable=False,
            )
        content = [block.model_dump(by_alias=True, mode="json") for block in answer.content]
        if answer.is_error:
            raise failure(content, self._alias, name)
        return read_answer(
            content,
            answer.structured_content,
            has_structured=answer.structured_content is not None,
            limits=self._limits,
            alias=f"{self._alias}.{name}",
        )

    async def _asked(
        self, request: CallToolRequest, name: str
    ) -> CallToolResult | InputRequiredResult:
        session = self._client.session
        try:
            return cast("CallToolResult", await session.send_request(request, _ANSWER))
        except MCPError as error:
            if error.code != HEADER_MISMATCH:
                raise
        # It wants some arguments in headers too, and which ones only its list of tools says.
        cursor: str | None = None
        for _ in range(_RELIST_PAGES):
            page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            cursor = page.next_cursor
            if cursor is None or any(tool.name == name for tool in page.tools):
                break
        return cast("CallToolResult", await session.send_request(request, _ANSWER))


def _hush() -> None:
    """What goes wrong the caller is told by us; the libraries would log whole addresses."""
    for name, level in (("mcp", logging.CRITICAL), ("httpx2", logging.WARNING)):
        log = logging.getLogger(name)
        if log.level == logging.NOTSET:
            log.setLevel(level)


def _to_listed_tool(tool: Tool, limits: Limits) -> ListedTool:
    # More of a text than this is cut off anyway, and is not kept until then.
    most = limits.tool_text * 2
    told = tool.annotations.model_dump(by_alias=True) if tool.annotations is not None else {}
    title = tool.title or told.get("title") or ""
    return ListedTool(
        name=tool.name,
        title=title[:most],
        description=(tool.description or "")[:most],
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        hints={hint: told[hint] for hint in _HINTS if isinstance(told.get(hint), bool)},
    )


def _leaf(error: BaseException) -> BaseException:
    """The error inside the groups that the library wraps it in."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _problem(error: BaseException, way: McpChannel, alias: str, tool: str = "") -> Problem:
    """What went wrong, as one problem; the wire knows best."""
    if way.problem is not None:
        return way.problem
    if isinstance(error, Problem):
        return error
    if isinstance(error, TimeoutError):
        return DeadlineExceeded(f"The server of {alias} did not answer in time.", code="timed_out")
    if way.status is not None and way.status >= 300 and not _has_reason(error):
        return _refused_error(way, alias)
    if isinstance(error, MCPError):
        return _tool_error(error, alias, tool)
    # RecursionError is a RuntimeError: what is nested without end is no answer either.
    if isinstance(error, ValidationError | RuntimeError):
        return _not_the_protocol(alias)
    return log_and_convert_error(error)


def _has_reason(error: BaseException) -> bool:
    """Whether the server itself said what is wrong, beside its status."""
    return isinstance(error, MCPError) and error.message not in {
        "Server returned an error response",
        "Not Found",
        "Session terminated",
    }


def _refused_error(way: McpChannel, alias: str) -> Problem:
    status = way.status
    if status == 403:
        return UpstreamError(
            f"The server of {alias} does not allow this for the signed-in account.",
            code="mcp_forbidden",
            suggestion="Sign in there with an account that has the permission, or request it.",
            retryable=False,
        )
    if status == 404:
        return UpstreamError(
            f"At the address of {alias} is no server of tools.",
            code="mcp_not_found",
            retryable=False,
        )
    if status is not None and status < 400:
        return _redirect_error(alias)
    return UpstreamError(
        f"The server of {alias} answered with status {status}.",
        code="mcp_failed",
        retryable=status in _BUSY,
        retry_after=way.retry_after,
    )


def _redirect_error(alias: str) -> Problem:
    return UpstreamError(
        f"The server of {alias} sends us to another address, and that is not followed.",
        code="redirected",
        suggestion="If it has moved, connect to its new address.",
        retryable=False,
    )


def _tool_error(error: MCPError, alias: str, tool: str) -> Problem:
    text = sentence(error.message)
    if error.code == REQUEST_TIMEOUT:
        return DeadlineExceeded(f"The server of {alias} did not answer in time.", code="timed_out")
    if text.startswith("Redirect to"):
        return _redirect_error(alias)
    if text.startswith(("Failed to parse", "Unexpected content type", "SSE stream")):
        return _not_the_protocol(alias)
    if tool and error.code in {INVALID_PARAMS, METHOD_NOT_FOUND}:
        if "unknown tool" in text.lower() or "not found" in text.lower():
            return NotFound(
                f"The server of {alias} has no tool called {tool}.", code="tool_missing"
            )
        return Invalid(f"{alias}.{tool} refuses these arguments: {text}", code="tool_refused")
    return UpstreamError(
        f"The server of {alias} answered with an error: {text or 'it gives no reason.'}",
        code="tool_failed" if tool else "mcp_failed",
        retryable=False,
    )


def _not_the_protocol(alias: str) -> Problem:
    return UpstreamError(
        f"The server of {alias} answered with something that is not the protocol of tools.",
        code="bad_response",
        retryable=False,
    )
