"""The web page: one document at the address of every screen, and the files that it names.

It holds nothing of anybody. What it shows it asks of the API, as the one who has signed in. It
runs no script and loads nothing that is not a file of ours; a style that a script of ours puts
into the document carries a word that this very answer made up.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from mainspring.contracts.errors import NotFound
from mainspring.surfaces.rest.auth import check_admitted
from mainspring.surfaces.rest.route_access import public
from mainspring.surfaces.web.files import AT_ROOT, NONCE, SCREENS, WebPage

_APART: Final = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# A client of the web opens the question in a window of its own and waits there for the answer.
# Apart from its opener that window could tell nobody, also not once it is the client's again.
# The question itself gives its opener nothing: it hears no messages and stands in no frame.
_ANSWERED: Final = "/oauth/consent/{request_id}"
_BESIDE: Final = {**_APART, "Cross-Origin-Opener-Policy": "unsafe-none"}
# A worker that the page starts has the policy of its own script, not that of the document.
_WORKER: Final = "default-src 'none'; script-src 'self'; connect-src 'self'; frame-ancestors 'none'"
# The worker that shows notifications makes no request but for their icons.
_SERVICE_WORKER: Final = "default-src 'none'; img-src 'self'; frame-ancestors 'none'"
# A file whose name holds its content's digest never changes.
_FOREVER: Final = "public, max-age=31536000, immutable"


def pages(page: WebPage) -> APIRouter:
    """The document at every screen's address, and one route for the files beside it."""
    made = APIRouter(dependencies=[Depends(check_admitted)])

    async def show_screen() -> Response:
        return document(page)

    async def show_question() -> Response:
        return document(page, apart=_BESIDE)

    async def read_asset(name: str, request: Request) -> Response:
        return _file(page, name, request.headers.get("accept-encoding", ""))

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
    """What the document may do: files of this server, and styles that carry this word."""
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; "
        "connect-src 'self'; font-src 'self'; img-src 'self' data: blob:; frame-src 'self'; "
        "manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )


def document(page: WebPage, status: int = 200, *, apart: Mapping[str, str] = _APART) -> Response:
    """The one document there is, with a word for styles that no other answer has."""
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
