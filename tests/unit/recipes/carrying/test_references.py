"""Ids become references and come back, whatever is around them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.recipes.carrying.references import (
    ResourceReference,
    fill_all,
    find_remaining_ids,
    mark_all,
    rename_all,
)

BOARD = "01900000-0000-7000-8000-00000000000b"
OTHER = "01900000-0000-7000-8000-00000000000c"
CRM = ResourceReference("board", "crm")
IDS = {BOARD: CRM}


def _back(value: Any) -> Any:
    found, lost = fill_all(value, lambda one: BOARD if one == CRM else None)
    assert not lost
    return found


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (BOARD, "$board(crm)"),
        (BOARD.upper(), "$board(crm)"),
        (f'get("{BOARD}")', 'get("$board(crm)")'),
        (f"$${BOARD}", "$$$$$board(crm)"),
        ("$board(crm)", "$$board(crm)"),
        ("keyboard(x) ${board}", "keyboard(x) ${board}"),
        (f"{BOARD}0", f"{BOARD}0"),
        (OTHER, OTHER),
    ],
)
def test_an_id_becomes_a_reference_and_nothing_else_does(text: str, written: str) -> None:
    assert mark_all({"at": [text]}, IDS) == {"at": [written]}
    assert _back({"at": [written]}) == {"at": [text.lower() if text == BOARD.upper() else text]}


PIECES = st.lists(
    st.sampled_from(
        ["$", "$$", BOARD, OTHER, "board(", "$board(crm)", "automation(", ")", "x", " "]
    ),
    max_size=12,
).map("".join)


@given(PIECES)
def test_whatever_is_marked_comes_back(text: str) -> None:
    assert _back(mark_all([text], IDS)) == [text]


def test_references_that_lead_nowhere_are_reported_with_their_places() -> None:
    _, lost = fill_all({"a": [{"b/c": "x $board(gone) $workflow("}]}, lambda one: None)

    assert [(one.pointer, one.text) for one in lost] == [
        ("/a/0/b~1c", "$board(gone)"),
        ("/a/0/b~1c", "$workflow("),
    ]


def test_files_are_renamed_in_references_and_nowhere_else() -> None:
    names = {CRM: ResourceReference("board", "customers")}

    text = "$board(crm) $$board(crm) $$$board(crm) $board(x)"

    assert rename_all(text, names) == "$board(customers) $$board(crm) $$$board(customers) $board(x)"


def test_a_million_dollars_cost_no_more_than_a_million_letters() -> None:
    text = "$" * 1_000_001 + "boar"

    assert mark_all(text, IDS) == text
    assert _back(text) == text
    assert mark_all(f"{text}d(x)", IDS) == "$" * 1_000_001 + f"{text}d(x)"


def test_ids_that_stay_are_reported() -> None:
    assert list(find_remaining_ids({"a": f"of {OTHER}"})) == [("/a", OTHER)]
