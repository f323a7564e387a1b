"""The SDK of scripts as a public download: it lists what can be called, and grants no access.

Its URL has the version of its interface. The text follows the server's own registry; a URL with its
digest returns exactly the same bytes and can be cached forever.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Header, Query
from starlette.responses import Response

from mainspring.actions.script.sdk.generator import compute_digest, generate_sdk
from mainspring.contracts.errors import NotFound
from mainspring.definition.script.sdk_names import SDK_PATH
from mainspring.surfaces.rest.auth import check_admitted
from mainspring.surfaces.rest.route_access import public
from mainspring.surfaces.services import ApplicationServices

DIGEST_PATH: Final = SDK_PATH.removesuffix(".ts") + ".sha256"
MEDIA_TYPE: Final = "application/typescript; charset=utf-8"
_FOR_GOOD: Final = "public, max-age=31536000, immutable"
_ASK_AGAIN: Final = "no-cache"


def sdks(services: ApplicationServices) -> APIRouter:
    """Two public routes: the text, and its digest."""
    made = APIRouter(dependencies=[Depends(check_admitted)])
    written: list[tuple[bytes, str]] = []
    one_at_a_time = asyncio.Lock()

    async def text_and_digest() -> tuple[bytes, str]:
        async with one_at_a_time:
            if not written:
                text = await asyncio.to_thread(generate_sdk, services.registry)
                written.append((text.encode(), compute_digest(text)))
        return written[0]

    @made.get(SDK_PATH, include_in_schema=False)
    @public
    async def read_sdk(
        sha256: Annotated[str | None, Query(max_length=64)] = None,
        if_none_match: Annotated[str | None, Header()] = None,
    ) -> Response:
        content, own = await text_and_digest()
        if sha256 is not None and sha256.lower() != own:
            raise NotFound(
                "The SDK of this server has another digest.",
                code="other_sdk",
                suggestion=f"{DIGEST_PATH} tells the digest of the one that is served.",
            )
        keep = _ASK_AGAIN if sha256 is None else _FOR_GOOD
        headers = {"ETag": f'"{own}"', "Cache-Control": keep}
        if if_none_match is not None and own in if_none_match:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=MEDIA_TYPE, headers=headers)

    @made.get(DIGEST_PATH, include_in_schema=False)
    @public
    async def read_digest() -> Response:
        _, own = await text_and_digest()
        line = f"{own}  {SDK_PATH.rpartition('/')[2]}\n"
        headers = {"ETag": f'"{own}"', "Cache-Control": _ASK_AGAIN}
        return Response(line, media_type="text/plain", headers=headers)

    return made
