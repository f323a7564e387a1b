"""Links and recipes, made and taken away by people.

A link keeps its reference in one spelling. It is read over the connection of whoever made it, and
nobody makes one over somebody else's: what a person is let in to is theirs to share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.connections.board_links.adapters import (
    LinkableResource,
    LinkableResources,
    raise_findings,
)
from mainspring.contracts.capability import CapabilityHandler, require_part
from mainspring.contracts.display_text import check_plain_name
from mainspring.contracts.errors import Finding, Invalid, PermissionDenied
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.definition.cron import parse_cron
from mainspring.workspace.boards.columns import SERVER_KEYS
from mainspring.workspace.boards.links import (
    BoardLink,
    add_link,
    add_recipe,
    check_free,
    find_link,
    find_recipe,
    list_board_links,
    list_link_recipes,
    remove_link,
    remove_recipe,
)
from mainspring.workspace.boards.lookup import (
    check_may_write,
    find_board,
    list_board_datasets,
    open_board,
)
from mainspring.workspace.boards.refresh import check_own_rows, prepare_dataset
from mainspring.workspace.built_in_automations import BuiltInAutomations, put_away

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.workspace.boards.lookup import Board

Arguments = Mapping[str, Any]


def link_findings(kinds: LinkableResources, arguments: Arguments) -> Sequence[Finding]:
    """What is wrong with a new link, told before anything is looked up."""
    one = kinds.get(arguments["kind"])
    if one is None:
        return [kinds.unknown(arguments["kind"])]
    return [*one.ref_findings(arguments["ref"]), *_provider_findings(one, arguments)]


def create_link(kinds: LinkableResources) -> CapabilityHandler:
    async def create(ctx: CallContext, given: Arguments) -> dict[str, Any]:
        one = kinds[given["kind"]]
        whose = _connection_owner(ctx, one, given)
        board = await open_board(ctx, given, hold=True)
        ref = one.adapter.normal(given["ref"])
        link = await add_link(
            ctx,
            board.id,
            one.adapter.kind,
            ref,
            given["display_name"],
            given.get("integration_provider"),
            whose,
        )
        return link.as_dict()

    return create


def create_recipe(
    kinds: LinkableResources, automations: BuiltInAutomations, limits: Limits
) -> CapabilityHandler:
    async def create(ctx: CallContext, given: Arguments) -> dict[str, Any]:
        space = ctx.actor.workspace_id
        link = await find_link(ctx.tx, space, UUID(given["link_id"]))
        one = kinds.kept(link.kind)
        raise_findings(_recipe_findings(one, given), "The recipe")
        _check_mine(ctx, link)
        board = await open_board(ctx, {"board_id": link.board_id}, hold=True)
        await check_free(ctx, board.id, given["dataset_name"])
        await check_own_rows(ctx, board.id, given["dataset_name"])
        if given["dataset_name"] not in {
            known.name for known in await list_board_datasets(ctx, board)
        }:
            check_plain_name(given["dataset_name"], "/dataset_name")
        recipe_id = generate_id()
        automation_id = None
        if given.get("refresh_cron") is not None:
            automation_id = await _schedule_refresh(ctx, automations, board, link, recipe_id, given)
        recipe = await add_recipe(ctx, recipe_id, link, given, automation_id)
        await prepare_dataset(
            ctx, board, recipe, require_part(one.operation(recipe.adapter_op)), limits
        )
        return recipe.as_dict()

    return create


def list_links() -> CapabilityHandler:
    async def listed(ctx: CallContext, arguments: Arguments) -> dict[str, Any]:
        board = await find_board(ctx, arguments)
        links = await list_board_links(ctx.tx, ctx.actor.workspace_id, board.id)
        return {"board_id": str(board.id), "links": links}

    return listed


def delete_link() -> CapabilityHandler:
    async def delete(ctx: CallContext, arguments: Arguments) -> dict[str, Any]:
        space = ctx.actor.workspace_id
        link = await find_link(ctx.tx, space, UUID(arguments["link_id"]))
        await check_may_write(ctx, link.board_id)
        recipes = await list_link_recipes(ctx.tx, space, link.id)
        for recipe in recipes:
            await put_away(ctx.tx, space, recipe.automation_id)
        await remove_link(ctx.tx, space, link.id)
        return {
            "link_id": str(link.id),
            "board_id": str(link.board_id),
            "deleted": True,
            "recipes": len(recipes),
        }

    return delete


def delete_recipe() -> CapabilityHandler:
    async def delete(ctx: CallContext, arguments: Arguments) -> dict[str, Any]:
        space = ctx.actor.workspace_id
        recipe = await find_recipe(ctx.tx, space, UUID(arguments["recipe_id"]))
        await check_may_write(ctx, recipe.board_id)
        await put_away(ctx.tx, space, recipe.automation_id)
        await remove_recipe(ctx.tx, space, recipe.id)
        return {
            "recipe_id": str(recipe.id),
            "board_id": str(recipe.board_id),
            "dataset_name": recipe.dataset_name,
            "deleted": True,
        }

    return delete


def _provider_findings(one: LinkableResource, arguments: Arguments) -> list[Finding]:
    named = arguments.get("integration_provider")
    if named is None:
        return []
    at, kind = "/integration_provider", one.adapter.kind
    if not one.uses_connection:
        return [Finding(at, f"{kind} is read without a connection; leave this out.", "no_provider")]
    if named not in one.providers:
        detail = f"{kind} is read over a connection to {' or '.join(one.providers)}."
        return [Finding(at, detail, "unknown_provider")]
    return []


def _connection_owner(ctx: CallContext, one: LinkableResource, arguments: Arguments) -> UUID | None:
    """Whose connection a link uses: the caller's, and nobody else's."""
    asked = arguments.get("integration_user_id")
    if asked is not None and UUID(asked) != ctx.actor.id:
        raise PermissionDenied(
            "A link uses the connection of the person who creates it, and no other.",
            code="not_your_connection",
            findings=[
                Finding("/integration_user_id", "This is another account.", "not_your_connection")
            ],
            suggestion="Leave integration_user_id out, or let that person make the link.",
        )
    return ctx.actor.id if one.uses_connection else None


def _check_mine(ctx: CallContext, link: BoardLink) -> None:
    """A recipe reads over the link's connection, so only its owner says what is read."""
    if link.integration_user_id not in (None, ctx.actor.id):
        raise PermissionDenied(
            "This link uses another member's connection, so only they can create the recipe.",
            code="not_your_connection",
            suggestion="Make a link of your own with create_board_link.",
        )


def _recipe_findings(one: LinkableResource, arguments: Arguments) -> list[Finding]:
    found = [
        *one.validate_operation(
            arguments["adapter_op"], arguments.get("params") or {}, "/adapter_op"
        )
    ]
    cron = arguments.get("refresh_cron")
    if cron is not None:
        try:
            parse_cron(cron)
        except Invalid as problem:
            told = problem.findings[0] if problem.findings else None
            detail = problem.detail if told is None else told.detail
            way = problem.suggestion if told is None else told.suggestion
            found.append(Finding("/refresh_cron", detail, problem.code, way))
    return [*found, *_key_findings(one, arguments)]


def _key_findings(one: LinkableResource, arguments: Arguments) -> list[Finding]:
    """The field that tells rows apart, and the column where it is kept."""
    operation = one.operation(arguments["adapter_op"])
    if operation is None:
        return []
    found = []
    columns, field = operation.columns, arguments.get("dedupe_key_field")
    target = arguments.get("dedupe_target_field")
    if field is not None and columns and field not in columns:
        detail = f"{operation.id} has no field {field!r}. It has {', '.join(columns)}."
        found.append(Finding("/dedupe_key_field", detail, "unknown_field"))
    if target in SERVER_KEYS or (target is None and field in SERVER_KEYS):
        at = "/dedupe_key_field" if target is None else "/dedupe_target_field"
        found.append(Finding(at, "The server itself writes this field.", "server_key"))
    if target is not None and target in columns and target != (field or operation.key):
        detail = f"{operation.id} fills {target!r} with something else already."
        found.append(Finding("/dedupe_target_field", detail, "field_taken"))
    return found


async def _schedule_refresh(
    ctx: CallContext,
    automations: BuiltInAutomations,
    board: Board,
    link: BoardLink,
    recipe_id: UUID,
    arguments: Arguments,
) -> UUID:
    """The automation that refreshes it, active because somebody has just asked for it."""
    name = arguments["dataset_name"]
    return await automations.create(
        ctx.tx,
        ctx.actor.workspace_id,
        ctx.actor,
        name=f"Refresh {name} of {board.name}",
        goal=f"Keep the dataset {name} of the board {board.name} as {link.display_name} has it.",
        cron=arguments["refresh_cron"],
        steps=[
            {
                "step_id": "refresh",
                "action": "refresh_dataset",
                "config": {"recipe_id": str(recipe_id)},
            }
        ],
        tags=["board-link"],
    )
