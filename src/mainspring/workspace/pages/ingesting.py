"""Pages that come in by the hundred, from an integration.

What is there already and says the same costs one look for all of them and writes nothing. What
is new is written together. Only what has changed, or meets somebody who writes at the same
moment, goes the way of a single page.

A page of an integration never stands for a page that a person wrote, whatever its title says:
its slug holds a mark of where it came from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import orjson

from mainspring.contracts.ids import generate_id
from mainspring.store.events import append_events
from mainspring.workspace.pages.content import PageDraft, read_event_times
from mainspring.workspace.pages.keep import (
    PageWriter,
    WriteResult,
    build_page_event,
    build_provenance,
    ingest,
)
from mainspring.workspace.pages.slugs import build_slug, build_source_slug

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# Of those who bring many pages into one workspace, one writes at a time.
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
    """The slug of a page that came from outside; no page of a person has it by chance."""
    return build_source_slug(build_slug(title), source_ref)


async def ingest_all(
    tx: Transaction, pages: Sequence[PageDraft], by: PageWriter
) -> list[WriteResult]:
    """Keeps what an integration brought, in its transaction; what became of each, in order.

    Each has a source_ref; of several with the same one the last is kept.
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
    """A page that is there and needs nothing: it says the same, or somebody deleted it."""
    if row is None or not (row["deleted"] or row["content_hash"] == page.hash):
        return None
    return WriteResult(row["id"], row["slug"], "unchanged")


async def _add_pages(
    tx: Transaction, pages: Sequence[PageDraft], by: PageWriter
) -> dict[str, WriteResult]:
    """New pages with their timelines and events; those that met somebody are left out."""
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
