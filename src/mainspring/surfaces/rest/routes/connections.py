"""Connections: the servers of tools of a workspace, and coming back from signing in at one.

Whoever comes back is sent by another site, and then a browser does not show who is signed in
here. So the first answer is a page of ours that leads to the same address once more: now it is
we who ask, and the browser shows its session. Only the member who left may come back, to the
place of the connection they left for.
"""

from __future__ import annotations

import html
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from mainspring.contracts.errors import Missing, Problem, Unauthenticated
from mainspring.contracts.roles import Permission
from mainspring.gate.outside.switchboard import CALLBACK
from mainspring.store.audit import entry_by
from mainspring.surfaces.rest.browser import Browsers
from mainspring.surfaces.rest.door import check_role, person_of
from mainspring.surfaces.rest.faces import Face, add_faces
from mainspring.surfaces.rest.ground import PREFIX, router
from mainspring.surfaces.rest.marks import public
from mainspring.surfaces.rooms import Rooms

_FACES: Final = (
    Face("POST", "/connections", "connect_mcp_server", "Connect to a server of tools", 201),
    Face("GET", "/connections", "list_connections", "List the servers of tools"),
    Face("GET", "/connections/{connection_id}", "get_connection",
         "Show a server of tools, and its tools"),
    Face("POST", "/connections/{connection_id}/harvest", "harvest_connection",
         "Look at the tools of a server now"),
    Face("POST", "/connections/{connection_id}/agree", "agree_to_tools", "Agree to tools"),
    Face("POST", "/connections/{connection_id}/refuse", "refuse_tools", "Refuse tools"),
    Face("PUT", "/connections/{connection_id}/tools/{tool}/effect", "set_tool_effect",
         "Say what a tool does"),
    Face("PUT", "/connections/{connection_id}/token", "set_connection_token",
         "Give a server of tools another token"),
    Face("POST", "/connections/{connection_id}/sign-in", "begin_sign_in",
         "Sign in at a server of tools"),
    Face("DELETE", "/connections/{connection_id}", "disconnect_mcp_server",
         "Disconnect from a server of tools"),
)  # fmt: skip
_MOST: Final = 4_096
_AGAIN: Final = "again"
_HTML: Final = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width">{head}'
    "<title>{title}</title></head><body>{body}</body></html>"
)
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def routes(rooms: Rooms) -> APIRouter:
    made = router("connections")
    made.add_api_route(
        CALLBACK.removeprefix(PREFIX),
        _callback(rooms),
        methods=["GET"],
        include_in_schema=False,
        response_model=None,
    )
    add_faces(made, rooms, _FACES)
    return made


def _callback(rooms: Rooms) -> Callable[[Request], Awaitable[Response]]:
    browsers = Browsers(rooms.settings.address)

    @public
    async def come_back(request: Request) -> Response:
        plain = browsers.shown(request.headers)
        if plain is None and _AGAIN not in request.query_params:
            return _once_more(request)
        try:
            if plain is None:
                raise _not_signed_in()
            caller = await person_of(rooms.database, plain)
            check_role(caller, Permission.CONNECT)
            found, failed = await rooms.switchboard.finish_sign_in(
                caller.actor, _connection(request), **_brought(request)
            )
            await replace(
                caller.database,
                tell=lambda: [entry_by(caller.actor, "signed_in_at", found.alias)],
            ).note()
        except Problem as problem:
            return _page(problem.title, problem.detail, problem.suggestion, problem.status)
        if failed is not None:
            return _page(f"{found.alias} is signed in", failed.detail, failed.suggestion)
        return _page(f"{found.alias} is connected", "You can close this page.")

    return come_back


def _connection(request: Request) -> UUID:
    try:
        return UUID(request.path_params["connection_id"])
    except ValueError:
        raise Missing("There is no such connection here.", code="connection_missing") from None


def _brought(request: Request) -> dict[str, Any]:
    """What the other server sent along; of what comes twice, nothing is believed."""
    given = request.query_params
    found: dict[str, str | None] = {}
    for name in ("state", "code", "iss", "error"):
        values = given.getlist(name)
        found[name] = values[0] if len(values) == 1 and len(values[0]) <= _MOST else None
    return {**found, "state": found["state"] or ""}


def _once_more(request: Request) -> Response:
    """A page that leads to this very address, asked by us."""
    query = urlencode([*request.query_params.multi_items(), (_AGAIN, "1")])
    link = html.escape(f"?{query}", quote=True)
    return HTMLResponse(
        _HTML.format(
            head=f'<meta http-equiv="refresh" content="0;url={link}">',
            title="One moment",
            body=f'<p><a href="{link}">Go on</a></p>',
        ),
        headers=_HEADERS,
    )


def _page(title: str, detail: str, suggestion: str | None = None, status: int = 200) -> Response:
    lines = "".join(f"<p>{html.escape(line)}</p>" for line in (detail, suggestion) if line)
    shown = html.escape(title)
    return HTMLResponse(
        _HTML.format(head="", title=shown, body=f"<h1>{shown}</h1>{lines}"), status, _HEADERS
    )


def _not_signed_in() -> Unauthenticated:
    return Unauthenticated(
        "This browser is not signed in to Mainspring.",
        code="unknown_session",
        suggestion="Sign in at /sign-in, and begin to sign in to the server again.",
    )
