"""Workspaces: list, create, and settings for the owner."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter, Request

from mainspring.contracts.errors import PermissionDenied
from mainspring.contracts.roles import Permission, Role
from mainspring.surfaces.rest.auth import SignedIn
from mainspring.surfaces.rest.people_shapes import (
    ChangedWorkspace,
    NewWorkspace,
    OwnWorkspaceShape,
    WorkspaceList,
)
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.request_bodies import JsonAnswer, read_body, takes
from mainspring.surfaces.rest.route_access import needs
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.rest.routes.session import check_whole, is_owners, tell, within_reach
from mainspring.surfaces.services import ApplicationServices
from mainspring.workspace.people.workspaces import (
    add_workspace,
    list_user_workspaces,
    no_workspace_error,
    read_workspace,
    rename_workspace,
    set_cost_cap,
)


def routes(services: ApplicationServices) -> APIRouter:
    made = router("workspaces")

    @made.get("/workspaces", summary="List your workspaces", response_model=WorkspaceList)
    @needs(Permission.ACCOUNT)
    async def get_workspaces(caller: SignedIn) -> JsonAnswer:
        check_whole(caller)
        mine = await list_user_workspaces(services.database, caller.member_id)
        return JsonAnswer({"workspaces": within_reach(caller, mine)})

    @made.post(
        "/workspaces",
        summary="Make a workspace; you own it",
        status_code=201,
        response_model=OwnWorkspaceShape,
        responses=problems(403),
        openapi_extra=takes(NewWorkspace),
    )
    @needs(Permission.ACCOUNT)
    async def create_workspace(request: Request, caller: SignedIn) -> JsonAnswer:
        check_whole(caller)
        body = await read_body(request, NewWorkspace)
        if caller.session_id is None and not is_owners(caller):
            raise PermissionDenied(
                "A token makes a workspace only if it gives the role owner.",
                code="role_too_small",
                suggestion="Sign in, or use a token that gives more.",
            )
        async with services.database.transaction() as tx:
            added = await add_workspace(tx, caller.member_id, body.name, Role.OWNER)
            await tell(tx, caller, "create_workspace", added)
            found = await read_workspace(tx, added)
        return JsonAnswer({**found, "role": Role.OWNER}, status_code=201)

    @made.patch(
        "/workspaces/{workspace_id}",
        summary="Rename the workspace you are in, or bound what it spends in a day",
        response_model=OwnWorkspaceShape,
        responses=problems(403),
        openapi_extra=takes(ChangedWorkspace),
    )
    @needs(Permission.OWN)
    async def change_workspace(
        workspace_id: UUID, request: Request, caller: SignedIn
    ) -> JsonAnswer:
        body = await read_body(request, ChangedWorkspace)
        if workspace_id != caller.workspace_id:
            raise no_workspace_error()
        changed = body.model_fields_set
        async with caller.database.transaction() as tx:
            if body.name is not None:
                await rename_workspace(tx, workspace_id, body.name)
            if "cost_cap_daily_usd" in changed:
                await set_cost_cap(tx, workspace_id, body.cost_cap_daily_usd, caller.actor)
            found = await read_workspace(tx, workspace_id)
            caller.detail["changed"] = sorted(changed)
        return JsonAnswer({**found, "role": caller.actor.role})

    return made
