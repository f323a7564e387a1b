"""Size ceilings: neither modules nor functions grow into giants."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.architecture.tree import CODE_FOLDERS, modules, nodes, shown

MODULE_LINES = 600
FUNCTION_LINES = 60

# What is larger for now: "path" or "path::function" and why. This list may only shrink.
EXCEPTIONS: dict[str, str] = {}


def _functions(path: Path) -> Iterator[tuple[str, int]]:
    for node in nodes(path):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert node.end_lineno is not None
            yield node.name, node.end_lineno - node.lineno + 1


@cache
def _too_large() -> dict[str, int]:
    found: dict[str, int] = {}
    for path in modules(*CODE_FOLDERS):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > MODULE_LINES:
            found[shown(path)] = lines
        for name, length in _functions(path):
            if length > FUNCTION_LINES:
                found[f"{shown(path)}::{name}"] = length
    return found


def test_no_module_and_no_function_is_above_its_ceiling() -> None:
    assert {name: size for name, size in _too_large().items() if name not in EXCEPTIONS} == {}


def test_an_exception_that_is_no_longer_needed_leaves_the_list() -> None:
    assert EXCEPTIONS.keys() - _too_large().keys() == set()
