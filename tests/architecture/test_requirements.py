"""``docs/requirements.md`` names only tests that exist."""

from __future__ import annotations

import ast
import re

from tests.architecture.tree import ROOT, parsed

PAGE = ROOT / "docs" / "requirements.md"
NUMBER = re.compile(r"(?:[SDX]-\d{3}|[RSNITW]\d{1,2})")
REFERENCE = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


def _rows() -> list[tuple[str, str, str]]:
    rows = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("|") and NUMBER.fullmatch(cells[0]):
            number, sentence, tests = cells
            rows.append((number, sentence, tests))
    return rows


def _exists(file: str, function: str) -> bool:
    path = ROOT / file
    if not path.is_file() or not function:
        return path.is_file()
    return any(
        isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        and node.name == function
        for node in ast.walk(parsed(path))
    )


def test_every_requirement_names_a_test_that_exists() -> None:
    missing = [
        f"{number}: {file}::{function}"
        for number, _, tests in _rows()
        for file, function in REFERENCE.findall(tests)
        if not _exists(file, function)
    ]

    assert missing == []


def test_every_requirement_is_a_sentence_with_at_least_one_test() -> None:
    rows = _rows()

    assert [number for number, sentence, _ in rows if not sentence.endswith(".")] == []
    assert [number for number, _, tests in rows if not REFERENCE.findall(tests)] == []
    assert [cell for *_, cell in rows if re.sub(REFERENCE, "", cell).strip(" ,")] == []
    assert rows


def test_every_requirement_stands_in_the_table_once() -> None:
    numbers = [number for number, *_ in _rows()]

    assert len(numbers) == len(set(numbers))


def test_every_line_of_a_table_is_a_requirement() -> None:
    """A row whose number has a typing error must not be passed over in silence."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    heads = [line for line in lines if line.startswith(("| Number |", "| --- |"))]

    assert len(lines) - len(heads) == len(_rows())
