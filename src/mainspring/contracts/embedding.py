"""An embedder: text becomes a vector, and texts that mean alike become vectors that are near.

Vectors compare only when one model made them all, so a model has a name, and the name is
kept with every vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID


class Embedder(Protocol):
    """One model of one installation."""

    @property
    def name(self) -> str:
        """The model and its version; another name means that vectors do not compare."""
        ...

    @property
    def dimensions(self) -> int: ...

    @property
    def outward(self) -> bool:
        """Whether texts leave the house to become vectors."""
        ...

    async def embed(self, workspace_id: UUID, texts: Sequence[str]) -> list[list[float]]:
        """One vector of length 1 for each text of a workspace, which pays if it costs."""
        ...
