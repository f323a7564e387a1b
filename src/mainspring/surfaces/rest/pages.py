"""The few pages there are: signing in, automations, the inbox and one's own account.

They are files that hold nothing of anybody. What they show they ask of the API, as the one
who has signed in, and they may run no script and load nothing that is not one of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from fastapi import APIRouter, Depends
from starlette.responses import Response

from mainspring.surfaces.rest.door import admitted
from mainspring.surfaces.rest.marks import public
from mainspring.surfaces.web.files import FILES, File, read_file

_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-cache",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def pages() -> APIRouter:
    """One public route for each file, and no other: there is no folder to walk through."""
    made = APIRouter(dependencies=[Depends(admitted)])
    for file in FILES:
        made.get(file.path, include_in_schema=False, name=file.name)(public(_serve(file)))
    return made


def _serve(file: File) -> Callable[[], Awaitable[Response]]:
    content = read_file(file)

    async def serve() -> Response:
        return Response(content, media_type=file.media_type, headers=_HEADERS)

    return serve
