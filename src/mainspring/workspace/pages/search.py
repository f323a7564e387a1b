"""Finding pages: by their words, by the likeness of their titles, by their meaning.

``search`` looks for words and nothing else. ``query`` takes every way that this installation
has and makes one order of what they find; its answer says which ways were taken.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Problem
from mainspring.workspace.pages.fusion import Fused, Hits, fuse
from mainspring.workspace.pages.read import summary
from mainspring.workspace.pages.snippets import snippet, words_of

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.contracts.embedding import Embedder

log = logging.getLogger(__name__)

TEXT: Final = "text"
LIKENESS: Final = "trigram"
MEANING: Final = "embedding"

# A title that is only like the question is a weaker sign than the words themselves.
_WEIGHTS: Final[Mapping[str, float]] = {TEXT: 1.0, LIKENESS: 0.5, MEANING: 1.0}
_LEAST_DEPTH, _MOST_DEPTH = 50, 200
_ENOUGH: Final = 5
# The part of a question that is held against titles.
_TITLE_QUESTION: Final = 200
# How much of a body a snippet is looked for in.
_OPENING: Final = 20_000
_LAST_WORD: Final = re.compile(r"(?P<before>(?:^|.*[^\w'\"-]))(?P<word>\w+)\Z", re.DOTALL)
_SHORTEST_BEGINNING: Final = 3
# Signs that mean nothing here, and a minus that stands before nothing.
_NO_SIGNS: Final = re.compile(r"[!|&():*<>\\'`^~]|-(?![\w\"])")
_MINUS: Final = re.compile(r"(?<![\w])-")
_MOST_SIGNS: Final = 20

# Words as they stand, as English, and with the last one taken for a beginning.
_BY_WORDS = """
    SELECT id, score FROM pages_by_words(
        websearch_to_tsquery('simple', $1) || websearch_to_tsquery('english', $1)
        || CASE WHEN $3::text = '' THEN ''::tsquery
           ELSE websearch_to_tsquery('simple', $2) && to_tsquery('simple', $3) END,
        $4, $5)
"""
# Any of the words. The text of a query of plain words has no operator but this one.
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
_SHOWN = """
    SELECT id, slug, type, title, source_ref, source, created_at, updated_at, ingested_at,
        left(body, $3) AS opening
    FROM pages WHERE workspace_id = $1 AND id = ANY($2::uuid[])
"""


@dataclass(frozen=True, slots=True)
class Question:
    """What is looked for, and where."""

    text: str
    type: str | None
    most: int


class Finder:
    """All ways to find a page that this installation has."""

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder

    @property
    def outward(self) -> bool:
        """Whether a question by meaning leaves the house."""
        return self._embedder is not None and self._embedder.outward

    async def search(self, tx: Transaction, workspace_id: UUID, asked: Question) -> dict[str, Any]:
        """By words alone, ranked."""
        hits = await _by_words(tx, asked, asked.most)
        found = fuse({TEXT: hits}, _WEIGHTS)
        shown = await _shown(tx, workspace_id, found, asked)
        for page, (_, score) in zip(shown, hits, strict=False):
            page["score"] = score
        return {"pages": shown, "used": [TEXT]}

    async def query(self, tx: Transaction, workspace_id: UUID, asked: Question) -> dict[str, Any]:
        """By every way there is, in one order."""
        depth = min(max(asked.most * 2, _LEAST_DEPTH), _MOST_DEPTH)
        ways: dict[str, Hits] = {}
        there = await tx.fetchrow(_WAYS)
        note = await self._by_meaning(tx, workspace_id, asked, depth, ways, there["dimensions"])
        ways[TEXT] = await _by_words(tx, asked, depth)
        # Pages with only some of the words are noise beside those that mean the same, and
        # beside enough of those that have all words.
        if MEANING not in ways and len(ways[TEXT]) < min(_ENOUGH, asked.most):
            ways[TEXT] = await _with_any_word(tx, asked, depth, ways[TEXT])
        if there["likeness"]:
            like = (asked.text[:_TITLE_QUESTION], asked.type, depth)
            ways[LIKENESS] = _hits(await tx.fetch(_BY_LIKENESS, *like))
        found = fuse(ways, _WEIGHTS)[: asked.most]
        shown = await _shown(tx, workspace_id, found, asked)
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
        self, tx: Transaction, workspace_id: UUID, asked: Question, depth: int,
        ways: dict[str, Hits], dimensions: int | None,
    ) -> str | None:  # fmt: skip
        """Adds what is near in meaning; answers why not, where that way is closed."""
        model = self._embedder
        if model is None:
            return "No embedding model is set, so pages were found by words and titles alone."
        if dimensions is None:
            return "This database has no vectors, so pages were found by words and titles alone."
        if dimensions != model.dimensions:
            return "The model is new and has no vectors yet; words and titles were used alone."
        try:
            [vector] = await model.embed(workspace_id, [asked.text])
        except Problem as problem:
            return f"Pages were found by words and titles alone. {problem.detail}"
        except Exception:
            log.exception("The question could not be embedded.")
            return "The embedding model failed, so pages were found by words and titles alone."
        rows = await tx.fetch(_BY_MEANING, as_text(vector), model.name, asked.type, depth)
        ways[MEANING] = _hits(rows)
        return None


def as_text(vector: Sequence[float]) -> str:
    """A vector as the database reads it."""
    return f"[{','.join(f'{number:.6g}' for number in vector)}]"


async def _by_words(tx: Transaction, asked: Question, most: int) -> Hits:
    text = tidied(asked.text)
    before, beginning = last_word(text)
    return _hits(await tx.fetch(_BY_WORDS, text, before, beginning, asked.type, most))


def tidied(text: str) -> str:
    """A question with no more signs than the database can follow.

    Its reader of questions fails where minus signs are heaped, so a question that is mostly
    signs is taken for its words alone.
    """
    plain = _NO_SIGNS.sub(" ", text)
    if plain.count('"') + len(_MINUS.findall(plain)) > _MOST_SIGNS:
        return _MINUS.sub(" ", plain.replace('"', " "))
    return plain


def last_word(text: str) -> tuple[str, str]:
    """What stands before the last word, and the word as a beginning of words.

    None where the last word is not one that somebody may still be typing: inside quotes,
    after a minus, or too short to begin anything.
    """
    found = _LAST_WORD.match(text)
    if found is None or text.count('"') % 2:
        return "", ""
    word = found["word"]
    if word.lower() == "or" or (len(word) < _SHORTEST_BEGINNING and word.isascii()):
        return "", ""
    return found["before"], f"'{word}':*"


async def _with_any_word(tx: Transaction, asked: Question, most: int, strict: Hits) -> Hits:
    """The pages with all words first, then those with some of them."""
    known = {page_id for page_id, _ in strict}
    more = _hits(await tx.fetch(_BY_ANY_WORD, asked.text, asked.type, most))
    return [*strict, *(hit for hit in more if hit[0] not in known)][:most]


def _hits(rows: Sequence[Any]) -> Hits:
    return [(row["id"], float(row["score"])) for row in rows]


async def _shown(
    tx: Transaction, workspace_id: UUID, found: Sequence[Fused], asked: Question
) -> list[dict[str, Any]]:
    wanted = [page.id for page in found]
    rows = {row["id"]: row for row in await tx.fetch(_SHOWN, workspace_id, wanted, _OPENING)}
    openings = [rows[page_id]["opening"] for page_id in wanted]
    # A hundred long pages are read through here, and others wait for the loop meanwhile.
    found_in = await asyncio.to_thread(_snippets, openings, words_of(asked.text))
    return [
        {**summary(rows[page_id]), "snippet": text, "highlights": places}
        for page_id, (text, places) in zip(wanted, found_in, strict=True)
    ]


def _snippets(openings: Sequence[str], words: Sequence[str]) -> list[tuple[str, list[list[int]]]]:
    return [snippet(opening, words) for opening in openings]
