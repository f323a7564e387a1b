"""Rows of boards: added once by the field that tells doubles, or changed where they stand."""

from __future__ import annotations

from typing import Any, Final

from mainspring.authoring.shapes import QuestionChoice
from mainspring.authoring.sketch.lookup import (
    BoardMatch,
    board_choices,
    columns_of,
    how_to_create_board,
)
from mainspring.authoring.sketch.texts import inert, quote_request
from mainspring.authoring.sketch.workbench import SketchBuilder
from mainspring.definition.pointers import join_pointer

_ID: Final = {"type": "string", "format": "uuid"}


def add_rows(
    bench: SketchBuilder, found: BoardMatch, rows: Any, when: str | None, made_key: str | None
) -> None:
    """A step that appends rows. Which field tells doubles is never left open."""
    at = join_pointer(bench.next_at, "config")
    config = _board(bench, found, at)
    dataset = found.dataset
    if rows is None:
        bench.ask(
            "row",
            join_pointer(at, "rows"),
            "What should the row hold, as fields and values?",
            schema=bench.argument("append_board_rows", "rows"),
            why="The request does not say what is written.",
        )
    else:
        config["rows"] = rows
    key = dataset.dedupe_key_field if dataset is not None else None
    if key is not None and "{" not in key:
        config["dedupe_key_field"] = key
        bench.key_field = key
    else:
        _ask_key(bench, found, at, made_key)
    bench.step("add_rows", "append_board_rows", config, when=when)


def _ask_key(bench: SketchBuilder, found: BoardMatch, at: str, made_key: str | None) -> None:
    """The question that may not be skipped: by what is a row known?"""
    columns = columns_of(found.dataset)
    names = dict.fromkeys((*((made_key,) if made_key else ()), *columns))
    # Several boards have several keys; the definition as a whole names the first.
    others = () if bench.key_field else ("/writes/dedupe_key_field",)
    bench.key_field = bench.key_field or ""
    bench.ask(
        "dedupe-key",
        join_pointer(at, "dedupe_key_field"),
        "Which field of a row holds an id that never changes, so that no row is written twice?",
        schema={"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[^{}]+$"},
        choices=tuple(QuestionChoice(name, name) for name in names),
        others=others,
        why="Without it rows double on every run, on every replay, and beside every teammate's "
        "automation.",
    )


def change_rows(bench: SketchBuilder, found: BoardMatch, rows: Any, when: str | None) -> None:
    """A step that changes rows by their ids."""
    at = join_pointer(bench.next_at, "config")
    config = _board(bench, found, at)
    if not isinstance(rows, str):
        # Only a row that was read has an id by which it can be changed.
        bench.ask(
            "row",
            join_pointer(at, "rows"),
            "Which rows change, and to what?",
            schema=bench.argument("update_board_rows", "rows"),
        )
    else:
        config["rows"] = rows
    bench.step("change_rows", "update_board_rows", config, when=when)


def _board(bench: SketchBuilder, found: BoardMatch, at: str) -> dict[str, Any]:
    config: dict[str, Any] = {}
    if found.board is None:
        said = f" There is none called {quote_request(found.said)}." if found.said else ""
        if found.said and len({one.name for one in found.choices}) == 1 and len(found.choices) > 1:
            said = f" Several are called {quote_request(found.said)}."
        said += how_to_create_board(found.said, bench.resources)
        place = bench.unknown_board()
        bench.ask(
            "board",
            join_pointer(at, "board_id"),
            f"Which board is written?{said}",
            schema=_ID,
            choices=board_choices(found.choices or bench.resources.boards),
            others=(place,),
        )
        return config
    config["board_id"] = found.board.id
    if found.board.id not in bench.boards:
        bench.boards.append(found.board.id)
    if found.dataset is not None and found.dataset.name != "default":
        config["dataset"] = inert(found.dataset.name)
    return config
