"""The embedding interface: text becomes a vector; similar texts have close vectors.

Vectors are only comparable when one model created them all, so a model has a name, which is stored
with every vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID


class Embedder(Protocol):
    """One embedding model of an installation."""

    @property
    def name(self) -> str:
        """The model and its version; vectors of different names are not comparable."""
        ...

    @property
    def dimensions(self) -> int: ...

    @property
    def outward(self) -> bool:
        """Whether texts are sent outside the installation to be embedded."""
        ...

    async def embed(self, workspace_id: UUID, texts: Sequence[str]) -> list[list[float]]:
        """One unit vector per text of a workspace, which is charged for the cost."""
        ...
