"""The interface of the kinds of resources that recipes create.

An install knows its resource by kind and id only. Each kind creates a resource from a template,
reads it back as a template, rebuilds, archives and restores it. Contents are plain JSON, so that
the installed, current and newer contents can be compared value by value.
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
    """A resource and its content in template format."""

    id: UUID
    name: str
    content: Mapping[str, Any]
    # Further details for display: state, URL, warnings.
    details: Mapping[str, Any]


class EntityHandler(Protocol):
    """A kind of resource. Contents are templates with all references resolved.

    Everything happens in the caller's transaction. ``content`` excludes local data: rows of boards,
    states of automations, rosters of workflows.
    """

    entity_kind: EntityKind

    async def create(self, ctx: CallContext, content: Mapping[str, Any]) -> RecipeEntity:
        """Create one; an automation is paused and waits for consent."""
        ...

    async def read(self, ctx: CallContext, entity_id: UUID) -> RecipeEntity | None:
        """Read it back; None when it no longer exists."""
        ...

    async def rebuild(
        self, ctx: CallContext, entity_id: UUID, content: Mapping[str, Any]
    ) -> RecipeEntity:
        """Make it match the content, keeping local data."""
        ...

    async def archive(self, ctx: CallContext, entity_id: UUID) -> None:
        """Archive it at once; nothing is deleted."""
        ...

    async def restore(self, ctx: CallContext, entity_id: UUID) -> RecipeEntity:
        """Restore it; an automation is restored paused."""
        ...
