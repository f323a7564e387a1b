"""The endpoint that providers send their notifications to.

No session and no token: each notification is authenticated by the secret of its channel. It only
makes a trigger look at its source, and its content is not used.
"""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from fastapi import APIRouter, Request
from starlette.responses import Response

from mainspring.contracts.errors import NotFound
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.request_bodies import read_bytes
from mainspring.surfaces.rest.route_access import public
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices

# The largest body that GitHub sends.
_MOST_BYTES: Final = 25 * 1024 * 1024
_BODY: Final[dict[str, Any]] = {
    "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}}
}


def routes(services: ApplicationServices) -> APIRouter:
    made = router("integrations")

    @made.post(
        "/push-channels/{workspace_id}/{channel_id}",
        summary="Receive a notification of a provider",
        description="For GitHub and Google, which report that something has changed. A valid "
        "notification makes the trigger look at its source.",
        status_code=204,
        response_model=None,
        responses=problems(401, 404, 413),
        openapi_extra=_BODY,
    )
    @public
    async def receive_push_notification(
        request: Request, workspace_id: UUID, channel_id: UUID
    ) -> Response:
        channels = services.push_channels
        if channels is None:
            raise NotFound("There is no such channel.", code="push_channel")
        # Found before the body is read: a stranger makes nothing arrive.
        channel = await channels.find(workspace_id, channel_id)
        body = await read_bytes(request, _MOST_BYTES)
        await channels.receive(channel, request.headers, body)
        return Response(status_code=204)

    return made
