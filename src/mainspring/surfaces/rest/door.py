"""The door: who is calling.

It stands before the routes, so that what nobody thought of (an unknown path, another
method, a path spelt in capitals) is behind it too. A token comes in the header
``Authorization: Bearer`` and nowhere else: an address ends up in histories and logs, and a
cookie is sent by pages that the caller never meant to use. One look at an index answers
who it is, so a revoked token is refused from the next request on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar
from uuid import UUID

from fastapi import Depends, Request
from fastapi.routing import RouteContext
from starlette.datastructures import Headers
from starlette.routing import compile_path

from mainspring.contracts.capability import Capability
from mainspring.contracts.context import Actor
from mainspring.contracts.errors import (
    Denied,
    Finding,
    Invalid,
    Missing,
    Problem,
    Unauthenticated,
)
from mainspring.contracts.roles import LEAST, Permission
from mainspring.gate.direct import Visitor
from mainspring.store.audit import Entry, entry_by
from mainspring.store.walls import Walled
from mainspring.surfaces.rest.problems import send_problem
from mainspring.workspace.tokens import find_holder, is_token, token_hash

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from mainspring.store.database import Database

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])

_PUBLIC: Final = "_mainspring_public"
_NEEDS: Final = "_mainspring_needs"
_FACE: Final = "_mainspring_face"
_KNOWN: Final = "_mainspring_known"
_CALLER: Final = "caller"
# Methods that change nothing.
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(slots=True)
class Caller:
    """Whoever sent this request, by what they showed."""

    visitor: Visitor
    database: Walled
    # Added to the entry that the audit log gets for this request.
    detail: dict[str, Any] = field(default_factory=dict)

    @property
    def actor(self) -> Actor:
        return self.visitor.actor

    @property
    def workspace_id(self) -> UUID:
        return self.visitor.actor.workspace_id

    @property
    def member_id(self) -> UUID:
        return self.visitor.actor.id


def public(endpoint: Endpoint) -> Endpoint:
    """Marks a route as open to everybody. It stands nearest to the function."""
    setattr(endpoint, _PUBLIC, True)
    return endpoint


def needs(permission: Permission) -> Callable[[Endpoint], Endpoint]:
    """Says what a member's role must allow for a route. It stands nearest to the function."""

    def mark(endpoint: Endpoint) -> Endpoint:
        setattr(endpoint, _NEEDS, permission)
        return endpoint

    return mark


def face_of(endpoint: Endpoint, capability: Capability) -> Endpoint:
    """Marks a route that only calls a capability: the gate decides who may, and records it."""
    setattr(endpoint, _FACE, capability)
    return endpoint


def anyone_known(endpoint: Endpoint) -> Endpoint:
    """Marks a route that is open to every known caller and asks the gate about the rest."""
    setattr(endpoint, _KNOWN, True)
    return endpoint


def faced(endpoint: Callable[..., Any] | None) -> Capability | None:
    """The capability that a route is a face of, if it is one."""
    found = getattr(endpoint, _FACE, None)
    return found if isinstance(found, Capability) else None


def needed(endpoint: Callable[..., Any] | None) -> Permission | None:
    """What a route needs; None for one that says nothing."""
    found = getattr(endpoint, _NEEDS, None)
    return found if isinstance(found, Permission) else None


def is_public(endpoint: Callable[..., Any] | None) -> bool:
    return getattr(endpoint, _PUBLIC, False)


async def signed_in(request: Request) -> Caller:
    """The caller, for a route that asks for it; nobody comes this far without a token."""
    caller = request.scope.get("state", {}).get(_CALLER)
    if not isinstance(caller, Caller):
        raise unknown_caller()
    return caller


SignedIn = Annotated[Caller, Depends(signed_in)]


async def admitted(request: Request) -> None:
    """The second lock, on each route: public, or a known caller whose role is enough."""
    endpoint = request.scope.get("endpoint")
    if is_public(endpoint):
        return
    caller = await signed_in(request)
    if faced(endpoint) is not None or getattr(endpoint, _KNOWN, False):
        return
    check_role(caller, request, needed(endpoint))
    if request.method not in _READING:
        caller.database = replace(caller.database, tell=lambda: [_entry(caller, request)])


def check_role(caller: Caller, request: Request, permission: Permission | None) -> None:
    """Refuses a caller whose role, or whose token, is not made for this route."""
    if permission is None:
        permission = Permission.READ if request.method in _READING else Permission.EDIT
    if caller.visitor.capabilities is not None and permission is not Permission.ACCOUNT:
        raise Denied(
            "This token may call the capabilities it names, and nothing else.",
            code="token_limited",
            suggestion="Call them at /api/v1/capabilities/{id} or over MCP.",
        )
    role = caller.actor.role
    if role is None or not role.may(permission):
        raise Denied(
            f"Your role here may not {permission.value}.",
            code="role_too_small",
            suggestion=f"It takes the role {LEAST[permission].value} or more.",
        )


def _entry(caller: Caller, request: Request) -> Entry:
    """What the audit log is told of a request that changed something."""
    route = request.scope.get("route")
    subject = "/".join(str(value) for value in request.path_params.values()) or None
    return entry_by(caller.actor, getattr(route, "name", "unknown"), subject, caller.detail)


def unknown_caller() -> Unauthenticated:
    return Unauthenticated(
        "This needs a token that is known here and has not been revoked.",
        code="unknown_token",
        suggestion="Send it in the header 'Authorization: Bearer msk_…'.",
    )


async def caller_of(database: Database, headers: Headers) -> Caller:
    """Who shows the token in these headers, for a public route that may still ask for one."""
    plain = _bearer(headers.getlist("authorization"))
    if plain is None:
        raise unknown_caller()
    found = await find_holder(database, token_hash(plain))
    if found is None:
        raise unknown_caller()
    actor = Actor(
        found.workspace_id, "client", found.member_id, found.token_id, found.role,
        found.administrator,
    )  # fmt: skip
    return Caller(Visitor(actor, found.capabilities), Walled(database, found.workspace_id))


class Door:
    """Lets a request through to a public route, or with a caller; refuses all others."""

    def __init__(self, app: ASGIApp, *, database: Database, routes: Iterable[RouteContext]) -> None:
        self._app = app
        self._database = database
        self._open = [
            (frozenset(route.methods or ()), compile_path(route.path or "")[0])
            for route in routes
            if is_public(route.endpoint)
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        else:
            try:
                await self._admit(scope)
            except Problem as problem:
                await send_problem(problem, scope, receive, send)
            else:
                await self._app(scope, receive, send)

    async def _admit(self, scope: Scope) -> None:
        if not self._is_open(scope):
            scope.setdefault("state", {})[_CALLER] = await caller_of(
                self._database, Headers(scope=scope)
            )
        # No name that is kept here holds this character, and the database refuses it.
        if "\x00" in scope["path"]:
            raise Missing("There is nothing at this address.", code="no_route")
        if b"%00" in scope["query_string"]:
            raise Invalid(
                "The query holds a NUL character.",
                findings=[Finding("/query", "NUL characters are not taken.", "nul")],
            )

    def _is_open(self, scope: Scope) -> bool:
        return any(
            scope["method"] in methods and path.match(scope["path"]) for methods, path in self._open
        )


def _bearer(shown: list[str]) -> str | None:
    """The token of the one header there is; anything else is nobody's."""
    if len(shown) != 1:
        return None
    scheme, _, token = shown[0].partition(" ")
    token = token.strip(" ")
    return token if scheme.lower() == "bearer" and is_token(token) else None
