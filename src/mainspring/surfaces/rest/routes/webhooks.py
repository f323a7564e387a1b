"""The webhook endpoints.

These two routes are called most, by programs that only wait for a receipt. They are documented like
every other route, and served without FastAPI's parameter handling: a request is parsed here and
passed to the ``WebhookReceiver``, which records it in one batch with concurrent ones. A caller
sends the token of one webhook, in the header ``Authorization`` and nowhere else. Every failure of
that (an unknown id, a token of another automation, no token) has the same response, and it is sent
before the body is read. Only authenticated callers learn what is wrong with the body.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mainspring.contracts.errors import (
    Conflict,
    InternalError,
    Invalid,
    Problem,
    Unauthenticated,
)
from mainspring.definition.webhook_callers import BY_STEP, AnswerPolicy, read_answer_policy
from mainspring.runs.rows import FINAL
from mainspring.surfaces.rest.answers import RUN_HEADER, AnswerBuilder, wait_for_result
from mainspring.surfaces.rest.idempotency import KEY_HEADER, REPLAY
from mainspring.surfaces.rest.middleware import close
from mainspring.surfaces.rest.problems import MEDIA_TYPE, mask_path, problem_answer, problems
from mainspring.surfaces.rest.request_bodies import as_json
from mainspring.surfaces.rest.route_access import public
from mainspring.surfaces.rest.router import PREFIX, router
from mainspring.surfaces.rest.run_shapes import Accepted
from mainspring.surfaces.rest.webhook_reading import (
    ReadRequest,
    WebhookBodyReader,
    record_with_files,
)
from mainspring.surfaces.services import ApplicationServices
from mainspring.triggers.webhook_auth import (
    WebhookRequest,
    is_rate_limit,
)
from mainspring.triggers.webhook_bodies import (
    read_methods,
    read_origins,
)
from mainspring.triggers.webhook_refusals import SLOW
from mainspring.triggers.webhook_signatures import HandshakeReply, read_auth
from mainspring.workspace.webhooks import hash_webhook_token

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from mainspring.triggers import webhook_receiver as receivers
    from mainspring.workspace.webhooks import WebhookTrigger

_LONGEST_SLUG: Final = 64
_BODY: Final = {
    "requestBody": {
        "required": False,
        "description": "Any JSON. The trigger's input_mapping says which inputs it fills. No "
        "body at all is an empty object.",
        "content": {"application/json": {"schema": {}}},
    }
}
_SIGNATURE_HEADERS: Final = {
    "webhook-id": "The sender's id of the message, and its idempotency key.",
    "webhook-timestamp": "When it was sent, in seconds; at most five minutes off.",
    "webhook-signature": "v1, and the signature; several are separated by spaces.",
}
_USED: Final = (
    b"authorization",
    b"content-type",
    b"content-encoding",
    b"idempotency-key",
)
_HEADERS: Final = {
    "Location": {"description": "Where to read the run.", "schema": {"type": "string"}},
    REPLAY: {
        "description": "true: this key was used before, and this is the run of then.",
        "schema": {"type": "string", "enum": ["true"]},
    },
}

_AT_ONCE: Final = AnswerPolicy()
_OTHER_METHODS: Final = ("GET", "PUT", "PATCH", "DELETE", "OPTIONS")
_PREFLIGHT_SECONDS: Final = "600"
_READABLE: Final = f"Location, {REPLAY}, {RUN_HEADER}, Retry-After"

Fire = Callable[[Request], Awaitable[Response]]


def routes(services: ApplicationServices) -> APIRouter:
    made = router("webhooks")
    made.lifespan_context = _until_closed(services.webhook_receiver)
    _describe(made)
    bodies = WebhookBodyReader(services)
    served = {
        "fire_webhook": _by_token(services, bodies),
        "call_signed_webhook": _by_signature(services, bodies),
        "call_secret_url": _by_url(services, bodies),
    }
    for route in made.routes:
        if not isinstance(route, APIRoute):
            raise InternalError("A webhook's route is not described.")
        route.app = _straight(served[route.name])
    for route in list(made.routes):
        assert isinstance(route, APIRoute)
        # The document names the usual method; a trigger may declare others.
        endpoint = public(_serve_other_methods(served[route.name]))
        other = Route(route.path, endpoint, methods=_OTHER_METHODS, include_in_schema=False)
        other.app = _straight(served[route.name])
        made.routes.append(other)
    return made


def _serve_other_methods(fire: Fire) -> Fire:
    async def serve_webhook(request: Request) -> Response:
        return await fire(request)

    return serve_webhook


def _describe(made: APIRouter) -> None:
    """What the document says about them; nobody calls these functions."""
    receipt: dict[int | str, dict[str, Any]] = {202: {"headers": _HEADERS}}
    answers = receipt | problems(401, 409, 413, 415, 422, 429, 502, 504)
    seal = [
        {"name": name, "in": "header", "description": text, "schema": {"type": "string"}}
        for name, text in _SIGNATURE_HEADERS.items()
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
        summary="Call a webhook with a signature or a secret",
        description="For a trigger whose auth is basic, header, standard_webhooks or signature; no "
        "token is needed here. The sender's delivery id is the idempotency key. A handshake of the "
        "provider, and an event that the trigger does not list, is answered with 200.",
        response_model=Accepted,
        status_code=202,
        responses=answers,
        openapi_extra={**_BODY, "parameters": seal},
    )
    @public
    async def call_signed_webhook(automation_id: UUID, slug: str) -> None:
        """Described here, and served straight by the route above it."""

    @made.post(
        "/hooks/{token}",
        summary="Call a webhook at its secret address",
        description="For a trigger whose auth is secret_url: the webhook's token is the last part "
        "of the path. Use it for senders that cannot sign or set a header.",
        response_model=Accepted,
        status_code=202,
        responses=answers,
        openapi_extra={**_BODY, "parameters": [KEY_HEADER]},
    )
    @public
    async def call_secret_url(token: str) -> None:
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


def _by_token(services: ApplicationServices, bodies: WebhookBodyReader) -> Fire:
    async def fire(request: Request) -> Response:
        shown = _headers(request.scope)
        digest = hash_webhook_token(_bearer(shown[b"authorization"]))
        return await _receive_webhook(services, bodies, request, shown, digest, "")

    return fire


def _by_url(services: ApplicationServices, bodies: WebhookBodyReader) -> Fire:
    async def fire(request: Request) -> Response:
        digest = hash_webhook_token(request.path_params["token"].encode())
        shown = _headers(request.scope)
        return await _receive_webhook(services, bodies, request, shown, digest, "", in_url=True)

    return fire


def _by_signature(services: ApplicationServices, bodies: WebhookBodyReader) -> Fire:
    async def fire(request: Request) -> Response:
        slug, shown = request.path_params["slug"][:_LONGEST_SLUG], _headers(request.scope)
        return await _receive_webhook(services, bodies, request, shown, None, slug)

    return fire


async def _receive_webhook(
    services: ApplicationServices,
    bodies: WebhookBodyReader,
    request: Request,
    shown: dict[bytes, list[str]],
    digest: bytes | None,
    slug: str,
    *,
    in_url: bool = False,
) -> Response:
    receiver = services.webhook_receiver
    asked = WebhookRequest(
        None if in_url else _id(request.path_params["automation_id"]),
        digest,
        slug,
        method=request.method,
        url=_public_url(services.settings.address, request.scope),
        raw_headers=request.scope["headers"],
        in_url=in_url,
        idempotency_keys=shown[b"idempotency-key"],
    )
    if request.method == "OPTIONS":
        return await _answer_preflight(receiver, request, asked)
    if request.method == "GET" and b"hub.challenge=" in request.scope["query_string"]:
        reply = await receiver.answer_subscription(asked)
        if reply is not None:
            return _respond(reply, services.settings.address, request.scope)
    incoming = await receiver.receive(asked)
    config = {} if incoming.webhook is None else incoming.webhook.config
    origins = read_origins(config)
    if not origins:
        return await _answer_webhook(services, bodies, request, shown, incoming, config)
    try:
        answer = await _answer_webhook(services, bodies, request, shown, incoming, config)
    except Problem as problem:
        # A page reads problems too.
        answer = problem_answer(problem, request.scope)
    return _allow_origin(answer, request, origins)


async def _answer_preflight(
    receiver: receivers.WebhookReceiver, request: Request, asked: WebhookRequest
) -> Response:
    """What a browser asks before a script of a page calls a webhook; it sends no credentials.

    At the address for tokens the webhook is only known by its token, so a preflight finds nothing.
    """
    origins, methods = await receiver.find_cors(asked)
    answer = _allow_origin(Response(status_code=204), request, origins)
    if "Access-Control-Allow-Origin" in answer.headers:
        answer.headers["Access-Control-Allow-Methods"] = ", ".join(methods)
        asked_headers = request.headers.get("access-control-request-headers", "")
        if asked_headers:
            answer.headers["Access-Control-Allow-Headers"] = asked_headers[:1_000]
        answer.headers["Access-Control-Max-Age"] = _PREFLIGHT_SECONDS
    return answer


def _allow_origin(answer: Response, request: Request, origins: Sequence[str]) -> Response:
    """Let scripts of the listed origins read the answer; cookies are never part of it."""
    if not origins:
        return answer
    origin = request.headers.get("origin")
    if "*" in origins:
        answer.headers["Access-Control-Allow-Origin"] = "*"
    else:
        answer.headers["Vary"] = "Origin"
        if origin is not None and origin in origins:
            answer.headers["Access-Control-Allow-Origin"] = origin
    if "Access-Control-Allow-Origin" in answer.headers:
        answer.headers["Access-Control-Expose-Headers"] = _READABLE
    return answer


def _refuse_method(request: Request, methods: Sequence[str]) -> Response:
    problem = Invalid(
        f"This webhook is not called with {request.method}.",
        code="wrong_method",
        suggestion=f"Use {' or '.join(methods)}, or add the method to the trigger's methods.",
    )
    answer = problem_answer(problem, request.scope, 405)
    answer.headers["Allow"] = ", ".join(methods)
    return answer


async def _answer_webhook(
    services: ApplicationServices,
    bodies: WebhookBodyReader,
    request: Request,
    shown: dict[bytes, list[str]],
    incoming: WebhookRequest,
    config: Mapping[str, Any],
) -> Response:
    """The response to an authenticated caller; one who signs is authenticated by the body."""
    receiver = services.webhook_receiver
    close(request.scope, receiver.get_retry_delay(incoming))
    methods = read_methods(config)
    if request.method not in methods and not read_auth(config).signs_body:
        return _refuse_method(request, methods)
    try:
        read = await bodies.read(request, shown, incoming)
    except HTTPException:
        receiver.count_refusal(incoming, SLOW)
        raise
    except Problem as problem:
        # The authenticator counts what it refuses.
        if not isinstance(problem, Unauthenticated) and problem.status < InternalError.status:
            receiver.count_refusal(incoming, problem.code or problem.kind)
        raise
    incoming = read.request
    if request.method not in methods:
        return _refuse_method(request, methods)
    reply = await receiver.answer_handshake(incoming)
    address = services.settings.address
    if reply is not None:
        return _respond(reply, address, request.scope)
    webhook = incoming.webhook
    policy = _AT_ONCE if webhook is None else read_answer_policy(webhook.config)
    if webhook is None or not policy.waits or services.run_waiter.is_full:
        receipt = await record_with_files(services.uploads, receiver, read)
        return _respond(receipt, address, request.scope)
    return await _take_and_wait(services, request, read, webhook, policy)


async def _take_and_wait(
    services: ApplicationServices,
    request: Request,
    read: ReadRequest,
    webhook: WebhookTrigger,
    policy: AnswerPolicy,
) -> Response:
    """Record the request like any other, then wait for the answer of its run."""
    waiter, address = services.run_waiter, services.settings.address
    incoming = read.request
    ends = time.monotonic() + policy.seconds
    by_step = policy.mode == BY_STEP
    # Expected before it is recorded: a fast run may end before the receipt is here.
    with waiter.expect(
        webhook.workspace_id, incoming.run_id, policy.seconds, by_step=by_step
    ) as expected:
        receipt = await record_with_files(services.uploads, services.webhook_receiver, read)
        if receipt.problem is not None or (receipt.status in FINAL and not receipt.repeated):
            # It was not started.
            return _respond(receipt, address, request.scope)
        left = max(ends - time.monotonic(), 0.0)
        if receipt.run_id == incoming.run_id:
            result = await wait_for_result(request, expected, left)
        else:
            with waiter.expect(
                webhook.workspace_id, receipt.run_id, left, by_step=by_step, exists=True
            ) as earlier:
                result = await wait_for_result(request, earlier, left)
    if result is None or not (result.final or (by_step and result.answer is not None)):
        status = receipt.status if result is None else result.status
        return _respond(replace(receipt, status=status), address, request.scope)
    if result.status == "skipped":
        skipped = replace(receipt, status=result.status, reason=result.reason)
        return _respond(skipped, address, request.scope)
    url = f"{address}{PREFIX}/runs/{receipt.run_id}"
    answer = await AnswerBuilder(services).build(
        webhook.workspace_id,
        webhook.automation_id,
        receipt.run_id,
        result,
        url,
        request.scope,
        by_step=by_step,
    )
    if receipt.repeated:
        answer.headers[REPLAY] = "true"
    return answer


def _public_url(address: str, scope: Scope) -> str:
    """The address that the sender called, as far as the configured public address tells."""
    query = scope.get("query_string", b"").decode("latin-1")
    return f"{address}{scope['path']}" + (f"?{query}" if query else "")


def _headers(scope: Scope) -> dict[bytes, list[str]]:
    """The relevant headers, in one pass."""
    found: dict[bytes, list[str]] = {name: [] for name in _USED}
    for name, value in scope["headers"]:
        if name in found:
            found[name].append(value.decode("latin-1"))
    return found


def _bearer(shown: list[str]) -> bytes:
    """The token of the only Authorization header; anything else matches nothing."""
    scheme, _, token = shown[0].partition(" ") if len(shown) == 1 else ("", "", "")
    return token.strip(" ").encode() if scheme.lower() == "bearer" else b""


def _id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _respond(
    made: receivers.WebhookReceipt | HandshakeReply | Mapping[str, Any], address: str, scope: Scope
) -> Response:
    if isinstance(made, HandshakeReply):
        if made.text is not None:
            return Response(made.text, 200, media_type="text/plain")
        made = made.body
    if isinstance(made, Mapping):
        return Response(as_json(made), 200, media_type="application/json")
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
        "instance": mask_path(scope["path"]),
        "run_id": made.run_id,
        "url": url,
    }
    return Response(as_json(shown), status, headers, MEDIA_TYPE)
