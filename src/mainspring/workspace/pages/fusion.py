"""One order out of several: each way of looking gives a page points for its place.

The points depend on the place alone (reciprocal rank), because the scores of full text, of
likeness and of vectors do not compare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

# With it the first places count for more, and none for everything.
_DAMPING: Final = 60

Hits = Sequence[tuple[UUID, float]]


@dataclass(slots=True)
class FusedResult:
    """One page, with its points and where they are from."""

    id: UUID
    score: float = 0.0
    # For each way that found it: its place there, from 1, and its score there.
    parts: dict[str, tuple[int, float]] = field(default_factory=dict)


def fuse_results(ways: Mapping[str, Hits], weights: Mapping[str, float]) -> list[FusedResult]:
    """The pages of all ways, the best first; a page found twice stands higher."""
    found: dict[UUID, FusedResult] = {}
    for way, hits in ways.items():
        for place, (page_id, score) in enumerate(hits, start=1):
            page = found.setdefault(page_id, FusedResult(page_id))
            page.parts[way] = (place, score)
            page.score += weights.get(way, 1.0) / (_DAMPING + place)
    return sorted(found.values(), key=lambda page: (-page.score, str(page.id)))
