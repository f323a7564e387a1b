"""Pages: where one ends, the next begins, and a cursor has one spelling."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from mainspring.contracts.ids import generate_id
from mainspring.surfaces.rest.paging import page, read_cursor, write_cursor


@given(st.uuids())
def test_a_cursor_leads_back_to_its_id(made: UUID) -> None:
    assert read_cursor(write_cursor(made)) == made


@pytest.mark.parametrize(
    "text",
    [
        "",
        "abc",
        "=",
        "A" * 21,
        "A" * 23,
        "A" * 10_000,
        "é" * 22,
        "A" * 21 + "B",
        write_cursor(UUID(int=1)) + "==",
        " " + write_cursor(UUID(int=1)),
        "+" + write_cursor(UUID(int=1))[1:],
        "\x00" * 22,
    ],
)
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(PydanticCustomError):
        read_cursor(text)


@given(total=st.integers(0, 30), limit=st.integers(1, 10))
def test_pages_put_together_are_the_whole_list(total: int, limit: int) -> None:
    rows = [{"id": generate_id()} for _ in range(total)]
    found: list[Any] = []
    cursor: str | None = None
    for _ in range(total + 1):
        after = read_cursor(cursor)
        rest = [row for row in rows if after is None or row["id"] > after]
        one = page(rest[: limit + 1], limit)
        assert len(one["items"]) <= limit
        found += one["items"]
        cursor = one["next"]
        if cursor is None:
            break

    assert cursor is None
    assert found == rows
