"""Somebody with a browser at an address that is none: they get the page, which says so.

A program that asks for the same gets the problem as a document, as ever. Only what a browser
shows in its window is meant here, and never an address of the API or of another surface.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from starlette.datastructures import Headers

from mainspring.surfaces.rest.pages import document

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from mainspring.surfaces.web.files import WebPage

# Where programs ask, whatever they say that they would like to read.
_PROGRAMS: Final = ("/api/", "/mcp", "/oauth/", "/sdks/", "/assets/", "/.well-known/")
_NOTHING_HERE: Final = frozenset({401, 404})


class NotFoundPageMiddleware:
    """Answers with the page where the answer would be that there is nothing."""

    def __init__(self, app: ASGIApp, page: WebPage) -> None:
        self._app = app
        self._page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_page_request(scope):
            await self._app(scope, receive, send)
            return
        nothing = False

        async def send_or_hold(message: Message) -> None:
            nonlocal nothing
            if message["type"] == "http.response.start":
                nothing = message["status"] in _NOTHING_HERE
            if not nothing:
                await send(message)

        await self._app(scope, receive, send_or_hold)
        if nothing:
            await document(self._page, 404)(scope, receive, send)


def _is_page_request(scope: Scope) -> bool:
    if scope["type"] != "http" or scope["method"] != "GET":
        return False
    asked = Headers(scope=scope).get("accept", "")
    return "text/html" in asked and not scope["path"].startswith(_PROGRAMS)
