"""Links of a board to external sources, and recipes that fill its datasets from them.

This module stores them. A gate capability reads the source; its result is stored with the recipe,
so that a board shows how fresh it is or why a refresh failed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.display_text import check_plain_name
from mainspring.contracts.errors import Conflict, Finding, LimitExceeded, NotFound, Problem
from mainspring.contracts.ids import generate_id

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext, Transaction

MOST_LINKS: Final = 100
MOST_RECIPES: Final = 50

_LINK: Final = """
    SELECT id, board_id, kind, ref, display_name, integration_provider, integration_user_id,
        created_by, created_at
    FROM board_links
"""
_RECIPE: Final = """
    SELECT id, link_id, board_id, dataset_name, adapter_op, params, refresh_cron, dedupe_key_field,
        dedupe_target_field, automation_id, last_refreshed_at, last_rows, last_failed_at,
        last_error, failures_in_row, created_by, created_at
    FROM dataset_recipes
"""
_LINK_BY_ID = f"{_LINK} WHERE workspace_id = $1 AND id = $2"
_LINKS_OF_BOARD = f"{_LINK} WHERE workspace_id = $1 AND board_id = $2 ORDER BY id"
# Compared as text: references are stored in canonical form.
_LINK_LIKE = """
    SELECT 1 AS there FROM board_links
    WHERE workspace_id = $1 AND kind = $2 AND ref::jsonb = $3::text::jsonb LIMIT 1
"""
_RECIPE_BY_ID = f"{_RECIPE} WHERE workspace_id = $1 AND id = $2"
_RECIPES_OF_BOARD = f"{_RECIPE} WHERE workspace_id = $1 AND board_id = $2 ORDER BY id"
_RECIPES_OF_LINK = f"{_RECIPE} WHERE workspace_id = $1 AND link_id = $2 ORDER BY id"
_ADD_LINK = """
    INSERT INTO board_links (workspace_id, id, board_id, kind, ref, display_name,
        integration_provider, integration_user_id, created_by)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
"""
_ADD_RECIPE = """
    INSERT INTO dataset_recipes (workspace_id, id, link_id, board_id, dataset_name, adapter_op,
        params, refresh_cron, dedupe_key_field, dedupe_target_field, automation_id, created_by)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
"""
_REMOVE_LINK = "DELETE FROM board_links WHERE workspace_id = $1 AND id = $2"
_REMOVE_RECIPE = "DELETE FROM dataset_recipes WHERE workspace_id = $1 AND id = $2"
_REFRESHED = """
    UPDATE dataset_recipes
    SET last_refreshed_at = now(), last_rows = $3, last_error = $4, failures_in_row = 0
    WHERE workspace_id = $1 AND id = $2
"""
_FAILED = """
    UPDATE dataset_recipes
    SET last_failed_at = now(), last_error = $3, failures_in_row = failures_in_row + 1
    WHERE workspace_id = $1 AND id = $2
"""


@dataclass(frozen=True, slots=True)
class BoardLink:
    """A board's link to an external source."""

    id: UUID
    board_id: UUID
    kind: str
    ref: dict[str, Any]
    display_name: str
    integration_provider: str | None
    integration_user_id: UUID | None
    created_by: UUID
    created_at: datetime

    def as_dict(self) -> dict[str, Any]:
        return {
            "id": str(self.id),
            "board_id": str(self.board_id),
            "kind": self.kind,
            "ref": self.ref,
            "display_name": self.display_name,
            "integration_provider": self.integration_provider,
            "integration_user_id": _to_text(self.integration_user_id),
            "created_by": str(self.created_by),
            "created_at": self.created_at.isoformat(),
        }


@dataclass(frozen=True, slots=True)
class RefreshRecipe:
    """How a dataset is filled from a link, with the last result."""

    id: UUID
    link_id: UUID
    board_id: UUID
    dataset_name: str
    adapter_op: str
    params: dict[str, Any]
    refresh_cron: str | None
    dedupe_key_field: str | None
    dedupe_target_field: str | None
    automation_id: UUID | None
    last_refreshed_at: datetime | None
    last_rows: int | None
    last_failed_at: datetime | None
    last_error: dict[str, Any] | None
    failures_in_row: int
    created_by: UUID
    created_at: datetime

    def as_dict(self) -> dict[str, Any]:
        return {
            "id": str(self.id),
            "link_id": str(self.link_id),
            "board_id": str(self.board_id),
            "dataset_name": self.dataset_name,
            "adapter_op": self.adapter_op,
            "params": self.params,
            "refresh_cron": self.refresh_cron,
            "dedupe_key_field": self.dedupe_key_field,
            "dedupe_target_field": self.dedupe_target_field,
            "automation_id": _to_text(self.automation_id),
            "last_refreshed_at": _format_moment(self.last_refreshed_at),
            "last_rows": self.last_rows,
            "last_failed_at": _format_moment(self.last_failed_at),
            "last_error": self.last_error,
            "failures_in_row": self.failures_in_row,
            "created_by": str(self.created_by),
            "created_at": self.created_at.isoformat(),
        }


async def find_link(tx: Transaction, workspace_id: UUID, link_id: UUID) -> BoardLink:
    row = await tx.fetchrow(_LINK_BY_ID, workspace_id, link_id)
    if row is None:
        raise NotFound(
            "There is no such link.",
            code="no_link",
            suggestion="list_board_links shows what there is.",
        )
    return BoardLink(**dict(row))


async def find_recipe(tx: Transaction, workspace_id: UUID, recipe_id: UUID) -> RefreshRecipe:
    row = await tx.fetchrow(_RECIPE_BY_ID, workspace_id, recipe_id)
    if row is None:
        raise NotFound(
            "There is no such recipe.",
            code="no_recipe",
            suggestion="list_board_links shows what there is.",
        )
    return RefreshRecipe(**dict(row))


async def list_link_recipes(
    tx: Transaction, workspace_id: UUID, link_id: UUID
) -> list[RefreshRecipe]:
    return [
        RefreshRecipe(**dict(row))
        for row in await tx.fetch(_RECIPES_OF_LINK, workspace_id, link_id)
    ]


async def is_linked(tx: Transaction, workspace_id: UUID, kind: str, ref: str) -> bool:
    """Report whether a board links to this reference, given as canonical JSON."""
    return await tx.fetchrow(_LINK_LIKE, workspace_id, kind, ref) is not None


async def list_board_links(tx: Transaction, workspace_id: UUID, board_id: UUID) -> list[Any]:
    """List a board's links for display, each with its recipes."""
    recipes: dict[str, list[dict[str, Any]]] = {}
    for row in await tx.fetch(_RECIPES_OF_BOARD, workspace_id, board_id):
        shown = RefreshRecipe(**dict(row)).as_dict()
        recipes.setdefault(shown["link_id"], []).append(shown)
    return [
        {**link, "recipes": recipes.get(link["id"], [])}
        for link in (
            BoardLink(**dict(row)).as_dict()
            for row in await tx.fetch(_LINKS_OF_BOARD, workspace_id, board_id)
        )
    ]


async def add_link(
    ctx: CallContext,
    board_id: UUID,
    kind: str,
    ref: Mapping[str, Any],
    display_name: str,
    provider: str | None,
    whose: UUID | None,
) -> BoardLink:
    """Add a link to a locked board."""
    check_plain_name(display_name, "/display_name")
    space = ctx.actor.workspace_id
    there = await ctx.tx.fetch(_LINKS_OF_BOARD, space, board_id)
    if len(there) >= MOST_LINKS:
        raise LimitExceeded(
            f"A board has at most {MOST_LINKS} links.", code="board_full", retryable=False
        )
    link_id = generate_id()
    await ctx.tx.execute(
        _ADD_LINK,
        space,
        link_id,
        board_id,
        kind,
        dict(ref),
        display_name,
        provider,
        whose,
        ctx.actor.id,
    )
    return await find_link(ctx.tx, space, link_id)


async def add_recipe(
    ctx: CallContext,
    recipe_id: UUID,
    link: BoardLink,
    arguments: Mapping[str, Any],
    automation_id: UUID | None,
) -> RefreshRecipe:
    """Add a recipe; the board is locked, and no other recipe fills the dataset."""
    space = ctx.actor.workspace_id
    await ctx.tx.execute(
        _ADD_RECIPE,
        space,
        recipe_id,
        link.id,
        link.board_id,
        arguments["dataset_name"],
        arguments["adapter_op"],
        dict(arguments.get("params") or {}),
        arguments.get("refresh_cron"),
        arguments.get("dedupe_key_field"),
        arguments.get("dedupe_target_field"),
        automation_id,
        ctx.actor.id,
    )
    return await find_recipe(ctx.tx, space, recipe_id)


async def check_free(ctx: CallContext, board_id: UUID, name: str) -> None:
    """Reject a second recipe for a dataset, and more recipes than a board may have datasets."""
    rows = await ctx.tx.fetch(_RECIPES_OF_BOARD, ctx.actor.workspace_id, board_id)
    taken: Sequence[Any] = [row for row in rows if row["dataset_name"] == name]
    if taken:
        detail = f"The dataset {name!r} is filled by the recipe {taken[0]['id']} already."
        raise Conflict(
            detail,
            code="recipe_taken",
            findings=[Finding("/dataset_name", detail, "recipe_taken")],
            suggestion="Delete that one first with delete_dataset_recipe, or name another dataset.",
        )
    if len(rows) >= MOST_RECIPES:
        raise LimitExceeded(
            f"A board has at most {MOST_RECIPES} recipes.", code="board_full", retryable=False
        )


async def remove_link(tx: Transaction, workspace_id: UUID, link_id: UUID) -> None:
    """Delete a link and its recipes; rows and columns stay."""
    await tx.execute(_REMOVE_LINK, workspace_id, link_id)


async def remove_recipe(tx: Transaction, workspace_id: UUID, recipe_id: UUID) -> None:
    await tx.execute(_REMOVE_RECIPE, workspace_id, recipe_id)


async def note_refreshed(
    tx: Transaction, workspace_id: UUID, recipe_id: UUID, rows: int, problem: Problem | None
) -> None:
    """Record a successful refresh; a remaining problem concerns single rows."""
    shown = None if problem is None else problem.as_dict()
    await tx.execute(_REFRESHED, workspace_id, recipe_id, rows, shown)


async def note_failed(
    tx: Transaction, workspace_id: UUID, recipe_id: UUID, problem: Problem
) -> None:
    await tx.execute(_FAILED, workspace_id, recipe_id, problem.as_dict())


def _to_text(value: UUID | None) -> str | None:
    return None if value is None else str(value)


def _format_moment(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()
