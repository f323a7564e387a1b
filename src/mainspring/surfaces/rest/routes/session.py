"""Sign-in, sign-out, and the current session."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, TypeVar
from uuid import UUID

from fastapi import APIRouter, Request
from starlette.responses import Response

from mainspring.contracts.errors import Conflict, PermissionDenied
from mainspring.contracts.roles import Permission, Role
from mainspring.store.audit import append_audit, build_audit_record
from mainspring.store.database import Connection
from mainspring.surfaces.rest.auth import (
    AuthenticatedCaller,
    BrowserSessionPolicy,
    SignedIn,
    person_of,
)
from mainspring.surfaces.rest.people_shapes import (
    ChosenWorkspace,
    Credentials,
    LinkShape,
    LinkToken,
    SessionList,
    WhoShape,
)
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.request_bodies import Body, JsonAnswer, read_body, takes
from mainspring.surfaces.rest.route_access import anywhere, needs, public
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices
from mainspring.workspace.people import link_preview
from mainspring.workspace.people import sign_in as people_sign_in
from mainspring.workspace.people.email_addresses import load_pending_email
from mainspring.workspace.people.sessions import end_session, list_sessions, move_session
from mainspring.workspace.people.sign_in import is_address
from mainspring.workspace.people.users import User, read_user
from mainspring.workspace.people.workspaces import list_user_workspaces, load_role
from mainspring.workspace.tokens import load_owner_token_hash

Shown = TypeVar("Shown", bound=Body)


def routes(services: ApplicationServices) -> APIRouter:
    made = router("session")
    browsers = BrowserSessionPolicy(services.settings.address)
    _add_look(made, services, browsers)
    _add_coming(made, services, browsers)
    _add_being(made, services)
    _add_going(made, services, browsers)
    return made


def _add_look(
    made: APIRouter, services: ApplicationServices, browsers: BrowserSessionPolicy
) -> None:
    @made.post(
        "/session/link/look",
        summary="Say what a link is, without using it",
        response_model=LinkShape,
        responses=problems(403, 410, 429),
        openapi_extra=takes(LinkToken),
    )
    @public
    async def look_at_link(request: Request) -> JsonAnswer:
        given, visit = await _read_sign_in_request(request, LinkToken, services, browsers)
        found = await link_preview.preview_link(services.database, visit, given.token)
        return JsonAnswer(asdict(found))


def _add_coming(
    made: APIRouter, services: ApplicationServices, browsers: BrowserSessionPolicy
) -> None:
    async def arrived(found: people_sign_in.NewSession) -> JsonAnswer:
        answer = JsonAnswer(
            await describe_session(services, await person_of(services.database, found.plain))
        )
        browsers.give(answer, found.plain)
        return answer

    @made.post(
        "/session",
        summary="Sign in with an email and a password",
        response_model=WhoShape,
        responses=problems(401, 403, 429),
        openapi_extra=takes(Credentials),
    )
    @public
    async def sign_in(request: Request) -> JsonAnswer:
        given, visit = await _read_sign_in_request(request, Credentials, services, browsers)
        return await arrived(
            await people_sign_in.sign_in(
                services.database, services.passwords, visit, given.email, given.password
            )
        )

    @made.post(
        "/session/link",
        summary="Sign in with a link that works once",
        response_model=WhoShape,
        responses=problems(403, 410, 429),
        openapi_extra=takes(LinkToken),
    )
    @public
    async def sign_in_by_link(request: Request) -> JsonAnswer:
        given, visit = await _read_sign_in_request(request, LinkToken, services, browsers)
        local = await load_owner_token_hash(services.settings.home)
        return await arrived(
            await people_sign_in.sign_in_by_link(services.database, visit, given.token, local)
        )


def _add_being(made: APIRouter, services: ApplicationServices) -> None:
    @made.get("/session", summary="Say who is asking", response_model=WhoShape)
    @needs(Permission.ACCOUNT)
    @anywhere
    async def read_session(caller: SignedIn) -> JsonAnswer:
        return JsonAnswer(await describe_session(services, caller))

    @made.post(
        "/session/workspace",
        summary="Switch to another workspace",
        response_model=WhoShape,
        responses=problems(404, 409),
        openapi_extra=takes(ChosenWorkspace),
    )
    @needs(Permission.ACCOUNT)
    @anywhere
    async def switch_workspace(request: Request, caller: SignedIn) -> JsonAnswer:
        given = await read_body(request, ChosenWorkspace)
        session_id = own_session(caller)
        async with services.database.transaction() as tx:
            await load_role(tx, given.workspace_id, caller.member_id)
            await move_session(tx, session_id, given.workspace_id)
            await tell(tx, caller, "switch_workspace", given.workspace_id)
        plain = BrowserSessionPolicy(services.settings.address).shown(request.headers) or ""
        return JsonAnswer(
            await describe_session(services, await person_of(services.database, plain))
        )

    @made.get(
        "/sessions",
        summary="List where you are signed in",
        response_model=SessionList,
        responses=problems(409),
    )
    @needs(Permission.ACCOUNT)
    async def get_sessions(caller: SignedIn) -> JsonAnswer:
        own_session(caller)
        found = await list_sessions(services.database, caller.member_id)
        return JsonAnswer(
            {"sessions": [{**row, "current": row["id"] == caller.session_id} for row in found]}
        )


def _add_going(
    made: APIRouter, services: ApplicationServices, browsers: BrowserSessionPolicy
) -> None:
    @made.delete(
        "/session",
        summary="Sign out",
        status_code=204,
        response_class=Response,
        responses=problems(409),
    )
    @needs(Permission.ACCOUNT)
    @anywhere
    async def sign_out(caller: SignedIn) -> Response:
        session_id = caller.terminal_id or own_session(caller)
        await ended(caller, session_id)
        answer = Response(status_code=204)
        browsers.take(answer)
        return answer

    @made.delete(
        "/sessions/{session_id}",
        summary="Sign out somewhere else",
        status_code=204,
        response_class=Response,
        responses=problems(409),
    )
    @needs(Permission.ACCOUNT)
    async def delete_session(session_id: UUID, caller: SignedIn) -> Response:
        own_session(caller)
        await ended(caller, session_id)
        return Response(status_code=204)

    async def ended(caller: AuthenticatedCaller, session_id: UUID) -> None:
        async with services.database.transaction() as tx:
            await end_session(tx, caller.member_id, session_id)
            await tell(tx, caller, "sign_out", session_id)


async def describe_session(
    services: ApplicationServices, caller: AuthenticatedCaller
) -> dict[str, Any]:
    """The caller, in their current workspace."""
    async with services.database.acquire() as connection:
        user = await read_user(connection, caller.member_id)
        pending = await load_pending_email(connection, caller.member_id)
        mine = within_reach(caller, await list_user_workspaces(connection, caller.member_id))
    return {
        "user": person(user, pending),
        "workspace": next(entry for entry in mine if entry["id"] == caller.workspace_id),
        "role": caller.actor.role,
        "workspaces": mine,
        "session_id": caller.session_id,
        "csrf_token": caller.csrf,
    }


def within_reach(caller: AuthenticatedCaller, mine: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The workspaces of a user that the caller may see.

    A browser session sees all of them, and so does a token with the role owner; a lesser token sees
    only its own workspace.
    """
    if caller.session_id is not None or is_owners(caller):
        return mine
    return [entry for entry in mine if entry["id"] == caller.workspace_id]


def is_owners(caller: AuthenticatedCaller) -> bool:
    """Whether the caller has all permissions of an owner here."""
    return caller.actor.role is Role.OWNER and caller.gate_caller.capabilities is None


def person(user: User, pending: str | None = None, note: str | None = None) -> dict[str, Any]:
    """A person, as they see themselves."""
    return {
        "id": user.id,
        "email": user.email,
        "name": user.name,
        "administrator": user.administrator,
        "has_password": user.has_password,
        "default_workspace_id": user.default_workspace_id,
        "email_state": user.email_state,
        "pending_email": pending,
        "email_note": note,
    }


def own_session(caller: AuthenticatedCaller) -> UUID:
    """The session of a browser; a token has none and cannot replace one."""
    if caller.session_id is None:
        raise Conflict(
            "This is done in a browser that is signed in, not with a token.",
            code="needs_session",
            suggestion="Sign in at /sign-in.",
        )
    return caller.session_id


def check_whole(caller: AuthenticatedCaller) -> None:
    """Rejects a token that is restricted to some capabilities: an account is more than those."""
    if caller.gate_caller.capabilities is not None:
        raise PermissionDenied(
            "This token may call the capabilities it names, and nothing else.",
            code="token_limited",
        )


async def tell(
    tx: Connection, caller: AuthenticatedCaller, action: str, subject: object = None
) -> None:
    """The audit entry of a change beyond one workspace, in its own transaction."""
    await append_audit(tx, [build_audit_record(caller.actor, action, subject, caller.detail)])


async def _read_sign_in_request(
    request: Request,
    shape: type[Shown],
    services: ApplicationServices,
    browsers: BrowserSessionPolicy,
) -> tuple[Shown, people_sign_in.SignInOrigin]:
    """The credentials of an unauthenticated request and its address; same-site requests only."""
    browsers.check_page(request.headers)
    given = await read_body(request, shape)
    return given, people_sign_in.SignInOrigin(
        caller_address(request, services.settings.proxies or 0),
        request.headers.get("user-agent", ""),
        browsers.shown(request.headers),
    )


def caller_address(request: Request, proxies: int) -> str:
    """The client address; each trusted proxy appends the address it was called from.

    Earlier entries of the header were written by the client, and are not trusted.
    """
    forwarded = [
        piece.strip()
        for header in request.headers.getlist("x-forwarded-for")
        for piece in header.split(",")
    ]
    if proxies and len(forwarded) >= proxies and is_address(forwarded[-proxies]):
        return forwarded[-proxies]
    return request.client.host if request.client else ""
