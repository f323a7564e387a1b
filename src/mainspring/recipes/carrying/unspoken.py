"""Datasets that a file does not speak of: they hold rows of people here, so they are kept.

They count as no change either, or the same folder would change a board with every import.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mainspring.recipes.carrying.carried import Carried, Thing
from mainspring.workspace.boards.finding import DEFAULT


def as_written(written: Carried, whole: Carried) -> Carried:
    """Boards spelled out whole, without the first dataset where their files leave it out."""
    spoken = {one.slug: _names(one) for one in written.of("board")}
    things = [
        _with(one, [each for each in _datasets(one) if each["name"] in spoken[one.slug]])
        if one.kind == "board"
        else one
        for one in whole.things
    ]
    return replace(whole, things=tuple(things))


def spoken_of(here: Carried, coming: Carried) -> Carried:
    """What is here, with the datasets alone that the files speak of, in their order."""
    orders = {one.name: [each["name"] for each in _datasets(one)] for one in coming.of("board")}
    things = [
        _only(one, orders[one.name]) if one.kind == "board" and one.name in orders else one
        for one in here.things
    ]
    return replace(here, things=tuple(things))


def _only(board: Thing, order: Sequence[str]) -> Thing:
    known = {each["name"]: each for each in _datasets(board)}
    return _with(board, [known[name] for name in order if name in known])


def kept(here: Thing, coming: Thing) -> list[dict[str, str]]:
    """What of a board here stays though its file does not have it."""
    spoken = _names(coming)
    return [
        {
            "path": coming.path,
            "why": f"The dataset {one['name']!r} is here and not in the file; it is kept.",
        }
        for one in _datasets(here)
        if one["name"] not in spoken and not _is_usual(one)
    ]


def _is_usual(dataset: Mapping[str, Any]) -> bool:
    """Every board has a first dataset; nobody has to write it down."""
    return (
        dataset["name"] == DEFAULT
        and not dataset["columns"]
        and dataset["dedupe_key_field"] is None
    )


def _datasets(board: Thing) -> list[Mapping[str, Any]]:
    return list(board.content.get("datasets") or ())


def _names(board: Thing) -> set[str]:
    return {one["name"] for one in _datasets(board)}


def _with(board: Thing, datasets: list[Mapping[str, Any]]) -> Thing:
    return replace(board, content={**board.content, "datasets": datasets})
