"""OAuth clients: their requests, a person's consent, and revocation."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit
from uuid import UUID

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Conflict
from mainspring.contracts.roles import LEAST, Permission, Role, min_role
from mainspring.gate.callers import CapabilityCaller
from mainspring.surfaces.capability_list import list_offers
from mainspring.surfaces.rest.auth import AuthenticatedCaller, SignedIn
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.request_bodies import Body, JsonAnswer, read_body, takes
from mainspring.surfaces.rest.route_access import needs
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.rest.routes.session import check_whole, own_session, tell
from mainspring.surfaces.rest.server_address import own_name
from mainspring.surfaces.services import ApplicationServices
from mainspring.workspace.oauth.authorization import (
    ClientConsent,
    PendingAuthorization,
    check_role,
    consume_request,
    deny_authorization,
    disconnect,
    find_client_consent,
    grant_authorization,
    is_consent_sufficient,
    list_connected,
    open_request,
)
from mainspring.workspace.oauth.clients import describe_redirect
from mainspring.workspace.oauth.scopes import (
    describe_role,
    format_scope,
    list_role_choices,
    suggest_role,
)
from mainspring.workspace.people.credential_reset import lock_credentials
from mainspring.workspace.people.workspaces import list_user_workspaces

# The request and response models of connected clients.


class ClientAnswer(Body):
    """What a person says to a client that wants to connect."""

    agree: bool
    workspace_id: UUID = Field(
        description="The workspace that the person was shown; the answer counts for no other."
    )
    role: Role | None = Field(None, description="How much it may do at most; needed for a yes.")


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class RedirectShape(_Shape):
    kind: Literal["web", "loopback", "app"]
    name: str = Field(description="A host, this machine, or the scheme of an app.")


class AskingClient(_Shape):
    id: UUID
    name: str = Field(description="The self-declared name. It is not verified.")
    registered_at: datetime


class ChoiceShape(_Shape):
    role: Role
    scope: str
    allows: list[str] = Field(description="What it may do then, in sentences.")


class OfferedTool(_Shape):
    id: str
    label: str
    effect: str
    confirmation: bool = Field(description="Whether a person agrees before it reaches outside.")
    role: Role = Field(description="The least role that is offered it.")


class AgreedBefore(_Shape):
    role: Role
    at: datetime


class PlaceShape(_Shape):
    id: UUID
    name: str


class ClientRequest(_Shape):
    """A client that wants to connect, and what it could be given."""

    client: AskingClient
    redirect: RedirectShape = Field(description="Where the answer goes.")
    workspace: PlaceShape
    asked: Role | None = Field(description="The most it asks for; null: it leaves that to you.")
    own_role: Role
    choices: list[ChoiceShape]
    suggested: Role
    agreed: AgreedBefore | None = Field(description="What you agreed to before.")
    passes: bool = Field(
        description="Whether it asks for no more than you agreed to, and is answered at the very "
        "address on the web for which you did, so that you need not be asked again."
    )
    tools: list[OfferedTool] = Field(description="What it could call with the most of these.")
    expires_at: datetime


class ClientRedirect(_Shape):
    """Where the browser goes now, with the answer."""

    redirect: str


class ConnectedClient(_Shape):
    id: UUID
    name: str
    redirect: RedirectShape
    role: Role
    agreed_at: datetime
    last_used_at: datetime | None
    active: bool = Field(description="Whether it holds a token that works or can be renewed.")


class ConnectedClients(_Shape):
    address: str = Field(description="Where a client is pointed to.")
    clients: list[ConnectedClient]


RequestId = Annotated[str, Path(min_length=1, max_length=100)]


def routes(services: ApplicationServices) -> APIRouter:
    made = router("clients")
    _add_asking(made, services)
    _add_answering(made, services)
    _add_connected(made, services)
    return made


def _add_asking(made: APIRouter, services: ApplicationServices) -> None:
    @made.get(
        "/oauth/requests/{request_id}",
        summary="Show what a client asks for",
        response_model=ClientRequest,
        responses=problems(409, 410),
    )
    @needs(Permission.ACCOUNT)
    async def get_client_request(
        request_id: RequestId, request: Request, caller: SignedIn
    ) -> JsonAnswer:
        own_session(caller)
        async with services.database.transaction() as tx:
            waiting = await open_request(tx, request_id, caller.member_id)
            agreed = await find_client_consent(tx, *_who(caller), waiting.client_id)
            mine = await list_user_workspaces(tx, caller.member_id)
        place = next(entry for entry in mine if entry["id"] == caller.workspace_id)
        shown = _describe_authorization(waiting, agreed, _role(caller))
        own_host = urlsplit(own_name(request, services.settings)).hostname or ""
        most = shown["choices"][-1]["role"]
        return JsonAnswer(
            {
                **shown,
                "passes": is_consent_sufficient(agreed, waiting, own_host),
                "workspace": {"id": place["id"], "name": place["name"]},
                "tools": await _tools(services, caller, most),
            }
        )


def _add_answering(made: APIRouter, services: ApplicationServices) -> None:
    @made.post(
        "/oauth/requests/{request_id}/answer",
        summary="Agree to what a client may do, or refuse it",
        response_model=ClientRedirect,
        responses=problems(409, 410),
        openapi_extra=takes(ClientAnswer),
    )
    @needs(Permission.ACCOUNT)
    async def answer_client_request(
        request_id: RequestId, request: Request, caller: SignedIn
    ) -> JsonAnswer:
        own_session(caller)
        given = await read_body(request, ClientAnswer)
        _check_workspace(caller, given.workspace_id)
        async with services.database.transaction() as tx:
            await lock_credentials(tx, tx, caller.member_id, caller.session_id, None)
            waiting = await consume_request(tx, request_id, caller.member_id)
            caller.detail = {"client": waiting.client_name, "agreed": given.agree}
            if given.agree:
                role = check_role(given.role, waiting.limit, _role(caller))
                caller.detail["role"] = role.value
                redirect = await grant_authorization(
                    tx, *_who(caller), waiting, role, _role(caller)
                )
            else:
                redirect = deny_authorization(waiting)
            await tell(tx, caller, "answer_client_request", waiting.client_id)
        return JsonAnswer({"redirect": redirect})


def _add_connected(made: APIRouter, services: ApplicationServices) -> None:
    @made.get(
        "/oauth/clients",
        summary="List the clients that are connected as you",
        response_model=ConnectedClients,
        responses=problems(403),
    )
    @needs(Permission.ACCOUNT)
    async def get_clients(request: Request, caller: SignedIn) -> JsonAnswer:
        check_whole(caller)
        # A client's name is not subject to row-level security.
        async with services.database.acquire() as connection:
            found = await list_connected(connection, *_who(caller))
        address = f"{own_name(request, services.settings)}/mcp"
        return JsonAnswer({"address": address, "clients": found})

    @made.delete(
        "/oauth/clients/{client_id}",
        summary="Disconnect a client; its tokens end immediately",
        status_code=204,
        response_class=Response,
        responses=problems(409),
    )
    @needs(Permission.ACCOUNT)
    async def delete_client(client_id: UUID, caller: SignedIn) -> Response:
        own_session(caller)
        async with caller.database.transaction() as tx:
            await disconnect(tx, *_who(caller), client_id)
        return Response(status_code=204)


def _who(caller: AuthenticatedCaller) -> tuple[UUID, UUID]:
    return caller.workspace_id, caller.member_id


def _role(caller: AuthenticatedCaller) -> Role:
    assert caller.actor.role is not None
    return caller.actor.role


def _check_workspace(caller: AuthenticatedCaller, shown: UUID) -> None:
    """Another window may have switched the workspace since the request was read."""
    if shown != caller.workspace_id:
        raise Conflict(
            "This question is for another workspace than the one you are viewing.",
            code="other_workspace",
            suggestion="Read the question again, and answer it for the workspace it names.",
        )


def _describe_authorization(
    waiting: PendingAuthorization, agreed: ClientConsent | None, own: Role
) -> dict[str, Any]:
    """The request as a person reads it."""
    place = describe_redirect(waiting.redirect_uri)
    before = None if agreed is None else agreed.role
    return {
        "client": {
            "id": waiting.client_id,
            "name": waiting.client_name,
            "registered_at": waiting.registered_at,
        },
        "redirect": {"kind": place.kind, "name": place.name},
        "asked": waiting.role,
        "own_role": own,
        "choices": [
            {"role": role, "scope": format_scope(role), "allows": describe_role(role)}
            for role in list_role_choices(waiting.limit, own)
        ],
        "suggested": suggest_role(waiting.role, min_role(own, waiting.limit), before),
        "agreed": None if agreed is None else {"role": agreed.role, "at": agreed.at},
        "expires_at": waiting.expires_at,
    }


async def _tools(
    services: ApplicationServices, caller: AuthenticatedCaller, most: Role
) -> list[dict[str, Any]]:
    """The tools of a client with this role."""
    actor = Actor(caller.workspace_id, "client", caller.member_id, None, most, False)
    return [
        {
            "id": offer.capability.id,
            "label": offer.capability.label,
            "effect": offer.capability.annotations.effect.value,
            "confirmation": offer.capability.write is not None,
            "role": LEAST[offer.capability.permission],
        }
        for offer in await list_offers(services, CapabilityCaller(actor))
    ]
