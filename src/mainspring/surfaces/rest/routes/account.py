"""What people change about themselves."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from mainspring.contracts.errors import Denied, Finding
from mainspring.contracts.roles import Permission
from mainspring.surfaces.rest.answers import Answer
from mainspring.surfaces.rest.bodies import read_body, takes
from mainspring.surfaces.rest.door import SignedIn
from mainspring.surfaces.rest.ground import router
from mainspring.surfaces.rest.marks import needs
from mainspring.surfaces.rest.people_shapes import ChangedPerson, NewPassword, PersonShape
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.routes.session import own_session, person, tell
from mainspring.surfaces.rooms import Rooms
from mainspring.workspace.people.fresh_start import start_afresh
from mainspring.workspace.people.signing_in import check_own_password
from mainspring.workspace.people.users import describe_user
from mainspring.workspace.people.workspaces import role_in
from mainspring.workspace.tokens import owner_token_hash


def routes(rooms: Rooms) -> APIRouter:
    made = router("session")

    @made.patch(
        "/me",
        summary="Change your name, email or default workspace",
        response_model=PersonShape,
        responses=problems(403, 404, 409, 429),
        openapi_extra=takes(ChangedPerson),
    )
    @needs(Permission.ACCOUNT)
    async def change_person(request: Request, caller: SignedIn) -> Answer:
        asked = await read_body(request, ChangedPerson)
        own_session(caller)
        if asked.email is not None:
            await proven(caller, asked.current_password)
        async with rooms.database.transaction() as tx:
            if asked.default_workspace_id is not None:
                await role_in(tx, asked.default_workspace_id, caller.member_id)
            user = await describe_user(
                tx, caller.member_id, name=asked.name, email=asked.email,
                default_workspace_id=asked.default_workspace_id,
            )  # fmt: skip
            caller.detail["changed"] = sorted(asked.model_fields_set - {"current_password"})
            await tell(tx, caller, "change_person", caller.member_id)
        return Answer(person(user))

    @made.post(
        "/me/password",
        summary="Set a password; every other session and every token of yours ends",
        status_code=204,
        response_class=Response,
        responses=problems(403, 409, 429),
        openapi_extra=takes(NewPassword),
    )
    @needs(Permission.ACCOUNT)
    async def change_password(request: Request, caller: SignedIn) -> Response:
        asked = await read_body(request, NewPassword)
        session_id = own_session(caller)
        await proven(caller, asked.current_password)
        hashed = await rooms.passwords.hashed(asked.password)
        local = await owner_token_hash(rooms.settings.home)
        async with rooms.database.transaction() as tx:
            await start_afresh(tx, caller.member_id, hashed, session_id=session_id, local=local)
            await tell(tx, caller, "change_password", caller.member_id)
        return Response(status_code=204)

    async def proven(caller: SignedIn, password: str | None) -> None:
        fits = await check_own_password(rooms.database, rooms.passwords, caller.member_id, password)
        if not fits:
            detail = "This is not your password."
            found = Finding("/current_password", detail, "wrong_password")
            raise Denied(detail, code="wrong_password", findings=[found])

    return made
