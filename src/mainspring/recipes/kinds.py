"""What the codex asks of each kind of thing that a recipe makes.

An install knows its thing by kind and id only. Each kind says how one is made from a template,
what it is now in the words of its template, how it is rebuilt, and how it is put away and
brought back. Contents are plain JSON, so that what was installed, what is there now and what a
newer recipe says can be compared value by value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol
from uuid import UUID

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext


RecipeKind = Literal["board", "automation", "workflow", "integration", "bundle"]
EntityKind = Literal["board", "automation", "workflow"]


@dataclass(frozen=True, slots=True)
class RecipeEntity:
    """A thing that stands now, and what it is in the words of its template."""

    id: UUID
    name: str
    content: Mapping[str, Any]
    # What is told of it beside that: its state, its address, warnings.
    told: Mapping[str, Any]


class EntityHandler(Protocol):
    """One kind of thing. Contents are templates with every reference filled in.

    All of it happens in the caller's transaction. ``content`` leaves out what belongs to the
    install and not to the recipe: rows of boards, state of automations, rosters of workflows.
    """

    entity_kind: EntityKind

    async def make(self, ctx: CallContext, content: Mapping[str, Any]) -> RecipeEntity:
        """Makes a new one; an automation is paused and waits for consent."""
        ...

    async def read(self, ctx: CallContext, entity_id: UUID) -> RecipeEntity | None:
        """What it is now; None when it is not there any more."""
        ...

    async def rebuild(
        self, ctx: CallContext, entity_id: UUID, content: Mapping[str, Any]
    ) -> RecipeEntity:
        """Makes it what the content says and keeps what belongs to the install."""
        ...

    async def put_away(self, ctx: CallContext, entity_id: UUID) -> None:
        """Takes it out of use at once; nothing of it is deleted."""
        ...

    async def bring_back(self, ctx: CallContext, entity_id: UUID) -> RecipeEntity:
        """Brings back what was put away; an automation comes back paused."""
        ...
