"""What the codex works with: the shelf, the kinds of things, and whoever judges definitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from mainspring.contracts.errors import Fault, Finding, Missing
from mainspring.contracts.limits import Limits
from mainspring.recipes.codex.shelf import Shelf
from mainspring.recipes.entities.automations import AutomationKind
from mainspring.recipes.entities.boards import BoardKind
from mainspring.recipes.entities.boards import normal as normal_board
from mainspring.recipes.entities.workflows import normal as normal_workflow
from mainspring.recipes.kinds import Kind

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.contracts.registry import Vocabulary
    from mainspring.definition.validate import Report

Content = Mapping[str, Any]


class Words(Protocol):
    """What can be said in a workspace, and the verdict on a definition there."""

    async def words(self, workspace_id: UUID, document: Any) -> Vocabulary: ...

    async def judge(
        self, workspace_id: UUID, document: Any, automation_id: UUID | None = None
    ) -> Report: ...


@dataclass(frozen=True, slots=True)
class Desk:
    """The parts around the capabilities of the codex."""

    words: Words
    limits: Limits
    shelf: Shelf
    boards: BoardKind
    automations: AutomationKind
    workflows: Kind | None = None

    def kind(self, entity_kind: str) -> Kind:
        kinds: dict[str, Kind | None] = {
            "board": self.boards,
            "automation": self.automations,
            "workflow": self.workflows,
        }
        found = kinds.get(entity_kind)
        if found is None:
            raise Fault(f"There is no way to make a {entity_kind} here.", retryable=False)
        return found

    async def normal(
        self, ctx: CallContext, entity_kind: str, content: Content, entity_id: UUID
    ) -> Content:
        """A content as it would be read back from the thing that it makes."""
        if entity_kind == "board":
            return normal_board(content)
        if entity_kind == "workflow":
            return normal_workflow(content)
        return await self.automations.normal(ctx, content, entity_id)


def desk_of(words: Words, limits: Limits, workflows: Kind | None = None) -> Desk:
    boards, automations = BoardKind(limits), AutomationKind(words, limits)
    return Desk(words, limits, Shelf(), boards, automations, workflows)


def entity_kind_of(kind: str) -> str:
    """What a recipe of this kind makes."""
    return "automation" if kind == "integration" else kind


def check_brain(ctx: CallContext, given: Mapping[str, Any]) -> None:
    """Any other workspace than the caller's looks as if it were not there."""
    if "brain_id" in given and UUID(given["brain_id"]) != ctx.actor.workspace_id:
        raise Missing(
            "There is no such workspace.",
            code="no_workspace",
            findings=[Finding("/brain_id", "There is no such workspace.", "no_workspace")],
            suggestion="Leave brain_id out for the workspace you are in.",
        )
