"""The MCP server inside the API process: authentication comes before the library is loaded.

Loading it takes most of a second and 24 MB, so it happens for the first authenticated caller, on a
thread while other requests are served.
"""

from __future__ import annotations

import asyncio
import importlib
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

from starlette.background import BackgroundTask
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from mainspring.contracts.errors import Invalid, PermissionDenied, Problem, Unauthenticated
from mainspring.surfaces.rest.auth import AuthenticatedCaller, caller_of, note_use
from mainspring.surfaces.rest.problems import problem_answer
from mainspring.surfaces.rest.server_address import RESOURCE_PATH, own_name
from mainspring.workspace.oauth.scopes import LEAST
from mainspring.workspace.tokens import TokenHolderLookup

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Receive, Scope, Send

    from mainspring.settings import Settings
    from mainspring.surfaces.services import ApplicationServices


# Which Host and Origin a request to the MCP server may name.
#
# A page of the web can point a name of its own at this machine and then speak to the server
# as if it were of the same origin. It cannot choose what the browser writes into Host and
# Origin, so a request is only taken under a name that is known to be this server's.


# Where the MCP server is spoken to.
PATH: Final = "/mcp"

_LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")
_PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}


@lru_cache(maxsize=64)
def names(local: str | None, port: int | None, public_url: str | None) -> frozenset[str]:
    """The values of Host that mean this server; ``local`` is where the connection came in."""
    found: set[str] = set()
    if port is not None:
        for host in (*_LOOPBACK, *([_bracketed(local)] if local else [])):
            found |= _spellings(host, port, "http")
    if public_url is not None:
        scheme, host, public_port = _parts(public_url)
        found |= _spellings(host, public_port, scheme)
    return frozenset(found)


@lru_cache(maxsize=64)
def origins(local: str | None, port: int | None, public_url: str | None) -> frozenset[str]:
    """The values of Origin that mean a page of this server."""
    found = {f"http://{name}" for name in names(local, port, None)}
    if public_url is not None:
        scheme, host, public_port = _parts(public_url)
        found |= {f"{scheme}://{name}" for name in _spellings(host, public_port, scheme)}
    return frozenset(found)


def check_address(scope: Mapping[str, Any], public_url: str | None) -> None:
    """Refuses a request that names another server, or that another page has sent."""
    local, port = scope.get("server") or (None, None)
    if not _all_known(_values(scope, b"host"), names(local, port, public_url), least=1):
        raise PermissionDenied(
            "This request names another host than this server's.",
            code="foreign_host",
            suggestion="Use the address it listens on, or set MAINSPRING_PUBLIC_URL to that name.",
        )
    if not _all_known(_values(scope, b"origin"), origins(local, port, public_url), least=0):
        raise PermissionDenied(
            "This request was sent by a page of another origin.",
            code="foreign_origin",
            suggestion="Call it from a program, or from a page of this server.",
        )


def _all_known(shown: list[str], known: frozenset[str], *, least: int) -> bool:
    return least <= len(shown) <= 1 and all(value.lower() in known for value in shown)


def _values(scope: Mapping[str, Any], name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def _spellings(host: str, port: int, scheme: str) -> set[str]:
    """With its port, and without it where the scheme implies it."""
    return {f"{host}:{port}"} | ({host} if _PORTS.get(scheme) == port else set())


def _parts(url: str) -> tuple[str, str, int]:
    split = urlsplit(url.lower())
    port = split.port or _PORTS.get(split.scheme, 80)
    return split.scheme, _bracketed(split.hostname or ""), port


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


__all__ = ["PATH", "McpMount", "McpResponder"]


class McpResponder(Protocol):
    """The handler that exists once the library is loaded."""

    async def answer(self, caller: AuthenticatedCaller, request: Request) -> Response: ...


class McpMount:
    """An ASGI application for one path."""

    def __init__(self, services: ApplicationServices) -> None:
        self._services = services
        self._holders = TokenHolderLookup(services.database)
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
        check_address(request.scope, self._services.settings.public_url)
        # Only the Authorization header counts here: a browser sends cookies automatically.
        shown = [pair for pair in request.headers.raw if pair[0] == b"authorization"]
        try:
            caller = await caller_of(
                self._services.database,
                Headers(raw=shown),
                runs=True,
                clients=True,
                holders=self._holders,
            )
        except Unauthenticated as problem:
            return _unauthorized_response(
                problem, request, self._services.settings, shown=bool(shown)
            )
        exchange = self._exchange or await self._load()
        made = await exchange.answer(caller, request)
        # After the response, so that it adds no latency.
        made.background = BackgroundTask(note_use, self._services.database, caller)
        return made

    async def _load(self) -> McpResponder:
        async with self._one_at_a_time:
            if self._exchange is None:
                self._exchange = await asyncio.to_thread(_load, self._services)
        return self._exchange


def _unauthorized_response(
    problem: Problem, request: Request, settings: Settings, *, shown: bool
) -> Response:
    """A 401 that also names the authorization server and the scope (RFC 9728)."""
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
