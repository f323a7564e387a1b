"""Artifacts of runs: list, download, share and delete.

The bytes are sent as an attachment, never as a page. A run may have saved content from anybody, and
it must not execute in a browser with the origin of this server.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from mainspring.contracts.roles import Permission
from mainspring.runs.history import find_run
from mainspring.store.database import WorkspaceDatabase
from mainspring.surfaces.rest.answers import disposition
from mainspring.surfaces.rest.auth import BrowserSessionPolicy, SignedIn, check_role, reader_of
from mainspring.surfaces.rest.paging import PAGE, Cursor, Limit, Page, page
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.request_bodies import Body, JsonAnswer, read_body, takes
from mainspring.surfaces.rest.route_access import needs, public
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices
from mainspring.workspace.artifacts.links import DEFAULT_SECONDS, MOST_SECONDS, read_expiry
from mainspring.workspace.artifacts.rows import (
    Artifact,
    Kind,
    Retention,
    Visibility,
    delete_artifact,
    find_workspace_of_artifact,
    list_artifacts,
    no_artifact,
    read_artifact,
    read_content,
)

_BINARY: Final = "application/octet-stream"
# Content types that no browser executes, even if it opens the file at once.
_SAFE: Final = frozenset(
    {
        "application/json",
        "application/pdf",
        "application/zip",
        "audio/mpeg",
        "audio/ogg",
        "audio/wav",
        "audio/webm",
        "image/gif",
        "image/jpeg",
        "image/png",
        "image/webp",
        "text/csv",
        "text/markdown",
        "text/plain",
    }
)
_SENT: Final = (_BINARY, *sorted(_SAFE))


class ArtifactShown(BaseModel):
    """Everything about a file but its bytes."""

    model_config = ConfigDict(extra="forbid", title="Artifact")

    id: UUID
    run_id: UUID | None = Field(description="The run that saved it; it may be deleted already.")
    automation_id: UUID | None
    step: str
    name: str
    kind: Kind
    retention: Retention
    visibility: Visibility
    media_type: str
    size: int = Field(description="In bytes.")
    sha256: str = Field(description="In hexadecimal.")
    created_at: datetime
    expires_at: datetime | None = Field(description="Null for one that is kept forever.")


class LinkWish(Body):
    """How long a link should live."""

    seconds: int = Field(
        DEFAULT_SECONDS, ge=1, le=MOST_SECONDS, description="From now; a week at most."
    )


class LinkShown(BaseModel):
    """An address that needs no token."""

    model_config = ConfigDict(extra="forbid", title="ArtifactLink")

    url: str
    expires_at: datetime


def routes(services: ApplicationServices) -> APIRouter:
    made = router("artifacts")
    _listing(made, services)
    _one(made, services)
    _content(made, services)
    return made


def _listing(made: APIRouter, services: ApplicationServices) -> None:
    @made.get(
        "/artifacts",
        summary="List artifacts, those of the latest runs first",
        response_model=Page[ArtifactShown],
        responses=problems(401, 422),
    )
    @needs(Permission.READ)
    async def get_artifacts(
        caller: SignedIn,
        run_id: Annotated[UUID | None, Query(description="Only what this run saved.")] = None,
        automation_id: Annotated[UUID | None, Query(description="Only of its runs.")] = None,
        kind: Annotated[Kind | None, Query(description="Only of this kind.")] = None,
        cursor: Cursor = None,
        limit: Limit = PAGE,
    ) -> JsonAnswer:
        async with caller.database.acquire() as connection:
            rows = await list_artifacts(
                connection,
                caller.workspace_id,
                run_id=run_id,
                automation_id=automation_id,
                kind=kind,
                before=cursor,
                most=limit + 1,
            )
        return JsonAnswer(page([describe_artifact(row) for row in rows], limit))

    @made.get(
        "/runs/{run_id}/artifacts",
        summary="List what a run saved",
        response_model=Page[ArtifactShown],
        responses=problems(401, 404, 422),
    )
    @needs(Permission.READ)
    async def get_artifacts_of_run(
        run_id: UUID, caller: SignedIn, cursor: Cursor = None, limit: Limit = PAGE
    ) -> JsonAnswer:
        async with caller.database.acquire() as connection:
            rows = await list_artifacts(
                connection, caller.workspace_id, run_id=run_id, before=cursor, most=limit + 1
            )
            if not rows:
                await find_run(connection, caller.workspace_id, str(run_id))
        return JsonAnswer(page([describe_artifact(row) for row in rows], limit))


def _one(made: APIRouter, services: ApplicationServices) -> None:
    @made.get(
        "/artifacts/{artifact_id}",
        summary="Read about an artifact",
        response_model=ArtifactShown,
        responses=problems(401, 404, 422),
    )
    @needs(Permission.READ)
    async def get_artifact(artifact_id: UUID, caller: SignedIn) -> JsonAnswer:
        async with caller.database.acquire() as connection:
            found = await read_artifact(connection, caller.workspace_id, artifact_id)
        return JsonAnswer(describe_artifact(found))

    @made.post(
        "/artifacts/{artifact_id}/link",
        summary="Make an address for an artifact that needs no token",
        response_model=LinkShown,
        responses=problems(401, 403, 404, 413, 415, 422),
        openapi_extra=takes(LinkWish),
    )
    @needs(Permission.EDIT)
    async def link_artifact(artifact_id: UUID, request: Request, caller: SignedIn) -> JsonAnswer:
        wish = await read_body(request, LinkWish)
        async with caller.database.transaction() as tx:
            found = await read_artifact(tx, caller.workspace_id, artifact_id)
            link = await services.links.make(found, services.clock.now(), wish.seconds)
            caller.detail |= {"name": found.name, "expires_at": link.expires_at.isoformat()}
        return JsonAnswer({"url": link.url, "expires_at": link.expires_at})

    @made.delete(
        "/artifacts/{artifact_id}",
        summary="Delete an artifact permanently",
        status_code=204,
        response_class=Response,
        responses=problems(401, 404, 422),
    )
    @needs(Permission.EDIT)
    async def remove_artifact(artifact_id: UUID, caller: SignedIn) -> Response:
        await delete_artifact(caller.database, services.blobs, caller.workspace_id, artifact_id)
        return Response(status_code=204)


def _content(made: APIRouter, services: ApplicationServices) -> None:
    @made.get(
        "/artifacts/{artifact_id}/content",
        summary="Fetch an artifact, with a token or by a signed link",
        response_class=Response,
        responses={
            200: {"description": "The file.", "content": {kind: {} for kind in _SENT}},
            **problems(401, 403, 404, 410, 422, 502),
        },
    )
    @public
    async def get_artifact_content(
        artifact_id: UUID,
        request: Request,
        expires: Annotated[str | None, Query(description="Of a signed link.")] = None,
        signature: Annotated[str | None, Query(description="Of a signed link.")] = None,
    ) -> Response:
        linked = expires is not None or signature is not None
        if linked:
            side = await _open_signed_link(services, artifact_id, expires or "", signature or "")
        else:
            browsers = BrowserSessionPolicy(services.settings.address)
            caller = await reader_of(services.database, browsers, request.headers)
            check_role(caller, Permission.READ)
            side = caller.database
        async with side.acquire() as connection:
            found = await read_artifact(connection, side.workspace_id, artifact_id)
        if linked and found.visibility == "private":
            raise no_artifact()
        return _file(found, await read_content(services.blobs, found))


async def _open_signed_link(
    services: ApplicationServices, artifact_id: UUID, expires: str, signature: str
) -> WorkspaceDatabase:
    """The workspace of a link that was signed here."""
    moment = read_expiry(expires)
    async with services.database.acquire() as connection:
        home = await find_workspace_of_artifact(connection, artifact_id) or services.workspace_id
    await services.links.check(home, artifact_id, moment, signature, services.clock.now())
    return WorkspaceDatabase(services.database, home)


def _file(artifact: Artifact, content: bytes) -> Response:
    safe = artifact.media_type in _SAFE
    return Response(
        content,
        media_type=artifact.media_type if safe else _BINARY,
        headers={
            "Content-Disposition": disposition(artifact.name),
            "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "private, no-store",
        },
    )


def describe_artifact(artifact: Artifact) -> dict[str, Any]:
    """An artifact as a response."""
    return {
        name: getattr(artifact, name) if name != "sha256" else artifact.sha256.hex()
        for name in ArtifactShown.model_fields
    }
