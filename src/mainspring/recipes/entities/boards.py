"""Boards created by recipes: datasets, skills, forms and dashboard.

Rows are local data. An upgrade changes columns and never rows, and datasets that a newer recipe
lacks are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.display_text import choose_free_name
from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.json_schema import compile_schema
from mainspring.recipes.kinds import EntityKind, RecipeEntity
from mainspring.workspace.boards.columns import complete_columns
from mainspring.workspace.boards.datasets import store_datasets
from mainspring.workspace.boards.lookup import Board, find_board, list_board_datasets, open_board
from mainspring.workspace.boards.management import create_handler, update_handler
from mainspring.workspace.boards.parts import BoardPart, remove_part, set_part_handler
from mainspring.workspace.boards.rows import append_handler
from mainspring.workspace.boards.schemas import DATASETS, NAME, object_of

if TYPE_CHECKING:
    from mainspring.contracts.capability import CapabilityHandler
    from mainspring.contracts.context import CallContext

EntityContent = Mapping[str, Any]

_PARTS: Final[tuple[BoardPart, ...]] = ("skill", "form")
_TAKEN = """
    SELECT name FROM boards
    WHERE workspace_id = $1 AND archived_at IS NULL AND id <> $2 AND starts_with(name, $3)
"""
_KEPT = """
    SELECT part, name, content FROM board_parts
    WHERE workspace_id = $1 AND board_id = $2 ORDER BY part, name
"""
_NOBODY: Final = UUID(int=0)
_SHAPE: Final = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **object_of(
        {
            "name": NAME,
            "description": {"type": "string", "maxLength": 5_000},
            "datasets": DATASETS,
        },
        ["name"],
    ),
}


class BoardHandler:
    """Creates, reads, rebuilds and archives boards for the codex."""

    entity_kind: EntityKind = "board"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._shape = compile_schema(_SHAPE, limits)
        self._create = create_handler(limits)
        self._update = update_handler(limits, recovering=True)
        self._append = append_handler(limits)
        self._put: Mapping[str, CapabilityHandler] = {
            part: set_part_handler(part, limits) for part in (*_PARTS, "dashboard")
        }

    async def create(self, ctx: CallContext, content: EntityContent) -> RecipeEntity:
        """Create a board from the template, with its initial rows."""
        asked = {key: content[key] for key in ("name", "description", "datasets") if key in content}
        self._check(asked)
        asked["name"] = await _choose_name(ctx, asked["name"], _NOBODY)
        made = await self._create(ctx, asked)
        board = await find_board(ctx, {"board_id": made["id"]})
        await self._keep_parts(ctx, board, content)
        for dataset, rows in (content.get("rows") or {}).items():
            if rows:
                await self._append(
                    ctx, {"board_id": str(board.id), "dataset": dataset, "rows": rows}
                )
        return await self._read(ctx, board)

    async def read(self, ctx: CallContext, entity_id: UUID) -> RecipeEntity | None:
        row = await ctx.tx.fetchrow(_THERE, ctx.actor.workspace_id, entity_id)
        if row is None:
            return None
        return await self._read(ctx, await find_board(ctx, {"board_id": entity_id}))

    async def rebuild(
        self, ctx: CallContext, entity_id: UUID, content: EntityContent
    ) -> RecipeEntity:
        """Update columns, skills, forms and dashboard; rows are kept."""
        board = await open_board(ctx, {"board_id": entity_id}, hold=True)
        asked = {
            "name": content.get("name", board.name),
            "description": content.get("description", ""),
            "datasets": [_complete_dataset(one) for one in content.get("datasets", [])],
        }
        self._check(asked)
        await self._update(
            ctx,
            {
                "board_id": str(entity_id),
                "name": asked["name"],
                "description": asked["description"],
            },
        )
        await store_datasets(ctx, board, asked["datasets"], self._limits)
        await self._keep_parts(ctx, board, content)
        return await self._read(ctx, await find_board(ctx, {"board_id": entity_id}))

    async def archive(self, ctx: CallContext, entity_id: UUID) -> None:
        board = await find_board(ctx, {"board_id": entity_id}, hold=True)
        if board.archived_at is None:
            await self._update(ctx, {"board_id": str(entity_id), "archived": True})

    async def restore(self, ctx: CallContext, entity_id: UUID) -> RecipeEntity:
        """Restore an archived board; with a numeric suffix when its name is in use."""
        board = await find_board(ctx, {"board_id": entity_id}, hold=True)
        name = await _choose_name(ctx, board.name, board.id)
        await self._update(ctx, {"board_id": str(entity_id), "archived": False, "name": name})
        made = await self._read(ctx, await find_board(ctx, {"board_id": entity_id}))
        told = (
            dict(made.details)
            if name == board.name
            else {**made.details, "renamed_from": board.name}
        )
        return RecipeEntity(made.id, made.name, made.content, told)

    def _check(self, asked: EntityContent) -> None:
        found = self._shape.findings(asked, "/template")
        if found:
            raise Invalid(
                f"The board of this recipe cannot be made: {found[0].detail}",
                code="invalid_template",
                findings=found,
            )

    async def _keep_parts(self, ctx: CallContext, board: Board, content: EntityContent) -> None:
        """Sync the parts with the content; others are removed.

        Their versions stay, so that a person can restore them.
        """
        wanted = _collect_parts(content)
        rows = await ctx.tx.fetch(_KEPT, ctx.actor.workspace_id, board.id)
        for row in rows:
            if (row["part"], row["name"]) not in wanted:
                await remove_part(ctx, board, row["part"], row["name"], self._limits)
        for (part, name), value in wanted.items():
            named = {"name": name} if name else {}
            await self._put[part](ctx, {"board_id": str(board.id), **named, **value})

    async def _read(self, ctx: CallContext, board: Board) -> RecipeEntity:
        rows = await ctx.tx.fetch(_KEPT, ctx.actor.workspace_id, board.id)
        datasets = [
            {
                "name": one.name,
                "columns": one.columns,
                "dedupe_key_field": one.dedupe_key_field,
            }
            for one in await list_board_datasets(ctx, board)
        ]
        content: dict[str, Any] = {
            "name": board.name,
            "description": board.description,
            "datasets": datasets,
            "skills": [],
            "forms": [],
        }
        for row in rows:
            if row["part"] == "dashboard":
                content["dashboard"] = row["content"]["html"]
            else:
                content[f"{row['part']}s"].append({"name": row["name"], **row["content"]})
        return RecipeEntity(board.id, board.name, content, {"board_id": str(board.id)})


_THERE = "SELECT id FROM boards WHERE workspace_id = $1 AND id = $2"


def normalize_board(content: EntityContent) -> dict[str, Any]:
    """Normalize a template to what would be read back, for comparison."""
    datasets = [_complete_dataset(one) for one in content.get("datasets", [])]
    if not any(one["name"] == "default" for one in datasets):
        datasets.insert(0, _complete_dataset({"name": "default"}))
    parts = _collect_parts(content)
    made: dict[str, Any] = {
        "name": content["name"],
        "description": content.get("description", ""),
        "datasets": datasets,
        **{
            f"{kind}s": [
                {"name": name, **value}
                for (part, name), value in sorted(parts.items())
                if part == kind
            ]
            for kind in _PARTS
        },
    }
    if ("dashboard", "") in parts:
        made["dashboard"] = parts["dashboard", ""]["html"]
    return made


def _complete_dataset(dataset: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": dataset["name"],
        "columns": complete_columns(dataset.get("columns", [])),
        "dedupe_key_field": dataset.get("dedupe_key_field"),
    }


def _collect_parts(content: EntityContent) -> dict[tuple[BoardPart, str], dict[str, Any]]:
    found: dict[tuple[BoardPart, str], dict[str, Any]] = {}
    for part in _PARTS:
        for name, value in _index_entries(content.get(f"{part}s") or (), f"/template/{part}s"):
            found[part, name] = value
    dashboard = content.get("dashboard")
    if dashboard:
        html = dashboard if isinstance(dashboard, str) else dashboard["html"]
        found["dashboard", ""] = {"html": html}
    return found


def _index_entries(
    entries: Sequence[Mapping[str, Any]], at: str
) -> list[tuple[str, dict[str, Any]]]:
    """Index entries by their unique names."""
    names = [str(one["name"]) for one in entries]
    for place, name in enumerate(names):
        if name in names[:place]:
            detail = f"Two of them are called {name!r}."
            found = [Finding(f"{at}/{place}/name", detail, "name_twice")]
            raise Invalid(detail, code="name_twice", findings=found)
    return [
        (name, {key: value for key, value in one.items() if key != "name"})
        for name, one in zip(names, entries, strict=True)
    ]


async def _choose_name(ctx: CallContext, name: str, own: UUID) -> str:
    rows = await ctx.tx.fetch(_TAKEN, ctx.actor.workspace_id, own, name[:100])
    return choose_free_name(name, {row["name"] for row in rows})
