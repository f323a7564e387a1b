"""The webhook endpoints.

These two routes are called most, by programs that only wait for a receipt. They are documented like
every other route, and served without FastAPI's parameter handling: a request is parsed here and
passed to the ``WebhookReceiver``, which records it in one batch with concurrent ones. A caller
sends the token of one webhook, in the header ``Authorization`` and nowhere else. Every failure of
that (an unknown id, a token of another automation, no token) has the same response, and it is sent
before the body is read. Only authenticated callers learn what is wrong with the body.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from mainspring.contracts.errors import Conflict, InternalError, Invalid, Problem, TooLarge
from mainspring.definition.strict_json import read_json
from mainspring.surfaces.rest.idempotency import KEY_HEADER, REPLAY
from mainspring.surfaces.rest.middleware import close
from mainspring.surfaces.rest.problems import MEDIA_TYPE, problem_answer, problems
from mainspring.surfaces.rest.request_bodies import LARGE, as_json, check_content_type, read_bytes
from mainspring.surfaces.rest.route_access import public
from mainspring.surfaces.rest.router import PREFIX, router
from mainspring.surfaces.rest.run_shapes import Accepted
from mainspring.surfaces.services import ApplicationServices
from mainspring.triggers.webhook_auth import (
    WebhookRequest,
    WebhookSignature,
    is_rate_limit,
    unknown_webhook,
)
from mainspring.workspace.webhooks import hash_webhook_token

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

    from mainspring.contracts.limits import Limits
    from mainspring.triggers import webhook_receiver as receivers

_LONGEST_SLUG: Final = 64
_BODY: Final = {
    "requestBody": {
        "required": False,
        "description": "Any JSON. The trigger's input_mapping says which inputs it fills. No "
        "body at all is an empty object.",
        "content": {"application/json": {"schema": {}}},
    }
}
_SEAL: Final = {
    "webhook-id": "The sender's id of the message, and its idempotency key.",
    "webhook-timestamp": "When it was sent, in seconds; at most five minutes off.",
    "webhook-signature": "v1, and the signature; several are separated by spaces.",
}
_USED: Final = (
    b"authorization",
    b"content-type",
    b"content-encoding",
    b"idempotency-key",
    *(name.encode() for name in _SEAL),
)
# The usual content type; anything else is parsed fully.
_PLAIN: Final = ["application/json"]
_HEADERS: Final = {
    "Location": {"description": "Where to read the run.", "schema": {"type": "string"}},
    REPLAY: {
        "description": "true: this key was used before, and this is the run of then.",
        "schema": {"type": "string", "enum": ["true"]},
    },
}

Fire = Callable[[Request], Awaitable[Response]]


def routes(services: ApplicationServices) -> APIRouter:
    made = router("webhooks")
    made.lifespan_context = _until_closed(services.desk)
    _describe(made)
    served = {"fire_webhook": _by_token(services), "call_signed_webhook": _by_signature(services)}
    for route in made.routes:
        if not isinstance(route, APIRoute):
            raise InternalError("A webhook's route is not described.")
        route.app = _straight(served[route.name])
    return made


def _describe(made: APIRouter) -> None:
    """What the document says about them; nobody calls these functions."""
    receipt: dict[int | str, dict[str, Any]] = {202: {"headers": _HEADERS}}
    answers = receipt | problems(401, 409, 413, 415, 422, 429, 502, 504)
    seal = [
        {"name": name, "in": "header", "description": text, "schema": {"type": "string"}}
        for name, text in _SEAL.items()
    ]

    @made.post(
        "/automations/{automation_id}/fire",
        summary="Call a webhook with its token",
        description="The token is the one of a webhook (mwh_…), not one that signs in. Inputs "
        "that do not fit are answered with 422, and the call is kept as a failed run: the "
        "problem then has a run_id and a url; so has the 409 of a webhook that is stopped because "
        "its owner left. If the trigger asks for a signature, the call "
        "needs that too.",
        response_model=Accepted,
        status_code=202,
        responses=answers,
        openapi_extra={**_BODY, "parameters": [KEY_HEADER, *seal], "security": [{"bearer": []}]},
    )
    @public
    async def fire_webhook(automation_id: UUID) -> None:
        """Described here, and served straight by the route above it."""

    @made.post(
        "/automations/{automation_id}/hooks/{slug}",
        summary="Call a webhook with a signature (Standard Webhooks)",
        description="For a trigger that asks for a signature; no token is needed here. Its "
        "webhook-id is the idempotency key.",
        response_model=Accepted,
        status_code=202,
        responses=answers,
        openapi_extra={**_BODY, "parameters": seal},
    )
    @public
    async def call_signed_webhook(automation_id: UUID, slug: str) -> None:
        """Described here, and served straight by the route above it."""


def _until_closed(webhook_receiver: receivers.WebhookReceiver) -> Callable[[FastAPI], Any]:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        del app
        yield
        await webhook_receiver.aclose()

    return lifespan


def _straight(fire: Fire) -> Any:
    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        try:
            answer = await fire(request)
        except Problem as problem:
            answer = problem_answer(problem, scope)
            if is_rate_limit(problem):
                close(scope, problem.retry_after or 0.0)
        await answer(scope, receive, send)

    return served


def _by_token(services: ApplicationServices) -> Fire:
    address = services.settings.address

    async def fire(request: Request) -> Response:
        shown = _headers(request.scope)
        digest = hash_webhook_token(_bearer(shown[b"authorization"]))
        receipt = await _receive_webhook(services, request, shown, digest, "")
        return _respond(receipt, address, request.scope)

    return fire


def _by_signature(services: ApplicationServices) -> Fire:
    address = services.settings.address

    async def fire(request: Request) -> Response:
        slug, shown = request.path_params["slug"][:_LONGEST_SLUG], _headers(request.scope)
        receipt = await _receive_webhook(services, request, shown, None, slug)
        return _respond(receipt, address, request.scope)

    return fire


async def _receive_webhook(
    services: ApplicationServices,
    request: Request,
    shown: dict[bytes, list[str]],
    digest: bytes | None,
    slug: str,
) -> receivers.WebhookReceipt:
    receiver = services.desk
    incoming = await receiver.receive(
        WebhookRequest(
            _id(request.path_params["automation_id"]),
            digest,
            slug,
            signature=_read_signature_headers(shown),
            idempotency_keys=shown[b"idempotency-key"],
        )
    )
    close(request.scope, receiver.get_retry_delay(incoming))
    incoming = await _read(receiver, request, shown, services.limits, incoming)
    return await receiver.take(incoming)


def _headers(scope: Scope) -> dict[bytes, list[str]]:
    """The relevant headers, in one pass."""
    found: dict[bytes, list[str]] = {name: [] for name in _USED}
    for name, value in scope["headers"]:
        if name in found:
            found[name].append(value.decode("latin-1"))
    return found


async def _read(
    webhook_receiver: receivers.WebhookReceiver,
    request: Request,
    shown: dict[bytes, list[str]],
    limits: Limits,
    webhook_request: WebhookRequest,
) -> WebhookRequest:
    """The webhook request of an authenticated caller with its body, which is validated last."""
    with webhook_receiver.reading(webhook_request) as count:
        raw = await _bytes(request, count, limits, webhook_request)
        webhook_request = replace(
            webhook_request,
            raw=raw if webhook_request.signature is not None else b"",
            size=len(raw),
        )
        await webhook_receiver.admit(webhook_request)
        if raw and (shown[b"content-type"] != _PLAIN or shown[b"content-encoding"]):
            check_content_type(request)
        return replace(webhook_request, value=await _parse_body(raw, limits))


async def _bytes(
    request: Request, count: Callable[[int], None], limits: Limits, webhook_request: WebhookRequest
) -> bytes:
    async def counted() -> Message:
        message = await request.receive()
        count(len(message.get("body", b"")))
        return message

    try:
        return await read_bytes(Request(request.scope, counted), limits.payload_bytes)
    except TooLarge:
        if (
            webhook_request.webhook is not None
            and webhook_request.webhook.signing_secret is not None
        ):
            # A missing body has no signature.
            raise unknown_webhook() from None
        raise


async def _parse_body(raw: bytes, limits: Limits) -> Any:
    if not raw:
        return {}
    if len(raw) <= LARGE:
        return read_json(raw, limits)
    return await asyncio.to_thread(read_json, raw, limits)


def _bearer(shown: list[str]) -> bytes:
    """The token of the only Authorization header; anything else matches nothing."""
    scheme, _, token = shown[0].partition(" ") if len(shown) == 1 else ("", "", "")
    return token.strip(" ").encode() if scheme.lower() == "bearer" else b""


def _read_signature_headers(shown: dict[bytes, list[str]]) -> WebhookSignature | None:
    found = [shown[name.encode()] for name in _SEAL]
    return (
        WebhookSignature(*(texts[0] for texts in found))
        if all(len(one) == 1 for one in found)
        else None
    )


def _id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _respond(made: receivers.WebhookReceipt, address: str, scope: Scope) -> Response:
    url = f"{address}{PREFIX}/runs/{made.run_id}"
    headers = {"Location": url}
    if made.repeated:
        headers[REPLAY] = "true"
    if made.problem is not None:
        return _failed_response(made, url, headers, scope)
    shown: dict[str, Any] = {"run_id": made.run_id, "status": made.status, "url": url}
    if made.reason is not None:
        shown["reason"] = made.reason
    return Response(as_json(shown), 202, headers, "application/json")


def _failed_response(
    made: receivers.WebhookReceipt, url: str, headers: dict[str, str], scope: Scope
) -> Response:
    """The problem of the request, and the run that records it."""
    assert made.problem is not None
    status = Conflict.status if isinstance(made.problem, Conflict) else Invalid.status
    shown = {
        **made.problem.as_dict(),
        "status": status,
        "instance": scope["path"],
        "run_id": made.run_id,
        "url": url,
    }
    return Response(as_json(shown), status, headers, MEDIA_TYPE)
