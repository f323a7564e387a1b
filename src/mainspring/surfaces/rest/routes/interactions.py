"""The endpoint that Slack calls for buttons and commands.

No session and no token: Slack's signature over the exact bytes authenticates the request. Slack
times out after three seconds, so the response is sent before anything is decided.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final
from uuid import UUID

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import Response

from mainspring.contracts.object_schema import build_object_part
from mainspring.gate.prompting.interactions import MOST_BYTES
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.request_bodies import as_json, read_bytes
from mainspring.surfaces.rest.route_access import public
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices

_EXTRA: Final = {
    "requestBody": {
        "required": True,
        "content": {"application/x-www-form-urlencoded": {"schema": {"type": "object"}}},
    },
    "parameters": [
        {
            "name": name,
            "in": "header",
            "required": True,
            "description": text,
            "schema": {"type": "string"},
        }
        for name, text in (
            ("X-Slack-Signature", "v0= and the HMAC-SHA256 over the version, time and body."),
            ("X-Slack-Request-Timestamp", "When it was signed, in seconds."),
        )
    ],
}

_ANSWER: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Accepted; a command is answered with a note for its sender.",
        "content": {
            "application/json": {
                "schema": build_object_part(
                    {"response_type": {"const": "ephemeral"}, "text": {"type": "string"}}
                )
            }
        },
    }
}


def routes(services: ApplicationServices) -> APIRouter:
    made = router("integrations")
    made.lifespan_context = _until_closed(services)

    @made.post(
        "/integrations/slack/interactions/{workspace_id}",
        summary="Receive a button or a command from Slack",
        description="For Slack alone: the Request URL of the app's interactivity and of its "
        "command. Every request is verified by the workspace's signing secret.",
        status_code=200,
        response_model=None,
        responses=_ANSWER | problems(401, 413, 429),
        openapi_extra=_EXTRA,
    )
    @public
    async def receive_slack_interaction(request: Request, workspace_id: UUID) -> Response:
        body = await read_bytes(request, MOST_BYTES)
        answer = await services.interactions.receive(workspace_id, request.headers, body)
        if answer is None:
            return Response(status_code=200)
        return Response(as_json(answer), media_type="application/json")

    return made


def _until_closed(services: ApplicationServices) -> Callable[[FastAPI], Any]:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        del app
        yield
        await services.interactions.aclose()

    return lifespan
