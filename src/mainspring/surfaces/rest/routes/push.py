"""Notifications in a person's own browsers (Web Push)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from mainspring.contracts.errors import Expired, LimitExceeded, Problem
from mainspring.contracts.roles import Permission
from mainspring.store.rate_limit import LeakyBucket, fill_bucket
from mainspring.surfaces.rest.auth import AuthenticatedCaller, SignedIn
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.request_bodies import Body, JsonAnswer, read_body, takes
from mainspring.surfaces.rest.route_access import needs
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.rest.routes.session import own_session, tell
from mainspring.surfaces.services import ApplicationServices
from mainspring.workspace import push_subscriptions as rows
from mainspring.workspace.push_subscriptions import Kind, Subscription

# A burst of five, then one a minute.
_TESTS: Final = LeakyBucket(5, 1 / 60)
_LONGEST_LABEL: Final = 120

Kinds = Annotated[
    list[Kind],
    Field(
        max_length=len(rows.KINDS),
        description="drafts: writes that wait for approval; questions: those of approval steps, "
        "and automations that wait for consent; failures: runs that failed unattended, and "
        "automations that were paused for it.",
    ),
]


class PushKeys(Body):
    """The keys of a browser's subscription, as `PushSubscription.toJSON()` has them."""

    p256dh: str = Field(min_length=1, max_length=200)
    auth: str = Field(min_length=1, max_length=100)


class NewSubscription(Body):
    """A browser's subscription, and what it should be notified of."""

    endpoint: str = Field(min_length=1, max_length=2_000)
    keys: PushKeys
    kinds: Kinds | None = Field(
        None, description="Default: everything, or the earlier choice for this browser."
    )


class ChangedSubscription(Body):
    """What a browser is notified of from now on."""

    kinds: Kinds


class SubscriptionShape(BaseModel):
    """A browser that gets notifications."""

    model_config = ConfigDict(extra="forbid")

    id: UUID
    label: str = Field(description="How the browser describes itself.")
    kinds: list[Kind]
    endpoint_hash: str = Field(
        description="SHA-256 of the endpoint in hex: a browser finds itself by it."
    )
    current: bool = Field(description="Whether the session that asks has turned it on.")
    created_at: datetime
    sent_at: datetime | None = Field(description="When the latest notification was sent.")
    problem: str | None = Field(description="Why the latest notification was not delivered.")


class PushShape(BaseModel):
    """What a browser needs to subscribe, and those that have subscribed."""

    model_config = ConfigDict(extra="forbid")

    public_key: str = Field(description="The `applicationServerKey`, in base64url.")
    subscriptions: list[SubscriptionShape]


def routes(services: ApplicationServices) -> APIRouter:
    made = router("session")
    _add_reading(made, services)
    _add_changing(made, services)
    _add_testing(made, services)
    return made


def _add_reading(made: APIRouter, services: ApplicationServices) -> None:
    @made.get(
        "/me/push",
        summary="List the browsers that you get notifications on",
        response_model=PushShape,
        responses=problems(409),
    )
    @needs(Permission.ACCOUNT)
    async def read_push(caller: SignedIn) -> JsonAnswer:
        own_session(caller)
        key = await services.push.public_key()
        found = await rows.list_subscriptions(services.database, caller.member_id)
        return JsonAnswer(
            {
                "public_key": key,
                "subscriptions": [_describe_subscription(caller, one) for one in found],
            }
        )


def _add_changing(made: APIRouter, services: ApplicationServices) -> None:
    @made.post(
        "/me/push/subscriptions",
        summary="Turn notifications on in a browser, or renew its subscription",
        response_model=SubscriptionShape,
        responses=problems(409, 502),
        openapi_extra=takes(NewSubscription),
    )
    @needs(Permission.ACCOUNT)
    async def save_push_subscription(request: Request, caller: SignedIn) -> JsonAnswer:
        body = await read_body(request, NewSubscription)
        session_id = own_session(caller)
        target = await services.push.read_subscription(
            body.endpoint, body.keys.p256dh, body.keys.auth
        )
        agent = request.headers.get("user-agent", "")
        label = "".join(sign for sign in agent if sign.isprintable())[:_LONGEST_LABEL]
        async with services.database.transaction() as tx:
            saved = await rows.save_subscription(
                tx, caller.member_id, session_id, label, target, body.kinds
            )
            await tell(tx, caller, "save_push_subscription", saved.id)
        return JsonAnswer(_describe_subscription(caller, saved))

    @made.patch(
        "/me/push/subscriptions/{subscription_id}",
        summary="Choose what a browser of yours is notified of",
        response_model=SubscriptionShape,
        responses=problems(404, 409),
        openapi_extra=takes(ChangedSubscription),
    )
    @needs(Permission.ACCOUNT)
    async def change_push_subscription(
        subscription_id: UUID, request: Request, caller: SignedIn
    ) -> JsonAnswer:
        body = await read_body(request, ChangedSubscription)
        own_session(caller)
        async with services.database.transaction() as tx:
            saved = await rows.set_kinds(tx, caller.member_id, subscription_id, body.kinds)
            await tell(tx, caller, "change_push_subscription", subscription_id)
        return JsonAnswer(_describe_subscription(caller, saved))

    @made.delete(
        "/me/push/subscriptions/{subscription_id}",
        summary="Turn notifications off in a browser of yours",
        status_code=204,
        response_class=Response,
        responses=problems(404, 409),
    )
    @needs(Permission.ACCOUNT)
    async def delete_push_subscription(subscription_id: UUID, caller: SignedIn) -> Response:
        own_session(caller)
        async with services.database.transaction() as tx:
            await rows.remove_subscription(tx, caller.member_id, subscription_id)
            await tell(tx, caller, "delete_push_subscription", subscription_id)
        return Response(status_code=204)


def _add_testing(made: APIRouter, services: ApplicationServices) -> None:
    @made.post(
        "/me/push/subscriptions/{subscription_id}/test",
        summary="Send a test notification to a browser of yours",
        description="Answers once the push service has accepted it. A subscription that the "
        "service no longer knows is removed.",
        status_code=204,
        response_class=Response,
        responses=problems(404, 409, 410, 429, 502),
    )
    @needs(Permission.ACCOUNT)
    async def test_push_subscription(subscription_id: UUID, caller: SignedIn) -> Response:
        own_session(caller)
        target = await rows.read_target(services.database, caller.member_id, subscription_id)
        wait = await fill_bucket(services.database, f"push-test/{caller.member_id}", _TESTS)
        if wait is not None:
            raise LimitExceeded(
                "Too many test notifications were sent.",
                code="too_many_tries",
                suggestion="Wait a few seconds, then try again.",
                retry_after=round(wait, 1),
            )
        try:
            await services.push.send_test(target)
        except Problem as problem:
            async with services.database.transaction() as tx:
                if isinstance(problem, Expired):
                    await rows.remove_gone(tx, target)
                else:
                    await rows.note_problem(tx, target, problem.as_dict())
            raise
        async with services.database.transaction() as tx:
            await rows.note_sent(tx, target)
        return Response(status_code=204)


def _describe_subscription(caller: AuthenticatedCaller, one: Subscription) -> dict[str, Any]:
    return {
        "id": one.id,
        "label": one.label,
        "kinds": list(one.kinds),
        "endpoint_hash": one.endpoint_hash,
        "current": one.session_id == caller.session_id,
        "created_at": one.created_at,
        "sent_at": one.sent_at,
        "problem": None if one.problem is None else str(one.problem.get("detail", "")),
    }
