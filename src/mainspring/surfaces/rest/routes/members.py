"""The members of a workspace: list, invitations, and roles."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter, Request
from starlette.responses import Response

from mainspring.contracts.errors import Finding, PermissionDenied
from mainspring.contracts.roles import Permission, Role
from mainspring.surfaces.rest.auth import SignedIn
from mainspring.surfaces.rest.people_shapes import (
    ChangedMember,
    EstateShape,
    InvitedMember,
    InvitedShape,
    MemberList,
    MemberShape,
    TakenShape,
    Takeover,
)
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.request_bodies import JsonAnswer, read_body, takes
from mainspring.surfaces.rest.route_access import needs
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices
from mainspring.surfaces.takeover import show_departed_member, take
from mainspring.workspace.departed_members import list_leavers
from mainspring.workspace.people.invitations import (
    invite,
    is_unsettled,
    list_invitations,
    withdraw,
)
from mainspring.workspace.people.members import change_role, list_members, remove_member
from mainspring.workspace.people.sign_in_links import link_address


def routes(services: ApplicationServices) -> APIRouter:
    made = router("members")
    _add_members(made)
    _add_takeovers(made, services)
    _add_invitations(made, services)
    return made


def _add_members(made: APIRouter) -> None:
    @made.get("/members", summary="List members and invitations", response_model=MemberList)
    @needs(Permission.READ)
    async def get_members(caller: SignedIn) -> JsonAnswer:
        async with caller.database.acquire() as connection:
            members = await list_members(connection, caller.workspace_id)
            invited = await list_invitations(connection, caller.workspace_id)
            left = await list_leavers(connection, caller.workspace_id)
        return JsonAnswer({"members": members, "invitations": invited, "left": left})

    @made.patch(
        "/members/{member_id}",
        summary="Change a member's role",
        response_model=MemberShape,
        responses=problems(403, 409),
        openapi_extra=takes(ChangedMember),
    )
    @needs(Permission.MEMBERS)
    async def change_member(member_id: UUID, request: Request, caller: SignedIn) -> JsonAnswer:
        body = await read_body(request, ChangedMember)
        _check_lasting(caller, body.role)
        async with caller.database.transaction() as tx:
            before = await change_role(tx, caller.actor, member_id, body.role)
            if body.role.rank > before.rank:
                # They gain permissions to decide, so a program must not do this.
                _check_person(caller, "A person gives a member a larger role")
            caller.detail |= {"from": before.value, "to": body.role.value}
            members = await list_members(tx, caller.workspace_id)
        return JsonAnswer(next(entry for entry in members if entry["id"] == member_id))

    @made.delete(
        "/members/{member_id}",
        summary="Remove a member; their tokens and sessions here end, their automations stop",
        status_code=204,
        response_class=Response,
        responses=problems(403, 409),
    )
    @needs(Permission.MEMBERS)
    async def delete_member(member_id: UUID, caller: SignedIn) -> Response:
        async with caller.database.transaction() as tx:
            before = await remove_member(tx, caller.actor, member_id)
            caller.detail["from"] = before.value
        return Response(status_code=204)


def _add_takeovers(made: APIRouter, services: ApplicationServices) -> None:
    @made.get(
        "/members/{member_id}/takeover",
        summary="See what a member left, what it may do and what it lacks",
        response_model=EstateShape,
    )
    @needs(Permission.EDIT)
    async def get_takeover(member_id: UUID, caller: SignedIn) -> JsonAnswer:
        return JsonAnswer(
            await show_departed_member(services, caller.database, caller.actor, member_id)
        )

    @made.post(
        "/members/{member_id}/takeover",
        summary="Take over the automations and webhooks of a member who left",
        description="You become their owner and agree to what they may do, so this is for people "
        "who are signed in. Secrets and connections are not transferred.",
        response_model=TakenShape,
        responses=problems(403, 409),
        openapi_extra=takes(Takeover),
    )
    @needs(Permission.EDIT)
    async def take_over_from_member(
        member_id: UUID, request: Request, caller: SignedIn
    ) -> JsonAnswer:
        body = await read_body(request, Takeover)
        caller.detail["automations"] = (
            None if body.automations is None else [str(one) for one in body.automations]
        )
        caller.detail["replay_missed"] = body.replay_missed
        taken = await take(
            services,
            caller.database,
            caller.actor,
            member_id,
            body.digest,
            body.automations,
            replays=body.replay_missed,
        )
        return JsonAnswer(taken)


def _check_lasting(caller: SignedIn, role: Role) -> None:
    """Rejects a token that expires: it could create one that does not."""
    if caller.ends is not None and role in (Role.OWNER, Role.ADMIN):
        raise PermissionDenied(
            "A token that ends at a set time names no owners and no admins.",
            code="outlives",
            findings=[Finding("/role", "They would stay when the token has ended.", "outlives")],
            suggestion="Sign in, or use a token without an end.",
        )


def _check_person(caller: SignedIn, detail: str) -> None:
    """Rejects a program: it would decide who approves, or hold a link that signs in as a person."""
    if not caller.actor.is_person:
        raise PermissionDenied(
            f"{detail}; a program cannot.",
            code="person_needed",
            suggestion="Do it on the page Settings, where you are signed in.",
        )


def _add_invitations(made: APIRouter, services: ApplicationServices) -> None:
    @made.post(
        "/invitations",
        summary="Invite a person by email",
        status_code=201,
        response_model=InvitedShape,
        responses=problems(403, 409),
        openapi_extra=takes(InvitedMember),
    )
    @needs(Permission.MEMBERS)
    async def invite_member(request: Request, caller: SignedIn) -> JsonAnswer:
        body = await read_body(request, InvitedMember)
        _check_lasting(caller, body.role)
        _check_person(caller, "A person invites members")
        again = await is_unsettled(services.database, caller.workspace_id, body.email)
        async with caller.database.transaction() as tx:
            invitation, plain = await invite(tx, caller.actor, body.email, body.role, again=again)
            caller.detail |= {"invitation": str(invitation["id"]), "role": body.role.value}
        link = link_address(services.settings.address, plain)
        return JsonAnswer({"invitation": invitation, "link": link}, status_code=201)

    @made.delete(
        "/invitations/{invitation_id}",
        summary="Take an invitation back",
        status_code=204,
        response_class=Response,
    )
    @needs(Permission.MEMBERS)
    async def delete_invitation(invitation_id: UUID, caller: SignedIn) -> Response:
        async with caller.database.transaction() as tx:
            await withdraw(tx, caller.workspace_id, invitation_id)
        return Response(status_code=204)
