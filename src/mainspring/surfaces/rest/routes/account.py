"""The user's own account."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request
from starlette.responses import Response

from mainspring.contracts.errors import Finding, PermissionDenied, Problem
from mainspring.contracts.roles import Permission
from mainspring.surfaces.email_verification import mailer_of, send_code, verify_code
from mainspring.surfaces.rest.auth import SignedIn
from mainspring.surfaces.rest.people_shapes import (
    ChangedPerson,
    EmailCode,
    NewPassword,
    PersonShape,
)
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.request_bodies import JsonAnswer, read_body, takes
from mainspring.surfaces.rest.route_access import needs
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.rest.routes.session import own_session, person, tell
from mainspring.surfaces.services import ApplicationServices
from mainspring.workspace.people.credential_reset import reset_credentials
from mainspring.workspace.people.email_addresses import (
    VerificationCode,
    count_code,
    load_pending_email,
    mail_code,
    request_change,
)
from mainspring.workspace.people.sign_in import check_own_password
from mainspring.workspace.people.users import describe_user
from mainspring.workspace.people.workspaces import load_role
from mainspring.workspace.tokens import load_owner_token_hash


def routes(services: ApplicationServices) -> APIRouter:
    made = router("session")

    _add_describing(made, services)
    _add_verifying(made, services)

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
        body = await read_body(request, NewPassword)
        session_id = own_session(caller)
        await proven(services, caller, body.current_password)
        hashed = await services.passwords.hash(body.password)
        local = await load_owner_token_hash(services.settings.home)
        async with services.database.transaction() as tx:
            await reset_credentials(
                tx, caller.member_id, hashed, session_id=session_id, local=local
            )
            await tell(tx, caller, "change_password", caller.member_id)
        return Response(status_code=204)

    return made


def _add_describing(made: APIRouter, services: ApplicationServices) -> None:
    @made.patch(
        "/me",
        summary="Change your name, email or default workspace",
        description="Where mail can be sent, a new email gets a code. Until it is entered, the "
        "email that was verified before stays in force.",
        response_model=PersonShape,
        responses=problems(403, 404, 409, 429),
        openapi_extra=takes(ChangedPerson),
    )
    @needs(Permission.ACCOUNT)
    async def change_person(request: Request, caller: SignedIn) -> JsonAnswer:
        body = await read_body(request, ChangedPerson)
        own_session(caller)
        if body.email is not None:
            await proven(services, caller, body.current_password)
        code = None
        async with services.database.transaction() as tx:
            if body.default_workspace_id is not None:
                await load_role(tx, body.default_workspace_id, caller.member_id)
            if body.email is not None:
                has_mail = services.mailer is not None
                code = await request_change(tx, caller.member_id, body.email, has_mail=has_mail)
            user = await describe_user(
                tx,
                caller.member_id,
                name=body.name,
                default_workspace_id=body.default_workspace_id,
            )
            pending = await load_pending_email(tx, caller.member_id)
            caller.detail["changed"] = sorted(body.model_fields_set - {"current_password"})
            await tell(tx, caller, "change_person", caller.member_id)
        note = None if code is None else await _not_mailed(services, caller, code)
        return JsonAnswer(person(user, pending, note))


def _add_verifying(made: APIRouter, services: ApplicationServices) -> None:
    @made.post(
        "/me/email/code",
        summary="Mail a code to the email that is not verified yet",
        description="The code before it ends.",
        response_model=PersonShape,
        responses=problems(409, 429, 502),
    )
    @needs(Permission.ACCOUNT)
    async def send_email_code(caller: SignedIn) -> JsonAnswer:
        own_session(caller)
        note = partial(tell, caller=caller, action="send_email_code", subject=caller.member_id)
        address = services.settings.address
        code, user = await send_code(services, caller.member_id, address, note)
        return JsonAnswer(person(user, code.email))

    @made.post(
        "/me/email/verify",
        summary="Verify your email with the code that was mailed to it",
        response_model=PersonShape,
        responses=problems(409, 410, 429),
        openapi_extra=takes(EmailCode),
    )
    @needs(Permission.ACCOUNT)
    async def verify_email(request: Request, caller: SignedIn) -> JsonAnswer:
        body = await read_body(request, EmailCode)
        own_session(caller)
        note = partial(tell, caller=caller, action="verify_email", subject=caller.member_id)
        done = await verify_code(services, caller.member_id, body.code, note)
        return JsonAnswer(person(done.user))


async def proven(services: ApplicationServices, caller: SignedIn, password: str | None) -> None:
    """Requires the password, so that an unattended browser is not enough."""
    fits = await check_own_password(
        services.database, services.passwords, caller.member_id, password
    )
    if not fits:
        detail = "This is not your password."
        found = Finding("/current_password", detail, "wrong_password")
        raise PermissionDenied(detail, code="wrong_password", findings=[found])


async def _not_mailed(
    services: ApplicationServices, caller: SignedIn, code: VerificationCode
) -> str | None:
    """Mails a verification code; returns the reason if that fails: the email was set anyway."""
    try:
        await count_code(services.database, caller.member_id)
        await mail_code(mailer_of(services), services.settings.address, code)
    except Problem as problem:
        return f"The code could not be mailed: {problem.detail} Ask for a new one later."
    return None
