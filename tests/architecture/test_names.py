"""Names and texts: modules are named from the domain, and no file carries a loose end."""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, files_under, modules, shown

# Class names of the former private vocabulary. The field's terms have taken their place.
RENAMED = {
    "Desk",
    "Door",
    "Drawer",
    "Entrance",
    "Errand",
    "Estate",
    "House",
    "Knock",
    "Neighbours",
    "Place",
    "Posture",
    "Postman",
    "Promise",
    "Purse",
    "Reception",
    "Rooms",
    "Seal",
    "Shelf",
    "Switchboard",
    "Told",
    "Turnstile",
    "Wanted",
}

# Variables, parameters, methods and functions of the former vocabulary.
RENAMED_IDENTIFIERS = {
    "_check_on_shelf",
    "_desks",
    "_drawer",
    "_drawers",
    "_errand",
    "_errands",
    "_estate",
    "_herald",
    "_houses",
    "_judged_bound",
    "_judged_here",
    "_knocks",
    "_passage",
    "_passages",
    "_porch",
    "_postman",
    "_posture",
    "_postures",
    "_promises",
    "_purse",
    "_purses",
    "_reception",
    "_said_for",
    "_said_lines",
    "_said_names",
    "_said_since",
    "_said_with",
    "_siege",
    "_street",
    "_streets",
    "_switchboard",
    "_taken_as_given",
    "_taken_out",
    "_turnstile",
    "_visitors",
    "_wanted_types",
    "_wish",
    "_wishes",
    "_wording",
    "drawers",
    "entrance",
    "find_walls",
    "houses",
    "opened_street",
    "own_house",
    "passages",
    "postman",
    "postures",
    "promises",
    "purses",
    "raise_walls",
    "run_at_desk",
    "shelves",
    "streets",
    "turnstile",
}
# The same, for names that tests may still use.
RENAMED_IN_SRC = {
    "_door",
    "_knock",
    "_promise",
    "_visitor",
    "errand",
    "errands",
    "estate",
    "neighbours",
    "porch",
    "siege",
    "street",
    "visitors",
}

# Written in pieces, or this file would break its own law.
LOOSE_ENDS = {
    "an unfinished mark": r"\b(?:TO" + r"DO|FIX" + r"ME|X" + r"XX)\b",
    "a path above the checkout": r"\.\./" + r"shared\b",
    "a path of one machine": r"(?<![\w.])/(?:work|root)/" + r"\w",
    "a package index": r"(?i)\bpypi\." + r"org|python" + r"hosted|npm" + r"js\.",
    "a condescending word": r"(?i)\bsimp" + r"ly\b",
}


@cache
def _texts() -> dict[Path, str]:
    """Every file of the project that holds text."""
    found: dict[Path, str] = {}
    for path in files_under(ROOT):
        if path.name != "LICENSE":
            with suppress(UnicodeDecodeError):
                found[path] = path.read_text(encoding="utf-8")
    return found


def _classes() -> dict[str, set[str]]:
    """The modules that define each class at their top level."""
    found: dict[str, set[str]] = {}
    for path in modules("src"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, set()).add(shown(path))
    return found


def test_no_class_has_a_name_of_the_former_vocabulary() -> None:
    assert {name: where for name, where in _classes().items() if name in RENAMED} == {}


def _identifiers(path: Path) -> set[str]:
    """The names that a module binds or uses in its code; text and comments do not count."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                found.add(name)
            case ast.keyword(arg=str(name)):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case _:
                pass
    return found


@pytest.mark.parametrize("folder", ["src", "tests", "scripts", "bench"])
def test_no_identifier_has_a_name_of_the_former_vocabulary(folder: str) -> None:
    renamed = RENAMED_IDENTIFIERS | (RENAMED_IN_SRC if folder == "src" else set())
    found = {shown(path): _identifiers(path) & renamed for path in modules(folder)}
    assert {path: names for path, names in found.items() if names} == {}


def test_no_public_class_name_is_defined_twice() -> None:
    found = _classes()
    assert {
        name: where for name, where in found.items() if len(where) > 1 and not name.startswith("_")
    } == {}


@pytest.mark.parametrize("kind", LOOSE_ENDS)
def test_no_file_carries(kind: str) -> None:
    pattern = re.compile(LOOSE_ENDS[kind])
    found = [
        f"{shown(path)}:{number}: {line.strip()[:80]}"
        for path, text in _texts().items()
        # Most files have none, which one search tells.
        if pattern.search(text)
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]

    assert found == []


def test_every_constraint_is_one_exact_version_and_no_address() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]

    assert [pin for pin in pins if not re.fullmatch(r"[\w.-]+==[\w.+!]+", pin)] == []
    assert pins == sorted(pins, key=str.lower)
