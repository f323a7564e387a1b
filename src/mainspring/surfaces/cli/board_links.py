"""``boards link`` and its kin: what boards are linked to, and datasets filled from there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import orjson

from mainspring.contracts.errors import Invalid, NotFound, Problem
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.boards import board_id_of, call_board, freshness
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
                f"{word!r} is neither an address nor name=value.",
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
    desk: CommandContext, screen: Screen, board: str, given: dict[str, Any]
) -> int:
    async with desk.doors.open(desk.settings()) as rooms:
        board_id = await board_id_of(rooms, board)
        made = await call_board(rooms, "create_board_link", board_id=board_id, **given)
    if screen.for_programs:
        screen.answer(made)
    else:
        screen.say(f"The link {one_line(made['display_name'])} is {made['id']}.")
        screen.say(f"  {hint('boards', 'fill', made['id'], 'DATASET', 'OPERATION')}")
    return exits.DONE


async def list_links(desk: CommandContext, screen: Screen, board: str) -> int:
    async with desk.doors.open(desk.settings()) as rooms:
        board_id = await board_id_of(rooms, board)
        found = await call_board(rooms, "list_board_links", board_id=board_id)
    if screen.for_programs:
        screen.answer(found)
    elif not found["links"]:
        screen.say("The board is linked to nothing.")
        screen.say(f"  {hint('boards', 'link', board, 'KIND', 'REF...')}")
    for link in () if screen.for_programs else found["links"]:
        said = as_json(link["ref"], indent=None)
        screen.say(f"{link['id']}  {one_line(link['display_name'])}: {link['kind']} {said}")
        for recipe in link["recipes"]:
            when = recipe["refresh_cron"] or "by hand"
            screen.say(
                f"  {recipe['id']}  {one_line(recipe['dataset_name'])}: {recipe['adapter_op']}, "
                f"{when}{freshness(recipe)}"
            )
    return exits.DONE


async def fill_dataset(desk: CommandContext, screen: Screen, given: dict[str, Any]) -> int:
    """Keeps the recipe, and refreshes once, so that whoever asks sees what it brings."""
    async with desk.doors.open(desk.settings()) as rooms:
        made = await call_board(rooms, "create_dataset_recipe", **given)
        try:
            told = await call_board(rooms, "refresh_dataset", recipe_id=made["id"])
        except Problem as problem:
            again = hint("boards", "refresh", made["board_id"], made["dataset_name"])
            problem.suggestion = f"The recipe {made['id']} is kept. Try it again: {again}"
            raise
    if screen.for_programs:
        screen.answer({"recipe": made, "refreshed": told})
    else:
        screen.say(f"The recipe is {made['id']}.", _said(told))
    return exits.DONE


async def refresh_board(
    desk: CommandContext, screen: Screen, board: str, dataset: str | None
) -> int:
    """Refreshes each by itself: one that fails is told after the others."""
    done: list[dict[str, Any]] = []
    failed: Problem | None = None
    async with desk.doors.open(desk.settings()) as rooms:
        board_id = await board_id_of(rooms, board)
        links = (await call_board(rooms, "list_board_links", board_id=board_id))["links"]
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
                done.append(await call_board(rooms, "refresh_dataset", recipe_id=recipe["id"]))
            except Problem as problem:
                failed = problem
    if screen.for_programs:
        screen.answer({"refreshed": done})
    else:
        for told in done:
            screen.say(_said(told))
    if failed is not None:
        raise failed
    return exits.DONE


async def unlink(desk: CommandContext, screen: Screen, link: str, *, recipe: bool) -> int:
    async with desk.doors.open(desk.settings()) as rooms:
        if recipe:
            made = await call_board(rooms, "delete_dataset_recipe", recipe_id=link)
        else:
            made = await call_board(rooms, "delete_board_link", link_id=link)
    if screen.for_programs:
        screen.answer(made)
    else:
        screen.say("The recipe is gone." if recipe else "The link is gone.", "Its rows stay.")
    return exits.DONE


def _said(told: dict[str, Any]) -> str:
    parts = [
        f"{told[word]} {word}"
        for word in ("appended", "updated", "restored", "deleted")
        if told[word]
    ]
    changed = ", ".join(parts) or "nothing has changed"
    why = one_line(told["problems"][0]["detail"]) if told["problems"] else ""
    lost = f"; {told['left_out']} left out, the first: {why}" if told["left_out"] else ""
    twice = f"; {told['duplicates']} came twice" if told["duplicates"] else ""
    return (
        f"{one_line(told['dataset'])}: {count(told['total'], 'row')}, {changed}{twice}{lost or '.'}"
    )
