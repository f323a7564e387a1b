"""Sign-in at a terminal: requested by the CLI, confirmed by a person in their browser."""

from __future__ import annotations

from typing import TypeVar

from fastapi import APIRouter, Request

from mainspring.contracts.roles import Permission
from mainspring.surfaces.rest.auth import BrowserSessionPolicy, SignedIn, foreign
from mainspring.surfaces.rest.people_shapes import (
    DeviceCode,
    TerminalAnswer,
    TerminalBegun,
    TerminalCode,
    TerminalCollected,
    TerminalLook,
    TerminalName,
)
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.request_bodies import Body, JsonAnswer, read_body, takes
from mainspring.surfaces.rest.route_access import anywhere, needs, public
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.rest.routes.session import caller_address, own_session, tell
from mainspring.surfaces.rest.server_address import own_name
from mainspring.surfaces.services import ApplicationServices
from mainspring.workspace.people import device_login
from mainspring.workspace.people.sessions import TERMINAL_LIFETIME
from mainspring.workspace.people.sign_in import SignInOrigin
from mainspring.workspace.people.users import read_user
from mainspring.workspace.people.workspaces import read_workspace

PAGE = "/terminal"
Given = TypeVar("Given", bound=Body)


def routes(services: ApplicationServices) -> APIRouter:
    made = router("session")
    _add_asking(made, services)
    _add_answering(made, services)
    return made


def _add_asking(made: APIRouter, services: ApplicationServices) -> None:
    browsers = BrowserSessionPolicy(services.settings.address)

    def check_no_browser(request: Request) -> None:
        """For the CLI only; rejects cross-site requests with a user's cookie."""
        browsers.check_page(request.headers)
        if browsers.shown(request.headers) is not None:
            raise foreign()

    @made.post(
        "/session/terminal",
        summary="Ask for a sign-in at a terminal",
        status_code=201,
        response_model=TerminalBegun,
        responses=problems(403, 429),
        openapi_extra=takes(TerminalName),
    )
    @public
    async def begin_terminal(request: Request) -> JsonAnswer:
        check_no_browser(request)
        given = await read_body(request, TerminalName)
        visit = SignInOrigin(caller_address(request, services.settings.proxies or 0), given.label)
        async with services.database.transaction() as tx:
            begun = await device_login.begin_device_login(tx, visit)
        fields = {
            "device_code": begun.device_code,
            "code": begun.code,
            "url": f"{own_name(request, services.settings)}{PAGE}",
            "expires_at": begun.expires_at,
            "interval_seconds": device_login.INTERVAL_SECONDS,
        }
        return JsonAnswer(fields, status_code=201)

    @made.post(
        "/session/terminal/collect",
        summary="Collect the session of a terminal once a person has confirmed it",
        response_model=TerminalCollected,
        responses=problems(403, 410),
        openapi_extra=takes(DeviceCode),
    )
    @public
    async def collect_terminal(request: Request) -> JsonAnswer:
        check_no_browser(request)
        given = await read_body(request, DeviceCode)
        async with services.database.transaction() as tx:
            found = await device_login.collect(tx, given.device_code)
            if found is None:
                return JsonAnswer({"status": "waiting"})
            user = await read_user(tx, found.user_id)
            space = await read_workspace(tx, found.workspace_id)
        fields = {
            "status": "signed_in",
            "session": found.plain,
            "email": user.email,
            "workspace": space["name"],
            "expires_at": services.clock.now() + TERMINAL_LIFETIME,
        }
        return JsonAnswer(fields)


def _add_answering(made: APIRouter, services: ApplicationServices) -> None:
    @made.post(
        "/session/terminal/look",
        summary="Say which terminal has printed a code",
        response_model=TerminalLook,
        responses=problems(409, 410, 429),
        openapi_extra=takes(TerminalCode),
    )
    @needs(Permission.ACCOUNT)
    @anywhere
    async def look_at_terminal(request: Request, caller: SignedIn) -> JsonAnswer:
        given = await _read_code(services, request, caller, TerminalCode)
        return JsonAnswer(await device_login.look(services.database, given.code))

    @made.post(
        "/session/terminal/answer",
        summary="Sign a terminal in, or decline it",
        response_model=TerminalAnswer,
        responses=problems(409, 410, 429),
        openapi_extra=takes(TerminalAnswer),
    )
    @needs(Permission.ACCOUNT)
    @anywhere
    async def answer_terminal(request: Request, caller: SignedIn) -> JsonAnswer:
        given = await _read_code(services, request, caller, TerminalAnswer)
        async with services.database.transaction() as tx:
            await device_login.answer_login(
                tx, caller.member_id, caller.workspace_id, given.code, confirm=given.confirm
            )
            caller.detail["confirm"] = given.confirm
            await tell(tx, caller, "answer_terminal")
        return JsonAnswer({"code": given.code, "confirm": given.confirm})


async def _read_code(
    services: ApplicationServices, request: Request, caller: SignedIn, shape: type[Given]
) -> Given:
    """The code that a person typed in their browser; attempts are limited against guessing."""
    own_session(caller)
    given = await read_body(request, shape)
    await device_login.count_code(services.database, caller.member_id)
    return given
