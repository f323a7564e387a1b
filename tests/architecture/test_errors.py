"""The tree drawn in ``contracts/errors.py`` is the tree of classes that exists."""

from __future__ import annotations

import re

from mainspring.contracts import errors
from mainspring.contracts.errors import KINDS, Problem

ROW = re.compile(r"^(?P<rule>[│ ]*)[├└]── (?P<name>\w+) (?P<status>\d+) +\S")

Tree = dict[str, tuple[str, int]]


def _drawn() -> Tree:
    """Each class of the picture with its parent and status; four columns are one level."""
    assert errors.__doc__ is not None
    lines = [line.removeprefix("    ") for line in errors.__doc__.splitlines()]
    above = ["Problem"]
    found: Tree = {}
    for row in filter(None, map(ROW.match, lines)):
        depth = len(row["rule"]) // 4
        del above[depth + 1 :]
        found[row["name"]] = (above[depth], int(row["status"]))
        above.append(row["name"])
    return found


def _real() -> Tree:
    found: Tree = {}
    waiting = [Problem]
    while waiting:
        parent = waiting.pop()
        for child in parent.__subclasses__():
            if child.__module__.startswith("mainspring."):
                found[child.__name__] = (parent.__name__, child.status)
                waiting.append(child)
    return found


def test_the_picture_of_the_error_tree_is_true() -> None:
    assert _drawn() == _real()
    assert len(_drawn()) > 1


def test_every_error_is_known_by_its_kind() -> None:
    assert {made.__name__ for made in KINDS.values()} == set(_real())
    assert all(made.kind == kind for kind, made in KINDS.items())


def test_every_error_says_in_its_docstring_what_happened() -> None:
    assert [made.__name__ for made in KINDS.values() if not made.__doc__] == []
