"""Text similarity: by embeddings where available, else by word overlap.

It is advisory. When the model is unavailable, word overlap is the fallback, and the result says
which was used. Embeddings are cached, because the same few hundred intents are compared repeatedly.
"""

from __future__ import annotations

import logging
import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal
from uuid import UUID

from mainspring.contracts.embedding import Embedder
from mainspring.contracts.errors import Problem

log = logging.getLogger(__name__)

Measure = Literal["meaning", "words"]

# The threshold for showing two texts as similar.
_NEAR: Final = 0.55
_SHARED: Final = 0.3
_KEPT: Final = 2_000
_LONGEST: Final = 2_000
_WORD: Final = re.compile(r"\w+")
# Stop words.
_FILLERS: Final = frozenset(
    {
        "a",
        "an",
        "and",
        "any",
        "as",
        "at",
        "automation",
        "be",
        "by",
        "each",
        "every",
        "for",
        "from",
        "i",
        "in",
        "into",
        "is",
        "it",
        "its",
        "me",
        "my",
        "new",
        "of",
        "on",
        "or",
        "our",
        "run",
        "that",
        "the",
        "then",
        "this",
        "to",
        "up",
        "we",
        "when",
        "with",
    }
)


@dataclass(frozen=True, slots=True)
class SimilarText:
    """A text by its index, with its similarity."""

    place: int
    closeness: float


@dataclass(frozen=True, slots=True)
class SimilarityResult:
    """Similar texts, most similar first, and the method used."""

    by: Measure
    near: tuple[SimilarText, ...] = ()


class TextSimilarity:
    """Compares a text with others."""

    def __init__(self, embedder: Embedder | None = None) -> None:
        self.embedder = embedder
        self._vectors: OrderedDict[tuple[str, str], list[float]] = OrderedDict()

    @property
    def measure(self) -> Measure:
        """The preferred method; a result names the one that was used."""
        return "words" if self.embedder is None else "meaning"

    async def near(
        self, workspace_id: UUID, text: str, others: Sequence[str], most: int
    ) -> SimilarityResult:
        """Return the most similar of the others, above the threshold."""
        if not text.strip() or not others:
            return SimilarityResult(self.measure)
        by, closeness = await self._closeness(workspace_id, text, others)
        least = _NEAR if by == "meaning" else _SHARED
        found = [SimilarText(place, one) for place, one in enumerate(closeness) if one >= least]
        return SimilarityResult(
            by, tuple(sorted(found, key=lambda one: (-one.closeness, one.place))[:most])
        )

    async def _closeness(
        self, workspace_id: UUID, text: str, others: Sequence[str]
    ) -> tuple[Measure, list[float]]:
        if self.embedder is not None:
            texts = [one[:_LONGEST] for one in (text, *others)]
            try:
                return "meaning", await self._cosines(self.embedder, workspace_id, texts)
            except Problem as problem:
                log.warning("Texts were compared by their words: %s", problem.detail)
        return "words", [word_overlap(text, other) for other in others]

    async def _cosines(
        self, model: Embedder, workspace_id: UUID, texts: Sequence[str]
    ) -> list[float]:
        """Compute the similarity of the first text to each of the others."""
        unknown = [one for one in dict.fromkeys(texts) if (model.name, one) not in self._vectors]
        made = await model.embed(workspace_id, unknown) if unknown else []
        known = dict(zip(unknown, made, strict=True))
        known |= {
            one: self._vectors[model.name, one]
            for one in texts
            if (model.name, one) in self._vectors
        }
        for one, vector in known.items():
            self._vectors[model.name, one] = vector
            self._vectors.move_to_end((model.name, one))
        while len(self._vectors) > _KEPT:
            self._vectors.popitem(last=False)
        first, *rest = (known[one] for one in texts)
        # Vectors are normalized, so the dot product is the cosine.
        return [sum(a * b for a, b in zip(first, other, strict=True)) for other in rest]


def word_overlap(left: str, right: str) -> float:
    """The share of common words, from 0 to 1."""
    mine, theirs = _words(left), _words(right)
    together = mine | theirs
    return len(mine & theirs) / len(together) if together else 0.0


def _words(text: str) -> frozenset[str]:
    found = (word.casefold() for word in _WORD.findall(text[:_LONGEST]))
    return frozenset(_stem(word) for word in found if word not in _FILLERS)


def _stem(word: str) -> str:
    """A crude stemmer: it only has to be consistent."""
    return word[:-1] if len(word) > 3 and word.endswith("s") else word
