"""The audit log: actions in the workspace and their actors."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.roles import Permission
from mainspring.gate.callers import describe_direct_call
from mainspring.surfaces.rest.auth import SignedIn
from mainspring.surfaces.rest.paging import PAGE, Cursor, Limit, Page, page
from mainspring.surfaces.rest.request_bodies import JsonAnswer
from mainspring.surfaces.rest.route_access import needs
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices
from mainspring.workspace.audit import AuditQuery, read_audit

# Years 1 and 9999 overflow in some time zones, and no entry is outside of these.
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


class RecordedCallShape(BaseModel):
    """A call that a person or a client made, without a run."""

    model_config = ConfigDict(extra="forbid")

    id: UUID = Field(description="The one that an entry of the audit log has as detail.call.")
    at: datetime
    actor_kind: Literal["member", "client", "run"]
    actor_id: UUID
    token_id: UUID | None
    capability: str
    outcome: str = Field(description="Its result: kept, sent, held, read, denied or failed.")
    arguments: Any = Field(description="With nothing in it that must not be shown.")
    result: Any
    error: dict[str, Any] | None
    cost_usd: Decimal
    ms: int


def routes(services: ApplicationServices) -> APIRouter:
    del services
    made = router("audit")
    _entries(made)
    _calls(made)
    return made


def _calls(made: APIRouter) -> None:
    @made.get(
        "/calls/{call_id}",
        summary="Read the record of a call that no run made, while it is kept",
        response_model=RecordedCallShape,
    )
    @needs(Permission.AUDIT)
    async def get_call(call_id: UUID, caller: SignedIn) -> JsonAnswer:
        async with caller.database.acquire() as connection:
            return JsonAnswer(await describe_direct_call(connection, caller.workspace_id, call_id))


def _entries(made: APIRouter) -> None:
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
            datetime | None, Query(description="Only entries at this time or later.")
        ] = None,
        before: Annotated[
            datetime | None, Query(description="Only entries before this time.")
        ] = None,
        cursor: Cursor = None,
        limit: Limit = PAGE,
    ) -> JsonAnswer:
        sought = AuditQuery(
            action, actor, _check_time_zone("since", since), _check_time_zone("before", before)
        )
        async with caller.database.acquire() as connection:
            rows = await read_audit(
                connection, caller.workspace_id, sought, after=cursor, most=limit + 1
            )
        return JsonAnswer(page(rows, limit))


def _check_time_zone(name: str, timestamp: datetime | None) -> datetime | None:
    if timestamp is not None and timestamp.tzinfo is None:
        detail = "A time needs a zone, such as Z."
        raise Invalid(
            "The query is not one that is read here.",
            findings=[Finding(f"/query/{name}", detail, "date_time")],
        )
    return None if timestamp is None else min(max(timestamp, _FIRST), _LAST)
