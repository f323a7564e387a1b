"""Integrations: the catalogue, a member's own accounts, and the return of an OAuth sign-in.

Only the member who started the sign-in can finish it, for that provider.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from mainspring.connections.accounts.service import CALLBACK
from mainspring.contracts.errors import Problem
from mainspring.contracts.manifest import get_source_name
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
    CapabilityRoute("GET", "/integrations", "list_integrations"),
    CapabilityRoute(
        "POST",
        "/integrations/{integration}/connect",
        "connect_integration",
    ),
    CapabilityRoute(
        "POST",
        "/integrations/{integration}/sign-in",
        "begin_integration_sign_in",
    ),
    CapabilityRoute(
        "POST",
        "/integrations/{integration}/test",
        "test_integration_connection",
    ),
    CapabilityRoute(
        "POST",
        "/integrations/{integration}/share",
        "share_integration_connection",
    ),
    CapabilityRoute(
        "DELETE",
        "/integrations/{integration}/share",
        "withdraw_integration_connection",
    ),
    CapabilityRoute(
        "DELETE",
        "/integrations/{integration}/connection",
        "disconnect_integration",
    ),
    CapabilityRoute("GET", "/integrations/slack/link", "get_slack_link"),
    CapabilityRoute("POST", "/integrations/slack/link", "link_slack"),
    CapabilityRoute("DELETE", "/integrations/slack/link", "unlink_slack"),
    CapabilityRoute("GET", "/oauth-clients", "list_oauth_clients"),
    CapabilityRoute("PUT", "/oauth-clients/{provider}", "set_oauth_client"),
    CapabilityRoute(
        "DELETE",
        "/oauth-clients/{provider}",
        "remove_oauth_client",
    ),
    CapabilityRoute(
        "PUT",
        "/admin/oauth-clients/{provider}",
        "admin_set_oauth_client",
    ),
    CapabilityRoute(
        "DELETE",
        "/admin/oauth-clients/{provider}",
        "admin_remove_oauth_client",
    ),
)
_LIST: Final = ("/integrations", "Integrations")


def routes(services: ApplicationServices) -> APIRouter:
    made = router("integrations")
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
        given = read_callback_params(request, "state", "code", "error")
        try:
            if plain is None:
                raise not_signed_in()
            caller = await person_of(services.database, plain)
            check_role(caller, Permission.SECRET)
            found = await services.account_connection_service.finish_sign_in(
                caller.actor,
                str(request.path_params["provider"]),
                state=given["state"] or "",
                code=given["code"],
                error=given["error"],
            )
            await replace(
                caller.database,
                tell=lambda: [
                    build_audit_record(caller.actor, "integration.connected", found.integration.id)
                ],
            ).note()
        except Problem as problem:
            return problem_page(problem, _LIST)
        name = found.integration.name
        source = get_source_name(found.integration.manifest)
        who = f"You are {found.row.account} there." if found.row.account else ""
        message = " ".join(part for part in (who, found.note or "") if part)
        return page(
            f"{name} is connected",
            message or "You can close this page.",
            link=(f"/integrations/{source}", name),
        )

    return come_back
