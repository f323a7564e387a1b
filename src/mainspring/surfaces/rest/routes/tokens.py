"""Access tokens: created for programs, shown once, revocable at any time."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request

from mainspring.contracts.errors import PermissionDenied
from mainspring.contracts.roles import Permission, role_too_small_error
from mainspring.surfaces.rest.auth import SignedIn
from mainspring.surfaces.rest.people_shapes import MadeToken, NewToken, TokenList, TokenShape
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.request_bodies import JsonAnswer, read_body, takes
from mainspring.surfaces.rest.route_access import needs
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.rest.routes.session import check_whole
from mainspring.surfaces.services import ApplicationServices
from mainspring.workspace.people.credential_reset import lock_credentials
from mainspring.workspace.tokens import (
    APPROVE_WARNING,
    StoredToken,
    TokenLimits,
    check_approved_exist,
    check_bounds,
    describe_token,
    is_revoked,
    list_tokens,
    make_token,
    revoke_token,
)


def routes(services: ApplicationServices) -> APIRouter:
    made = router("tokens")

    @made.get("/tokens", summary="List tokens", response_model=TokenList, responses=problems(403))
    @needs(Permission.ACCOUNT)
    async def get_tokens(
        caller: SignedIn,
        everybody: Annotated[
            bool, Query(alias="all", description="Those of other members too.")
        ] = False,
    ) -> JsonAnswer:
        check_whole(caller)
        if everybody and not _may_see_others(caller):
            raise role_too_small_error(caller.actor.role, Permission.MEMBERS)
        async with caller.database.acquire() as connection:
            whose = None if everybody else caller.member_id
            found = await list_tokens(connection, caller.workspace_id, whose)
        return JsonAnswer({"tokens": [_describe_token(stored) for stored in found]})

    @made.post(
        "/tokens",
        summary="Make a token; its text is shown once",
        status_code=201,
        response_model=MadeToken,
        responses=problems(403),
        openapi_extra=takes(NewToken),
    )
    @needs(Permission.ACCOUNT)
    async def create_token(request: Request, caller: SignedIn) -> JsonAnswer:
        check_whole(caller)
        body = await read_body(request, NewToken)
        assert caller.actor.role is not None
        named = None if body.capabilities is None else tuple(body.capabilities)
        approves = None if body.approves is None else tuple(dict.fromkeys(body.approves))
        bounds = TokenLimits(body.role or caller.actor.role, named, body.expires_at, approves)
        words = await services.registry.of(caller.workspace_id, needing=named or ())
        check_bounds(bounds, caller.actor, words.capabilities, services.clock.now(), caller.ends)
        async with caller.database.transaction() as tx:
            if not caller.is_local:
                await lock_credentials(
                    tx,
                    services.database,
                    caller.member_id,
                    caller.session_id or caller.terminal_id,
                    caller.actor.token_id,
                )
            await check_approved_exist(tx, caller.workspace_id, approves)
            stored, plain = await make_token(
                tx, caller.workspace_id, caller.member_id, body.name, bounds
            )
            caller.subject, caller.detail = stored.id, describe_token(stored)
        return JsonAnswer({"token": _describe_token(stored), "text": plain}, status_code=201)

    _add_revoking(made)
    return made


def _add_revoking(made: APIRouter) -> None:
    @made.delete(
        "/tokens/{token_id}",
        summary="Revoke a token",
        response_model=TokenShape,
        responses=problems(403),
    )
    @needs(Permission.ACCOUNT)
    async def delete_token(token_id: UUID, caller: SignedIn) -> JsonAnswer:
        check_whole(caller)
        whose = None if _may_see_others(caller) else caller.member_id
        async with caller.database.transaction() as tx:
            caller.idle = await is_revoked(tx, caller.workspace_id, token_id)
            stored = await revoke_token(tx, caller.workspace_id, token_id, whose)
            _check_reach(caller, stored)
        return JsonAnswer(_describe_token(stored))


def _check_reach(caller: SignedIn, stored: StoredToken) -> None:
    """Rejects a token that would revoke a wider one than itself, and rolls back."""
    role = caller.actor.role
    if caller.session_id is not None or stored.id == caller.actor.token_id:
        return
    if role is None or stored.role.rank > role.rank:
        raise PermissionDenied(
            "A token ends no token that gives a higher role than it has itself.",
            code="role_too_small",
            suggestion="Sign in, or use a token that gives more.",
        )


def _may_see_others(caller: SignedIn) -> bool:
    return caller.actor.role is not None and caller.actor.role.may(Permission.MEMBERS)


def _describe_token(stored: StoredToken) -> dict[str, Any]:
    """Everything about a token but its text, which is not stored."""
    return {
        "id": stored.id,
        "member_id": stored.member_id,
        "name": stored.name,
        "hint": stored.hint,
        "role": stored.role,
        "capabilities": stored.capabilities,
        "created_at": stored.created_at,
        "expires_at": stored.expires_at,
        "last_used_at": stored.last_used_at,
        "revoked_at": stored.revoked_at,
        "approves": stored.approves,
        "warning": None if stored.approves is None else APPROVE_WARNING,
    }
