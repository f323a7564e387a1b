"""Datasets that a file does not speak of: they hold rows of people here, so they are kept.

They count as no change either, or the same folder would change a board with every import.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mainspring.recipes.carrying.carried import WorkspaceContent, WorkspaceResource
from mainspring.workspace.boards.finding import DEFAULT


def as_written(written: WorkspaceContent, whole: WorkspaceContent) -> WorkspaceContent:
    """Boards spelled out whole, without the first dataset where their files leave it out."""
    spoken = {one.slug: _list_dataset_names(one) for one in written.of("board")}
    things = [
        _replace_datasets(
            one, [each for each in _list_datasets(one) if each["name"] in spoken[one.slug]]
        )
        if one.kind == "board"
        else one
        for one in whole.things
    ]
    return replace(whole, things=tuple(things))


def filter_described(here: WorkspaceContent, coming: WorkspaceContent) -> WorkspaceContent:
    """What is here, with the datasets alone that the files speak of, in their order."""
    orders = {
        one.name: [each["name"] for each in _list_datasets(one)] for one in coming.of("board")
    }
    things = [
        _select_datasets(one, orders[one.name])
        if one.kind == "board" and one.name in orders
        else one
        for one in here.things
    ]
    return replace(here, things=tuple(things))


def _select_datasets(board: WorkspaceResource, order: Sequence[str]) -> WorkspaceResource:
    known = {each["name"]: each for each in _list_datasets(board)}
    return _replace_datasets(board, [known[name] for name in order if name in known])


def list_kept_datasets(here: WorkspaceResource, coming: WorkspaceResource) -> list[dict[str, str]]:
    """What of a board here stays though its file does not have it."""
    spoken = _list_dataset_names(coming)
    return [
        {
            "path": coming.path,
            "why": f"The dataset {one['name']!r} is here and not in the file; it is kept.",
        }
        for one in _list_datasets(here)
        if one["name"] not in spoken and not _is_usual(one)
    ]


def _is_usual(dataset: Mapping[str, Any]) -> bool:
    """Every board has a first dataset; nobody has to write it down."""
    return (
        dataset["name"] == DEFAULT
        and not dataset["columns"]
        and dataset["dedupe_key_field"] is None
    )


def _list_datasets(board: WorkspaceResource) -> list[Mapping[str, Any]]:
    return list(board.content.get("datasets") or ())


def _list_dataset_names(board: WorkspaceResource) -> set[str]:
    return {one["name"] for one in _list_datasets(board)}


def _replace_datasets(
    board: WorkspaceResource, datasets: list[Mapping[str, Any]]
) -> WorkspaceResource:
    return replace(board, content={**board.content, "datasets": datasets})
