"""Authentication: who is calling.

It runs before routing, so that unexpected requests (an unknown path, another method, a path in
capitals) are covered too. A token comes in the header ``Authorization: Bearer`` and nowhere else,
because URLs end up in histories and logs. A browser sends its session cookie instead, and if both
are present the token wins. Every request is one index lookup, so a revoked token or a removed
member is rejected from the next request on.
"""

from __future__ import annotations

import contextlib
import hmac
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from fastapi import Depends, Request
from fastapi.routing import RouteContext
from starlette.datastructures import Headers, QueryParams
from starlette.routing import compile_path

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import (
    Conflict,
    Finding,
    InternalError,
    Invalid,
    NotFound,
    PermissionDenied,
    Problem,
    Unauthenticated,
)
from mainspring.contracts.log_context import enter_workspace
from mainspring.contracts.roles import Permission, role_too_small_error
from mainspring.contracts.terminal_session import (
    CONFIRMED_HEADER,
    MOST_CONFIRMED_BYTES,
    compute_call_digest,
    is_terminal_session,
)
from mainspring.gate.callers import CapabilityCaller
from mainspring.gate.run_tokens import dead_token, find_pass, is_run_token
from mainspring.store.audit import AuditRecord, build_audit_record
from mainspring.store.database import WorkspaceDatabase
from mainspring.surfaces.rest.problems import send_problem
from mainspring.surfaces.rest.route_access import (
    get_route_capability,
    get_route_permission,
    is_anywhere,
    is_for_anyone_known,
    is_open_to_runs,
    is_public,
)
from mainspring.workspace.people.sessions import (
    LIFETIME,
    build_csrf_token,
    find_session,
    is_csrf_token,
    touch_session,
)
from mainspring.workspace.tokens import (
    TokenHolderLookup,
    find_holder,
    hash_token,
    is_token,
    record_token_use,
)

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from mainspring.store.database import Database


# What the door knows of browsers: the cookie, and which page a request comes from.
#
# A browser sends cookies with requests of any page. So a request that shows one and would
# change something must come from a page of ours and carry a token that only such a page can
# know. The cookie itself is out of reach for every script, and is not sent at all when another
# site leads here.


CSRF_HEADER: Final = "X-CSRF-Token"
# A browser keeps this name to one host over https, so that no neighbour can plant it.
_GUARDED_NAME: Final = "__Host-mainspring"
_PLAIN_NAME: Final = "mainspring"
# What a browser says of a request that a page of ours made, or a person by hand.
_OWN: Final = frozenset({"same-origin", "none"})


@dataclass(frozen=True, slots=True)
class BrowserSessionPolicy:
    """Cookies and pages of a server that is reached at this address."""

    address: str

    @property
    def secure(self) -> bool:
        return urlsplit(self.address).scheme == "https"

    @property
    def name(self) -> str:
        return _GUARDED_NAME if self.secure else _PLAIN_NAME

    def shown(self, headers: Headers) -> str | None:
        """What the one cookie of ours holds; two of them are nobody's."""
        found = [
            value.strip()
            for header in headers.getlist("cookie")
            for name, given, value in (piece.partition("=") for piece in header.split(";"))
            if given and name.strip() == self.name
        ]
        return found[0] if len(found) == 1 else None

    def give(self, answer: Response, plain: str) -> None:
        """Hands a browser its session."""
        self._set(answer, plain, int(LIFETIME.total_seconds()))

    def take(self, answer: Response) -> None:
        """Makes a browser forget its session."""
        self._set(answer, "", 0)

    def check_page(self, headers: Headers) -> None:
        """Refuses what a page of another site asks for."""
        if headers.get("sec-fetch-site", "none") not in _OWN:
            raise foreign()
        origins = headers.getlist("origin")
        if origins and (len(origins) > 1 or not self._is_ours(origins[0], headers)):
            raise foreign()

    def check_change(self, headers: Headers, plain: str) -> None:
        """Refuses a change that no page of ours asked for."""
        self.check_page(headers)
        if not is_csrf_token(plain, headers.get(CSRF_HEADER, "")):
            raise PermissionDenied(
                f"A change by a browser needs the header {CSRF_HEADER}.",
                code="csrf",
                suggestion="Its value is the csrf_token of GET /api/v1/session.",
            )

    def _is_ours(self, origin: str, headers: Headers) -> bool:
        ours, theirs = urlsplit(self.address), _split(origin)
        if theirs is None:
            return False
        if theirs == (ours.scheme, ours.netloc.lower()):
            return True
        # Reached by another name of this machine, such as localhost.
        return theirs == (ours.scheme, headers.get("host", "").lower())

    def _set(self, answer: Response, value: str, seconds: int) -> None:
        answer.set_cookie(
            self.name,
            value,
            max_age=seconds,
            path="/",
            secure=self.secure,
            httponly=True,
            samesite="strict",
        )


def foreign() -> PermissionDenied:
    return PermissionDenied(
        "A page of another site may not ask for this.",
        code="foreign_page",
        suggestion="If it is the server's own address, set MAINSPRING_PUBLIC_URL to it.",
    )


def _split(origin: str) -> tuple[str, str] | None:
    try:
        found = urlsplit(origin)
    except ValueError:
        return None
    return (found.scheme, found.netloc.lower()) if found.netloc else None


# A request's body read before its route does, and handed on unchanged.


async def read_ahead(receive: Receive) -> tuple[bytes, Receive]:
    """The complete body, and a receive function that replays it."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            break
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MOST_CONFIRMED_BYTES:
            raise Invalid("What is confirmed at a terminal is too large.", code="too_large")
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return body, again


# The only path besides the marked routes that accepts the token of a run.
_MCP: Final = "/mcp"
_STREAM: Final = "/api/v1/stream"
# The header with the workspace that a page shows.
WORKSPACE_HEADER: Final = "X-Workspace"
_CALLER: Final = "caller"
# Where a caller in the same process puts who it is. Nothing that comes over the network can set
# a key of the scope.
LOCAL_CALLER: Final = "mainspring.local_caller"
# What the audit log calls a refusal.
DENIED: Final = "denied"
# Safe methods.
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(slots=True)
class AuthenticatedCaller:
    """The authenticated sender of a request."""

    gate_caller: CapabilityCaller
    database: WorkspaceDatabase
    # Added to the audit entry of this request.
    detail: dict[str, Any] = field(default_factory=dict)
    # The resource, if the path does not name it.
    subject: object = None
    # Nothing was changed: no audit entry is written.
    idle: bool = False
    # Set for a browser: its session, and its CSRF token.
    session_id: UUID | None = None
    # Set for the CLI under `mainspring login`: its session, which is not a browser's.
    terminal_id: UUID | None = None
    csrf: str | None = None
    # The owner of the data folder in the same process, who shows no credential.
    is_local: bool = False
    # When the token expires.
    ends: datetime | None = None
    # Whether the last use of the token or the session must be recorded.
    stale: bool = False
    # Authenticates again; raises once the token or session is no longer valid.
    again: Callable[[], Awaitable[AuthenticatedCaller]] | None = None

    @property
    def actor(self) -> Actor:
        return self.gate_caller.actor

    @property
    def workspace_id(self) -> UUID:
        return self.gate_caller.actor.workspace_id

    @property
    def member_id(self) -> UUID:
        return self.gate_caller.actor.id


async def get_caller(request: Request) -> AuthenticatedCaller:
    """The caller, as a dependency of routes; unauthenticated requests never get here."""
    caller = request.scope.get("state", {}).get(_CALLER)
    if not isinstance(caller, AuthenticatedCaller):
        raise unknown_caller()
    return caller


SignedIn = Annotated[AuthenticatedCaller, Depends(get_caller)]


async def check_admitted(request: Request) -> None:
    """The access check of each route: public, or a caller with a sufficient role."""
    endpoint = request.scope.get("endpoint")
    if is_public(endpoint):
        return
    caller = await get_caller(request)
    if caller.gate_caller.held is not None and not is_open_to_runs(endpoint):
        raise unknown_caller()
    if get_route_capability(endpoint) is not None or is_for_anyone_known(endpoint):
        return
    try:
        check_role(caller, get_route_permission(endpoint))
    except PermissionDenied as refusal:
        await _tell_refusal(caller, request, refusal)
        raise
    if request.method not in _READING:
        caller.database = replace(
            caller.database, tell=lambda: [] if caller.idle else [_entry(caller, request)]
        )


async def check_again(caller: AuthenticatedCaller, permission: Permission) -> AuthenticatedCaller:
    """For long responses: the caller, if they are still allowed to receive the rest."""
    if caller.again is None:
        return caller
    now = await caller.again()
    if now.member_id != caller.member_id:
        raise unknown_caller()
    # They may have been removed, or have switched the workspace in another window.
    if now.workspace_id != caller.workspace_id:
        raise other_workspace()
    check_role(now, permission)
    return now


def check_role(caller: AuthenticatedCaller, permission: Permission | None) -> None:
    """Rejects a caller whose role or token is not sufficient for this route."""
    if permission is None:
        raise InternalError("A route says nothing about who may use it.")
    if caller.gate_caller.capabilities is not None and permission is not Permission.ACCOUNT:
        raise PermissionDenied(
            "This token may call the capabilities it names, and nothing else.",
            code="token_limited",
            suggestion="Call them at /api/v1/capabilities/{id} or over MCP.",
        )
    role = caller.actor.role
    if role is None or not role.may(permission):
        raise role_too_small_error(role, permission)


async def _tell_refusal(
    caller: AuthenticatedCaller, request: Request, refusal: PermissionDenied
) -> None:
    route = getattr(request.scope.get("route"), "name", "unknown")
    entry = build_audit_record(caller.actor, DENIED, route, {"code": refusal.code})
    await replace(caller.database, tell=lambda: [entry]).note()


def _entry(caller: AuthenticatedCaller, request: Request) -> AuditRecord:
    """Writes the audit entry of a request that changed something."""
    route = request.scope.get("route")
    subject = "/".join(str(value) for value in request.path_params.values()) or caller.subject
    return build_audit_record(
        caller.actor, getattr(route, "name", "unknown"), subject, caller.detail
    )


def unknown_caller() -> Unauthenticated:
    return Unauthenticated(
        "This needs a token that is known here and has not been revoked, or a session.",
        code="unknown_token",
        suggestion="Send it in the header 'Authorization: Bearer msk_…', or sign in.",
    )


def other_workspace() -> Conflict:
    return Conflict(
        "Your session is for another workspace than this page.",
        code="other_workspace",
        suggestion="Load the page again; it then shows the workspace of the session.",
    )


def _elsewhere() -> PermissionDenied:
    return PermissionDenied(
        "This token was given to a client of the MCP server, and works there alone.",
        code="token_for_mcp",
        suggestion=f"Use it at {_MCP}, or make a token for programs.",
    )


async def reader_of(
    database: Database, browsers: BrowserSessionPolicy, headers: Headers
) -> AuthenticatedCaller:
    """Authenticates a read on a public route: by a token, or by a browser's session."""
    plain = None if "authorization" in headers else browsers.shown(headers)
    return await (caller_of(database, headers) if plain is None else person_of(database, plain))


async def caller_of(
    database: Database,
    headers: Headers,
    *,
    runs: bool = False,
    clients: bool = False,
    approves: bool = False,
    terminals: bool = False,
    holders: TokenHolderLookup | None = None,
) -> AuthenticatedCaller:
    """Authenticates the bearer token; that of a run or a client only where it is accepted.

    The permission ``approve`` of a token counts only with ``approves``, and the session of a
    terminal is accepted only with ``terminals``; MCP sets neither. With ``holders``, concurrent
    token lookups are batched.
    """
    plain = _bearer(headers.getlist("authorization"))
    if plain is None:
        raise unknown_caller()
    if not is_token(plain):
        if is_run_token(plain):
            return await _run_behind(database, plain, runs=runs)
        return await _terminal_behind(database, plain, taken=terminals)
    digest = hash_token(plain)
    found = await (holders.find(digest) if holders else find_holder(database, digest))
    if found is None:
        raise unknown_caller()
    if found.client_id is not None and not clients:
        raise _elsewhere()
    granted = found.approves if approves or found.approves is None else frozenset()
    actor = Actor(
        found.workspace_id,
        "client",
        found.member_id,
        found.token_id,
        found.role,
        found.administrator,
        approves=granted,
    )
    return AuthenticatedCaller(
        CapabilityCaller(actor, found.capabilities),
        WorkspaceDatabase(database, found.workspace_id),
        ends=found.expires_at,
        stale=found.stale,
    )


async def person_of(database: Database, plain: str) -> AuthenticatedCaller:
    """Authenticates the session cookie of a browser."""
    found = await find_session(database, plain)
    if found is None:
        raise unknown_caller()
    actor = Actor(
        found.workspace_id, "member", found.user_id, None, found.role, found.administrator
    )
    return AuthenticatedCaller(
        CapabilityCaller(actor),
        WorkspaceDatabase(database, found.workspace_id),
        session_id=found.id,
        csrf=build_csrf_token(plain),
        stale=found.stale,
    )


async def _terminal_behind(database: Database, plain: str, *, taken: bool) -> AuthenticatedCaller:
    """The session of `mainspring login`: a program, until the person confirms the call."""
    found = await find_session(database, plain, kind="terminal") if taken else None
    if found is None:
        raise unknown_caller()
    actor = Actor(
        found.workspace_id,
        "member",
        found.user_id,
        None,
        found.role,
        found.administrator,
        by_program=True,
    )
    return AuthenticatedCaller(
        CapabilityCaller(actor),
        WorkspaceDatabase(database, found.workspace_id),
        terminal_id=found.id,
        stale=found.stale,
    )


async def _run_behind(database: Database, plain: str, *, runs: bool) -> AuthenticatedCaller:
    held = await find_pass(database, plain) if runs else None
    if held is None:
        raise dead_token() if runs else unknown_caller()
    return AuthenticatedCaller(
        CapabilityCaller(held.actor, held=held),
        WorkspaceDatabase(database, held.actor.workspace_id),
    )


class AuthMiddleware:
    """Passes a request on if its route is public or it has a caller; rejects all others."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        database: Database,
        browsers: BrowserSessionPolicy,
        routes: Iterable[RouteContext],
    ) -> None:
        self._app = app
        self._database = database
        self._holders = TokenHolderLookup(database)
        self._browsers = browsers
        listed = list(routes)
        self._open = _marked(listed, is_public)
        self._for_runs = _marked(listed, is_open_to_runs)
        self._anywhere = _marked(listed, is_anywhere)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        else:
            try:
                await self._admit(scope)
                receive = await self._confirmed(scope, receive)
            except Problem as problem:
                await send_problem(problem, scope, receive, send)
            else:
                await self._app(scope, receive, send)
                await self._write_down(scope)

    async def _write_down(self, scope: Scope) -> None:
        """Records the use of a token or session after the response, so that it adds no latency."""
        caller = scope.get("state", {}).get(_CALLER)
        if isinstance(caller, AuthenticatedCaller):
            await note_use(self._database, caller)

    async def _confirmed(self, scope: Scope, receive: Receive) -> Receive:
        """A call under `mainspring login` is a person's if they confirmed exactly this call."""
        caller = scope.get("state", {}).get(_CALLER)
        if not isinstance(caller, AuthenticatedCaller) or caller.terminal_id is None:
            return receive
        shown = Headers(scope=scope).get(CONFIRMED_HEADER)
        if shown is None:
            return receive
        body, receive = await read_ahead(receive)
        query = scope["query_string"].decode("latin-1")
        target = scope["path"] + (f"?{query}" if query else "")
        if not hmac.compare_digest(shown, compute_call_digest(scope["method"], target, body)):
            raise PermissionDenied("What was confirmed is another call.", code="not_confirmed")
        actor = replace(caller.actor, by_program=False, at_terminal=True)
        caller.gate_caller = replace(caller.gate_caller, actor=actor)
        return receive

    async def _admit(self, scope: Scope) -> None:
        if not _among(self._open, scope):
            caller = await self._caller(scope)
            scope.setdefault("state", {})[_CALLER] = caller
            enter_workspace(caller.workspace_id)
        # No stored name contains this character, and the database rejects it.
        if "\x00" in scope["path"]:
            raise NotFound("There is nothing at this address.", code="no_route")
        if b"%00" in scope["query_string"]:
            raise Invalid(
                "The query holds a NUL character.",
                findings=[Finding("/query", "NUL characters are not taken.", "nul")],
            )

    async def _caller(self, scope: Scope) -> AuthenticatedCaller:
        local = scope.get(LOCAL_CALLER)
        if isinstance(local, CapabilityCaller):
            return AuthenticatedCaller(
                local,
                WorkspaceDatabase(self._database, local.actor.workspace_id),
                is_local=local.actor.token_id is None,
            )
        headers = Headers(scope=scope)
        plain = None if "authorization" in headers else self._browsers.shown(headers)
        if plain is None:
            runs = scope["path"] == _MCP or _among(self._for_runs, scope)
            again = partial(
                caller_of,
                self._database,
                headers,
                runs=runs,
                approves=True,
                terminals=True,
                holders=self._holders,
            )
        else:
            again = partial(person_of, self._database, plain)
        caller = await again()
        if plain is not None and scope["method"] not in _READING:
            self._browsers.check_change(headers, plain)
        if plain is not None and not _among(self._anywhere, scope):
            _check_shown_workspace(scope, headers, caller)
        caller.again = again
        return caller


def _check_shown_workspace(scope: Scope, headers: Headers, caller: AuthenticatedCaller) -> None:
    """Rejects a page that shows another workspace: all windows of a browser share one session."""
    shown = headers.getlist(WORKSPACE_HEADER)
    if scope["path"] == _STREAM:
        # A browser opens an event stream without custom headers.
        shown += QueryParams(scope["query_string"]).getlist("workspace")
    if any(one != str(caller.workspace_id) for one in shown):
        raise other_workspace()


async def note_use(database: Database, caller: AuthenticatedCaller) -> None:
    """Records the use of a token or session, unless it was recorded recently."""
    if not caller.stale:
        return
    with contextlib.suppress(Problem):
        await _touch(database, caller)


async def _touch(database: Database, caller: AuthenticatedCaller) -> None:
    session_id = caller.session_id or caller.terminal_id
    if session_id is not None:
        await touch_session(database, session_id)
    elif caller.actor.token_id is not None:
        await record_token_use(database, caller.workspace_id, caller.actor.token_id)


def _marked(
    routes: Iterable[RouteContext], marked: Callable[[Callable[..., Any] | None], bool]
) -> list[tuple[frozenset[str], re.Pattern[str]]]:
    return [
        (frozenset(route.methods or ()), compile_path(route.path or "")[0])
        for route in routes
        if marked(route.endpoint)
    ]


def _among(routes: Iterable[tuple[frozenset[str], re.Pattern[str]]], scope: Scope) -> bool:
    return any(scope["method"] in methods and path.match(scope["path"]) for methods, path in routes)


def _bearer(shown: list[str]) -> str | None:
    """The token of the only Authorization header; anything else matches nothing."""
    if len(shown) != 1:
        return None
    scheme, _, token = shown[0].partition(" ")
    token = token.strip(" ")
    return token if scheme.lower() == "bearer" and _is_known_token_form(token) else None


def _is_known_token_form(token: str) -> bool:
    return is_token(token) or is_run_token(token) or is_terminal_session(token)
