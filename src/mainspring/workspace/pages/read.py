"""Reading pages: one page, lists by arrival time, events by start time."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Finding, Invalid, NotFound
from mainspring.workspace.pages.content import format_page, parse_event_time

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

TIMELINE_SHOWN: Final = 20
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_COLUMNS = """
    id, slug, type, title, source_ref, source, created_at, updated_at, ingested_at
"""
_ONE = f"""
    SELECT {_COLUMNS}, head, body, frontmatter, provenance, content_hash, created_by, run_id,
        deleted_at
    FROM pages
    WHERE workspace_id = $1
"""
_BY_SLUG = f"{_ONE} AND slug = $2"
_BY_ID = f"{_ONE} AND id = $2"
_HELD = " FOR UPDATE"
_LIST = f"""
    SELECT {_COLUMNS} FROM pages
    WHERE workspace_id = $1 AND deleted_at IS NULL
      AND ($2::text IS NULL OR type = $2)
      AND ($3::timestamptz IS NULL OR ingested_at > $3)
      AND ($4::timestamptz IS NULL OR ingested_at < $4)
      AND ($5::timestamptz IS NULL OR (ingested_at, id) < ($5, $6::uuid))
    ORDER BY ingested_at DESC, id DESC
    LIMIT $7
"""
_EVENTS = f"""
    SELECT {_COLUMNS}, event_start, event_end, frontmatter FROM pages
    WHERE workspace_id = $1 AND deleted_at IS NULL AND event_start IS NOT NULL
      AND event_start < $3 AND coalesce(event_end, event_start) >= $2
      AND ($4::timestamptz IS NULL OR (event_start, id) > ($4, $5::uuid))
    ORDER BY event_start, id
    LIMIT $6
"""
_TIMELINE = """
    SELECT id, at, action, actor_kind, actor_id, run_id, detail FROM page_timeline
    WHERE workspace_id = $1 AND page_id = $2 AND ($3::uuid IS NULL OR id < $3)
    ORDER BY id DESC
    LIMIT $4
"""


async def find_page(
    tx: Transaction,
    workspace_id: UUID,
    arguments: Mapping[str, Any],
    *,
    deleted: bool = False,
    hold: bool = False,
) -> Mapping[str, Any]:
    """Find a page by slug or id; deleted ones only on request.

    Callers that change it lock it, so that they see its current content.
    """
    row = None
    held = _HELD if hold else ""
    if "slug" in arguments:
        row = await tx.fetchrow(_BY_SLUG + held, workspace_id, arguments["slug"])
    elif (page_id := _parse_id(arguments.get("id"))) is not None:
        row = await tx.fetchrow(_BY_ID + held, workspace_id, page_id)
    if row is None or (row["deleted_at"] is not None and not deleted):
        raise NotFound("There is no such page.", code="no_page")
    return dict(row)


def _parse_id(text: Any) -> UUID | None:
    try:
        return UUID(str(text))
    except ValueError:
        return None


async def load_timeline(
    tx: Transaction, workspace_id: UUID, page_id: UUID, most: int, before: UUID | None = None
) -> list[dict[str, Any]]:
    """List a page's timeline, newest first."""
    rows = await tx.fetch(_TIMELINE, workspace_id, page_id, before, most)
    return [
        {
            "id": str(row["id"]),
            "at": row["at"].isoformat(),
            "action": row["action"],
            "actor_kind": row["actor_kind"],
            "actor_id": str(row["actor_id"]),
            "run_id": None if row["run_id"] is None else str(row["run_id"]),
            "detail": row["detail"],
        }
        for row in rows
    ]


async def list_pages(
    tx: Transaction, workspace_id: UUID, arguments: Mapping[str, Any], most: int
) -> tuple[list[dict[str, Any]], str | None]:
    """List pages, latest first, with the cursor of the next page."""
    after, before = (
        parse_moment(arguments, name) if name in arguments else None
        for name in ("ingested_after", "ingested_before")
    )
    place = read_cursor(arguments.get("cursor"))
    rows = await tx.fetch(
        _LIST, workspace_id, arguments.get("type"), after, before, *place, most + 1
    )
    return [summarize_page(row) for row in rows[:most]], _build_next_cursor(
        rows, most, "ingested_at"
    )


async def list_events(
    tx: Transaction, workspace_id: UUID, arguments: Mapping[str, Any], most: int
) -> tuple[list[dict[str, Any]], str | None]:
    """List calendar events between two times, earliest first."""
    start, end = parse_moment(arguments, "start"), parse_moment(arguments, "end")
    if end <= start:
        detail = "The end must be after the start."
        raise Invalid(detail, code="page_times", findings=[Finding("/end", detail, "page_times")])
    place = read_cursor(arguments.get("cursor"))
    rows = await tx.fetch(_EVENTS, workspace_id, start, end, *place, most + 1)
    shown = [
        {
            **summarize_page(row),
            "start": row["event_start"].isoformat(),
            "end": None if row["event_end"] is None else row["event_end"].isoformat(),
            "frontmatter": row["frontmatter"],
        }
        for row in rows[:most]
    ]
    return shown, _build_next_cursor(rows, most, "event_start")


def parse_moment(arguments: Mapping[str, Any], name: str) -> datetime:
    """Parse a time argument; a date alone is midnight UTC."""
    found = parse_event_time(arguments[name])
    if found is None:
        detail = f"{name} must be a date, or a date and time, such as 2026-01-31T09:00:00Z."
        raise Invalid(
            detail, code="page_moment", findings=[Finding(f"/{name}", detail, "page_moment")]
        )
    return found


def summarize_page(row: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a page in lists."""
    return {
        "id": str(row["id"]),
        "slug": row["slug"],
        "type": row["type"],
        "title": row["title"],
        "source_ref": row["source_ref"],
        "source": row["source"],
        "created_at": row["created_at"].isoformat(),
        "updated_at": row["updated_at"].isoformat(),
        "ingested_at": row["ingested_at"].isoformat(),
    }


def describe_page(row: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """All fields of a page."""
    return {
        **summarize_page(row),
        "markdown": format_page(row),
        "body": row["body"],
        "frontmatter": row["frontmatter"],
        "provenance": row["provenance"],
        "content_hash": row["content_hash"].hex(),
        "created_by": str(row["created_by"]),
        "run_id": None if row["run_id"] is None else str(row["run_id"]),
        "timeline": list(entries),
    }


def _build_next_cursor(rows: Sequence[Any], most: int, column: str) -> str | None:
    if len(rows) <= most:
        return None
    last = rows[most - 1]
    micros = (last[column] - _EPOCH) // timedelta(microseconds=1)
    text = f"{micros}/{last['id']}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(cursor: str | None) -> tuple[datetime | None, UUID | None]:
    """Parse the cursor that ``next`` returned."""
    if cursor is None:
        return None, None
    try:
        text = base64.urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)).decode()
        micros, _, last = text.partition("/")
        return _EPOCH + timedelta(microseconds=int(micros)), UUID(last)
    except (ValueError, OverflowError, binascii.Error):
        detail = "This cursor is not from this list."
        raise Invalid(
            detail, code="page_cursor", findings=[Finding("/cursor", detail, "page_cursor")]
        ) from None
