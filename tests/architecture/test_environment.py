"""The environment is read once, in ``settings.py``, and nowhere else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.tree import PACKAGE, modules, nodes, shown

READERS = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"}
ALLOWED = {PACKAGE / "settings.py"}


def _reads(path: Path) -> Iterator[int]:
    for node in nodes(path):
        if isinstance(node, ast.Attribute) and node.attr in READERS:
            yield node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module == "os":
            yield from (node.lineno for alias in node.names if alias.name in READERS)


def test_only_the_settings_read_the_environment() -> None:
    found = [
        f"{shown(path)}:{line}"
        for path in modules("src")
        if path not in ALLOWED
        for line in _reads(path)
    ]

    assert found == []


def test_the_settings_do_read_it() -> None:
    assert list(_reads(PACKAGE / "settings.py"))
