"""Importing a module does nothing: it defines names, and ``wiring.py`` does the rest.

Registration by import would make the vocabulary depend on who imported what first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.tree import modules, parsed, shown

QUIET = (
    ast.AnnAssign,
    ast.Assign,
    ast.AugAssign,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.FunctionDef,
    ast.Import,
    ast.ImportFrom,
)


def _is_for_the_type_checker(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in {
        "TYPE_CHECKING",
        "__name__ == '__main__'",
    }


def _is_for_one_system(node: ast.stmt) -> bool:
    """``if sys.platform == ...`` around definitions: some names exist on some systems only."""
    return (
        isinstance(node, ast.If)
        and ast.unparse(node.test).startswith("sys.platform")
        and not list(_loud(node.body + node.orelse))
    )


def _loud(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        result = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if result or isinstance(node, QUIET):
            continue
        if not _is_for_the_type_checker(node) and not _is_for_one_system(node):
            yield node


def test_importing_a_module_of_the_product_does_nothing() -> None:
    found = [
        f"{shown(path)}:{node.lineno}: {ast.unparse(node).splitlines()[0]}"
        for path in modules("src")
        for node in _loud(parsed(path).body)
    ]

    assert found == []
