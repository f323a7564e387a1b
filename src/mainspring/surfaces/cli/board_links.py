"""``boards link`` and its kin: what boards are linked to, and datasets filled from there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import orjson

from mainspring.contracts.errors import Invalid, NotFound, Problem
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.boards import board_id_of, call_board, freshness
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.formatting import count, hint
from mainspring.surfaces.cli.screen import Screen, as_json, one_line

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext

_ADDRESSES: Final = ("http://", "https://", "webcal://", "webcals://")


def read_pairs(words: Sequence[str]) -> dict[str, Any]:
    """An address alone, or names with values; a value is JSON where it can be read so."""
    found: dict[str, Any] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if word.lower().startswith(_ADDRESSES):
            found["url"] = word
        elif sign and name:
            found[name] = _value(value)
        else:
            raise Invalid(
                f"{word!r} is not an address or name=value.",
                code="usage",
                suggestion="As in owner=octo repo=hello.",
            )
    return found


def _value(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


async def link_board(
    context: CommandContext,
    screen: Screen,
    board: str,
    kind: str,
    ref: Sequence[str] | None,
    name: str = "",
    provider: str | None = None,
) -> int:
    arguments: dict[str, Any] = {"kind": kind, "ref": read_pairs(ref or ())}
    arguments["display_name"] = name or " ".join([kind, *(ref or ())])[:200]
    if provider is not None:
        arguments["integration_provider"] = provider
    async with open_client(context) as client:
        board_id = await board_id_of(client, board)
        made = await call_board(client, "create_board_link", board_id=board_id, **arguments)
    if screen.for_programs:
        screen.answer(made)
    else:
        screen.say(f"The link {one_line(made['display_name'])} is {made['id']}.")
        screen.say(f"  {hint('boards', 'fill', made['id'], 'DATASET', 'OPERATION')}")
    return exits.DONE


async def list_links(context: CommandContext, screen: Screen, board: str) -> int:
    async with open_client(context) as client:
        board_id = await board_id_of(client, board)
        found = await call_board(client, "list_board_links", board_id=board_id)
    if screen.for_programs:
        screen.answer(found)
    elif not found["links"]:
        screen.say("The board is linked to nothing.")
        screen.say(f"  {hint('boards', 'link', board, 'KIND', 'REF...')}")
    for link in () if screen.for_programs else found["links"]:
        said = as_json(link["ref"], indent=None)
        screen.say(f"{link['id']}  {one_line(link['display_name'])}: {link['kind']} {said}")
        for recipe in link["recipes"]:
            when = recipe["refresh_cron"] or "manual"
            screen.say(
                f"  {recipe['id']}  {one_line(recipe['dataset_name'])}: {recipe['adapter_op']}, "
                f"{when}{freshness(recipe)}"
            )
    return exits.DONE


async def fill_dataset(
    context: CommandContext,
    screen: Screen,
    link: str,
    dataset: str,
    operation: str,
    params: Sequence[str] | None = None,
    cron: str | None = None,
    key: str | None = None,
    keep_as: str | None = None,
) -> int:
    """Keeps the recipe, and refreshes once, so that the caller sees what it brings."""
    arguments: dict[str, Any] = {"link_id": link, "dataset_name": dataset, "adapter_op": operation}
    more = {"refresh_cron": cron, "dedupe_key_field": key, "dedupe_target_field": keep_as}
    arguments |= {name: value for name, value in more.items() if value is not None}
    if params:
        arguments["params"] = read_pairs(params)
    async with open_client(context) as client:
        made = await call_board(client, "create_dataset_recipe", **arguments)
        try:
            result = await call_board(client, "refresh_dataset", recipe_id=made["id"])
        except Problem as problem:
            again = hint("boards", "refresh", made["board_id"], made["dataset_name"])
            problem.suggestion = f"The recipe {made['id']} is saved. Try again: {again}"
            raise
    if screen.for_programs:
        screen.answer({"recipe": made, "refreshed": result})
    else:
        screen.say(f"The recipe is {made['id']}.", _describe_sync(result))
    return exits.DONE


async def refresh_board(
    context: CommandContext, screen: Screen, board: str, dataset: str | None
) -> int:
    """Refreshes each by itself: one that fails is told after the others."""
    done: list[dict[str, Any]] = []
    failed: Problem | None = None
    async with open_client(context) as client:
        board_id = await board_id_of(client, board)
        links = (await call_board(client, "list_board_links", board_id=board_id))["links"]
        recipes = [
            one
            for link in links
            for one in link["recipes"]
            if dataset in (None, one["dataset_name"])
        ]
        if not recipes:
            raise NotFound(
                "No dataset of this board is filled from a link."
                if dataset is None
                else f"The dataset {dataset!r} is not filled from a link.",
                code="no_recipe",
                suggestion=f"See what there is: {hint('boards', 'links', board)}",
            )
        for recipe in recipes:
            try:
                done.append(await call_board(client, "refresh_dataset", recipe_id=recipe["id"]))
            except Problem as problem:
                failed = problem
    if screen.for_programs:
        screen.answer({"refreshed": done})
    else:
        for told in done:
            screen.say(_describe_sync(told))
    if failed is not None:
        raise failed
    return exits.DONE


async def unlink(context: CommandContext, screen: Screen, link: str, *, recipe: bool) -> int:
    async with open_client(context) as client:
        if recipe:
            made = await call_board(client, "delete_dataset_recipe", recipe_id=link)
        else:
            made = await call_board(client, "delete_board_link", link_id=link)
    if screen.for_programs:
        screen.answer(made)
    else:
        screen.say("Recipe deleted." if recipe else "Link deleted.", "Its rows stay.")
    return exits.DONE


def _describe_sync(result: dict[str, Any]) -> str:
    parts = [
        f"{result[word]} {word}"
        for word in ("appended", "updated", "restored", "deleted")
        if result[word]
    ]
    changed = ", ".join(parts) or "nothing has changed"
    why = one_line(result["problems"][0]["detail"]) if result["problems"] else ""
    lost = f"; {result['left_out']} omitted, the first: {why}" if result["left_out"] else ""
    twice = f"; {result['duplicates']} occur twice" if result["duplicates"] else ""
    return f"{one_line(result['dataset'])}: {count(result['total'], 'row')}, {changed}{twice}{lost or '.'}"  # noqa: E501
