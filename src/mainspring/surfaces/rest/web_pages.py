"""The web page: one document at the path of every screen, and its files.

It contains no user data. What it shows it loads from the API, with the user's session. The content
security policy allows no inline script and no foreign origin; styles that our scripts insert carry
a nonce of this response.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Final

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from mainspring.contracts.errors import NotFound
from mainspring.surfaces.rest.auth import check_admitted
from mainspring.surfaces.rest.route_access import public
from mainspring.surfaces.web.files import AT_ROOT, FORMS, NONCE, SCREENS, WebPage

_APART: Final = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# A web client opens the consent page in a popup and waits for the answer. With COOP isolation that
# popup could not notify its opener, also not after it returned to the client. The consent page
# itself gives its opener nothing: it receives no messages and cannot be framed.
_ANSWERED: Final = "/oauth/consent/{request_id}"
_BESIDE: Final = {**_APART, "Cross-Origin-Opener-Policy": "unsafe-none"}
# A worker has the policy of its own script, not that of the document.
_WORKER: Final = "default-src 'none'; script-src 'self'; connect-src 'self'; frame-ancestors 'none'"
# The notification worker makes no requests except for icons.
_SERVICE_WORKER: Final = "default-src 'none'; img-src 'self'; frame-ancestors 'none'"
# A file with its content digest in the name never changes.
_FOREVER: Final = "public, max-age=31536000, immutable"


def pages(page: WebPage) -> APIRouter:
    """The document at every screen's path, and one route for its files."""
    made = APIRouter(dependencies=[Depends(check_admitted)])

    async def show_screen() -> Response:
        return document(page)

    async def show_question() -> Response:
        return document(page, apart=_BESIDE)

    async def read_asset(name: str, request: Request) -> Response:
        return _file(page, name, request.headers.get("accept-encoding", ""))

    async def show_form() -> Response:
        return document(replace(page, document=page.form_document))

    made.get(FORMS, include_in_schema=False, name="form_page")(public(show_form))
    for path in SCREENS:
        shown = show_question if path == _ANSWERED else show_screen
        made.get(path, include_in_schema=False, name="page")(public(shown))
    made.get("/assets/{name}", include_in_schema=False, name="asset")(public(read_asset))
    for name in AT_ROOT:
        made.get(f"/{name}", include_in_schema=False, name="asset")(public(_at_root(page, name)))
    return made


def _at_root(page: WebPage, name: str) -> Callable[[Request], Awaitable[Response]]:
    async def read_root_asset(request: Request) -> Response:
        return _file(page, name, request.headers.get("accept-encoding", ""))

    return read_root_asset


def policy(nonce: str) -> str:
    """The content security policy: files of this server, and styles with this nonce."""
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; "
        "connect-src 'self'; font-src 'self'; img-src 'self' data: blob:; frame-src 'self'; "
        "manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )


def document(page: WebPage, status: int = 200, *, apart: Mapping[str, str] = _APART) -> Response:
    """The document, with a style nonce of this response."""
    nonce = secrets.token_urlsafe(16)
    headers = {"Content-Security-Policy": policy(nonce), "Cache-Control": "no-cache", **apart}
    return Response(
        page.document.replace(NONCE, nonce.encode()),
        status if page.built else 503,
        headers,
        "text/html; charset=utf-8",
    )


def _file(page: WebPage, name: str, encodings: str) -> Response:
    asset = page.assets.get(name)
    if asset is None:
        raise NotFound("There is no such file of the page.", code="no_asset")
    headers = {
        "Cache-Control": _FOREVER if asset.lasting else "no-cache",
        "Vary": "Accept-Encoding",
        **_APART,
    }
    if name.endswith(".js"):
        is_service = name == "service-worker.js"
        headers["Content-Security-Policy"] = _SERVICE_WORKER if is_service else _WORKER
    if asset.squeezed is not None and "gzip" in encodings:
        headers["Content-Encoding"] = "gzip"
        return Response(asset.squeezed, 200, headers, asset.media_type)
    return Response(asset.content, 200, headers, asset.media_type)
