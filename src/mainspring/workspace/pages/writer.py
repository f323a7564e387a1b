"""Writing pages: one per slug and source, with a timeline and an event.

A writer locks the slugs it writes until its transaction ends, so of several concurrent writers one
creates the page and the others update it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

import orjson

from mainspring.contracts.errors import Conflict, Finding
from mainspring.contracts.event import EventRow, EventType
from mainspring.contracts.ids import generate_id
from mainspring.store.events import append_events
from mainspring.workspace.pages.content import (
    RESERVED,
    PageDraft,
    build_slug,
    build_source_slug,
    is_same_title,
    list_numbered_slugs,
    read_event_times,
)

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext, Transaction


# The event of a page that arrived or changed.

_PAYLOAD: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["page_id", "slug", "type", "title", "source_ref", "source", "created"],
    "properties": {
        "page_id": {"type": "string", "format": "uuid"},
        "slug": {"type": "string"},
        "type": {"type": "string"},
        "title": {"type": "string"},
        "source_ref": {"type": ["string", "null"]},
        "source": {
            "type": "string",
            "description": "Who brought it: member, client, automation or an integration.",
        },
        "created": {"type": "boolean", "description": "False: it existed and was ingested again."},
        "ingested_at": {"type": "string", "format": "date-time"},
        "automation_id": {"type": "string", "format": "uuid"},
    },
}

PAGE_INGESTED: Final = EventType(
    "page.ingested", "A page was ingested, or ingested again.", _PAYLOAD
)
EVENTS: Final = (PAGE_INGESTED,)


WriteStatus = Literal["created", "updated", "ingested_again", "unchanged"]

# The same content of a page counts as one arrival within this window.
SAME_FOR: Final = timedelta(hours=24)

_LOCK = """
    SELECT pg_advisory_xact_lock(named) FROM (
        SELECT DISTINCT hashtextextended(name, 0) AS named FROM unnest($1::text[]) AS name
        ORDER BY named
    ) AS locks
"""
_FIND = """
    SELECT id, slug, type, title, source_ref, content_hash, deleted_at,
        ingested_at > now() - $4::interval AS fresh
    FROM pages
    WHERE workspace_id = $1 AND (slug = ANY($2::text[]) OR source_ref = $3)
    FOR UPDATE
"""
_TAKEN = "SELECT slug FROM pages WHERE workspace_id = $1 AND slug = ANY($2::text[])"
_ADD = """
    INSERT INTO pages (workspace_id, id, slug, type, title, head, body, frontmatter, source_ref,
        source, provenance, content_hash, event_start, event_end, created_by, run_id)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
    RETURNING ingested_at
"""
_CHANGE = """
    UPDATE pages SET type = $3, title = $4, head = $5, body = $6, frontmatter = $7,
        content_hash = $8, event_start = $9, event_end = $10, updated_at = now(),
        embedded_by = NULL, deleted_at = NULL
    WHERE workspace_id = $1 AND id = $2
"""
_ARRIVE = """
    UPDATE pages SET ingested_at = now(), deleted_at = NULL, provenance = $3,
        source_ref = coalesce(source_ref, $4)
    WHERE workspace_id = $1 AND id = $2
    RETURNING ingested_at
"""
_NOTE = """
    INSERT INTO page_timeline (workspace_id, page_id, id, action, actor_kind, actor_id, run_id,
        detail)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
"""
_DELETE = """
    UPDATE pages SET deleted_at = now()
    WHERE workspace_id = $1 AND id = $2 AND deleted_at IS NULL RETURNING id
"""
_RESTORE = """
    UPDATE pages SET deleted_at = NULL
    WHERE workspace_id = $1 AND id = $2 AND deleted_at IS NOT NULL RETURNING id
"""


@dataclass(frozen=True, slots=True)
class PageWriter:
    """The author of a write, as recorded in the timeline."""

    workspace_id: UUID
    kind: str
    id: UUID
    # The origin: member, client, automation, or an integration's name.
    source: str
    run_id: UUID | None = None
    automation_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The result of a write."""

    id: UUID
    slug: str
    became: WriteStatus


def get_page_writer(ctx: CallContext) -> PageWriter:
    """The writer for the caller of a capability."""
    actor, run = ctx.actor, ctx.run
    if run is None:
        return PageWriter(actor.workspace_id, actor.kind, actor.id, actor.kind)
    return PageWriter(
        actor.workspace_id, actor.kind, actor.id, "automation", run.id, run.automation_id
    )


async def write_page(tx: Transaction, page: PageDraft, by: PageWriter) -> WriteResult:
    """Write a page for a person or a run; a deleted page is restored by it."""
    found = await _find(tx, page, by)
    if found is not None and found["type"] in RESERVED:
        raise _page_conflict_error(
            "/slug", f"The page {found['slug']} was brought in by an integration."
        )
    return await _keep(tx, page, by, found)


async def ingest(tx: Transaction, page: PageDraft, by: PageWriter) -> WriteResult:
    """Import a page of any type, in the integration's transaction.

    A page that a person deleted stays deleted, however often its source sends it.
    """
    found = await _find(tx, page, by)
    if found is not None and found["deleted_at"] is not None:
        return WriteResult(found["id"], found["slug"], "unchanged")
    return await _keep(tx, page, by, found)


async def _find(tx: Transaction, page: PageDraft, by: PageWriter) -> Mapping[str, Any] | None:
    """Find and lock the page with this slug or source."""
    slugs = _list_candidate_slugs(page)
    names = [f"pages/{by.workspace_id}/{slug}" for slug in slugs]
    if page.source_ref is not None:
        names.append(f"pages/{by.workspace_id}//{page.source_ref}")
    await tx.fetch(_LOCK, names)
    rows = await tx.fetch(_FIND, by.workspace_id, slugs, page.source_ref, SAME_FOR)
    return _select_existing(rows, page)


def _list_candidate_slugs(page: PageDraft) -> list[str]:
    """List the possible slugs, best first. A given slug is the only one."""
    if page.named:
        return [page.slug]
    if page.source_ref is not None:
        return [page.slug, build_source_slug(page.slug, page.source_ref)]
    return [page.slug, *list_numbered_slugs(page.slug, page.title)]


def _select_existing(rows: list[Any], page: PageDraft) -> Mapping[str, Any] | None:
    same_source = None
    if page.source_ref is not None:
        same_source = next((row for row in rows if row["source_ref"] == page.source_ref), None)
    if same_source is not None:
        if page.named and same_source["slug"] != page.slug:
            raise _page_conflict_error(
                "/source_ref", f"The page {same_source['slug']} was made from this source already."
            )
        return dict(same_source)
    there = {row["slug"]: row for row in rows}
    own = (
        there[slug]
        for slug in _list_candidate_slugs(page)
        if slug in there and _is_for(there[slug], page)
    )
    return next(map(dict, own), None)


def _is_for(row: Any, page: PageDraft) -> bool:
    """Report whether a page with the slug is the one being written."""
    elsewhere = page.source_ref is not None and row["source_ref"] is not None
    if page.named and elsewhere:
        raise _page_conflict_error("/slug", f"The page {page.slug} was made from another source.")
    # A slug built from a title is less specific than the title.
    return page.named or (not elsewhere and is_same_title(row["title"], page.title))


def _page_conflict_error(pointer: str, detail: str) -> Conflict:
    way_out = "Choose another slug."
    return Conflict(
        detail,
        code="page_taken",
        suggestion=way_out,
        findings=[Finding(pointer, detail, "page_taken", way_out)],
    )


async def _keep(
    tx: Transaction, page: PageDraft, by: PageWriter, found: Mapping[str, Any] | None
) -> WriteResult:
    if found is None:
        return await _create(tx, page, by)
    became: WriteStatus = "updated"
    if found["content_hash"] == page.hash and found["deleted_at"] is None:
        became = "unchanged" if found["fresh"] else "ingested_again"
    kept = WriteResult(found["id"], found["slug"], became)
    if became == "unchanged":
        return kept
    if became == "updated":
        await change(tx, kept.id, page, by)
    row = await tx.fetchrow(
        _ARRIVE, by.workspace_id, kept.id, build_provenance(page, by), page.source_ref
    )
    if found["deleted_at"] is not None:
        await note(tx, kept.id, "restored", by)
    await note(tx, kept.id, became, by, {"bytes": len(page.body.encode())})
    await _tell(tx, kept, page, by, row["ingested_at"])
    return kept


async def _create(tx: Transaction, page: PageDraft, by: PageWriter) -> WriteResult:
    slugs = _list_candidate_slugs(page)
    taken = {row["slug"] for row in await tx.fetch(_TAKEN, by.workspace_id, slugs)}
    free = next((slug for slug in slugs if slug not in taken), None)
    if free is None:
        raise _page_conflict_error("/slug", f"There is another page called {page.slug}.")
    page = replace(page, slug=free)
    kept = WriteResult(generate_id(), page.slug, "created")
    row = await tx.fetchrow(
        _ADD,
        by.workspace_id,
        kept.id,
        page.slug,
        page.type,
        page.title,
        page.head,
        page.body,
        dict(page.frontmatter),
        page.source_ref,
        by.source,
        build_provenance(page, by),
        page.hash,
        *read_event_times(page.frontmatter if page.type == "calendar_event" else {}),
        by.id,
        by.run_id,
    )
    await note(tx, kept.id, "created", by, {"bytes": len(page.body.encode())})
    await _tell(tx, kept, page, by, row["ingested_at"])
    return kept


def build_provenance(page: PageDraft, by: PageWriter) -> dict[str, Any]:
    """Combine the given provenance with what is known about the writer."""
    known = {"source": by.source, f"{by.kind}_id": str(by.id)}
    if by.automation_id is not None:
        known["automation_id"] = str(by.automation_id)
    return {**page.provenance, **known}


async def change(tx: Transaction, page_id: UUID, page: PageDraft, by: PageWriter) -> None:
    """Replace the content."""
    times = read_event_times(page.frontmatter if page.type == "calendar_event" else {})
    await tx.execute(
        _CHANGE,
        by.workspace_id,
        page_id,
        page.type,
        page.title,
        page.head,
        page.body,
        dict(page.frontmatter),
        page.hash,
        *times,
    )


async def delete(tx: Transaction, page_id: UUID, by: PageWriter) -> bool:
    """Soft-delete a page: hidden from lists and search, restorable."""
    if await tx.fetchrow(_DELETE, by.workspace_id, page_id) is None:
        return False
    await note(tx, page_id, "deleted", by)
    return True


async def restore(tx: Transaction, page_id: UUID, by: PageWriter) -> bool:
    """Restore a deleted page."""
    if await tx.fetchrow(_RESTORE, by.workspace_id, page_id) is None:
        return False
    await note(tx, page_id, "restored", by)
    return True


async def note(
    tx: Transaction,
    page_id: UUID,
    action: str,
    by: PageWriter,
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Add an entry to a page's timeline."""
    await tx.execute(
        _NOTE,
        by.workspace_id,
        page_id,
        generate_id(),
        action,
        by.kind,
        by.id,
        by.run_id,
        dict(detail or {}),
    )


async def _tell(
    tx: Transaction, kept: WriteResult, page: PageDraft, by: PageWriter, at: datetime
) -> None:
    await append_events(tx, [build_page_event(kept, page, by, at)])


def build_page_event(kept: WriteResult, page: PageDraft, by: PageWriter, at: datetime) -> EventRow:
    """Build the event of a page that arrived."""
    payload: dict[str, Any] = {
        "page_id": str(kept.id),
        "slug": kept.slug,
        "type": page.type,
        "title": page.title,
        "source_ref": page.source_ref,
        "source": by.source,
        "created": kept.became == "created",
        "ingested_at": at.isoformat(),
    }
    if by.automation_id is not None:
        payload["automation_id"] = str(by.automation_id)
    text = orjson.dumps(payload).decode()
    return EventRow(
        by.workspace_id, generate_id(), PAGE_INGESTED.type, str(kept.id), text, by.run_id
    )


# Bulk import from integrations.

# Bulk imports into one workspace are serialized.
_TURN = "SELECT pg_advisory_xact_lock(hashtextextended('pages come in ' || $1, 0))"
_KNOWN = """
    SELECT id, slug, source_ref, content_hash, deleted_at IS NOT NULL AS deleted
    FROM pages WHERE workspace_id = $1 AND source_ref = ANY($2::text[])
"""
_ADD_MANY = """
    INSERT INTO pages (workspace_id, id, slug, type, title, body, frontmatter, source_ref, source,
        provenance, content_hash, event_start, event_end, created_by, run_id)
    SELECT $1, p.id, p.slug, p.type, p.title, p.body, p.frontmatter::jsonb, p.source_ref, $2,
        p.provenance::jsonb, p.content_hash, p.event_start, p.event_end, $3, $4
    FROM unnest($5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
        $11::text[], $12::text[], $13::bytea[], $14::timestamptz[], $15::timestamptz[])
        AS p(id, slug, type, title, body, frontmatter, source_ref, provenance, content_hash,
            event_start, event_end)
    ON CONFLICT DO NOTHING
    RETURNING id, ingested_at
"""
_NOTE_MANY = """
    INSERT INTO page_timeline (workspace_id, page_id, id, action, actor_kind, actor_id, run_id,
        detail)
    SELECT $1, n.page_id, n.id, 'created', $2, $3, $4, jsonb_build_object('bytes', n.bytes)
    FROM unnest($5::uuid[], $6::uuid[], $7::int[]) AS n(page_id, id, bytes)
"""
_NOTHING: Final[Mapping[str, Any]] = {}


def build_ingested_slug(title: str, source_ref: str) -> str:
    """Build the slug of an imported page, which cannot collide with a person's page."""
    return build_source_slug(build_slug(title), source_ref)


async def ingest_all(
    tx: Transaction, pages: Sequence[PageDraft], by: PageWriter
) -> list[WriteResult]:
    """Import pages in the integration's transaction; return each result, in order.

    Each has a source_ref; of duplicates the last is kept.
    """
    wanted = {page.source_ref: page for page in pages if page.source_ref is not None}
    known = await _load_known_pages(tx, list(wanted), by)
    became = {
        ref: kept
        for ref, page in wanted.items()
        if (kept := _match_unchanged(page, known.get(ref)))
    }
    if len(became) < len(wanted):
        await tx.execute(_TURN, str(by.workspace_id))
        new = [page for ref, page in wanted.items() if ref not in known]
        became |= await _add_pages(tx, new, by)
        for ref, page in wanted.items():
            if ref not in became:
                became[ref] = await ingest(tx, page, by)
    return [became[page.source_ref] for page in pages if page.source_ref is not None]


async def _load_known_pages(
    tx: Transaction, refs: Sequence[str], by: PageWriter
) -> dict[str, Mapping[str, Any]]:
    rows = await tx.fetch(_KNOWN, by.workspace_id, list(refs)) if refs else []
    return {row["source_ref"]: dict(row) for row in rows}


def _match_unchanged(page: PageDraft, row: Mapping[str, Any] | None) -> WriteResult | None:
    """Match a stored page that needs no write: unchanged, or deleted by a person."""
    if row is None or not (row["deleted"] or row["content_hash"] == page.hash):
        return None
    return WriteResult(row["id"], row["slug"], "unchanged")


async def _add_pages(
    tx: Transaction, pages: Sequence[PageDraft], by: PageWriter
) -> dict[str, WriteResult]:
    """Insert new pages with timelines and events, skipping conflicts."""
    if not pages:
        return {}
    made = {generate_id(): page for page in pages}
    columns = zip(*(_build_columns(key, page, by) for key, page in made.items()), strict=True)
    rows = await tx.fetch(
        _ADD_MANY, by.workspace_id, by.source, by.id, by.run_id, *map(list, columns)
    )
    if not rows:
        return {}
    times = {row["id"]: row["ingested_at"] for row in rows}
    kept = {
        key: WriteResult(key, page.slug, "created") for key, page in made.items() if key in times
    }
    await tx.execute(
        _NOTE_MANY,
        by.workspace_id,
        by.kind,
        by.id,
        by.run_id,
        list(kept),
        [generate_id() for _ in kept],
        [len(made[key].body.encode()) for key in kept],
    )
    await append_events(
        tx, [build_page_event(kept[key], made[key], by, times[key]) for key in kept]
    )
    return {str(made[key].source_ref): one for key, one in kept.items()}


def _build_columns(key: UUID, page: PageDraft, by: PageWriter) -> tuple[Any, ...]:
    times = read_event_times(page.frontmatter if page.type == "calendar_event" else _NOTHING)
    return (
        key,
        page.slug,
        page.type,
        page.title,
        page.body,
        orjson.dumps(dict(page.frontmatter)).decode(),
        page.source_ref,
        orjson.dumps(build_provenance(page, by)).decode(),
        page.hash,
        *times,
    )
