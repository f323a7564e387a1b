"""Converts an object literal in TypeScript to JSON text.

People keep commented definitions and integrations as ``add({…})`` in files of their own. Such a
file is data as long as everything in it is a literal; it is parsed and never run.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from mainspring.definition.script.syntax import (
    SyntaxTree,
    parse_syntax,
    read_constant_text,
    unwrap_expression,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_DEEPEST: Final = 64
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_PLAIN: Final = frozenset({"true", "false", "null"})
# The function that receives a recipe.
_ADD: Final = "add"


class _NoLiteral(Exception):
    """A value that is only known at run time."""


def parse_object_literal(source: str) -> str | None:
    """The JSON of a file that is one object, alone or as ``add({…})``; None for any other file."""
    bare = source.lstrip("\ufeff \t\r\n").startswith("{")
    # At the beginning of a statement a brace would open a block.
    syntax = parse_syntax(f"({source}\n)" if bare else source)
    if syntax.stopped is not None or syntax.tree.root_node.has_error:
        return None
    kept = [node for node in syntax.statements() if node.type not in {"comment", "empty_statement"}]
    if len(kept) != 1 or kept[0].type != "expression_statement":
        return None
    node = unwrap_expression(
        next((one for one in kept[0].named_children if one.type != "comment"), None)
    )
    if not bare:
        node = _find_add_argument(node, syntax)
    if node is None or node.type != "object":
        return None
    try:
        return _json(node, syntax, 0)
    except _NoLiteral:
        return None


def _find_add_argument(node: Node | None, syntax: SyntaxTree) -> Node | None:
    """The single argument of a call of ``add``."""
    function = None if node is None else node.child_by_field_name("function")
    arguments = None if node is None else node.child_by_field_name("arguments")
    if function is None or arguments is None or syntax.text(function) != _ADD:
        return None
    given = [one for one in arguments.named_children if one.type != "comment"]
    return unwrap_expression(given[0]) if len(given) == 1 else None


def _json(node: Node | None, syntax: SyntaxTree, depth: int) -> str:
    node = unwrap_expression(node)
    if node is None or depth > _DEEPEST:
        raise _NoLiteral
    if node.type == "object":
        return "{" + ", ".join(_entry(one, syntax, depth) for one in _parts(node)) + "}"
    if node.type == "array":
        return "[" + ", ".join(_json(one, syntax, depth + 1) for one in _parts(node)) + "]"
    text = read_constant_text(node, syntax)
    if text is not None:
        return json.dumps(text)
    written = syntax.text(node)
    if written in _PLAIN or (
        node.type in {"number", "unary_expression"} and _NUMBER.fullmatch(written)
    ):
        return written
    raise _NoLiteral


def _parts(node: Node) -> list[Node]:
    """The elements between the brackets; an empty element is rejected."""
    parts = [one for one in node.children if one.type != "comment"]
    if any(one.type == "," and not before.is_named for before, one in pairwise(parts)):
        raise _NoLiteral
    return [one for one in parts if one.is_named]


def _entry(entry: Node, syntax: SyntaxTree, depth: int) -> str:
    key, value = (entry.child_by_field_name(part) for part in ("key", "value"))
    if entry.type != "pair" or key is None:
        raise _NoLiteral
    if key.type == "property_identifier":
        name: str | None = syntax.text(key)
    else:
        name = read_constant_text(key, syntax)
    if name is None:
        raise _NoLiteral
    return f"{json.dumps(name)}: {_json(value, syntax, depth + 1)}"
