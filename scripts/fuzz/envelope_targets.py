"""Targets for what surrounds the content of a request: headers, keys, links, envelopes.

What they need of an application is a stub that knows nothing: only parsing is tested here.
The header ``Range`` is missing because nothing reads it: files are answered whole.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast
from uuid import UUID

import orjson
from starlette.datastructures import QueryParams

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Invalid, NotFound
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.outbound.telemetry import Telemetry, check_telemetry
from mainspring.registry import build_registry
from mainspring.runs.output import OutputPosition, format_output_position
from mainspring.runs.progress import RunStreamPosition
from mainspring.runs.transport.broker import broker_of
from mainspring.settings import Settings
from mainspring.surfaces.cli.move import parse_move_target
from mainspring.surfaces.mcp.exchange import McpHttpExchange
from mainspring.surfaces.rest.routes.streams import PageStreamPosition
from mainspring.surfaces.rest.tracing import TracingMiddleware
from mainspring.triggers.webhook_auth import sender_key
from mainspring.workspace.artifacts.links import LinkSigner, read_expiry
from mainspring.workspace.artifacts.rows import Artifact
from scripts.fuzz.target import LIMITS, Target, as_bytes, as_request, as_text, as_value

_NOW: Final = datetime(2026, 3, 1, 9, tzinfo=UTC)
_SPACE: Final = UUID(int=1)
_FILE: Final = UUID(int=2)
_NOWHERE: Final = Path("/nonexistent")
# The code by which JSON-RPC says that the server broke.
_BROKE: Final = -32603
_MODERN: Final = "2026-07-28"


async def _nothing(*_: Any) -> None:
    """An application that answers nothing, and a way back that nobody listens to."""


def _traced(data: bytes) -> Any:
    """The first line is the header; a second one is the header once more."""
    from opentelemetry.metrics import NoOpMeter
    from opentelemetry.sdk.trace import TracerProvider

    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("fuzz")
    line = Telemetry(tracer, NoOpMeter("fuzz"), lambda *_: None, lambda: None)
    headers = [(b"traceparent", one.strip()) for one in data.split(b"\n", 1)]
    scope = {"type": "http", "method": "POST", "path": "/", "headers": headers}
    return asyncio.run(
        TracingMiddleware(_nothing, telemetry=line)(scope, cast("Any", _nothing), _nothing)
    )


def _last_event(data: bytes) -> Any:
    """A mark that is understood is one that was written here: it reads the same once more."""
    text = as_text(data)
    found = [
        one
        for one in (RunStreamPosition.read(text), PageStreamPosition.read(text))
        if one is not None
    ]
    if not found:
        raise Invalid("This is not the id of an event.")
    for one in found:
        assert type(one).read(one.write() or "") == one
    return found


def _sender_key(data: bytes) -> Any:
    """Headers, one in a line, and after an empty line the body."""
    head, _, body = data.partition(b"\n\n")
    headers = [one.decode("latin-1") for one in head.split(b"\n") if one]
    return sender_key(headers, as_value(body) if body else None)


@dataclass(frozen=True, slots=True)
class _Vault:
    """One key for everything that is signed."""

    async def derived_key(self, purpose: bytes) -> bytes:
        return purpose


_LINKS: Final = LinkSigner(cast("Any", _Vault()), "https://mainspring.example")


def _link(data: bytes) -> Any:
    """The query of an address of a file: whatever is not as it was signed is no artifact."""
    asked = QueryParams(as_text(data))
    expires, signature = asked.get("expires", ""), asked.get("signature", "")
    return asyncio.run(_LINKS.check(_SPACE, _FILE, read_expiry(expires), signature, _NOW))


def _signed() -> bytes:
    file = Artifact(
        _SPACE,
        _FILE,
        None,
        None,
        "one",
        "report.md",
        "document",
        "permanent",
        "shared",
        "text/markdown",
        3,
        b"",
        _NOW,
        None,
    )
    return asyncio.run(_LINKS.make(file, _NOW, 60)).url.partition("?")[2].encode()


@dataclass(frozen=True, slots=True)
class _Gate:
    """It offers nothing, so whatever is called is missing."""

    async def offers(self, caller: Any) -> list[Any]:
        return []

    async def names(self, space: UUID) -> list[str]:
        return []

    async def find(self, space: UUID, name: str) -> Any:
        raise NotFound("There is no such tool.")


class _Known:
    """A client with a token."""

    gate_caller = CapabilityCaller(Actor(_SPACE, "client", _FILE, role=Role.VIEWER))


_SETTINGS: Final = Settings(home=Path("/nowhere"))


@dataclass(frozen=True, slots=True)
class _Services:
    """The services that the protocol uses. No message of these leads to the database."""

    registry: Any
    limits: Any = LIMITS
    gate: Any = _Gate()
    settings: Any = _SETTINGS
    database: Any = None


class _Envelope:
    """The whole way of a message over HTTP, up to the tools that are not there."""

    def __init__(self) -> None:
        self._exchange: McpHttpExchange | None = None

    def __call__(self, data: bytes) -> Any:
        if self._exchange is None:
            self._exchange = McpHttpExchange(cast("Any", _Services(build_registry(LIMITS))))
        answer = asyncio.run(self._exchange.answer(cast("Any", _Known()), as_request(data)))
        if not answer.body:
            return answer
        result = orjson.loads(answer.body)
        if "result" not in result:
            assert result.get("error", {}).get("code") != _BROKE, result
            raise Invalid("The message was refused.")
        return result


def _broker(data: bytes) -> Any:
    text = as_text(data)
    parse_move_target("postgresql://house", text)
    return broker_of(Settings(home=_NOWHERE, transport="celery", broker_url=text))


def _collector(data: bytes) -> Any:
    return check_telemetry(Settings(home=_NOWHERE, otlp_url=as_text(data)))


_TRACE: Final = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
_MOMENT: Final = b"2026-03-01T09:00:00+00:00"
_PLACE: Final = b"/" + format_output_position(OutputPosition(_NOW, "one", "", 1, 7)).encode()
_MESSAGE: Final = b"\ncontent-type: application/json\naccept: application/json, text/event-stream\n"


def _rpc(method: str, params: Any = None, **more: Any) -> bytes:
    given = {} if params is None else {"params": params}
    return as_bytes({"jsonrpc": "2.0", "id": 1, "method": method, **given, **more})


def _messages() -> list[bytes]:
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "fuzz", "version": "1"},
    }
    output = {
        "io.modelcontextprotocol/protocolVersion": _MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "fuzz", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    version = f"mcp-protocol-version: {_MODERN}\nmcp-method: tools/list\n\n".encode()
    return [
        _MESSAGE + b"\n" + _rpc("initialize", hello),
        _MESSAGE + b"\n" + _rpc("ping"),
        _MESSAGE + b"mcp-protocol-version: 2025-06-18\n\n" + _rpc("tools/list", {"cursor": "x"}),
        _MESSAGE + b"\n" + _rpc("tools/call", {"name": "list_boards", "arguments": {"a": 1}}),
        _MESSAGE + b'\n{"jsonrpc":"2.0","method":"notifications/initialized"}',
        _MESSAGE + version + _rpc("tools/list", {"_meta": output}),
    ]


def around() -> list[Target]:
    """All of them."""
    return [
        Target(
            "trace header",
            _traced,
            [_TRACE, _TRACE + b"\n" + _TRACE, b"01" + _TRACE[2:]],
            [b"-", b"00-", b"ff-", b"0" * 32, b"-01"],
        ),
        Target(
            "event id",
            _last_event,
            [
                _MOMENT,
                _MOMENT + _PLACE,
                _MOMENT + b"~" + _MOMENT + _PLACE,
                _PLACE,
            ],
            [b"~", b"/", b"+00:00", b"Z", _PLACE, b"W01"],
        ),
        Target(
            "idempotency key",
            _sender_key,
            [
                b"order-17",
                b'order-17\n\n{"idempotency_key":"order-17"}',
                b'\n\n{"idempotency_key":"a"}',
            ],
            [b'{"idempotency_key":', b"\n", b"a" * 255, b"\x7f"],
        ),
        Target("artifact link", _link, [_signed()], [b"expires=", b"&signature=", b"%3D", b"+"]),
        Target(
            "MCP message",
            _Envelope(),
            _messages(),
            [
                b'"id":null',
                b'"jsonrpc":"1.0"',
                b'"params":[]',
                b'"_meta":{"progressToken":1}',
                b"mcp-protocol-version: ",
                b"mcp-method: ",
                b"mcp-name: ",
                b'"method":"tools/call"',
                b'"method":"logging/setLevel"',
                b'"method":"completion/complete"',
                b"accept: text/html",
            ],
        ),
        Target(
            "broker URL",
            _broker,
            [
                b"redis://:pass@host:6379/0",
                b"amqps://user:pa%40ss@host:5671//x",
                b"rediss://[::1]/1?ssl_cert_reqs=none",
            ],
            [b"redis://", b"amqp://", b"@", b":", b"[", b"]", b"?ssl_ca_certs=", b":99999"],
        ),
        Target(
            "collector URL",
            _collector,
            [b"http://localhost:4318", b"https://[::1]/x"],
            [b"http://", b"[", b"]", b"@", b":99999"],
        ),
    ]
