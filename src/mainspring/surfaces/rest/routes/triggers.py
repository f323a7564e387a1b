"""The triggers of an automation: state, webhook tokens, and firings."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError
from starlette.responses import Response

from mainspring.authoring.review.trigger_descriptions import describe_config
from mainspring.contracts.errors import Conflict, Finding, Invalid
from mainspring.contracts.roles import Permission
from mainspring.definition.model import TriggerType
from mainspring.definition.polls import POLL_TYPES
from mainspring.definition.secret_use import list_webhook_secrets
from mainspring.definition.webhook_callers import accepts_token
from mainspring.runs.replay import replay
from mainspring.runs.versions import VersionCache
from mainspring.store.database import Connection
from mainspring.surfaces.rest.auth import SignedIn
from mainspring.surfaces.rest.paging import PAGE, Cursor, Limit, Page, page
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.request_bodies import Body, JsonAnswer, read_body, takes
from mainspring.surfaces.rest.route_access import needs
from mainspring.surfaces.rest.router import PREFIX, router
from mainspring.surfaces.rest.routes.runs import answer_accepted
from mainspring.surfaces.rest.run_shapes import Accepted
from mainspring.surfaces.services import ApplicationServices
from mainspring.triggers.fire_history import (
    check_delivery,
    last_payload,
    list_deliveries,
    list_fire_times,
)
from mainspring.triggers.poll_trial import try_look
from mainspring.triggers.schedule import read_schedule
from mainspring.triggers.trigger_changes import change
from mainspring.triggers.webhook_signatures import read_auth
from mainspring.workspace.automations import read_trigger, read_triggers, switch
from mainspring.workspace.consents import change_by
from mainspring.workspace.forms import rotate_link
from mainspring.workspace.polls import read_poll_states
from mainspring.workspace.push_channels import list_trigger_pushes
from mainspring.workspace.webhooks import read_overlap, revoke, rotate

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_LONGEST: Final = 400
_FIRES: Final = 5
_MOST_PREVIEWED: Final = 50
_OFF_YEAR: Final = 9_999
_ONE: Final = "/automations/{automation_id}/triggers/{slug}"

Overlap = Annotated[
    int,
    Query(
        description="For how many seconds the previous token still works, if you made it too.",
        ge=0,
        le=604_800,
    ),
]
Slug = Annotated[str, Path(description="The trigger's id in the definition.", max_length=200)]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TokenSeen(_Shape):
    """What may be told about a token."""

    hint: str = Field(description="Its last four characters.")
    made_at: datetime | None


class TriggerPushShape(_Shape):
    """How the provider reports changes to the source."""

    registered: bool = Field(description="False: it is not registered, and the trigger polls.")
    notified_at: datetime | None = Field(description="When the provider reported a change last.")
    expires_at: datetime | None = Field(description="It is renewed before; null: it stays.")
    problem: dict[str, Any] | None = Field(description="Why it could not be registered.")


class PollShape(_Shape):
    """How a poll trigger looks at its source."""

    next_look_at: datetime | None = Field(description="Null: it is off.")
    last_look_at: datetime | None
    succeeded_at: datetime | None = Field(description="When a look succeeded last.")
    items: int = Field(description="Items that this look found.")
    skipped: int = Field(description="Those of them without anything that identifies them.")
    waiting: int = Field(description="Items that were found and start a run after a later look.")
    failures: int = Field(description="Looks that failed in a row.")
    failing_since: datetime | None
    recovered_at: datetime | None
    problem: dict[str, Any] | None = Field(description="Why the last look failed.")
    push: TriggerPushShape | None = Field(
        description="Null: the provider is not asked to report changes."
    )


class TriedLook(_Shape):
    """What a look would find now; nothing was started and nothing remembered."""

    sentence: str
    items: int
    new: int
    changed: int
    skipped: int
    runs: int = Field(description="Runs that it would start now.")
    first_look: bool
    sample: list[Any] = Field(description="The first items that would start a run, at most 3.")


class TriggerShape(_Shape):
    """A trigger as it is now."""

    id: UUID
    automation_id: UUID
    slug: str = Field(description="Its id in the definition.")
    type: TriggerType
    config: dict[str, Any]
    inputs: dict[str, Any]
    enabled: bool
    armed_at: datetime | None = Field(description="Since when it can go off; null: it cannot.")
    next_due_at: datetime | None
    next_fires: list[datetime] = Field(
        description="The next moments of a schedule, at most 5, whether or not it is on."
    )
    last_fired_at: datetime | None
    created_at: datetime
    token: TokenSeen | None = Field(description="Null: a webhook without one cannot be called.")
    url: str | None = Field(description="Where a webhook is called with its token.")
    signed_url: str | None = Field(description="Where it is called with a signature.")
    form_url: str | None = Field(description="The link of a form.")
    poll: PollShape | None = Field(description="Null: it polls nothing, or was never on.")


class TriggerList(_Shape):
    """All triggers of an automation."""

    items: list[TriggerShape]


class TokenMade(_Shape):
    """A new token. Nobody will see its text again."""

    token: str
    hint: str
    url: str
    old_until: datetime | None = Field(
        None, description="Until when the previous token works; null: it has ended."
    )


class FormLink(_Shape):
    """The new link of a form."""

    form_url: str
    old_until: datetime | None = Field(
        None, description="Until when the previous link works; null: it has ended."
    )


class Moment(_Shape):
    """One moment of a trigger, or several that did not fire for the same reason."""

    at: datetime
    run_id: UUID | None
    status: str | None = Field(description="Of its run; null: there is none.")
    reason: str | None
    moments: int


class Payload(_Shape):
    """The payload that came in last."""

    run_id: UUID
    at: datetime
    payload: Any


class Delivery(_Shape):
    """A request that started a run."""

    run_id: UUID
    at: datetime
    status: str
    reason: str | None
    redelivery_of: UUID | None = Field(description="The run whose request was delivered again.")
    method: str | None
    event: str | None
    headers: dict[str, str] | None = Field(
        description="Without credentials; null: the webhook names no auth, so they are not kept."
    )
    notes: list[str] = Field(description="What was normalized in the body.")


class RefusedRequests(_Shape):
    """Requests that were refused for one reason."""

    reason: str
    count: int
    last_at: datetime
    headers: dict[str, str] = Field(description="Of the last one, without credentials.")


class DeliveryPage(_Shape):
    """The last requests of a webhook."""

    items: list[Delivery]
    next: str | None = Field(description="Null: this is the last page.")
    refused: list[RefusedRequests] = Field(
        description="Counted by the process that answers, since it started."
    )


class SchedulePreview(Body):
    """The config of a schedule trigger, which need not be saved."""

    config: dict[str, Any]
    count: int = Field(default=_FIRES, ge=1, le=_MOST_PREVIEWED)


class PreviewedSchedule(_Shape):
    """A schedule as text, and when it fires."""

    sentence: str
    timezone: str
    next_fires: list[datetime] = Field(
        description="The next fire times, without jitter: it depends on the saved trigger."
    )


class Switch(Body):
    """What may be changed about a trigger."""

    enabled: bool = Field(description="Whether it can go off while its automation is active.")


def _parse_cursor(text: Any) -> str | None:
    if text is None:
        return None
    try:
        made = base64.urlsafe_b64decode(str(text) + "==").decode()
    except (ValueError, binascii.Error):
        made = None
    if made is None or "\0" in made or _format_cursor(made) != text:
        raise PydanticCustomError(
            "cursor", "This is not a cursor. Use the value of 'next', or leave it out."
        )
    return made


def _format_cursor(key: str) -> str:
    return base64.urlsafe_b64encode(key.encode()).rstrip(b"=").decode()


Place = Annotated[
    str | None,
    BeforeValidator(_parse_cursor),
    WithJsonSchema({"type": "string", "pattern": "^[A-Za-z0-9_-]+$", "maxLength": _LONGEST}),
    Query(description="Where to go on: the 'next' of the page before.", max_length=_LONGEST),
]


def routes(services: ApplicationServices) -> APIRouter:
    made = router("triggers")
    _reading(made, services)
    _switching(made, services)
    _tokens(made, services)
    _history(made, services)
    _deliveries(made, services)
    _previewing(made, services)
    _looking(made, services)
    return made


def _reading(made: APIRouter, services: ApplicationServices) -> None:
    @made.get(
        "/automations/{automation_id}/triggers",
        summary="List the triggers of an automation",
        response_model=TriggerList,
        responses=problems(401, 404, 422),
    )
    @needs(Permission.READ)
    async def get_triggers(automation_id: UUID, caller: SignedIn) -> JsonAnswer:
        async with caller.database.acquire() as connection:
            found = await read_triggers(connection, caller.workspace_id, automation_id)
            found = await _with_polls(connection, caller.workspace_id, found)
        return JsonAnswer({"items": [_describe_trigger(services, one) for one in found]})

    @made.get(
        _ONE,
        summary="Read a trigger",
        response_model=TriggerShape,
        responses=problems(401, 404, 422),
    )
    @needs(Permission.READ)
    async def get_trigger(automation_id: UUID, slug: Slug, caller: SignedIn) -> JsonAnswer:
        async with caller.database.acquire() as connection:
            found = await read_trigger(connection, caller.workspace_id, automation_id, slug)
            [found] = await _with_polls(connection, caller.workspace_id, [found])
        return JsonAnswer(_describe_trigger(services, found))


def _switching(made: APIRouter, services: ApplicationServices) -> None:
    @made.patch(
        _ONE,
        summary="Turn a trigger on or off",
        description="The definition does not change; saving a changed one resets this. "
        "Where a program turns one on, the automation is paused until a person agrees.",
        response_model=TriggerShape,
        responses=problems(401, 404, 413, 415, 422),
        openapi_extra=takes(Switch),
    )
    @needs(Permission.EDIT)
    async def patch_trigger(
        automation_id: UUID, slug: Slug, request: Request, caller: SignedIn
    ) -> JsonAnswer:
        body = await read_body(request, Switch)
        where = (caller.workspace_id, automation_id, slug)
        caller.detail["enabled"] = body.enabled

        async def turn(tx: Connection) -> dict[str, Any]:
            async def put() -> None:
                await switch(tx, *where, enabled=body.enabled)

            await change_by(tx, caller.workspace_id, automation_id, caller.actor, put)
            [found] = await _with_polls(tx, caller.workspace_id, [await read_trigger(tx, *where)])
            return found

        found = await change(
            caller.database, services.limits, caller.workspace_id, turn, automations=[automation_id]
        )
        return JsonAnswer(_describe_trigger(services, found))


def _tokens(made: APIRouter, services: ApplicationServices) -> None:
    @made.post(
        _ONE + "/token",
        summary="Create a webhook token; the previous one ends immediately, or after an overlap",
        description="The token is shown in this answer and never again.",
        response_model=TokenMade,
        status_code=201,
        responses=problems(401, 404, 409, 422),
    )
    @needs(Permission.EDIT)
    async def make_webhook_token(
        automation_id: UUID, slug: Slug, caller: SignedIn, overlap_seconds: Overlap = 0
    ) -> JsonAnswer:
        async with caller.database.transaction() as tx:
            hint, plain = await rotate(
                tx,
                caller.workspace_id,
                automation_id,
                slug,
                caller.member_id,
                overlap_seconds=overlap_seconds,
            )
            caller.detail["hint"] = hint
            found = await read_trigger(tx, caller.workspace_id, automation_id, slug)
            until = await read_overlap(tx, caller.workspace_id, automation_id, slug)
        url = _fire_url(services, automation_id)
        if read_auth(found["config"]).type == "secret_url":
            url = f"{services.settings.address}{PREFIX}/hooks/{plain}"
        shown = {"token": plain, "hint": hint, "url": url, "old_until": until}
        return JsonAnswer(shown, status_code=201)

    @made.post(
        _ONE + "/link",
        summary="Make a new link of a form; the one before ends at once, or after an overlap",
        response_model=FormLink,
        status_code=201,
        responses=problems(401, 404, 409, 422),
    )
    @needs(Permission.EDIT)
    async def make_form_link(
        automation_id: UUID, slug: Slug, caller: SignedIn, overlap_seconds: Overlap = 0
    ) -> JsonAnswer:
        where = (caller.workspace_id, automation_id, slug)
        async with caller.database.transaction() as tx:
            token = await rotate_link(tx, *where, overlap_seconds=overlap_seconds)
            until = await read_overlap(tx, *where)
        caller.detail["hint"] = token[-4:]
        shown = {"form_url": _form_url(services, token), "old_until": until}
        return JsonAnswer(shown, status_code=201)

    @made.delete(
        _ONE + "/token",
        summary="End a webhook's token",
        status_code=204,
        response_model=None,
        responses=problems(401, 404, 409, 422),
    )
    @needs(Permission.EDIT)
    async def end_webhook_token(automation_id: UUID, slug: Slug, caller: SignedIn) -> Response:
        async with caller.database.transaction() as tx:
            await revoke(tx, caller.workspace_id, automation_id, slug)
        return Response(status_code=204)


def _history(made: APIRouter, services: ApplicationServices) -> None:
    @made.get(
        _ONE + "/last-payload",
        summary="Read the latest events of a trigger",
        response_model=Payload,
        responses=problems(401, 404, 422),
    )
    @needs(Permission.READ)
    async def get_last_payload(automation_id: UUID, slug: Slug, caller: SignedIn) -> JsonAnswer:
        async with caller.database.acquire() as connection:
            found = await read_trigger(connection, caller.workspace_id, automation_id, slug)
            return JsonAnswer(await last_payload(connection, caller.workspace_id, found))

    @made.get(
        _ONE + "/firings",
        summary="List the moments of a trigger, fired or not, the newest first",
        response_model=Page[Moment],
        responses=problems(401, 404, 422),
    )
    @needs(Permission.READ)
    async def get_firings(
        automation_id: UUID,
        slug: Slug,
        caller: SignedIn,
        cursor: Place = None,
        limit: Limit = PAGE,
    ) -> JsonAnswer:
        async with caller.database.acquire() as connection:
            found = await read_trigger(connection, caller.workspace_id, automation_id, slug)
            rows = await list_fire_times(
                connection, caller.workspace_id, found, before=cursor, most=limit + 1
            )
        return JsonAnswer(_page(rows, limit))


def _deliveries(made: APIRouter, services: ApplicationServices) -> None:
    @made.get(
        _ONE + "/deliveries",
        summary="List the last requests of a webhook, and those that it refused",
        response_model=DeliveryPage,
        responses=problems(401, 404, 409, 422),
    )
    @needs(Permission.READ)
    async def get_deliveries(
        automation_id: UUID,
        slug: Slug,
        caller: SignedIn,
        cursor: Cursor = None,
        limit: Limit = PAGE,
    ) -> JsonAnswer:
        async with caller.database.acquire() as connection:
            found = await _read_webhook(connection, caller.workspace_id, automation_id, slug)
            rows = await list_deliveries(
                connection, caller.workspace_id, found, before=cursor, most=limit + 1
            )
        refused = services.webhook_receiver.refusals.read(found["id"])
        shown = page(rows, limit, key="run_id")
        return JsonAnswer({**shown, "refused": [asdict(one) for one in refused]})

    @made.post(
        _ONE + "/deliveries/{run_id}/redeliver",
        summary="Deliver an earlier request of a webhook again",
        description="Starts a new run of the active version with the same request.",
        response_model=Accepted,
        status_code=202,
        responses=problems(401, 403, 404, 409, 422),
    )
    @needs(Permission.RUN)
    async def redeliver_request(
        automation_id: UUID, slug: Slug, run_id: UUID, caller: SignedIn
    ) -> JsonAnswer:
        async with caller.database.acquire() as connection:
            found = await _read_webhook(connection, caller.workspace_id, automation_id, slug)
            await check_delivery(connection, caller.workspace_id, found, run_id)
        started = await replay(
            caller.database,
            services.dispatcher,
            services.limits,
            caller.workspace_id,
            run_id,
            version="active",
            by=caller.actor,
        )
        caller.detail |= {"run_id": str(started.run_id), "delivery": str(run_id)}
        await caller.database.note()
        return answer_accepted(services, started.run_id, started.status, started.reason)


async def _read_webhook(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, slug: str
) -> dict[str, Any]:
    found = await read_trigger(tx, workspace_id, automation_id, slug)
    if found["type"] != "webhook":
        raise Conflict("Only a webhook has deliveries.", code="no_webhook")
    return found


def _previewing(made: APIRouter, services: ApplicationServices) -> None:
    @made.post(
        "/schedules/preview",
        summary="Compute the next fire times of a schedule without saving it",
        response_model=PreviewedSchedule,
        responses=problems(401, 413, 415, 422),
        openapi_extra=takes(SchedulePreview),
    )
    @needs(Permission.READ)
    async def preview_schedule(request: Request, caller: SignedIn) -> JsonAnswer:
        body = await read_body(request, SchedulePreview)
        try:
            schedule = read_schedule(body.config).schedule
        except Invalid as error:
            findings = [
                replace(one, pointer=f"/config{one.pointer}") for one in error.findings
            ] or [Finding("/config", error.detail, error.code, error.suggestion)]
            raise Invalid(
                error.detail, code=error.code, findings=findings, suggestion=error.suggestion
            ) from None
        return JsonAnswer(
            {
                "sentence": describe_config(body.config),
                "timezone": schedule.zone,
                "next_fires": schedule.next_fire_times(services.clock.now(), body.count),
            }
        )


def _looking(made: APIRouter, services: ApplicationServices) -> None:
    @made.post(
        _ONE + "/look",
        summary="Try a look of a poll trigger",
        description="Reads its source once and says what it would start. It starts nothing and "
        "remembers nothing.",
        response_model=TriedLook,
        responses=problems(401, 403, 404, 409, 422, 502),
    )
    @needs(Permission.EDIT)
    async def try_trigger_look(automation_id: UUID, slug: Slug, caller: SignedIn) -> JsonAnswer:
        async with caller.database.acquire() as connection:
            found = await read_trigger(connection, caller.workspace_id, automation_id, slug)
        trial = await try_look(
            services.gate,
            services.database,
            VersionCache(services.database, services.registry, services.limits),
            services.limits,
            caller.workspace_id,
            found,
        )
        return JsonAnswer(trial)


async def _with_polls(
    tx: Transaction, workspace_id: UUID, found: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Triggers with the state of their polls."""
    ids = [one["id"] for one in found if one["type"] in POLL_TYPES]
    states = await read_poll_states(tx, workspace_id, ids) if ids else {}
    pushes = await list_trigger_pushes(tx, workspace_id, ids) if ids else {}
    return [
        {**one, "poll": _describe_poll_state(states.get(one["id"]), pushes.get(one["id"]))}
        for one in found
    ]


def _describe_poll_state(
    state: Mapping[str, Any] | None, push: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    if state is None:
        return None
    shown = {name: state[name] for name in PollShape.model_fields if name != "push"}
    shown["push"] = push and {name: push[name] for name in TriggerPushShape.model_fields}
    # The database reads the value infinity as the last moment of the calendar.
    if shown["next_look_at"] is not None and shown["next_look_at"].year >= _OFF_YEAR:
        shown["next_look_at"] = None
    return shown


def _page(rows: Sequence[Mapping[str, Any]], limit: int) -> dict[str, Any]:
    shown = rows[:limit]
    return {
        "items": [{name: row[name] for name in row if name != "key"} for row in shown],
        "next": _format_cursor(shown[-1]["key"]) if len(rows) > limit else None,
    }


def _fire_url(services: ApplicationServices, automation_id: UUID) -> str:
    return f"{services.settings.address}{PREFIX}/automations/{automation_id}/fire"


def _form_url(services: ApplicationServices, token: str | None) -> str | None:
    return None if token is None else f"{services.settings.address}/forms/{token}"


def _next_fires(found: Mapping[str, Any], now: datetime) -> list[datetime]:
    """The next fire times of a schedule; an invalid config has none."""
    if found["type"] != "schedule":
        return []
    try:
        read = read_schedule(found["config"], found["id"])
    except Invalid:
        return []
    return read.schedule.next_fire_times(now, _FIRES)


def _describe_trigger(services: ApplicationServices, found: Mapping[str, Any]) -> dict[str, Any]:
    shown = {name: found[name] for name in TriggerShape.model_fields if name in found}
    webhook = found["type"] == "webhook"
    hint = found["secret_hint"] if webhook else None
    fire = _fire_url(services, found["automation_id"]) if webhook else ""
    signed = webhook and any(list_webhook_secrets(found["config"]))
    return {
        **shown,
        "next_fires": _next_fires(found, services.clock.now()),
        "token": {"hint": hint, "made_at": found["secret_made_at"]} if hint else None,
        "form_url": _form_url(services, found["link_token"]),
        "url": fire if webhook and accepts_token(found["config"]) else None,
        "signed_url": f"{fire.removesuffix('/fire')}/hooks/{found['slug']}" if signed else None,
    }
