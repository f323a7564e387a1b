"""The inbox: messages for members, and drafts that wait for approval."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from mainspring.contracts.roles import Permission
from mainspring.gate.drafts import DraftStatus, list_drafts, read_draft
from mainspring.surfaces.rest.auth import SignedIn
from mainspring.surfaces.rest.automation_shapes import MarkedShape, MessageShape
from mainspring.surfaces.rest.capability_routes import CapabilityRoute, add_faces
from mainspring.surfaces.rest.paging import PAGE, Cursor, Limit, Page, page
from mainspring.surfaces.rest.request_bodies import Body, JsonAnswer, may_take, read_optional
from mainspring.surfaces.rest.route_access import needs
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices
from mainspring.workspace.inbox import list_notifications, mark_all_read, mark_read


class ReadAll(Body):
    """How far somebody has read."""

    up_to: UUID | None = Field(None, description="The newest message that was seen. Default: all.")


class DraftShape(BaseModel):
    """An outside write that was held, and what became of it."""

    model_config = ConfigDict(extra="forbid")

    id: UUID
    status: DraftStatus = Field(description="Expired: its time was over before anybody agreed.")
    capability: str
    preview: str = Field(description="One sentence about the effect.")
    arguments: dict[str, Any] = Field(description="With secrets by name, and nothing hidden shown.")
    run_id: UUID | None = Field(description="The run that asked for it, if it was one.")
    step: str | None
    item: str
    actor_kind: Literal["member", "client", "run"]
    actor_id: UUID | None
    created_at: datetime
    expires_at: datetime
    automation_id: UUID | None = Field(description="The automation of that run.")
    automation: str | None = Field(description="Its name.")
    outcome: Literal["sent", "not_sent", "unknown"] | None = Field(
        description="Unknown: it may have left all the same, and is not sent again."
    )
    answered_kind: Literal["member", "client", "run", "rule", "step"] | None = Field(
        description="Who confirmed or discarded it; rule: an accepted standing rule; "
        "step: its step's approval is automatic."
    )
    answered_by: UUID | None
    answered_at: datetime | None
    reason: str | None = Field(description="Why it was discarded, if a reason was given.")
    result: Any = Field(description="Result of the capability.")
    error: dict[str, Any] | None = Field(description="Why it failed.")
    revision: int = Field(description="More than 1: it was edited after it was made.")
    hash: str | None = Field(description="Of all that is shown here; it is confirmed with this.")
    approved_hash: str | None = Field(description="Of the approved text.")
    approvals: int = Field(description="How many people have agreed to this wording.")
    batch_id: UUID | None = Field(description="Same for the drafts of one turn.")
    notify: list[str] = Field(description="Where people are notified.")
    source: str | None = Field(description="The integration, if any.")
    action: str
    redraft_of: UUID | None = Field(description="The draft it copies.")
    awaited: bool = Field(description="Its run waits for the answer and goes on after it.")
    account: str | None = Field(description="The account that it leaves over, if it does so.")
    family: str = Field(description="What it is like where it arrives, such as email; or empty.")
    within: str = Field(description="The argument whose fields may be edited; empty: all of them.")
    editable: list[str] = Field(description="The fields that a person may still change.")


FACES: Final = (
    CapabilityRoute("POST", "/drafts/{draft_id}/confirm", "confirm_action"),
    CapabilityRoute("POST", "/drafts/{draft_id}/edit", "edit_action"),
    CapabilityRoute("POST", "/drafts/{draft_id}/discard", "discard_action"),
    CapabilityRoute("POST", "/drafts/{draft_id}/redraft", "redraft_action"),
    CapabilityRoute("POST", "/drafts/confirm", "confirm_actions"),
    CapabilityRoute("POST", "/drafts/discard", "discard_actions"),
    CapabilityRoute("POST", "/inbox/{id}/ack", "ack_inbox_action"),
    CapabilityRoute("GET", "/approval-policy", "get_approval_policy"),
    CapabilityRoute("PUT", "/approval-policy", "set_approval_policy"),
)


def routes(services: ApplicationServices) -> APIRouter:
    made = router("inbox")
    _messages(made)
    _drafts(made, services)
    add_faces(made, services, FACES)
    return made


def _messages(made: APIRouter) -> None:
    @made.get(
        "/inbox", summary="List messages, the newest first", response_model=Page[MessageShape]
    )
    @needs(Permission.READ)
    async def get_inbox(
        caller: SignedIn,
        unread: Annotated[bool, Query(description="Only unread messages.")] = False,
        cursor: Cursor = None,
        limit: Limit = PAGE,
    ) -> JsonAnswer:
        async with caller.database.acquire() as connection:
            rows = await list_notifications(
                connection, caller.workspace_id, limit + 1, after=cursor, unread=unread
            )
        return JsonAnswer(page(rows, limit))

    @made.post(
        "/inbox/read-all",
        summary="Mark every message as read",
        response_model=MarkedShape,
        openapi_extra=may_take(ReadAll),
    )
    @needs(Permission.DECIDE)
    async def read_all_messages(request: Request, caller: SignedIn) -> JsonAnswer:
        body = await read_optional(request, ReadAll)
        # A batch of rows may conflict with a concurrent writer of two of them.
        marked = await caller.database.run_retrying(
            lambda connection: mark_all_read(connection, caller.workspace_id, body.up_to)
        )
        return JsonAnswer({"marked": marked})

    @made.post(
        "/inbox/{notification_id}/read",
        summary="Mark a message as read",
        response_model=MessageShape,
    )
    @needs(Permission.DECIDE)
    async def read_message(notification_id: UUID, caller: SignedIn) -> JsonAnswer:
        async with caller.database.transaction() as tx:
            return JsonAnswer(await mark_read(tx, caller.workspace_id, notification_id))


def _drafts(made: APIRouter, services: ApplicationServices) -> None:
    @made.get(
        "/drafts",
        summary="List outside writes that were held, the newest first",
        response_model=Page[DraftShape],
    )
    @needs(Permission.READ)
    async def get_drafts(
        caller: SignedIn,
        status: Annotated[
            DraftStatus | None, Query(description="Only drafts in this status.")
        ] = None,
        cursor: Cursor = None,
        limit: Limit = PAGE,
    ) -> JsonAnswer:
        words = await services.registry.of(caller.workspace_id)
        async with caller.database.acquire() as connection:
            rows = await list_drafts(
                connection,
                caller.workspace_id,
                words,
                status=status,
                after=cursor,
                most=limit + 1,
                reader=caller.actor,
            )
        return JsonAnswer(page(rows, limit))

    @made.get("/drafts/{draft_id}", summary="Read a draft", response_model=DraftShape)
    @needs(Permission.READ)
    async def get_draft(draft_id: UUID, caller: SignedIn) -> JsonAnswer:
        words = await services.registry.of(caller.workspace_id)
        async with caller.database.acquire() as connection:
            return JsonAnswer(
                await read_draft(connection, caller.workspace_id, words, draft_id, caller.actor)
            )
