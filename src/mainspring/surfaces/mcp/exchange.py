"""The MCP transport over HTTP: a message arrives as a POST, and its response is JSON.

A client that requests progress gets an SSE stream as soon as there is any. The server is stateless,
so any process may answer any request: the session id itself encodes that its client opens URLs (URL
mode elicitation). The client's answer to an elicitation is used if it arrives at the process that
asked, and is not needed elsewhere. The library's own transport starts tasks and queues for each
request, which costs more than the request itself; here a message about tools is answered directly,
and any other one goes straight to the library's dispatcher.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID, uuid4

import anyio
from mcp.server.connection import Connection
from mcp.server.runner import modern_error_data, serve_one
from mcp.server.streamable_http import check_accept_headers
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    MCP_PROTOCOL_VERSION_HEADER,
    InboundLadderRejection,
    InboundModernRoute,
    classify_inbound_request,
    find_duplicated_routing_header,
    unsupported_protocol_version_rejection,
)
from mcp.shared.transport_context import TransportContext
from mcp_types import (
    DEFAULT_NEGOTIATED_VERSION,
    HEADER_MISMATCH,
    INVALID_REQUEST,
    PARSE_ERROR,
    JSONRPCNotification,
    JSONRPCRequest,
    RequestId,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError
from starlette.responses import Response, StreamingResponse

from mainspring.contracts.errors import Invalid, TooLarge, Unsupported
from mainspring.surfaces.mcp.server import (
    COMPLETE,
    METHOD,
    METHODS,
    URL_VERSION,
    AskPerson,
    Context,
    McpToolMethods,
    Report,
    ask_by_request,
    build_server,
    message_limits,
    opens_urls,
    progress_token,
)
from mainspring.surfaces.mcp.toolsets import read_query
from mainspring.surfaces.rest.problems import problem_answer
from mainspring.surfaces.rest.request_bodies import as_json, read_json_body
from mainspring.surfaces.rest.sse import HEADERS as STREAM_HEADERS
from mainspring.surfaces.rest.sse import MEDIA_TYPE

if TYPE_CHECKING:
    from starlette.requests import Request

    from mainspring.contracts.limits import Limits
    from mainspring.gate.callers import CapabilityCaller
    from mainspring.surfaces.mcp.toolsets import ToolSelection
    from mainspring.surfaces.rest.auth import AuthenticatedCaller
    from mainspring.surfaces.services import ApplicationServices

_SESSION: Final = "mcp-session-id"
# Session ids of clients that support URL mode elicitation.
_OPENS_URLS: Final = "url-"

# Puts a message into the SSE stream of a response.
Emit = Callable[[dict[str, Any]], None]

_TRANSPORT: Final = TransportContext(kind="streamable-http", can_send_request=False)


class _InvalidMessage(Exception):
    """An invalid MCP message; the response has the reason."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error: dict[str, Any] = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data


@dataclass(slots=True)
class _NoBackChannel:
    """The channel for requests to the client during a call: not available."""

    request_id: RequestId
    message_metadata: None = None
    transport: TransportContext = _TRANSPORT
    can_send_request: bool = False
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: Any = None
    ) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: Any = None) -> None:
        """A response is one JSON document, so notifications are dropped."""

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Progress is dropped as well."""


class McpHttpExchange:
    """Answers the requests of authenticated callers."""

    def __init__(self, services: ApplicationServices) -> None:
        self._tools = McpToolMethods(services)
        # Messages about tools do not reach it, so it needs no caller.
        self._server = build_server(self._tools, _nobody)
        self._limits = message_limits(services.limits, services.registry)
        # Calls whose clients may have disconnected; the event loop only holds weak references to
        # tasks.
        self._serving: set[asyncio.Task[dict[str, Any]]] = set()
        # Pending requests to clients, by member and request id.
        self._asked: dict[tuple[UUID, str], asyncio.Future[str]] = {}

    async def answer(self, caller: AuthenticatedCaller, request: Request) -> Response:
        """Answers any request."""
        if request.method != "POST":
            # There is no stream to open and no session to end.
            return _refuse_request(request, 405, "The MCP server is spoken to with POST alone.")
        selection = read_query(request.scope["query_string"])
        if "accept" in request.headers and not check_accept_headers(request)[0]:
            return _refuse_request(
                request, 406, "The answer is JSON, which 'Accept' does not take."
            )
        version = request.headers.get(MCP_PROTOCOL_VERSION_HEADER)
        modern = version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS
        message_id: RequestId | None = None
        message: dict[str, Any] = {}
        try:
            message = await _read(request, self._limits)
            if "id" not in message or "method" not in message:
                self._note_response(caller, message)
                return _acknowledge(message, version, modern=modern)
            asked = _request(message)
            message_id = asked.id
            sender = _sender(request, message, version, modern=modern)
            asks = not modern and _may_ask(request, asked.method)
            if check_accept_headers(request)[1] and (
                asks or progress_token(asked.params) is not None
            ):
                return await self._answer_as_stream(
                    caller, asked, sender, selection, modern=modern, asks=asks
                )
            result = {"result": await self._served(caller, asked, sender, selection)}
        except _InvalidMessage as refused:
            result = {"error": refused.error}
        made = _answered(message_id, result, modern=modern)
        if _begins_session(message, result):
            made.headers[_SESSION] = f"{_OPENS_URLS}{uuid4().hex}"
        return made

    def _note_response(self, caller: AuthenticatedCaller, message: Mapping[str, Any]) -> None:
        """Handles a client's response to a request of ours, which another process may have sent."""
        asked = self._asked.get((caller.gate_caller.actor.id, str(message.get("id"))))
        if asked is not None and not asked.done():
            result = message.get("result")
            action = result.get("action") if isinstance(result, dict) else None
            asked.set_result(str(action))

    def _asking(self, caller: AuthenticatedCaller, emit: Emit) -> AskPerson:
        """Sends a request to the client in the SSE stream of its call."""

        async def send(params: dict[str, Any]) -> str:
            key = (caller.gate_caller.actor.id, str(uuid4()))
            self._asked[key] = asyncio.get_running_loop().create_future()
            emit({"id": key[1], "method": METHOD, "params": params})
            try:
                return await self._asked[key]
            finally:
                del self._asked[key]

        async def complete(elicitation_id: str) -> None:
            emit({"method": COMPLETE, "params": {"elicitationId": elicitation_id}})

        return ask_by_request(send, complete)

    async def _answer_as_stream(
        self,
        caller: AuthenticatedCaller,
        request: JSONRPCRequest,
        sender: InboundModernRoute,
        selection: ToolSelection,
        *,
        modern: bool,
        asks: bool,
    ) -> Response:
        """One JSON document if the response is immediate; a stream from the first message on."""
        messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        token = progress_token(request.params)

        async def report(seconds: float, message: str) -> None:
            progress = {"progressToken": token, "progress": seconds, "message": message}
            messages.put_nowait({"method": "notifications/progress", "params": progress})

        # A disconnect does not cancel the call, because its record must still be written.
        serving = asyncio.create_task(
            self._run(
                caller,
                request,
                sender,
                selection,
                None if token is None else report,
                self._asking(caller, messages.put_nowait) if asks else None,
            )
        )
        self._serving.add(serving)
        serving.add_done_callback(self._serving.discard)
        first = await _next(messages, serving)
        if first is None:
            return _answered(request.id, await serving, modern=modern)

        async def events() -> AsyncIterator[bytes]:
            result: dict[str, Any] | None = first
            while result is not None:
                yield _event(result)
                result = await _next(messages, serving)
            yield _event({"id": request.id, **await serving})

        return StreamingResponse(events(), headers=STREAM_HEADERS, media_type=MEDIA_TYPE)

    async def _run(
        self,
        caller: AuthenticatedCaller,
        request: JSONRPCRequest,
        sender: InboundModernRoute,
        selection: ToolSelection,
        report: Report | None,
        ask_person: AskPerson | None,
    ) -> dict[str, Any]:
        try:
            served = await self._served(caller, request, sender, selection, report, ask_person)
            return {"result": served}
        except _InvalidMessage as refused:
            return {"error": refused.error}

    async def _served(
        self,
        caller: AuthenticatedCaller,
        request: JSONRPCRequest,
        sender: InboundModernRoute,
        selection: ToolSelection,
        report: Report | None = None,
        ask_person: AskPerson | None = None,
    ) -> dict[str, Any]:
        version = sender.protocol_version
        try:
            if request.method in METHODS:
                return await self._tools.answer(
                    caller.gate_caller,
                    request.method,
                    version,
                    request.params,
                    report,
                    ask_person,
                    selection,
                )
            connection = Connection.from_envelope(
                version, sender.client_info, sender.client_capabilities
            )
            return await serve_one(
                self._server,
                _NoBackChannel(request.id),
                request.method,
                request.params,
                connection=connection,
                lifespan_state=None,
            )
        except Exception as error:
            # The library's messages for its own errors; any other error is logged and not shown.
            data = modern_error_data(error)
            raise _InvalidMessage(data.code, data.message, data.data) from None


def _may_ask(request: Request, method: str) -> bool:
    """Whether the client of this session supports URL mode elicitation during the call."""
    is_able = request.headers.get(_SESSION, "").startswith(_OPENS_URLS)
    version = request.headers.get(MCP_PROTOCOL_VERSION_HEADER)
    return is_able and version == URL_VERSION and method == "tools/call"


def _begins_session(message: Mapping[str, Any], result: Mapping[str, Any]) -> bool:
    """Whether this initialized a client that supports URL mode, in a version that has it."""
    if message.get("method") != "initialize" or "result" not in result:
        return False
    return (
        opens_urls(message["params"].get("capabilities"))
        and result["result"]["protocolVersion"] == URL_VERSION
    )


async def _next(
    messages: asyncio.Queue[dict[str, Any]], serving: asyncio.Task[dict[str, Any]]
) -> dict[str, Any] | None:
    """The next message; None once the call has finished and the queue is empty."""
    if messages.empty():
        coming = asyncio.ensure_future(messages.get())
        try:
            await asyncio.wait({coming, serving}, return_when=asyncio.FIRST_COMPLETED)
            if coming.done():
                return coming.result()
        finally:
            coming.cancel()
    return None if messages.empty() else messages.get_nowait()


def _event(message: Mapping[str, Any]) -> bytes:
    return b"event: message\ndata: " + as_json({"jsonrpc": "2.0", **message}) + b"\n\n"


def _answered(message_id: RequestId | None, result: dict[str, Any], *, modern: bool) -> Response:
    # Earlier protocol versions report a failed request in the body alone.
    by_status = "error" in result and (modern or message_id is None)
    status = ERROR_CODE_HTTP_STATUS.get(result["error"]["code"], 200) if by_status else 200
    content = as_json({"jsonrpc": "2.0", "id": message_id, **result})
    return Response(content, status, media_type="application/json")


async def _nobody(ctx: Context) -> CapabilityCaller:
    raise AssertionError(f"{ctx.method} was to be answered before")


def _refuse_request(request: Request, status: int, sentence: str) -> Response:
    made = problem_answer(Invalid(sentence, code="wrong_request"), request.scope, status)
    if status == 405:
        made.headers["Allow"] = "POST"
    return made


async def _read(request: Request, limits: Limits) -> dict[str, Any]:
    try:
        found = await read_json_body(request, limits)
    except (TooLarge, Unsupported):
        raise
    except Invalid as problem:
        raise _InvalidMessage(PARSE_ERROR, problem.detail, problem.as_dict()) from None
    if not isinstance(found, dict):
        raise _InvalidMessage(
            INVALID_REQUEST, "One message is one JSON object; batches are not taken."
        )
    return found


def _acknowledge(message: dict[str, Any], version: str | None, *, modern: bool) -> Response:
    """A message that needs no response."""
    if "method" in message:
        try:
            JSONRPCNotification.model_validate(message)
        except ValidationError:
            raise _InvalidMessage(
                INVALID_REQUEST, "This is no notification of JSON-RPC 2.0."
            ) from None
        refusal = unsupported_protocol_version_rejection(version or "") if modern else None
        if refusal is not None:
            raise _InvalidMessage(refusal.code, refusal.message, refusal.data)
    elif modern or not message.keys() & {"result", "error"}:
        raise _InvalidMessage(INVALID_REQUEST, "This is no request of JSON-RPC 2.0.")
    return Response(status_code=202)


def _request(message: dict[str, Any]) -> JSONRPCRequest:
    try:
        return JSONRPCRequest.model_validate(message)
    except ValidationError:
        raise _InvalidMessage(INVALID_REQUEST, "This is no request of JSON-RPC 2.0.") from None


def _sender(
    request: Request, message: dict[str, Any], version: str | None, *, modern: bool
) -> InboundModernRoute:
    """The protocol version and client capabilities, all from the message itself."""
    twice = find_duplicated_routing_header(request.headers.items())
    if twice is not None:
        raise _InvalidMessage(HEADER_MISMATCH, f"The header {twice} comes more than once.")
    if not modern:
        return InboundModernRoute(version or DEFAULT_NEGOTIATED_VERSION, None, None)
    # Whitespace around a header value is not part of it, and the parser keeps it.
    headers = {name: value.strip(" \t") for name, value in request.headers.items()}
    found = classify_inbound_request(message, headers=headers)
    if isinstance(found, InboundLadderRejection):
        raise _InvalidMessage(found.code, found.message, found.data)
    return found
