"""What the codex works with: the shelf, the kinds of things, and whoever judges definitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from mainspring.contracts.errors import Finding, InternalError, NotFound
from mainspring.contracts.limits import Limits
from mainspring.recipes.codex.catalog import RecipeCatalog
from mainspring.recipes.entities.automations import AutomationHandler
from mainspring.recipes.entities.boards import BoardHandler
from mainspring.recipes.entities.boards import normalize_board as normal_board
from mainspring.recipes.entities.workflows import normalize_workflow as normal_workflow
from mainspring.recipes.kinds import EntityHandler

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.contracts.registry import Vocabulary
    from mainspring.definition.validate import ValidationReport

EntityContent = Mapping[str, Any]


class WorkspaceJudge(Protocol):
    """What can be said in a workspace, and the verdict on a definition there."""

    async def words(self, workspace_id: UUID, document: Any) -> Vocabulary: ...

    async def judge(
        self, workspace_id: UUID, document: Any, automation_id: UUID | None = None
    ) -> ValidationReport: ...


@dataclass(frozen=True, slots=True)
class CodexServices:
    """The parts around the capabilities of the codex."""

    words: WorkspaceJudge
    limits: Limits
    shelf: RecipeCatalog
    boards: BoardHandler
    automations: AutomationHandler
    workflows: EntityHandler | None = None

    def kind(self, entity_kind: str) -> EntityHandler:
        kinds: dict[str, EntityHandler | None] = {
            "board": self.boards,
            "automation": self.automations,
            "workflow": self.workflows,
        }
        found = kinds.get(entity_kind)
        if found is None:
            raise InternalError(f"There is no way to make a {entity_kind} here.", retryable=False)
        return found

    async def normal(
        self, ctx: CallContext, entity_kind: str, content: EntityContent, entity_id: UUID
    ) -> EntityContent:
        """A content as it would be read back from the thing that it makes."""
        if entity_kind == "board":
            return normal_board(content)
        if entity_kind == "workflow":
            return normal_workflow(content)
        return await self.automations.normal(ctx, content, entity_id)


def build_codex_services(
    judge: WorkspaceJudge, limits: Limits, workflows: EntityHandler | None = None
) -> CodexServices:
    boards, automations = BoardHandler(limits), AutomationHandler(judge, limits)
    return CodexServices(judge, limits, RecipeCatalog(), boards, automations, workflows)


def get_entity_kind(kind: str) -> str:
    """What a recipe of this kind makes."""
    return "automation" if kind == "integration" else kind


def check_brain(ctx: CallContext, arguments: Mapping[str, Any]) -> None:
    """Any other workspace than the caller's looks as if it were not there."""
    if "brain_id" in arguments and UUID(arguments["brain_id"]) != ctx.actor.workspace_id:
        raise NotFound(
            "There is no such workspace.",
            code="no_workspace",
            findings=[Finding("/brain_id", "There is no such workspace.", "no_workspace")],
            suggestion="Leave brain_id out for the workspace you are in.",
        )
