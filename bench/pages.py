"""A question put to 50,000 pages, next to one bare full-text search in the same run.

Run it with the package importable: ``python -m bench.pages``. The ratio holds on any machine;
the milliseconds are those of this one.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any
from uuid import UUID

from bench.environment import fresh_house
from mainspring.app import Application
from mainspring.store.database import Database, WorkspaceDatabase
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.pages.search import PageQuery, PageSearch

PAGES = 50_000
# What a hybrid question may take at the median.
MOST_MS = 100
QUESTIONS = 60
WORDS = 20_000
DIMENSIONS = 384

_FILL = """
    INSERT INTO pages (workspace_id, id, slug, type, title, body, source, content_hash, created_by,
        embedded_by)
    SELECT $1, gen_random_uuid(), 'page-' || number, 'note', title, body, 'bench', '', $2, 'bench'
    FROM unnest($3::int[], $4::text[], $5::text[]) AS made(number, title, body)
"""
# The numbers are drawn anew for each page because the row is named inside.
_VECTORS = """
    INSERT INTO page_vectors (workspace_id, page_id, piece, model, embedding)
    SELECT p.workspace_id, p.id, 0, 'bench',
        (SELECT array_agg((random() - 0.5)::real)
         FROM generate_series(1, 384) WHERE p.id IS NOT NULL)::halfvec
    FROM pages p
"""
_NEAR = """
    CREATE INDEX page_vectors_near ON page_vectors USING hnsw (embedding halfvec_cosine_ops)
"""
_BARE = """
    SELECT id, ts_rank(words, asked) AS score
    FROM pages, websearch_to_tsquery('english', $2) AS asked
    WHERE workspace_id = $1 AND words @@ asked ORDER BY score DESC LIMIT 20
"""


class Hashed:
    """A model that costs nothing: its vectors are drawn from a hash of the text."""

    name = "bench"
    dimensions = DIMENSIONS
    outward = False

    async def embed(self, workspace_id: UUID, texts: Sequence[str]) -> list[list[float]]:
        del workspace_id
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        dice = random.Random(hashlib.sha256(text.encode()).digest())
        return [dice.random() - 0.5 for _ in range(DIMENSIONS)]


def _vocabulary(dice: random.Random) -> tuple[list[str], list[float]]:
    """Words that are used as words are: few of them often, most of them hardly ever."""
    mails = "bcdfghjklmnprstvwz"
    made = {
        "".join(dice.choice(mails) + dice.choice("aeiou") for _ in range(dice.randrange(2, 5)))
        for _ in range(3 * WORDS)
    }
    words = sorted(made)[:WORDS]
    dice.shuffle(words)
    return words, list(accumulate(1 / (rank + 10) for rank in range(len(words))))


async def _fill(application: Application, dice: random.Random) -> list[str]:
    words, weights = _vocabulary(dice)
    titles: list[str] = []
    for start in range(0, PAGES, 2_000):
        numbers = list(range(start, start + 2_000))
        some = [" ".join(dice.choices(words, cum_weights=weights, k=5)) for _ in numbers]
        bodies = [" ".join(dice.choices(words, cum_weights=weights, k=80)) for _ in numbers]
        await application.database.execute(
            _FILL, application.workspace_id, FIRST_MEMBER, numbers, some, bodies
        )
        titles += some
    await application.database.execute("VACUUM ANALYZE pages")
    return titles


def _questions(dice: random.Random, titles: Sequence[str]) -> list[str]:
    """Two or three words of a title, some with a slip of the pen."""
    asked = []
    for number in range(QUESTIONS):
        words = dice.sample(dice.choice(titles).split(), dice.randrange(2, 4))
        if number % 3 == 0:
            words[-1] = words[-1][:-1] + "x"
        asked.append(" ".join(words))
    return asked


async def _times(ask: Callable[[str], Awaitable[Any]], questions: Sequence[str]) -> list[float]:
    for question in questions[:5]:
        await ask(question)
    spent = []
    for question in questions:
        begun = time.perf_counter()
        await ask(question)
        spent.append(1e3 * (time.perf_counter() - begun))
    return spent


def _asking(
    application: Application, finder: PageSearch, verb: str
) -> Callable[[str], Awaitable[Any]]:
    inside = WorkspaceDatabase(application.database, application.workspace_id)

    async def ask(question: str) -> Any:
        async with inside.transaction() as tx:
            query = PageQuery(question, None, 20)
            return await getattr(finder, verb)(tx, application.workspace_id, query)

    return ask


async def _measure() -> dict[str, dict[str, float]]:
    dice = random.Random(7)
    async with fresh_house() as application:
        titles = await _fill(application, dice)
        questions = _questions(dice, titles)
        database: Database = application.database
        found: dict[str, dict[str, float]] = {}

        async def bare(question: str) -> Any:
            return await database.fetch(_BARE, application.workspace_id, question)

        found["bare full text"] = _row(await _times(bare, questions), {})
        floor = found["bare full text"]
        found["search"] = _row(
            await _times(_asking(application, PageSearch(), "search"), questions), floor
        )
        found["query"] = _row(
            await _times(_asking(application, PageSearch(), "query"), questions), floor
        )
        # The index is made once over all vectors, as a restore does.
        await database.execute("DROP INDEX page_vectors_near")
        await database.execute(_VECTORS)
        begun = time.perf_counter()
        await database.execute(_NEAR)
        built = time.perf_counter() - begun
        await database.execute("VACUUM ANALYZE page_vectors")
        embedded = _asking(application, PageSearch(Hashed()), "query")
        found["query with vectors"] = _row(await _times(embedded, questions), floor)
        found["query with vectors"]["index_seconds"] = built
        return found


def _row(times: Sequence[float], floor: Mapping[str, float]) -> dict[str, float]:
    p50 = statistics.median(times)
    p95 = sorted(times)[int(len(times) * 0.95)]
    return {"p50": p50, "p95": p95, "ratio": p50 / floor["p50"] if floor else 1.0}


def measure() -> dict[str, dict[str, float]]:
    """Milliseconds for each way of asking, and each against the bare search."""
    return asyncio.run(_measure())


def show(found: Mapping[str, Mapping[str, float]]) -> None:
    print(f"{PAGES:,} pages {'p50 ms':>18} {'p95 ms':>8} {'x bare':>8}")
    for name, row in found.items():
        expected = f"  <= {MOST_MS} ms" if name.startswith("query") else ""
        print(f"{name:<22} {row['p50']:>8.1f} {row['p95']:>8.1f} {row['ratio']:>8.1f}{expected}")
    print(f"the index of vectors was built in {found['query with vectors']['index_seconds']:.0f} s")


if __name__ == "__main__":
    show(measure())
