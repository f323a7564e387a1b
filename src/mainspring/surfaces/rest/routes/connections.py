"""Connections to MCP servers, and the return of their OAuth sign-in.

Only the member who started the sign-in can finish it, in the workspace of the connection.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from fastapi import APIRouter, Request
from starlette.responses import Response

from mainspring.connections.mcp_servers.service import CALLBACK
from mainspring.contracts.errors import NotFound, Problem
from mainspring.contracts.roles import Permission
from mainspring.store.audit import build_audit_record
from mainspring.surfaces.rest.auth import BrowserSessionPolicy, check_role, person_of
from mainspring.surfaces.rest.capability_routes import CapabilityRoute, add_faces
from mainspring.surfaces.rest.oauth_return import (
    AGAIN,
    not_signed_in,
    once_more,
    page,
    problem_page,
    read_callback_params,
)
from mainspring.surfaces.rest.route_access import public
from mainspring.surfaces.rest.router import PREFIX, router
from mainspring.surfaces.services import ApplicationServices

_FACES: Final = (
    CapabilityRoute("POST", "/connections", "connect_mcp_server", status_code=201),
    CapabilityRoute("GET", "/connections", "list_connections"),
    CapabilityRoute(
        "GET",
        "/connections/{connection_id}",
        "get_connection",
    ),
    CapabilityRoute(
        "POST",
        "/connections/{connection_id}/harvest",
        "harvest_connection",
    ),
    CapabilityRoute("POST", "/connections/{connection_id}/agree", "agree_to_tools"),
    CapabilityRoute("POST", "/connections/{connection_id}/refuse", "refuse_tools"),
    CapabilityRoute(
        "PUT",
        "/connections/{connection_id}/tools/{tool}/effect",
        "set_tool_effect",
    ),
    CapabilityRoute(
        "PUT",
        "/connections/{connection_id}/token",
        "set_connection_token",
    ),
    CapabilityRoute(
        "POST",
        "/connections/{connection_id}/sign-in",
        "begin_sign_in",
    ),
    CapabilityRoute(
        "DELETE",
        "/connections/{connection_id}",
        "disconnect_mcp_server",
    ),
)


def routes(services: ApplicationServices) -> APIRouter:
    made = router("connections")
    made.add_api_route(
        CALLBACK.removeprefix(PREFIX),
        _callback(services),
        methods=["GET"],
        include_in_schema=False,
        response_model=None,
    )
    add_faces(made, services, _FACES)
    return made


def _callback(services: ApplicationServices) -> Callable[[Request], Awaitable[Response]]:
    browsers = BrowserSessionPolicy(services.settings.address)

    @public
    async def come_back(request: Request) -> Response:
        plain = browsers.shown(request.headers)
        if plain is None and AGAIN not in request.query_params:
            return once_more(request)
        try:
            if plain is None:
                raise not_signed_in()
            caller = await person_of(services.database, plain)
            check_role(caller, Permission.CONNECT)
            found, failed = await services.mcp_connection_service.finish_sign_in(
                caller.actor, _connection(request), **_brought(request)
            )
            await replace(
                caller.database,
                tell=lambda: [build_audit_record(caller.actor, "signed_in_at", found.alias)],
            ).note()
        except Problem as problem:
            return problem_page(problem)
        if failed is not None:
            return page(f"{found.alias} is signed in", failed.detail, failed.suggestion)
        return page(f"{found.alias} is connected", "You can close this page.")

    return come_back


def _connection(request: Request) -> UUID:
    try:
        return UUID(request.path_params["connection_id"])
    except ValueError:
        raise NotFound("There is no such connection here.", code="connection_missing") from None


def _brought(request: Request) -> dict[str, Any]:
    found = read_callback_params(request, "state", "code", "iss", "error")
    return {**found, "state": found["state"] or ""}
