"""Writing one portion: pages, events and problems, all in the caller's transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import orjson

from mainspring.connections.ingestion.items import (
    IngestionOrigin,
    build_event_payload,
    shorten_ref,
    sort_items,
)
from mainspring.contracts.event import LONGEST_SOURCE, EventRow
from mainspring.contracts.ids import generate_id
from mainspring.contracts.integration import Item, UnreadableItem
from mainspring.contracts.limits import Limits
from mainspring.store.events import append_events
from mainspring.workspace.pages.content import PageDraft
from mainspring.workspace.pages.writer import PageWriter, WriteResult, ingest_all

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


# Things that could not be read or kept, each with its problem, until they could.

_RECORD = """
    INSERT INTO ingest_problems (workspace_id, integration, source_ref, connection_id, problem)
    SELECT $1, $2, p.source_ref, $3, p.problem::json
    FROM unnest($4::text[], $5::text[]) AS p(source_ref, problem)
    ON CONFLICT (workspace_id, integration, source_ref) DO UPDATE
    SET problem = EXCLUDED.problem, connection_id = EXCLUDED.connection_id,
        times = ingest_problems.times + 1, last_at = now()
"""
_FORGET = """
    DELETE FROM ingest_problems
    WHERE workspace_id = $1 AND integration = $2 AND source_ref = ANY($3::text[])
"""
_LIST = """
    SELECT integration, source_ref, problem, times, first_at, last_at FROM ingest_problems
    WHERE workspace_id = $1 AND ($2::text IS NULL OR integration = $2)
    ORDER BY last_at DESC, source_ref LIMIT $3
"""


async def record_problems(
    tx: Transaction,
    workspace_id: UUID,
    integration: str,
    connection_id: UUID | None,
    broken: Sequence[UnreadableItem],
) -> None:
    """Keeps each with its problem; one that is known is counted again."""
    if broken:
        refs = [one.source_ref for one in broken]
        problems = [orjson.dumps(one.problem.as_dict()).decode() for one in broken]
        await tx.execute(_RECORD, workspace_id, integration, connection_id, refs, problems)


async def forget_problems(
    tx: Transaction, workspace_id: UUID, integration: str, refs: Sequence[str]
) -> None:
    """These could be read now."""
    if refs:
        await tx.execute(_FORGET, workspace_id, integration, list(refs))


async def list_problems(
    tx: Transaction, workspace_id: UUID, integration: str | None, most: int
) -> list[dict[str, Any]]:
    """The latest first."""
    rows = await tx.fetch(_LIST, workspace_id, integration, most)
    return [
        {
            **dict(row),
            "first_at": row["first_at"].isoformat(),
            "last_at": row["last_at"].isoformat(),
        }
        for row in rows
    ]


_WRITTEN: Final = frozenset({"created", "updated"})
# Where a page keeps by what its last news is known.
NEWS: Final = "news"
_NEWS = """
    SELECT source_ref, provenance ->> 'news' AS news FROM pages
    WHERE workspace_id = $1 AND source_ref = ANY($2::text[]) AND provenance ? 'news'
"""
_BODIES = """
    SELECT source_ref, body FROM pages
    WHERE workspace_id = $1 AND source_ref = ANY($2::text[])
"""


@dataclass(frozen=True, slots=True)
class IngestedBatch:
    """What became of a portion."""

    pages: tuple[WriteResult, ...] = ()
    broken: tuple[UnreadableItem, ...] = ()

    @property
    def written(self) -> tuple[WriteResult, ...]:
        """The pages that are new or say something new."""
        return tuple(one for one in self.pages if one.became in _WRITTEN)


async def ingest_items(
    tx: Transaction,
    found: Iterable[Item | UnreadableItem],
    origin: IngestionOrigin,
    by: PageWriter,
    limits: Limits,
    *,
    tells_bare: bool = False,
) -> IngestedBatch:
    """Keeps every item as its page and tells of those that are new, once.

    The same again writes nothing. One that cannot be read or kept is recorded with its problem.
    What makes no page is told only to one who keeps the place that has passed it.
    """
    sorted_out = sort_items(found, origin, limits)
    before = await _news_before(tx, sorted_out.items, by) if origin.events else {}
    bodies = await _bodies(tx, sorted_out.items, by)
    pages = [
        _with_body(_with_news(page, item, before), bodies)
        for item, page in zip(sorted_out.items, sorted_out.pages, strict=True)
    ]
    kept = await ingest_all(tx, pages, by)
    told = _events(sorted_out.items, kept, before, origin, by)
    if tells_bare:
        told += [_event(one, "", origin, by) for one in sorted_out.bare if one.event]
    await append_events(tx, told)
    space = by.workspace_id
    await record_problems(tx, space, origin.integration, origin.connection_id, sorted_out.broken)
    readable = [shorten_ref(item.source_ref) for item in sorted_out.items]
    await forget_problems(tx, space, origin.integration, readable)
    return IngestedBatch(tuple(kept), sorted_out.broken)


async def _news_before(tx: Transaction, items: Sequence[Item], by: PageWriter) -> dict[str, str]:
    """The last news that was told of each page which tells of several."""
    refs = [one.source_ref for one in items]
    rows = await tx.fetch(_NEWS, by.workspace_id, refs) if refs else []
    return {row["source_ref"]: row["news"] for row in rows}


def _with_news(page: PageDraft, item: Item, before: Mapping[str, str]) -> PageDraft:
    """A page that remembers which news was told of it last."""
    news = item.news or before.get(item.source_ref)
    return replace(page, provenance={**page.provenance, NEWS: news}) if news else page


async def _bodies(tx: Transaction, items: Sequence[Item], by: PageWriter) -> dict[str, str]:
    """The texts of pages that are there, of which only what is told of them was read."""
    refs = [one.source_ref for one in items if one.keeps_body]
    rows = await tx.fetch(_BODIES, by.workspace_id, refs) if refs else []
    return {row["source_ref"]: row["body"] for row in rows}


def _with_body(page: PageDraft, bodies: Mapping[str, str]) -> PageDraft:
    known = bodies.get(str(page.source_ref))
    return page if known is None else replace(page, body=known)


def _events(
    items: Sequence[Item],
    kept: Sequence[WriteResult],
    before: Mapping[str, str],
    origin: IngestionOrigin,
    by: PageWriter,
) -> list[EventRow]:
    return [
        _event(item, page.slug, origin, by)
        for item, page in zip(items, kept, strict=True)
        if item.event is not None and _is_announced(item, page, before)
    ]


def _is_announced(item: Item, page: WriteResult, before: Mapping[str, str]) -> bool:
    if page.became == "created":
        return True
    known = item.news is None or before.get(item.source_ref) == item.news
    return page.became == "updated" and not known


def _event(item: Item, slug: str, origin: IngestionOrigin, by: PageWriter) -> EventRow:
    payload = orjson.dumps(build_event_payload(item, slug, origin)).decode()
    source = item.source_ref[:LONGEST_SOURCE]
    return EventRow(by.workspace_id, generate_id(), str(item.event), source, payload, by.run_id)
