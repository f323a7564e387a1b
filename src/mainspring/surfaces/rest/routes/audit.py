"""The audit log: what was done in the workspace and by whom."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.roles import Permission
from mainspring.surfaces.rest.answers import Answer
from mainspring.surfaces.rest.door import SignedIn
from mainspring.surfaces.rest.ground import router
from mainspring.surfaces.rest.marks import needs
from mainspring.surfaces.rest.paging import PAGE, Cursor, Limit, Page, page
from mainspring.surfaces.rooms import Rooms
from mainspring.workspace.audit import Sought, read_audit

# Not every zone has a year 1 or 9999 in UTC, and nothing was done outside of these.
_FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = datetime(9998, 1, 1, tzinfo=UTC)


class AuditEntry(BaseModel):
    """One thing that was done, or refused."""

    model_config = ConfigDict(extra="forbid")

    id: UUID
    at: datetime
    actor_kind: Literal["member", "client", "run", "engine", "stranger"]
    actor_id: UUID | None = Field(description="The member, or the run.")
    actor_name: str | None = Field(description="What a member is called here.")
    token_id: UUID | None = Field(description="The token that was shown, if it was one.")
    action: str = Field(description="An operation or a capability; denied: it was refused.")
    subject: str | None = Field(description="What it was done to.")
    detail: dict[str, Any]


def routes(rooms: Rooms) -> APIRouter:
    del rooms
    made = router("audit")

    @made.get(
        "/audit",
        summary="Read the audit log, the newest first",
        response_model=Page[AuditEntry],
    )
    @needs(Permission.AUDIT)
    async def get_audit(
        caller: SignedIn,
        action: Annotated[
            str | None, Query(description="Only this action.", max_length=200)
        ] = None,
        actor: Annotated[UUID | None, Query(description="Only of this member or run.")] = None,
        since: Annotated[
            datetime | None, Query(description="Only entries of this moment or later.")
        ] = None,
        before: Annotated[
            datetime | None, Query(description="Only entries before this moment.")
        ] = None,
        cursor: Cursor = None,
        limit: Limit = PAGE,
    ) -> Answer:
        sought = Sought(action, actor, _zoned("since", since), _zoned("before", before))
        async with caller.database.acquire() as connection:
            rows = await read_audit(
                connection, caller.workspace_id, sought, after=cursor, most=limit + 1
            )
        return Answer(page(rows, limit))

    return made


def _zoned(name: str, moment: datetime | None) -> datetime | None:
    if moment is not None and moment.tzinfo is None:
        detail = "A moment needs its zone, such as a Z."
        raise Invalid(
            "The query is not one that is read here.",
            findings=[Finding(f"/query/{name}", detail, "date_time")],
        )
    return None if moment is None else min(max(moment, _FIRST), _LAST)
