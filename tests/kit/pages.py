"""Pages as somebody in a workspace writes and finds them, through the gate."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from mainspring.app import Application, build_application, build_registry
from mainspring.contracts.context import Actor
from mainspring.contracts.embedding import Embedder
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.contracts.roles import Role
from mainspring.gate.call import Gate
from mainspring.gate.callers import CapabilityCaller
from mainspring.workspace.automations import FIRST_MEMBER, ensure_workspace


@dataclass(frozen=True, slots=True)
class PageClient:
    """One member's way to the pages of one workspace."""

    gate: Gate
    workspace_id: UUID
    role: Role = Role.EDITOR

    async def __call__(self, capability: str, /, **arguments: Any) -> Any:
        actor = Actor(self.workspace_id, "member", FIRST_MEMBER, role=self.role)
        return await self.gate.direct(CapabilityCaller(actor), capability, arguments)

    async def write(self, title: str, body: str = "", **more: Any) -> Any:
        return await self("create_page", **{"type": "note", "title": title, "body": body, **more})

    async def slugs(self, capability: str, q: str, **more: Any) -> list[str]:
        found = await self(capability, q=q, **more)
        return [page["slug"] for page in found["pages"]]


async def other_workspace(application: Application) -> UUID:
    """A workspace of other people in the same database."""
    workspace_id = generate_id()
    async with application.database.transaction() as tx:
        await ensure_workspace(tx, workspace_id, "Others")
    return workspace_id


def with_model(application: Application, model: Embedder) -> Application:
    """The same application with a model to embed pages with."""
    registry = build_registry(Limits(), embedder=model)
    return replace(
        build_application(application.settings, application.limits, registry, application.database),
        embedder=model,
    )


class BagOfWords:
    """A model that knows which words mean the same, and hashes them into a vector."""

    def __init__(
        self, means: Mapping[str, str] | None = None, *, name: str = "bag", dimensions: int = 64
    ) -> None:
        self.name = name
        self.dimensions = dimensions
        self.outward = False
        self.texts: list[str] = []
        self._means = dict(means or {})

    async def embed(self, workspace_id: UUID, texts: Sequence[str]) -> list[list[float]]:
        del workspace_id
        return self.vectors(texts)

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        self.texts += texts
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * self.dimensions
        for word in re.findall(r"\w+", text.lower()):
            meant = self._means.get(word, word)
            spot = int.from_bytes(hashlib.sha256(meant.encode()).digest()[:4], "big")
            vector[spot % self.dimensions] += 1.0
        length = math.sqrt(sum(number * number for number in vector)) or 1.0
        return [number / length for number in vector]
