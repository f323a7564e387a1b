"""The requirements and the tests that hold them, as they are kept in ``docs/requirements/``.

One TOML file per area. The reference page, the law that checks it and the command that adds
rows all read them here, so there is one idea of what an entry is.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "requirements"
NUMBER = re.compile(r"([A-Z])(-?)(\d{1,3})")
HEAD = """\
# Read by scripts/reference.py, which writes docs/reference/requirements.md from it.
#
# An entry has a number, one sentence of our own that ends with a full stop, and the tests that
# fail when it is no longer true: "tests/…/test_x.py::test_y", or a whole file. A requirement
# without a test has no entry. To add some, write lines `A-056 | sentence | tests, tests` and run
# `python -m scripts.add_requirements AREA < lines`: it keeps the order, and puts the tests of a
# number that is there already beside those it has. Where the product does less than a sentence asks
# for, `missing` says what, and the tests hold the rest.
"""


@dataclass(frozen=True, slots=True)
class Requirement:
    """What is asked, in one sentence, and the tests that hold it."""

    number: str
    sentence: str
    tests: tuple[str, ...]
    # What the sentence asks for and the product does not do yet.
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Area:
    """One file of requirements that belong together."""

    name: str
    title: str
    about: str
    requirements: tuple[Requirement, ...]


def read_areas(folder: Path = FOLDER) -> list[Area]:
    return [_read(path) for path in sorted(folder.glob("*.toml"))]


def _read(path: Path) -> Area:
    stored = tomllib.loads(path.read_text(encoding="utf-8"))
    rows = [
        Requirement(row["number"], row["sentence"], tuple(row["tests"]), row.get("missing", ""))
        for row in stored.get("requirement", [])
    ]
    return Area(path.stem, stored["title"], stored["about"], tuple(rows))


def write_area(area: Area, folder: Path = FOLDER) -> None:
    entries = map(_entry, in_order(area.requirements))
    text = f"{HEAD}\ntitle = {_text(area.title)}\nabout = {_text(area.about)}\n"
    (folder / f"{area.name}.toml").write_text(text + "".join(entries), encoding="utf-8")


def in_order(rows: Sequence[Requirement]) -> list[Requirement]:
    """By letter and number; what is asked (S-001) comes before the checks (S1)."""
    return sorted(rows, key=lambda row: _place(row.number))


def _place(number: str) -> tuple[str, bool, int]:
    found = NUMBER.fullmatch(number)
    if found is None:
        raise ValueError(f"{number!r} is not the number of a requirement, such as A-056 or R12.")
    mail, dash, digits = found.groups()
    return mail, not dash, int(digits)


def _entry(row: Requirement) -> str:
    tests = "".join(f"    {_text(test)},\n" for test in row.tests)
    missing = f"missing = {_text(row.missing)}\n" if row.missing else ""
    return (
        f"\n[[requirement]]\nnumber = {_text(row.number)}\n"
        f"sentence = {_text(row.sentence)}\n{missing}tests = [\n{tests}]\n"
    )


def _text(value: str) -> str:
    # A basic string of TOML has the escapes of JSON.
    return json.dumps(value, ensure_ascii=False)
