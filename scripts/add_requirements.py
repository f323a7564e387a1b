"""Adds requirements to an area of ``docs/requirements/``.

    python -m scripts.add_requirements gate < rows.txt

A row is a line ``A-056 | sentence | tests/…/test_x.py::test_y, tests/…``. A number that is
there already, in whatever area, keeps its sentence and gets the tests it did not have.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace

from scripts.requirement_rows import Area, Requirement, in_order, read_areas, write_area


def rows_in(lines: Iterable[str]) -> list[Requirement]:
    """The rows of a text; a line without a bar is a heading and passed over."""
    rows = []
    for line in lines:
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if len(cells) == 3:
            number, sentence, tests = cells
            names = [name.strip(" `") for name in tests.split(",")]
            rows.append(Requirement(number, sentence, tuple(name for name in names if name)))
        elif "|" in line:
            raise ValueError(f"A row has a number, a sentence and tests, not: {line.strip()}")
    return in_order(rows)


def added(areas: Iterable[Area], name: str, rows: Iterable[Requirement]) -> list[Area]:
    """The areas with the rows in them."""
    made = {area.name: area for area in areas}
    if name not in made:
        raise ValueError(f"There is no area {name!r}, only: {', '.join(sorted(made))}.")
    for row in rows:
        home = next((area for area in made.values() if _find(area, row.number)), made[name])
        known = _find(home, row.number)
        others = tuple(entry for entry in home.requirements if entry != known)
        result = row if known is None else replace(known, tests=_both(known.tests, row.tests))
        made[home.name] = replace(home, requirements=(*others, result))
    return list(made.values())


def _find(area: Area, number: str) -> Requirement | None:
    return next((entry for entry in area.requirements if entry.number == number), None)


def _both(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def main() -> int:
    if len(sys.argv) != 2:
        sys.exit("Say which area: python -m scripts.add_requirements AREA < rows")
    try:
        areas = added(read_areas(), sys.argv[1], rows_in(sys.stdin))
    except ValueError as wrong:
        sys.exit(str(wrong))
    for area in areas:
        write_area(area)
    return 0


if __name__ == "__main__":
    sys.exit(main())
