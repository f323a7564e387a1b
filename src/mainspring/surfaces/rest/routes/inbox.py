"""The inbox: messages for the people of a workspace."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request
from pydantic import Field

from mainspring.contracts.roles import Permission
from mainspring.surfaces.rest.answers import Answer
from mainspring.surfaces.rest.automation_shapes import MarkedShape, MessageShape
from mainspring.surfaces.rest.bodies import Body
from mainspring.surfaces.rest.door import SignedIn
from mainspring.surfaces.rest.ground import router
from mainspring.surfaces.rest.marks import needs
from mainspring.surfaces.rest.optional_bodies import may_take, read_optional
from mainspring.surfaces.rest.paging import PAGE, Cursor, Limit, Page, page
from mainspring.surfaces.rooms import Rooms
from mainspring.workspace.inbox import mark_all_read, mark_read, notifications


class ReadAll(Body):
    """How far somebody has read."""

    up_to: UUID | None = Field(
        None, description="The newest message that was seen; left out: all there are."
    )


def routes(rooms: Rooms) -> APIRouter:
    made = router("inbox")

    @made.get(
        "/inbox", summary="List messages, the newest first", response_model=Page[MessageShape]
    )
    @needs(Permission.READ)
    async def get_inbox(
        caller: SignedIn,
        unread: Annotated[bool, Query(description="Only what nobody has read.")] = False,
        cursor: Cursor = None,
        limit: Limit = PAGE,
    ) -> Answer:
        async with caller.database.acquire() as connection:
            rows = await notifications(
                connection, caller.workspace_id, limit + 1, after=cursor, unread=unread
            )
        return Answer(page(rows, limit))

    @made.post(
        "/inbox/read-all",
        summary="Mark every message as read",
        response_model=MarkedShape,
        openapi_extra=may_take(ReadAll),
    )
    @needs(Permission.DECIDE)
    async def read_all_messages(request: Request, caller: SignedIn) -> Answer:
        asked = await read_optional(request, ReadAll)
        # So many rows at once may stand in the way of somebody who writes two of them.
        marked = await caller.database.run_retrying(
            lambda connection: mark_all_read(connection, caller.workspace_id, asked.up_to)
        )
        return Answer({"marked": marked})

    @made.post(
        "/inbox/{notification_id}/read",
        summary="Mark a message as read",
        response_model=MessageShape,
    )
    @needs(Permission.DECIDE)
    async def read_message(notification_id: UUID, caller: SignedIn) -> Answer:
        async with caller.database.transaction() as tx:
            return Answer(await mark_read(tx, caller.workspace_id, notification_id))

    return made
