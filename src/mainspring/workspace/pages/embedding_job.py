"""Background job that embeds pages with the installation's model.

A new or changed page is queued for embedding and can be found by full text at once. Each vector is
stored with its model's name; changing the model queues every page again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Problem
from mainspring.workspace.pages.search import as_text

if TYPE_CHECKING:
    from mainspring.contracts.embedding import Embedder
    from mainspring.store.database import Connection, Database

log = logging.getLogger(__name__)

BATCH: Final = 16
PIECE: Final = 900
MOST_PIECES: Final = 8
_POLL_SECONDS: Final = 2.0
_AFTER_TROUBLE: Final = 30.0

_OPEN = "SELECT open_page_vectors($1) AS there"
_FORGET_OTHERS = "UPDATE pages SET embedded_by = NULL WHERE embedded_by <> $1"
_WAITING = """
    SELECT workspace_id, id, title, left(body, $2) AS opening, content_hash FROM pages
    WHERE embedded_by IS NULL AND deleted_at IS NULL
    ORDER BY id LIMIT $1
    FOR UPDATE SKIP LOCKED
"""
_CLEAR = """
    DELETE FROM page_vectors v USING unnest($1::uuid[], $2::uuid[]) AS gone(workspace_id, id)
    WHERE v.workspace_id = gone.workspace_id AND v.page_id = gone.id
"""
_ADD = """
    INSERT INTO page_vectors (workspace_id, page_id, piece, model, embedding)
    SELECT workspace_id, page_id, piece, $5, embedding::halfvec
    FROM unnest($1::uuid[], $2::uuid[], $3::smallint[], $4::text[])
        AS made(workspace_id, page_id, piece, embedding)
"""
_DONE = """
    UPDATE pages p SET embedded_by = $3
    FROM unnest($1::uuid[], $2::uuid[]) AS done(workspace_id, id)
    WHERE p.workspace_id = done.workspace_id AND p.id = done.id
"""


class PageEmbeddingJob:
    """Background job that embeds every page."""

    def __init__(self, database: Database, model: Embedder) -> None:
        self._database = database
        self._model = model

    async def run(self, stop: asyncio.Event) -> None:
        """Run until stopped; failures are retried later."""
        opened = False
        while not stop.is_set():
            pause = _POLL_SECONDS
            try:
                opened = opened or await self.open()
                if opened:
                    pause = 0.0 if await self.embed_some() else _POLL_SECONDS
            except Problem as problem:
                log.warning("Pages could not be embedded: %s", problem.detail)
                pause = _AFTER_TROUBLE
            except Exception:
                log.exception("Pages could not be embedded.")
                pause = _AFTER_TROUBLE
            if not opened:
                pause = _AFTER_TROUBLE
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), pause)

    async def open(self) -> bool:
        """Prepare the vector column, and mark vectors of another model for replacement."""
        async with self._database.transaction() as tx:
            row = await tx.fetchrow(_OPEN, self._model.dimensions)
            if row is None or not row["there"]:
                log.warning("This database has no pgvector, so pages are not embedded.")
                return False
            await tx.execute(_FORGET_OTHERS, self._model.name)
        return True

    async def embed_some(self) -> int:
        """Embed the next few pages; return how many there were.

        They are locked meanwhile: a concurrent change waits, and queues its page again.
        """
        async with self._database.transaction() as tx:
            rows = await tx.fetch(_WAITING, BATCH, PIECE * MOST_PIECES)
            if not rows:
                return 0
            # Grouped by workspace, so that the cost of a paid model is booked to the right one.
            rows.sort(key=lambda row: row["workspace_id"])
            for space, own in groupby(rows, key=lambda row: row["workspace_id"]):
                await self._embedded(tx, space, list(own))
        return len(rows)

    async def _embedded(self, tx: Connection, space: UUID, rows: Sequence[Any]) -> None:
        texts = [list(split_page(row["title"], row["opening"])) for row in rows]
        flat = [piece for page in texts for piece in page]
        vectors = await self._model.embed(space, flat)
        await self._keep(tx, rows, [len(page) for page in texts], vectors)

    async def _keep(
        self,
        tx: Connection,
        rows: Sequence[Any],
        counts: Sequence[int],
        vectors: Sequence[Sequence[float]],
    ) -> None:
        places = [
            (row["workspace_id"], row["id"], piece)
            for row, count in zip(rows, counts, strict=True)
            for piece in range(count)
        ]
        spaces, pages = [row["workspace_id"] for row in rows], [row["id"] for row in rows]
        await tx.execute(_CLEAR, spaces, pages)
        await tx.execute(
            _ADD,
            *(list(column) for column in zip(*places, strict=True)),
            [as_text(vector) for vector in vectors],
            self._model.name,
        )
        await tx.execute(_DONE, spaces, pages, self._model.name)


def split_page(title: str, body: str) -> Iterator[str]:
    """Split a page into the parts to embed, each with the title; cut between words."""
    text, made = body.strip(), 0
    while made < MOST_PIECES and (text or not made):
        cut = text[:PIECE]
        if len(text) > PIECE and (space := max(cut.rfind(" "), cut.rfind("\n"))) > PIECE // 2:
            cut = cut[:space]
        yield f"{title}\n{cut}".strip()
        text = text[len(cut) :].lstrip()
        made += 1
