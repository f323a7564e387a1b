"""Scaffold for a new integration: a package that installs, builds and passes validation.

It is small but complete: it reads one list over a connection and writes one note after approval.
"""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from typing import Final

from mainspring.contracts.errors import Conflict, Finding, Invalid

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{1,39}")
# Where each file of the skeleton goes in the new package.
_PLACES: Final = {
    "pyproject.toml.tmpl": "pyproject.toml",
    "README.md.tmpl": "README.md",
    "manifest.json.tmpl": "src/{package}/manifest.json",
    "init.py.tmpl": "src/{package}/__init__.py",
    "client.py.tmpl": "src/{package}/client.py",
    "capabilities.py.tmpl": "src/{package}/capabilities.py",
    "adapters.py.tmpl": "src/{package}/adapters.py",
    "events.py.tmpl": "src/{package}/events.py",
    "test_plugin.py.tmpl": "tests/test_{name}.py",
}


def scaffold(name: str, into: Path, used: frozenset[str] = frozenset()) -> list[Path]:
    """Write the files of a new package; existing files are never overwritten."""
    if not _NAME.fullmatch(name):
        detail = (
            "An integration is named by 2 to 40 lower-case letters, digits and underscores, "
            "with a letter first."
        )
        raise Invalid(detail, code="bad_name", findings=[Finding("/name", detail, "bad_name")])
    if name in used:
        raise Conflict(
            f"There is an integration called {name} here already.",
            code="integration_twice",
            suggestion="Choose another name.",
        )
    package = f"mainspring_{name}"
    root = into / package.replace("_", "-")
    if root.exists():
        raise Conflict(
            f"{root} is there already.",
            code="folder_there",
            suggestion="Choose another folder with --into, or remove that one first.",
        )
    written = []
    for source, place in _PLACES.items():
        target = root / place.format(name=name, package=package)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_fill_template(source, name, package), encoding="utf-8")
        written.append(target)
    return written


def _fill_template(source: str, name: str, package: str) -> str:
    folder = resources.files("mainspring.recipes.plugins").joinpath("skeleton")
    text = folder.joinpath(source).read_text(encoding="utf-8")
    title = name.replace("_", " ").capitalize()
    return text.replace("@name@", name).replace("@package@", package).replace("@Title@", title)
