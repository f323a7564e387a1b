"""The documentation site at /docs: public, static, and under a policy without inline code."""

from __future__ import annotations

import asyncio
from typing import Final

from fastapi import APIRouter, Depends, Request
from starlette.responses import RedirectResponse, Response

from mainspring.surfaces.rest.auth import check_admitted
from mainspring.surfaces.rest.route_access import public
from mainspring.surfaces.web.docs_site import NOT_FOUND, UNBUILT, DocsFile, DocsSite

_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "font-src 'self'; img-src 'self' data:; worker-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_REVALIDATED: Final = "no-cache"
_FOREVER: Final = "public, max-age=31536000, immutable"
_HTML: Final = "text/html; charset=utf-8"


def docs_pages(site: DocsSite) -> APIRouter:
    """One route for the start of the site, and one for everything in it."""
    made = APIRouter(dependencies=[Depends(check_admitted)])

    async def open_docs() -> Response:
        return RedirectResponse("/docs/", 308, _HEADERS)

    async def read_docs(path: str, request: Request) -> Response:
        return await _answer(site, path, request)

    made.get("/docs", include_in_schema=False, name="docs")(public(open_docs))
    made.get("/docs/{path:path}", include_in_schema=False, name="docs")(public(read_docs))
    return made


async def _answer(site: DocsSite, path: str, request: Request) -> Response:
    if not await asyncio.to_thread(site.is_built):
        return Response(UNBUILT, 503, {**_HEADERS, "Cache-Control": "no-store"}, _HTML)
    found = site.find(path)
    if found is not None:
        return await _send(found, 200, request)
    if site.is_folder(path):
        return RedirectResponse(f"/docs/{path}/", 308, _HEADERS)
    missing = site.find(NOT_FOUND)
    if missing is None:
        return Response(b"There is no such page.", 404, _HEADERS, "text/plain; charset=utf-8")
    return await _send(missing, 404, request)


async def _send(file: DocsFile, status: int, request: Request) -> Response:
    headers = {
        **_HEADERS,
        "Cache-Control": _FOREVER if file.lasting else _REVALIDATED,
        "ETag": file.etag,
        "Vary": "Accept-Encoding",
    }
    asked = request.headers.get("if-none-match", "")
    if status == 200 and file.etag in (one.strip() for one in asked.split(",")):
        return Response(None, 304, headers)
    gzipped = "gzip" in request.headers.get("accept-encoding", "")
    content, squeezed = await asyncio.to_thread(file.read, gzipped=gzipped)
    if squeezed:
        headers["Content-Encoding"] = "gzip"
    return Response(content, status, headers, file.media_type)
