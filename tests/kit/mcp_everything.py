"""What the protocol's conformance suite asks a server to have, as far as we offer such a thing.

The suite knows tools by their names. It sends no token, so the test mount adds one before
the request reaches the server under test, which is otherwise the product's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from mainspring.app import Application, application_services, build_registry, open_application
from mainspring.contracts.capability import Capability
from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import UpstreamError
from mainspring.contracts.limits import Limits
from mainspring.settings import Settings
from mainspring.surfaces.mcp.mount import PATH, McpMount
from mainspring.surfaces.rest.app import build_api
from mainspring.surfaces.rest.serve import serve
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.tokens import ensure_owner_token

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_NOTHING: dict[str, Any] = {"type": "object", "additionalProperties": False, "properties": {}}
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_ADDRESS: dict[str, Any] = {
    "$anchor": "addressDef",
    "type": "object",
    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
}
_KEYWORDS: dict[str, Any] = {
    "$schema": _DIALECT,
    "type": "object",
    "$defs": {"address": _ADDRESS},
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


async def _say(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    del ctx, arguments
    return {"text": "This is a simple text response for testing."}


async def _progress(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    del arguments
    if ctx.client_wait is not None and ctx.client_wait.report is not None:
        for message in ("begun", "half", "done"):
            await ctx.client_wait.report(message)
    return {"text": "done"}


async def _fail(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    raise UpstreamError("This tool intentionally returns an error for testing.")


CAPABILITIES = (
    Capability("test_simple_text", "Say something", _NOTHING, {"type": "object"}, _say),
    # It is asked to log nothing unless the client wants it, and it never does.
    Capability("test_logging_tool", "Log nothing", _NOTHING, {"type": "object"}, _say),
    Capability("test_tool_with_progress", "Go on", _NOTHING, {"type": "object"}, _progress),
    Capability("test_error_handling", "Fail", _NOTHING, {"type": "object"}, _fail),
    Capability(
        "json_schema_2020_12_tool", "Have a long schema", _KEYWORDS, {"type": "object"}, _say
    ),
)


class WithHeaders:
    """Puts these headers into whatever comes."""

    def __init__(self, app: ASGIApp, headers: Mapping[str, str]) -> None:
        self._app = app
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        names = {name for name, _ in self._headers}
        stored = [pair for pair in scope["headers"] if pair[0] not in names]
        await self._app({**scope, "headers": [*stored, *self._headers]}, receive, send)


@asynccontextmanager
async def mounted(
    application: Application, headers: Mapping[str, str] = MappingProxyType({})
) -> AsyncIterator[str]:
    """The address of the server under test, over an application with these capabilities."""
    settings = replace(application.settings, host="127.0.0.1", port=0)
    services = application_services(replace(application, settings=settings))
    file = await ensure_owner_token(
        application.database, settings.home, application.workspace_id, FIRST_MEMBER
    )
    known = {"authorization": f"Bearer {file.read_text().strip()}", **headers}
    stop = asyncio.Event()
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    app = build_api(services, beside={PATH: WithHeaders(McpMount(services), known)})
    serving = asyncio.create_task(serve(app, settings, ready=port.set_result, stop=stop))
    try:
        yield f"http://127.0.0.1:{await port}{PATH}"
    finally:
        stop.set()
        await serving


@asynccontextmanager
async def everything(home: Path) -> AsyncIterator[str]:
    """The same over an application of its own in a new data folder."""
    registry = build_registry(Limits(), capabilities=CAPABILITIES)
    async with (
        open_application(Settings(home=home), registry=registry) as application,
        mounted(application) as made,
    ):
        yield made
