"""The MCP server inside the API process: who comes in is decided before the library is loaded.

Loading it takes most of a second and 24 MB, so it waits for the first caller who is known,
and happens on a thread while others are served.
"""

from __future__ import annotations

import asyncio
import importlib
from typing import TYPE_CHECKING, Protocol

from starlette.background import BackgroundTask
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from mainspring.contracts.errors import Invalid, Problem, Unauthenticated
from mainspring.surfaces.mcp.addresses import PATH, check_address
from mainspring.surfaces.rest.auth import AuthenticatedCaller, caller_of, note_use
from mainspring.surfaces.rest.problems import problem_answer
from mainspring.surfaces.rest.server_address import RESOURCE_PATH, own_name
from mainspring.workspace.oauth.scopes import LEAST
from mainspring.workspace.tokens import TokenHolderLookup

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from mainspring.settings import Settings
    from mainspring.surfaces.services import ApplicationServices

__all__ = ["PATH", "McpMount", "McpResponder"]


class McpResponder(Protocol):
    """What answers once the library is there."""

    async def answer(self, caller: AuthenticatedCaller, request: Request) -> Response: ...


class McpMount:
    """An ASGI application for one path."""

    def __init__(self, rooms: ApplicationServices) -> None:
        self._rooms = rooms
        self._holders = TokenHolderLookup(rooms.database)
        self._exchange: McpResponder | None = None
        self._one_at_a_time = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            made = await self._answer(Request(scope, receive))
        except Problem as problem:
            made = problem_answer(problem, scope)
        except HTTPException as error:
            slow = Invalid("The body did not arrive in time.", code="slow_body")
            made = problem_answer(slow, scope, error.status_code)
            made.headers["Connection"] = "close"
        except ClientDisconnect:
            return
        await made(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        check_address(request.scope, self._rooms.settings.public_url)
        # A token in the header is all that counts here: a browser sends cookies by itself.
        shown = [pair for pair in request.headers.raw if pair[0] == b"authorization"]
        try:
            caller = await caller_of(
                self._rooms.database,
                Headers(raw=shown),
                runs=True,
                clients=True,
                holders=self._holders,
            )
        except Unauthenticated as problem:
            return _unauthorized_response(problem, request, self._rooms.settings, shown=bool(shown))
        exchange = self._exchange or await self._load()
        made = await exchange.answer(caller, request)
        # Once the answer is out: nobody waits for this.
        made.background = BackgroundTask(note_use, self._rooms.database, caller)
        return made

    async def _load(self) -> McpResponder:
        async with self._one_at_a_time:
            if self._exchange is None:
                self._exchange = await asyncio.to_thread(_load, self._rooms)
        return self._exchange


def _unauthorized_response(
    problem: Problem, request: Request, settings: Settings, *, shown: bool
) -> Response:
    """A refusal that also says where a client can ask for a token (RFC 9728), and for which."""
    made = problem_answer(problem, request.scope)
    where = (
        f'Bearer resource_metadata="{own_name(request, settings)}{RESOURCE_PATH}{PATH}", '
        f'scope="{LEAST}"'
    )
    made.headers["WWW-Authenticate"] = f'{where}, error="invalid_token"' if shown else where
    return made


def _load(services: ApplicationServices) -> McpResponder:
    made: McpResponder = importlib.import_module(
        "mainspring.surfaces.mcp.exchange"
    ).McpHttpExchange(services)
    return made
