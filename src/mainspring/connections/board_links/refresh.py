"""refresh_dataset and adapter_query: what stands outside, read now.

A refresh reads first and writes then, in one transaction. When either goes wrong, that is written
down with the recipe before it is told, so that the board shows it too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import orjson

from mainspring.connections.board_links.adapters import LinkableResources, raise_findings
from mainspring.connections.board_links.addresses import check_linked
from mainspring.connections.call_context import GateContext
from mainspring.contracts.capability import CapabilityHandler, ConnectionRoute, require_part
from mainspring.contracts.errors import (
    Conflict,
    Finding,
    InternalError,
    Problem,
    UpstreamError,
    as_problem,
)
from mainspring.contracts.integration import UnreadableItem
from mainspring.contracts.limits import Limits
from mainspring.contracts.outcome import NothingToDo, Unchanged
from mainspring.store.database import WorkspaceDatabase
from mainspring.workspace.boards.links import (
    BoardLink,
    RefreshRecipe,
    find_link,
    find_recipe,
    note_failed,
)
from mainspring.workspace.boards.lookup import open_board
from mainspring.workspace.boards.refresh import MOST_TOLD, IncomingRows, write_refresh

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.contracts.integration import Operation
    from mainspring.store.database import Connection, Database

MOST_ROWS: Final = 10_000
MOST_ANSWERED: Final = 1_000

Arguments = Mapping[str, Any]
Row = Mapping[str, Any]


def refresh_handler(
    kinds: LinkableResources, limits: Limits, database: Database | None
) -> CapabilityHandler:
    async def refresh(
        ctx: CallContext, arguments: Arguments
    ) -> dict[str, Any] | Unchanged | NothingToDo:
        here = _here(ctx)
        inside = WorkspaceDatabase(require_part(database), ctx.actor.workspace_id)
        try:
            recipe, link = await inside.run_retrying(
                lambda tx: _find_recipe_and_link(here, tx, UUID(arguments["recipe_id"]))
            )
        except Conflict as clash:
            if clash.code != "board_archived":
                raise
            # Its schedule goes on, and reads again once somebody brings the board back.
            return NothingToDo("The board is archived, so nothing was read for it.")
        try:
            incoming = await _incoming(here, kinds, recipe, link)
            told, changed = await inside.run_retrying(
                lambda tx: write_refresh(replace(here, transaction=tx), recipe, incoming, limits)
            )
        except Exception as error:
            problem = as_problem(error)
            await inside.run_retrying(
                lambda tx: note_failed(tx, ctx.actor.workspace_id, recipe.id, problem)
            )
            raise
        return told if changed else Unchanged(told)

    return refresh


def query_findings(kinds: LinkableResources, arguments: Arguments) -> Sequence[Finding]:
    """What is wrong with a question, told before anything is read."""
    one = kinds.get(arguments["kind"])
    if one is None:
        return [kinds.unknown(arguments["kind"])]
    return [
        *one.ref_findings(arguments.get("ref") or {}),
        *one.validate_operation(arguments["op"], arguments.get("params") or {}, "/op"),
    ]


def query_handler(
    kinds: LinkableResources, limits: Limits, database: Database | None
) -> CapabilityHandler:
    # A run keeps what it reads as the output of a step.
    room = limits.step_output_bytes * 3 // 4

    async def query(ctx: CallContext, given: Arguments) -> dict[str, Any]:
        one = kinds[given["kind"]]
        ref = one.adapter.normal(given.get("ref") or {})
        if one.is_free:
            await check_linked(ctx, require_part(database), given["kind"], ref)
        operation = require_part(one.operation(given["op"]))
        rows, unread = await _read(
            _here(ctx), one.route(ref, None), operation, ref, given.get("params") or {}
        )
        shown = _fitting(rows[:MOST_ANSWERED], room)
        return {
            "kind": given["kind"],
            "op": operation.id,
            "rows": shown,
            "count": len(rows),
            "cut": len(shown) < len(rows),
            "left_out": len(unread),
            "problems": [{"detail": one.detail, "code": one.code} for one in unread[:MOST_TOLD]],
        }

    return query


async def _find_recipe_and_link(
    here: GateContext, tx: Connection, recipe_id: UUID
) -> tuple[RefreshRecipe, BoardLink]:
    """The recipe and its link; a board that takes no changes is not read for."""
    space = here.actor.workspace_id
    recipe = await find_recipe(tx, space, recipe_id)
    await open_board(replace(here, transaction=tx), {"board_id": recipe.board_id})
    return recipe, await find_link(tx, space, recipe.link_id)


async def _incoming(
    here: GateContext, kinds: LinkableResources, recipe: RefreshRecipe, link: BoardLink
) -> IncomingRows:
    """What the other side has now."""
    one = kinds.kept(link.kind)
    # An integration may have changed since the recipe was made.
    raise_findings(one.ref_findings(link.ref), "What the link names")
    raise_findings(
        one.validate_operation(recipe.adapter_op, recipe.params, "/adapter_op"), "The recipe"
    )
    operation = require_part(one.operation(recipe.adapter_op))
    must = link.integration_provider is not None
    route = one.route(link.ref, link.integration_user_id, must=must)
    rows, unread = await _read(here, route, operation, link.ref, recipe.params)
    return IncomingRows(rows, operation.columns, operation.key, unread)


async def _read(
    here: GateContext,
    route: ConnectionRoute,
    operation: Operation,
    ref: Arguments,
    params: Arguments,
) -> tuple[list[Row], list[Problem]]:
    """Rows of one operation, and why others could not be read, over its route's connection."""
    way = await require_part(here.connect)(route)
    found = await operation.rows(
        replace(here, open_http=lambda: way.http, account=way.account), ref, params
    )
    rows = [one for one in found if not isinstance(one, UnreadableItem)]
    if len(rows) > MOST_ROWS:
        raise UpstreamError(
            f"{operation.id} answered {len(rows):,} rows; at most {MOST_ROWS:,} are taken.",
            code="too_many_rows",
            retryable=False,
            suggestion="Narrow it down with params.",
        )
    return rows, [one.problem for one in found if isinstance(one, UnreadableItem)]


def _fitting(rows: Sequence[Row], room: int) -> list[Mapping[str, Any]]:
    """As many of the first rows as an answer holds."""
    shown: list[Mapping[str, Any]] = []
    for row in rows:
        room -= _size(row)
        if room < 0:
            break
        shown.append(row)
    return shown


def _size(row: Mapping[str, Any]) -> int:
    try:
        return len(orjson.dumps(row)) + 1
    except orjson.JSONEncodeError:
        raise UpstreamError(
            "A row contains a value that is not JSON.", code="bad_row", retryable=False
        ) from None


def _here(ctx: CallContext) -> GateContext:
    if not isinstance(ctx, GateContext):
        raise InternalError("This is called through the gate alone.", retryable=False)
    return ctx
