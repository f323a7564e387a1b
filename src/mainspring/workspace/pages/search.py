"""Page search: full text, title similarity and embeddings.

``search`` uses full text only. ``query`` uses every method that is available and fuses the results
into one ranking; its answer names the methods used.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Problem
from mainspring.workspace.pages.read import summarize_page

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.contracts.embedding import Embedder


# Reciprocal rank fusion of the methods' rankings.

# The damping constant: it favours high ranks without letting one rank decide.
_DAMPING: Final = 60

Hits = Sequence[tuple[UUID, float]]


@dataclass(slots=True)
class FusedResult:
    """A page with its fused score and the rankings it came from."""

    id: UUID
    score: float = 0.0
    # For each method that found it: its rank, from 1, and its score.
    parts: dict[str, tuple[int, float]] = field(default_factory=dict)


def fuse_results(ways: Mapping[str, Hits], weights: Mapping[str, float]) -> list[FusedResult]:
    """Fuse the rankings, best first; a page found by several methods ranks higher."""
    found: dict[UUID, FusedResult] = {}
    for way, hits in ways.items():
        for place, (page_id, score) in enumerate(hits, start=1):
            page = found.setdefault(page_id, FusedResult(page_id))
            page.parts[way] = (place, score)
            page.score += weights.get(way, 1.0) / (_DAMPING + place)
    return sorted(found.values(), key=lambda page: (-page.score, str(page.id)))


# Snippets: a short plain-text excerpt around the matched words.

SNIPPET: Final = 240
_WORD: Final = re.compile(r"\w+")
_SPACES: Final = re.compile(r"\s+")
# The minimal common prefix for a highlighted match.
_STEM: Final = 4
_MOST_MARKS: Final = 20


def split_query_words(asked: str) -> list[str]:
    """Split a query into its unique words, without operators."""
    return list(dict.fromkeys(word.lower() for word in _WORD.findall(asked)))


def build_snippet(body: str, words: Sequence[str]) -> tuple[str, list[list[int]]]:
    """Cut an excerpt around the first match, with the match positions.

    Positions are [start, end) in characters of the snippet.
    """
    wanted = _StemMatcher(words)
    first = next(wanted.places(body), None)
    start = 0 if first is None else max(0, first[0] - SNIPPET // 3)
    # Cut between two words.
    if start:
        space = re.search(r"\s", body[start : first[0] if first else start])
        start += space.end() if space else 0
    cut = body[start : start + SNIPPET]
    more = start + SNIPPET < len(body)
    if more and (space := re.search(r"\s\S*\Z", cut)) and space.start() > SNIPPET // 2:
        cut = cut[: space.start()]
    text = _SPACES.sub(" ", cut).strip()
    shown = ("… " if start else "") + text + (" …" if more else "")
    return shown, [list(place) for place in islice(wanted.places(shown), _MOST_MARKS)]


class _StemMatcher:
    """Prefix matcher whose cost is the text length plus the number of words."""

    def __init__(self, words: Sequence[str]) -> None:
        self._stems = {word[: max(_STEM, len(word) - 3)].lower() for word in words if word}
        self._lengths = sorted({len(stem) for stem in self._stems})

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        """Return the positions of words that start with one of the prefixes."""
        if not self._stems:
            return
        for found in _WORD.finditer(text):
            if self._begins(found[0].lower()):
                yield found.span()

    def _begins(self, word: str) -> bool:
        for length in self._lengths:
            if length > len(word):
                return False
            if word[:length] in self._stems:
                return True
        return False


log = logging.getLogger(__name__)

TEXT: Final = "text"
LIKENESS: Final = "trigram"
MEANING: Final = "embedding"

# A similar title is a weaker signal than matching words.
_WEIGHTS: Final[Mapping[str, float]] = {TEXT: 1.0, LIKENESS: 0.5, MEANING: 1.0}
_LEAST_DEPTH, _MOST_DEPTH = 50, 200
# As many as the database functions rank: filters are applied after them.
_MOST_FILTERED: Final = 2_000
_NO_QUESTION: Final = "No query was given, so the newest pages are listed."
_ENOUGH: Final = 5
# The part of a query that is compared with titles.
_TITLE_QUESTION: Final = 200
# How much of a body is searched for a snippet.
_OPENING: Final = 20_000
_LAST_WORD: Final = re.compile(r"(?P<before>(?:^|.*[^\w'\"-]))(?P<word>\w+)\Z", re.DOTALL)
_SHORTEST_BEGINNING: Final = 3
# Characters without meaning here, and a minus before nothing.
_NO_SIGNS: Final = re.compile(r"[!|&():*<>\\'`^~]|-(?![\w\"])")
_MINUS: Final = re.compile(r"(?<![\w])-")
_MOST_SIGNS: Final = 20

# Words as written, stemmed as English, and with the last one as a prefix.
_BY_WORDS = """
    SELECT id, score FROM pages_by_words(
        websearch_to_tsquery('simple', $1) || websearch_to_tsquery('english', $1)
        || CASE WHEN $3::text = '' THEN ''::tsquery
           ELSE websearch_to_tsquery('simple', $2) && to_tsquery('simple', $3) END,
        $4, $5)
"""
# Any of the words. A plain-word tsquery has no other operator to replace.
_BY_ANY_WORD = """
    SELECT id, score FROM pages_by_words(
        replace(coalesce(nullif(plainto_tsquery('english', $1)::text, ''),
            plainto_tsquery('simple', $1)::text), '&', '|')::tsquery, $2, $3)
"""
_BY_LIKENESS = "SELECT id, score FROM pages_by_likeness($1, $2, $3)"
_BY_MEANING = "SELECT id, score FROM pages_by_meaning($1, $2, $3, $4)"
_WAYS = """
    SELECT to_regprocedure('pages_by_likeness(text, text, integer)') IS NOT NULL AS likeness,
        (SELECT atttypmod FROM pg_attribute
         WHERE attrelid = to_regclass('page_vectors') AND attname = 'embedding') AS dimensions
"""
# A page's tags are a list in its front matter, or comma-separated text.
_FITS = """
    workspace_id = $1 AND deleted_at IS NULL
      AND ($2::timestamptz IS NULL OR ingested_at >= $2 OR updated_at >= $2)
      AND (cardinality($3::text[]) = 0 OR EXISTS (
        SELECT FROM jsonb_array_elements_text(
            CASE jsonb_typeof(frontmatter -> 'tags')
            WHEN 'array' THEN frontmatter -> 'tags'
            WHEN 'string' THEN to_jsonb(string_to_array(frontmatter ->> 'tags', ','))
            ELSE '[]' END) AS tag
        WHERE lower(btrim(tag)) = ANY($3)))
"""
_AMONG = f"SELECT id FROM pages WHERE {_FITS} AND id = ANY($4::uuid[])"
_NEWEST = f"""
    SELECT id FROM pages WHERE {_FITS} AND ($4::text IS NULL OR type = $4)
    ORDER BY greatest(ingested_at, updated_at) DESC, id DESC
    LIMIT $5
"""
_SHOWN = """
    SELECT id, slug, type, title, source_ref, source, created_at, updated_at, ingested_at,
        left(body, $3) AS opening
    FROM pages WHERE workspace_id = $1 AND id = ANY($2::uuid[])
"""


@dataclass(frozen=True, slots=True)
class PageQuery:
    """The search text and filters."""

    # Empty when tags or a time alone select the pages.
    text: str
    type: str | None
    most: int
    # Lower case; a page needs at least one of them.
    tags: tuple[str, ...] = ()
    since: datetime | None = None

    @property
    def filtered(self) -> bool:
        return bool(self.tags) or self.since is not None


class PageSearch:
    """All search methods of this installation."""

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder

    @property
    def outward(self) -> bool:
        """Whether semantic search sends the query to an external provider."""
        return self._embedder is not None and self._embedder.outward

    async def search(self, tx: Transaction, workspace_id: UUID, query: PageQuery) -> dict[str, Any]:
        """Search by full text only, ranked."""
        if not query.text:
            return {"pages": await _list_newest(tx, workspace_id, query), "used": []}
        most = _MOST_FILTERED if query.filtered else query.most
        ways = {TEXT: await _search_words(tx, query, most)}
        await _leave_out(tx, workspace_id, query, ways)
        hits = ways[TEXT][: query.most]
        found = fuse_results({TEXT: hits}, _WEIGHTS)
        shown = await _format_results(tx, workspace_id, found, query)
        for page, (_, score) in zip(shown, hits, strict=False):
            page["score"] = score
        return {"pages": shown, "used": [TEXT]}

    async def query(self, tx: Transaction, workspace_id: UUID, asked: PageQuery) -> dict[str, Any]:
        """Search by every available method, in one ranking."""
        if not asked.text:
            newest = await _list_newest(tx, workspace_id, asked)
            pages = [{**page, "parts": {}} for page in newest]
            return {"pages": pages, "used": [], "model": None, "note": _NO_QUESTION}
        depth = min(max(asked.most * 2, _LEAST_DEPTH), _MOST_DEPTH)
        depth = _MOST_FILTERED if asked.filtered else depth
        ways: dict[str, Hits] = {}
        there = await tx.fetchrow(_WAYS)
        note = await self._by_meaning(tx, workspace_id, asked, depth, ways, there["dimensions"])
        ways[TEXT] = await _search_words(tx, asked, depth)
        await _leave_out(tx, workspace_id, asked, ways)
        # Partial matches are noise next to semantic matches, and next to enough full matches.
        if MEANING not in ways and len(ways[TEXT]) < min(_ENOUGH, asked.most):
            ways[TEXT] = await _search_any_word(tx, asked, depth, ways[TEXT])
        if there["likeness"]:
            like = (asked.text[:_TITLE_QUESTION], asked.type, depth)
            ways[LIKENESS] = _build_hits(await tx.fetch(_BY_LIKENESS, *like))
        await _leave_out(tx, workspace_id, asked, ways)
        found = fuse_results(ways, _WEIGHTS)[: asked.most]
        shown = await _format_results(tx, workspace_id, found, asked)
        for page, fused in zip(shown, found, strict=True):
            page["score"] = fused.score
            page["parts"] = {
                way: {"place": place, "score": score}
                for way, (place, score) in sorted(fused.parts.items())
            }
        model = self._embedder.name if self._embedder and MEANING in ways else None
        used = [way for way in (TEXT, LIKENESS, MEANING) if way in ways]
        return {"pages": shown, "used": used, "model": model, "note": note}

    async def _by_meaning(
        self,
        tx: Transaction,
        workspace_id: UUID,
        query: PageQuery,
        depth: int,
        ways: dict[str, Hits],
        dimensions: int | None,
    ) -> str | None:
        """Add semantic matches; return the reason when that method is unavailable."""
        model = self._embedder
        if model is None:
            return "No embedding model is set, so pages were found by words and titles alone."
        if dimensions is None:
            return "This database has no vectors, so pages were found by words and titles alone."
        if dimensions != model.dimensions:
            return "The model is new and has no vectors yet; words and titles were used alone."
        try:
            [vector] = await model.embed(workspace_id, [query.text])
        except Problem as problem:
            return f"Pages were found by words and titles alone. {problem.detail}"
        except Exception:
            log.exception("The question could not be embedded.")
            return "The embedding model failed, so pages were found by words and titles alone."
        rows = await tx.fetch(_BY_MEANING, as_text(vector), model.name, query.type, depth)
        ways[MEANING] = _build_hits(rows)
        return None


def as_text(vector: Sequence[float]) -> str:
    """Format a vector for the database."""
    return f"[{','.join(f'{number:.6g}' for number in vector)}]"


async def _search_words(tx: Transaction, query: PageQuery, most: int) -> Hits:
    text = clean_query(query.text)
    before, beginning = split_last_word(text)
    return _build_hits(await tx.fetch(_BY_WORDS, text, before, beginning, query.type, most))


def clean_query(text: str) -> str:
    """Reduce the operators of a query to what the database can parse.

    Its query parser fails on repeated minus signs, so a query that is mostly punctuation is reduced
    to its words.
    """
    plain = _NO_SIGNS.sub(" ", text)
    if plain.count('"') + len(_MINUS.findall(plain)) > _MOST_SIGNS:
        return _MINUS.sub(" ", plain.replace('"', " "))
    return plain


def split_last_word(text: str) -> tuple[str, str]:
    """Split off the last word as a prefix.

    None when the last word is not being typed: inside quotes, after a minus, or too short.
    """
    found = _LAST_WORD.match(text)
    if found is None or text.count('"') % 2:
        return "", ""
    word = found["word"]
    if word.lower() == "or" or (len(word) < _SHORTEST_BEGINNING and word.isascii()):
        return "", ""
    return found["before"], f"'{word}':*"


async def _search_any_word(tx: Transaction, query: PageQuery, most: int, strict: Hits) -> Hits:
    """Rank pages with all words first, then pages with some of them."""
    known = {page_id for page_id, _ in strict}
    more = _build_hits(await tx.fetch(_BY_ANY_WORD, query.text, query.type, most))
    return [*strict, *(hit for hit in more if hit[0] not in known)][:most]


async def _leave_out(
    tx: Transaction, workspace_id: UUID, query: PageQuery, ways: dict[str, Hits]
) -> None:
    """Drop results that the tags or the time exclude."""
    if not query.filtered:
        return
    found = list({page_id for hits in ways.values() for page_id, _ in hits})
    rows = await tx.fetch(_AMONG, workspace_id, query.since, list(query.tags), found)
    kept = {row["id"] for row in rows}
    for way, hits in ways.items():
        ways[way] = [hit for hit in hits if hit[0] in kept]


async def _list_newest(
    tx: Transaction, workspace_id: UUID, query: PageQuery
) -> list[dict[str, Any]]:
    """List pages that match the filters, last changed first."""
    rows = await tx.fetch(
        _NEWEST, workspace_id, query.since, list(query.tags), query.type, query.most
    )
    shown = await _format_results(tx, workspace_id, [FusedResult(row["id"]) for row in rows], query)
    return [{**page, "score": 0.0} for page in shown]


def _build_hits(rows: Sequence[Any]) -> Hits:
    return [(row["id"], float(row["score"])) for row in rows]


async def _format_results(
    tx: Transaction, workspace_id: UUID, found: Sequence[FusedResult], query: PageQuery
) -> list[dict[str, Any]]:
    wanted = [page.id for page in found]
    rows = {row["id"]: row for row in await tx.fetch(_SHOWN, workspace_id, wanted, _OPENING)}
    openings = [rows[page_id]["opening"] for page_id in wanted]
    # In a thread: a hundred long pages would block the event loop.
    found_in = await asyncio.to_thread(_build_snippets, openings, split_query_words(query.text))
    return [
        {**summarize_page(rows[page_id]), "snippet": text, "highlights": places}
        for page_id, (text, places) in zip(wanted, found_in, strict=True)
    ]


def _build_snippets(
    openings: Sequence[str], words: Sequence[str]
) -> list[tuple[str, list[list[int]]]]:
    return [build_snippet(opening, words) for opening in openings]
