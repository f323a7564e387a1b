"""The parts of Jinja's syntax tree that templates may have, and where their children are.

A kind of node that is not in this table does not exist for us: the grammar refuses it
and nothing else knows how to visit it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jinja2 import nodes

_TWO = ("left", "right")
_ONE_CHILD = ("node",)

CHILDREN: Mapping[type[nodes.Node], tuple[str, ...]] = {
    nodes.Template: ("body",),
    nodes.Output: ("nodes",),
    nodes.TemplateData: (),
    nodes.If: ("test", "body", "elif_", "else_"),
    nodes.For: ("target", "iter", "test", "body", "else_"),
    nodes.Assign: ("target", "node"),
    nodes.AssignBlock: ("target", "filter", "body"),
    nodes.With: ("targets", "values", "body"),
    nodes.Name: (),
    nodes.Const: (),
    nodes.List: ("items",),
    nodes.Tuple: ("items",),
    nodes.Dict: ("items",),
    nodes.Pair: ("key", "value"),
    nodes.Getattr: _ONE_CHILD,
    nodes.Getitem: ("node", "arg"),
    nodes.Slice: ("start", "stop", "step"),
    nodes.Filter: ("node", "args", "kwargs", "dyn_args", "dyn_kwargs"),
    nodes.Test: ("node", "args", "kwargs", "dyn_args", "dyn_kwargs"),
    nodes.Keyword: ("value",),
    nodes.CondExpr: ("test", "expr1", "expr2"),
    nodes.Compare: ("expr", "ops"),
    nodes.Operand: ("expr",),
    nodes.Concat: ("nodes",),
    nodes.And: _TWO,
    nodes.Or: _TWO,
    nodes.Not: _ONE_CHILD,
    nodes.Neg: _ONE_CHILD,
    nodes.Pos: _ONE_CHILD,
    nodes.Add: _TWO,
    nodes.Sub: _TWO,
    nodes.Mul: _TWO,
    nodes.Div: _TWO,
    nodes.FloorDiv: _TWO,
    nodes.Mod: _TWO,
    nodes.Pow: _TWO,
}

ReferencePath = tuple[str, ...]


def list_children(node: nodes.Node) -> list[nodes.Node]:
    """The nodes directly below one that the grammar has let through."""
    found: list[nodes.Node] = []
    for name in CHILDREN[type(node)]:
        part = getattr(node, name)
        if type(part) is list:
            found.extend(part)
        elif part is not None:
            found.append(part)
    return found


def walk(tree: nodes.Node) -> Iterator[nodes.Node]:
    """Every node of a tree, in no particular order and without recursion."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(list_children(node))


def get_constant_path(node: nodes.Node) -> ReferencePath | None:
    """The constant path of an expression such as ``steps.fetch["body"]``."""
    keys: list[str] = []
    while True:
        if isinstance(node, nodes.Name):
            keys.append(node.name)
            return tuple(reversed(keys))
        if isinstance(node, nodes.Getattr):
            keys.append(node.attr)
        elif isinstance(node, nodes.Getitem) and (key := _constant_key(node.arg)) is not None:
            keys.append(key)
        else:
            return None
        node = node.node


def get_line(node: nodes.Node) -> int:
    # Some nodes are made without a line; the parser's types promise one.
    line: int | None = node.lineno
    return line or 1


def _constant_key(node: nodes.Node) -> str | None:
    return node.value if isinstance(node, nodes.Const) and type(node.value) is str else None
