"""Rows from a file or a pipe, JSON lines or one JSON array, in batches for one call each."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any, Final

from mainspring.contracts.errors import Finding, Invalid, Problem
from mainspring.surfaces.cli.documents import STDIN, display_name

if TYPE_CHECKING:
    from mainspring.contracts.limits import Limits

MOST_ROWS: Final = 5_000
# Around the rows there are names and signs that count too.
_ROOM: Final = 0.9


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Rows that go in one call, and how many came before them."""

    rows: list[dict[str, Any]]
    before: int


def batches(file: str, limits: Limits) -> Iterator[RowBatch]:
    """The rows of a file in order; nothing is read that is not needed yet."""
    rows: list[dict[str, Any]] = []
    size = before = 0
    room = int(limits.board_append_bytes * _ROOM)
    with _opened(file) as source:
        for row, length in _rows(source, limits):
            if rows and (len(rows) == MOST_ROWS or size + length > room):
                yield RowBatch(rows, before)
                before, rows, size = before + len(rows), [], 0
            rows.append(row)
            size += length
    if rows:
        yield RowBatch(rows, before)
    elif not before:
        raise Invalid(f"There are no rows in {display_name(file)}.", code="no_rows")


def offset_problem_rows(problem: Problem, batch: RowBatch, done: str) -> Problem:
    """A problem of one batch with places that count from the first row of the file."""
    findings = [replace(one, pointer=_moved(one.pointer, batch.before)) for one in problem.findings]
    made = type(problem)(
        problem.detail,
        code=problem.code,
        findings=findings,
        retry_after=problem.retry_after,
        suggestion=problem.suggestion,
    )
    if batch.before:
        made.suggestion = f"{done} {problem.suggestion or ''}".strip()
    return made


def _moved(pointer: str, by: int) -> str:
    head, _, rest = pointer.removeprefix("/rows/").partition("/")
    if not pointer.startswith("/rows/") or not head.isdecimal():
        return pointer
    return f"/rows/{int(head) + by}" + (f"/{rest}" if rest else "")


@contextmanager
def _opened(file: str) -> Iterator[IO[bytes]]:
    if file == STDIN:
        yield sys.stdin.buffer
        return
    try:
        source = open(file, "rb")  # noqa: SIM115
    except (OSError, ValueError):
        raise Invalid(
            f"The file {display_name(file)} cannot be read.",
            code="file_unreadable",
            suggestion="Give the path of a file of JSON lines, or - for the standard input.",
        ) from None
    with source:
        yield source


def _rows(source: IO[bytes], limits: Limits) -> Iterator[tuple[dict[str, Any], int]]:
    longest = limits.board_row_bytes * 4
    number = 0
    while line := source.readline(longest + 1):
        text = line.strip()
        if number == 0 and text.startswith(b"["):
            yield from _array(line + source.read(limits.import_bytes + 1), limits)
            return
        if len(line) > longest:
            raise _wrong(number, f"A line is at most {longest:,} bytes.")
        if text:
            yield _read(text, number, limits), len(text)
            number += 1


def _array(text: bytes, limits: Limits) -> Iterator[tuple[dict[str, Any], int]]:
    from mainspring.definition.json_text import read_json
    from mainspring.definition.json_values import encode_canonical

    found = read_json(text, replace(limits, json_bytes=limits.import_bytes))
    for number, row in enumerate(found):
        if not isinstance(row, dict):
            raise _wrong(number, "A row is a JSON object.")
        yield row, len(encode_canonical(row))


def _read(text: bytes, number: int, limits: Limits) -> dict[str, Any]:
    from mainspring.definition.json_text import read_json

    try:
        row = read_json(text, limits)
    except Invalid as problem:
        raise _wrong(number, problem.detail) from None
    if not isinstance(row, dict):
        raise _wrong(number, "A row is a JSON object.")
    return row


def _wrong(number: int, detail: str) -> Invalid:
    said = f"Row {number + 1} cannot be read: {detail}"
    return Invalid(said, code="row", findings=[Finding(f"/rows/{number}", detail, "row")])
