"""The table of requirements says only what a test that exists would notice."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest

from scripts.add_requirements import added, rows_in
from scripts.reference_pages.requirements import requirements_page, shown_sentence
from scripts.requirement_rows import HEAD, Area, Requirement, in_order, read_areas, write_area
from tests.architecture.tree import ROOT, nodes

NUMBER = re.compile(r"[ACDIPSX]-\d{3}|[DIMNORSTW][1-9]\d?")
TEST = re.compile(r"(tests/[\w/]+/test_\w+\.py)(?:::(test_\w+))?")


def _rows() -> list[Requirement]:
    return [row for area in read_areas() for row in area.requirements]


def _exists(test: str) -> bool:
    named = TEST.fullmatch(test)
    if named is None or not (ROOT / named[1]).is_file():
        return False
    return named[2] is None or any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == named[2]
        for node in nodes(ROOT / named[1])
    )


def test_every_requirement_has_at_least_one_test_and_each_named_test_exists() -> None:
    rows = _rows()

    assert [row.number for row in rows if not row.tests] == []
    assert [f"{r.number}: {test}" for r in rows for test in r.tests if not _exists(test)] == []
    assert [row.number for row in rows if len(row.tests) != len(set(row.tests))] == []


def test_every_requirement_is_one_line_that_ends_with_a_full_stop() -> None:
    rows = _rows()

    assert [row.number for row in rows if not NUMBER.fullmatch(row.number)] == []
    assert [row.number for row in rows if not re.fullmatch(r"\S.*\S\.", row.sentence)] == []
    missing = [row for row in rows if row.missing]
    assert [row.number for row in missing if not re.fullmatch(r"\S.*\S\.", row.missing)] == []


def test_every_number_and_every_sentence_is_in_the_table_once() -> None:
    rows = _rows()
    numbers = [row.number for row in rows]
    sentences = [row.sentence.casefold() for row in rows]

    assert [number for number in numbers if numbers.count(number) > 1] == []
    assert [output for output in sentences if sentences.count(output) > 1] == []


def test_every_area_has_its_rows_in_order_under_the_words_on_how_to_add_one() -> None:
    areas = read_areas()

    assert len(areas) > 5
    for area in areas:
        stored = (ROOT / "docs" / "requirements" / f"{area.name}.toml").read_text(encoding="utf-8")
        assert stored.startswith(HEAD), area.name
        assert list(area.requirements) == in_order(area.requirements), area.name


def test_the_page_lists_every_requirement_and_says_how_many_there_are() -> None:
    rows = _rows()
    page = requirements_page()

    assert f"{len(rows)} requirements have tests" in page
    lines = {row.number: f"| {row.number} | {shown_sentence(row)} |" for row in rows}
    assert [number for number, line in lines.items() if line not in page] == []
    short = [row for row in rows if row.missing]
    assert f"{len(short)} of them are met in part" in page
    assert page.count("**Missing:**") == len(short)


def test_what_is_missing_of_a_requirement_is_kept_when_tests_are_added(tmp_path: Path) -> None:
    known = Requirement("A-002", "Two.", ("tests/a/test_x.py",), "The second half.")
    areas = added(
        [Area("door", "", "", (known,))],
        "door",
        rows_in(["A-002 | Two. | tests/b/test_y.py"]),
    )
    write_area(areas[0], tmp_path)

    assert [row.missing for row in read_areas(tmp_path)[0].requirements] == ["The second half."]


def test_rows_are_added_in_order_and_a_known_number_only_gets_the_tests_it_lacks() -> None:
    known = Requirement("A-002", "Two.", ("tests/a/test_x.py",))
    areas = [Area("door", "", "", (known,)), Area("kept", "", "", ())]
    rows = rows_in(["## Rows", "A-010 | Ten. | `tests/b/test_y.py::test_z`,"])
    again = rows_in(["A-002 | Said otherwise. | tests/a/test_x.py, tests/b/test_y.py"])

    entry_point, stored = added(areas, "kept", [*rows, *again])

    assert stored.requirements == (Requirement("A-010", "Ten.", ("tests/b/test_y.py::test_z",)),)
    assert entry_point.requirements == (
        replace(known, tests=("tests/a/test_x.py", "tests/b/test_y.py")),
    )


@pytest.mark.parametrize("line", ["A-056 | No tests.", "A-56x | Bad number. | tests/a/test_x.py"])
def test_a_row_that_cannot_be_read_is_refused_and_not_passed_over(line: str) -> None:
    with pytest.raises(ValueError, match=r"row|number"):
        rows_in([line])
